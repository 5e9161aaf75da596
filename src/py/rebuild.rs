//! Pickled matrices: what is written, and the way back.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::convert::{self, Vectors};
use super::matrix::built;
use super::matrix::{Made, Matrix};
use super::package;
use crate::error::Error;
use crate::law::parameters::Value;

#[pymethods]
impl Matrix {
    /// A composite as the list of the distinct matrices in it, parts first, each naming its parts by their
    /// places: as deep as it is nested, and as often as it holds one matrix.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let core = package::CORE.get(py)?;
        if self.inner().is_composite() {
            let list = PyList::empty(py);
            let mut places = HashMap::new();
            let below = self.inner().below();
            for matrix in below.into_iter().chain([self.inner()]) {
                let parameters = PyDict::new(py);
                for (name, value) in matrix.parameters() {
                    let Value::Matrices(parts) = value else {
                        let one = convert::dictionary(py, [(*name, value)], Vectors::Arrays)?;
                        parameters.update(one.as_mapping())?;
                        continue;
                    };
                    let parts = parts.iter().map(|part| places.get(&part.place()).copied());
                    parameters
                        .set_item(*name, PyTuple::new(py, parts.map(|p| p.unwrap_or(0usize)))?)?;
                }
                places.insert(matrix.place(), list.len());
                let requested = matrix.requested.iter().map(|(n, v)| (n.as_str(), v));
                let requested = convert::dictionary(py, requested, Vectors::Lists)?;
                list.append((matrix.name(), parameters, requested))?;
            }
            return (core.getattr("restore_parts")?, (list,)).into_pyobject(py);
        }
        (
            core.getattr("restore")?,
            (self.inner().name(), arrays(py, self)?, self.requested(py)?),
        )
            .into_pyobject(py)
    }
}

/// The realised parameters with arrays instead of lists.
#[pyfunction]
pub fn arrays<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyDict>> {
    let parameters = matrix.inner().parameters();
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
    let none = || Error::value("parts", "hold matrices", "none");
    Ok(made.iter().last().ok_or_else(none)?)
}
