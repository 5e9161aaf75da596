//! The law behind a `Matrix`, as Python holds it.

use std::cell::Cell;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::package;
use crate::law;

/// The law of a :class:`bistochastic.Matrix`, which is this class with what Python adds to it.
#[pyclass(frozen, subclass, module = "bistochastic")]
pub struct Matrix {
    inner: law::Matrix,
}

thread_local! {
    static WAITING: Cell<Option<law::Matrix>> = const { Cell::new(None) };
}

/// A matrix on its way to Python, where it becomes one of the class that callers see.
pub struct Made(pub law::Matrix);

impl<'py> IntoPyObject<'py> for Made {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        package::make(py, &package::MATRIX, &WAITING, self.0)
    }
}

impl Matrix {
    /// The core's matrix.
    pub fn inner(&self) -> &law::Matrix {
        &self.inner
    }
}

#[pymethods]
impl Matrix {
    /// Matrices come from the functions of their families.
    #[new]
    #[pyo3(signature = (*_given, **_named))]
    fn new(_given: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let inner = package::taken(&WAITING, &package::MATRIX)?;
        Ok(Matrix { inner })
    }
}

/// A list of matrices for Python.
pub fn list<'py>(
    py: Python<'py>,
    matrices: impl Iterator<Item = law::Matrix>,
) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for matrix in matrices {
        list.append(Made(matrix))?;
    }
    Ok(list.into_any())
}
