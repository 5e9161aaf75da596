//! What `apply`, `solve`, their like and Newton's equations of the likelihood need of the core; dense work is NumPy's.

use std::sync::Arc;

use numpy::{
    IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::law::{self, Made, Matrix};
use super::work::detached;
use super::{convert, memory};
use crate::error::Error;
use crate::operator::{self, Operator, Program, Way, gradients};
use crate::system;

/// Each row of ``rows`` through the matrix or back; `None` if it has no structure of its own.
///
/// ``inverse`` solves, ``back`` takes ``P`` instead of its transpose.
#[pyfunction]
pub fn operate<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    rows: PyReadonlyArray2<'py, f64>,
    inverse: bool,
    back: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let inner = matrix.inner();
    let Some(operator) = detached(py, inner.family.size(), || inner.operator())? else {
        return Ok(None);
    };
    let (vectors, size) = (rows.shape()[0], rows.shape()[1]);
    let (shape, x) = ([vectors as u64, size as u64], rows.as_slice()?);
    let way = if back { Way::Back } else { Way::Forth };
    let write = |out: &mut [f64]| operator::run(operator, way, inverse, size, x, out);
    memory::written(py, "apply", &shape, x.len() as u64, write).map(Some)
}

/// One vector through the matrix, or back, in one step: `None` if it is not a plain vector of finite doubles, or
/// if the matrix has no structure of its own or is singular, which others look into.
#[pyfunction]
pub fn operate_vector<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    given: &Bound<'py, PyAny>,
    inverse: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let inner = matrix.inner();
    let size = inner.family.size();
    let Ok(array) = given
        .cast_exact::<PyUntypedArray>()
        .and_then(|a| a.cast::<PyArray1<f64>>())
    else {
        return Ok(None);
    };
    if array.len() as u64 != size || !array.is_c_contiguous() || !array.data().is_aligned() {
        return Ok(None);
    }
    let x = array.readonly();
    let x = x.as_slice()?;
    let operator = detached(py, size, || {
        let can = |operator: &&Arc<dyn Operator>| {
            operator::not_finite(x).is_none() && !(inverse && operator.is_singular())
        };
        inner.operator().filter(can)
    })?;
    let Some(operator) = operator else {
        return Ok(None);
    };
    let write = |out: &mut [f64]| operator::run(operator, Way::Forth, inverse, x.len(), x, out);
    memory::written(py, "apply", &[size], size, write).map(Some)
}

/// Rows on their way through any matrix, or back through its inverse: what is left to the caller are
/// the matrices without a structure.
#[pyclass(module = "bistochastic._core")]
pub struct Walk {
    program: Program,
    inner: operator::Walk,
    size: usize,
}

impl Walk {
    fn array<'py>(&mut self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyAny>> {
        let rows = std::mem::take(&mut self.inner.rows);
        let height = rows.len() / size.max(1);
        rows.into_pyarray(py)
            .call_method1("reshape", (height, size))
    }
}

#[pymethods]
impl Walk {
    #[new]
    fn new<'py>(
        py: Python<'py>,
        matrix: &Matrix,
        rows: PyReadonlyArray2<'py, f64>,
        inverse: bool,
        back: bool,
    ) -> PyResult<Self> {
        let way = if back { Way::Back } else { Way::Forth };
        let (matrix, given) = (matrix.inner(), rows.as_slice()?);
        let (program, inner) = detached(py, given.len() as u64, || {
            let program = Program::new(matrix, way, inverse)?;
            Ok::<_, Error>((program, operator::Walk::new(system::memory::copied(given))))
        })??;
        let size = rows.shape()[1];
        Ok(Walk {
            program,
            inner,
            size,
        })
    }

    /// The matrices that must not be singular for an inverse to mean anything.
    #[getter]
    fn asked<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        law::list(py, self.program.asked.iter().cloned())
    }

    /// Goes on to the next matrix without a structure: that matrix, and the rows to take through it. None at
    /// the end.
    fn resume<'py>(&mut self, py: Python<'py>) -> PyResult<Option<(Made, Bound<'py, PyAny>)>> {
        let (inner, program) = (&mut self.inner, &self.program);
        let numbers = inner.rows.len() as u64;
        let Some((index, size)) = detached(py, numbers, || inner.resume(program))? else {
            return Ok(None);
        };
        let matrix = Made(self.program.dense[index].clone());
        Ok(Some((matrix, self.array(py, size)?)))
    }

    /// What became of the rows that :meth:`resume` gave.
    fn put(&mut self, py: Python<'_>, rows: PyReadonlyArray2<'_, f64>) -> PyResult<()> {
        let rows = rows.as_slice()?;
        self.inner.rows = detached(py, rows.len() as u64, || system::memory::copied(rows))?;
        Ok(())
    }

    /// The rows at the end, once.
    fn rows<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.array(py, self.size)
    }
}

/// The weight and the part of a mixture beside perfect secrecy, if there is one such part.
#[pyfunction]
pub fn rest_of_uniform(py: Python<'_>, matrix: &Matrix) -> PyResult<Option<(f64, Made)>> {
    let matrix = matrix.inner();
    let rest = detached(py, matrix.family.size(), || {
        operator::beside_uniform(matrix).map(|(weight, part)| (weight, part.clone()))
    })?;
    Ok(rest.map(|(weight, part)| (weight, Made(part))))
}

/// The position of the first number that is not finite, of a contiguous array; `None` if all are.
#[pyfunction]
pub fn not_finite(py: Python<'_>, rows: PyReadonlyArray2<'_, f64>) -> PyResult<Option<usize>> {
    let x = rows.as_slice()?;
    detached(py, x.len() as u64, || operator::not_finite(x))
}

/// The least singular value and the rank, if the structure tells; else None.
#[pyfunction]
pub fn spectrum(py: Python<'_>, matrix: &Matrix) -> PyResult<Option<(f64, u64)>> {
    let inner = matrix.inner();
    detached(py, inner.family.size(), || inner.least_and_rank())
}

/// Whether the matrix is singular, if the structure tells; else None.
#[pyfunction]
pub fn structure_is_singular(py: Python<'_>, matrix: &Matrix) -> PyResult<Option<bool>> {
    let inner = matrix.inner();
    detached(py, inner.family.size(), || {
        inner.operator().map(|operator| operator.is_singular())
    })
}

/// A condition found by LAPACK, kept with the matrix; `None` if none was.
#[pyfunction]
pub fn known_condition(matrix: &Matrix) -> Option<f64> {
    matrix.inner().condition().get().copied()
}

/// Keeps a condition with the matrix.
#[pyfunction]
pub fn keep_condition(matrix: &Matrix, condition: f64) {
    matrix.inner().condition().get_or_make(|| condition);
}

/// Column ``v`` as the nearest doubles, of a matrix that is not a composite.
#[pyfunction]
pub fn column<'py>(matrix: &Matrix, v: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = v.py();
    let family = &*matrix.inner().family;
    let size = family.size();
    let v = convert::code("v", v, size)?;
    memory::written(py, "posterior", &[size], size, |out| {
        for (u, x) in (0..).zip(out) {
            *x = family.probability(u, v);
        }
    })
}

/// Which transform makes the matrix diagonal: "flat" (any), "cyclic" or "cosine"; `None` if none is known.
#[pyfunction]
pub fn basis(py: Python<'_>, matrix: &Matrix) -> PyResult<Option<&'static str>> {
    let inner = matrix.inner();
    detached(py, inner.family.size(), || {
        inner.spectrum().map(|spectrum| spectrum.basis())
    })
}

type Given<'py> = PyReadonlyArray1<'py, f64>;

/// ``(B B^T + diag z) y = right`` with ``B = root P sqrt(weights)``, for many ``root``, ``weights`` and ``z``.
///
/// ``dense`` are the matrices whose entries are needed.
#[pyclass(frozen, module = "bistochastic._core")]
pub struct Equations {
    inner: gradients::Equations,
}

#[pymethods]
impl Equations {
    #[new]
    fn new(py: Python<'_>, matrix: &Matrix) -> PyResult<Self> {
        let matrix = matrix.inner();
        let inner = detached(py, u64::MAX, || gradients::Equations::new(matrix))??;
        Ok(Equations { inner })
    }

    #[getter]
    fn dense<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        law::list(py, self.inner.dense().iter().cloned())
    }

    /// ``y`` up to the share ``within`` of ``right``, by at most ``turns`` turns of conjugate gradients, and
    /// how many were taken. ``tables`` are the entries of ``dense``.
    #[allow(clippy::too_many_arguments)]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        tables: &Bound<'py, PyList>,
        weights: Given<'py>,
        root: Given<'py>,
        z: Given<'py>,
        right: Given<'py>,
        within: f64,
        turns: usize,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, usize)> {
        let tables: Vec<PyReadonlyArray2<'py, f64>> = tables.extract()?;
        let each = tables.iter().map(|table| table.as_slice());
        let each = each.collect::<Result<Vec<&[f64]>, _>>()?;
        let given = [weights.as_slice()?, root.as_slice()?, z.as_slice()?];
        let right = right.as_slice()?;
        let n = self.inner.size();
        let sizes = self.inner.dense().iter().map(|m| m.family.size() as usize);
        let fit = each.len() == self.inner.dense().len()
            && each
                .iter()
                .zip(sizes)
                .all(|(table, r)| table.len() == r * r)
            && given.iter().all(|vector| vector.len() == n)
            && right.len() == n;
        if !fit {
            let must = format!("be given vectors of {n} numbers and the tables of `dense`");
            return Err(Error::value("solve", must, "arrays of other lengths").into());
        }
        let (found, taken) = detached(py, u64::MAX, || {
            let mut rest = system::memory::copied(right);
            self.inner.solve(&each, given, &mut rest, within, turns)
        })?;
        Ok((found.into_pyarray(py), taken))
    }
}
