//! `apply`, `solve` and what they need of the core; dense and composite work is NumPy's.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::convert;
use super::matrix::Matrix;
use super::memory;
use super::work::detached;
use crate::operator::{self, Way};
use crate::rank::modulo_prime;

/// Each row of ``rows`` through the matrix or back; None where it has no structure of its own.
///
/// ``inverse`` solves, ``back`` takes ``P`` instead of its transpose.
#[pyfunction]
pub fn operate<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    rows: PyReadonlyArray2<'py, f64>,
    inverse: bool,
    back: bool,
) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
    let inner = matrix.inner();
    let Some(operator) = detached(py, inner.family.size(), || inner.operator())? else {
        return Ok(None);
    };
    let (vectors, size) = (rows.shape()[0], rows.shape()[1]);
    let shape = [vectors as u64, size as u64];
    let array = memory::empty(py, "apply", &shape, "float64")?;
    let array = array.cast_into::<PyArray2<f64>>()?;
    {
        let x = rows.as_slice()?;
        let mut out = array.readwrite();
        let out = out.as_slice_mut()?;
        let way = if back { Way::Back } else { Way::Forth };
        detached(py, x.len() as u64, || {
            operator::run(operator, way, inverse, size, x, out);
        })?;
    }
    Ok(Some(array))
}

/// Each row of ``tables`` through a kron or back, in place and axis by axis; the axes that are left to do.
///
/// An axis is left where its matrix has no structure and is not small.
#[pyfunction]
pub fn along_axes(
    py: Python<'_>,
    matrix: &Matrix,
    tables: &Bound<'_, PyArray2<f64>>,
    inverse: bool,
    back: bool,
) -> PyResult<Vec<usize>> {
    let inner = matrix.inner();
    let way = if back { Way::Back } else { Way::Forth };
    let mut tables = tables.readwrite();
    let cells = tables.as_slice_mut()?;
    detached(py, cells.len() as u64, || {
        let joint = operator::Joint::new(inner, way, inverse);
        joint.run(cells);
        joint.left
    })
}

/// The position of the first number that is not finite, of a contiguous array; None where all are.
#[pyfunction]
pub fn not_finite(py: Python<'_>, rows: PyReadonlyArray2<'_, f64>) -> PyResult<Option<usize>> {
    let x = rows.as_slice()?;
    detached(py, x.len() as u64, || operator::not_finite(x))
}

/// The least singular value and the rank, where the structure tells; else None.
#[pyfunction]
pub fn spectrum(py: Python<'_>, matrix: &Matrix) -> PyResult<Option<(f64, u64)>> {
    let inner = matrix.inner();
    detached(py, inner.family.size(), || inner.least_and_rank())
}

/// Whether the matrix is singular, where the structure tells; else None.
#[pyfunction]
pub fn structure_is_singular(py: Python<'_>, matrix: &Matrix) -> PyResult<Option<bool>> {
    let inner = matrix.inner();
    detached(py, inner.family.size(), || {
        inner.operator().map(|operator| operator.is_singular())
    })
}

/// A condition found by LAPACK, kept with the matrix; None where none was.
#[pyfunction]
pub fn known_condition(matrix: &Matrix) -> Option<f64> {
    matrix.inner().condition().get().copied()
}

/// Keeps a condition with the matrix.
#[pyfunction]
pub fn keep_condition(matrix: &Matrix, condition: f64) {
    matrix.inner().condition().get_or_make(|| condition);
}

/// The rank of a matrix of counts modulo a prime of 61 bits: never above the true rank.
#[pyfunction]
pub fn rank(py: Python<'_>, counts: PyReadonlyArray2<'_, i64>) -> PyResult<usize> {
    let size = counts.shape()[0];
    let counts = counts.as_slice()?;
    detached(py, u64::MAX, || modulo_prime(counts, size))
}

/// Column ``v`` as the nearest doubles, of a matrix that is no composite.
#[pyfunction]
pub fn column<'py>(matrix: &Matrix, v: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let py = v.py();
    let family = &*matrix.inner().family;
    let size = family.size();
    let v = convert::code("v", v, size)?;
    let array = memory::empty(py, "posterior", &[size], "float64")?;
    let array = array.cast_into::<PyArray1<f64>>()?;
    {
        let mut out = array.readwrite();
        let out = out.as_slice_mut()?;
        detached(py, size, || {
            for (u, x) in (0..).zip(out.iter_mut()) {
                *x = family.probability(u, v);
            }
        })?;
    }
    Ok(array)
}

/// Which transform makes the matrix diagonal: "flat" (any), "cyclic" or "cosine"; None where none is known.
#[pyfunction]
pub fn basis(py: Python<'_>, matrix: &Matrix) -> PyResult<Option<&'static str>> {
    let inner = matrix.inner();
    detached(py, inner.family.size(), || {
        inner.spectrum().map(|spectrum| spectrum.basis())
    })
}
