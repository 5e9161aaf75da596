//! Pickled matrices: what is written, and the way back.

use super::convert::{self, Vectors};
use super::matrix::{Made, Matrix, built};
use super::work::guarded;
use crate::error::Error;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The realised parameters with arrays instead of lists.
#[pyfunction]
pub fn arrays<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyDict>> {
    let parameters = guarded(|| matrix.family().parameters())?;
    convert::dictionary(py, parameters.iter().map(|(n, v)| (*n, v)), Vectors::Arrays)
}

/// A pickled matrix again.
#[pyfunction]
pub fn restore(
    py: Python<'_>,
    family: &Bound<'_, PyAny>,
    parameters: &Bound<'_, PyDict>,
    requested: &Bound<'_, PyDict>,
) -> PyResult<Made> {
    let mut matrix = built(py, family, parameters)?;
    matrix.requested = convert::arguments(requested)?;
    Ok(Made(matrix))
}

/// A pickled composite again, from the list of the distinct matrices in it.
#[pyfunction]
pub fn restore_parts<'py>(
    py: Python<'py>,
    parts: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyAny>> {
    let made = PyList::empty(py);
    for part in parts {
        let (family, parameters, requested): (
            Bound<'_, PyAny>,
            Bound<'_, PyDict>,
            Bound<'_, PyDict>,
        ) = part.extract()?;
        let parameters = parameters.copy()?;
        if let Some(places) = parameters.get_item("matrices")? {
            let places: Vec<usize> = places.extract()?;
            let matrices: PyResult<Vec<_>> = places.iter().map(|&i| made.get_item(i)).collect();
            parameters.set_item("matrices", matrices?)?;
        }
        made.append(restore(py, &family, &parameters, &requested)?)?;
    }
    match made.iter().last() {
        Some(last) => Ok(last),
        None => Err(Error::value("parts", "hold matrices", "none").into()),
    }
}
