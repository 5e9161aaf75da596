//! What the linear maps of the package need of the core: joint tables, elimination, single columns, and a place to keep
//! what was found.

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::matrix::Matrix;
use super::work::detached;
use super::{convert, memory};
use crate::error::Error;
use crate::number::axes::{Axis, multiply};
use crate::number::tridiagonal;

/// What the package found out about a matrix, by name: the same dictionary for every copy. Whatever holds the matrix
/// would never be freed here.
#[pyfunction]
pub fn notes<'py>(py: Python<'py>, matrix: &Matrix) -> Bound<'py, PyDict> {
    let notes: &Py<PyDict> = matrix.inner().notes(|| PyDict::new(py).unbind());
    notes.bind(py).clone()
}

/// Column ``v`` as the nearest doubles, of a matrix that is not a composite.
#[pyfunction]
pub fn column<'py>(matrix: &Matrix, v: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = v.py();
    let law = matrix.inner();
    let size = law.size();
    let v = convert::code("v", v, size)?;
    memory::written(py, "posterior", &[size], size, |out| {
        for (u, x) in (0..).zip(out) {
            *x = law.probability(u, v);
        }
    })
}

/// Tables as rows in C order, multiplied along each axis by the matrix of this size that keeps sums and multiplies what
/// sums to 0 by this number.
#[pyfunction]
pub fn flat_axes<'py>(
    rows: &Bound<'py, PyArray2<f64>>,
    axes: Vec<(usize, f64)>,
) -> PyResult<Bound<'py, PyAny>> {
    let axes = axes.into_iter().map(|(size, own)| Axis { size, own });
    let axes: Vec<Axis> = axes.collect();
    let (tables, cells) = (rows.shape()[0] as u64, rows.shape()[1] as u64);
    let product = (axes.iter()).fold(1u64, |n, axis| n.saturating_mul(axis.size as u64));
    if product != cells || cells == 0 {
        let must = format!("hold rows of {product} numbers");
        return Err(Error::value("rows", must, cells).into());
    }
    let read = rows.try_readonly()?;
    let (shape, x) = ([tables, cells], read.as_slice()?);
    let write = |out: &mut [f64]| multiply(x, &axes, out);
    memory::written(rows.py(), "apply", &shape, x.len() as u64, write)
}

/// A symmetric tridiagonal matrix with line sums 1, from its diagonal and the numbers beside it.
#[pyclass(frozen, module = "bistochastic._core")]
pub struct Tridiagonal {
    inner: tridiagonal::Tridiagonal,
}

#[pymethods]
impl Tridiagonal {
    #[new]
    fn new(
        diagonal: PyReadonlyArray1<'_, f64>,
        beside: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        let (diagonal, beside) = (diagonal.as_slice()?.to_vec(), beside.as_slice()?.to_vec());
        if diagonal.len() != beside.len() + 1 {
            let got = format!("{} and {} numbers", diagonal.len(), beside.len());
            return Err(Error::value("beside", "be one number shorter", got).into());
        }
        let inner = tridiagonal::Tridiagonal::new(diagonal, beside);
        Ok(Tridiagonal { inner })
    }

    /// Each row times the matrix, or its inverse.
    fn run<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'py, f64>,
        inverse: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (vectors, size) = (rows.shape()[0], rows.shape()[1]);
        if size != self.inner.size() {
            let must = format!("hold rows of {} numbers", self.inner.size());
            return Err(Error::value("rows", must, size).into());
        }
        let (shape, x) = ([vectors as u64, size as u64], rows.as_slice()?);
        let write = |out: &mut [f64]| self.inner.run(inverse, x, out);
        memory::written(py, "apply", &shape, x.len() as u64, write)
    }

    /// How many eigenvalues are within each of four numbers of 0.
    fn within(&self, py: Python<'_>, numbers: [f64; 4]) -> PyResult<[usize; 4]> {
        detached(py, u64::MAX, || self.inner.within(numbers))
    }
}
