//! `Matrix.decompose` and `decompose_all`, with all their options given.

use pyo3::prelude::*;

use super::decomposition::Made;
use super::options::{self, Given, fits};
use crate::birkhoff;
use crate::error::Error;
use crate::py::convert::type_name;
use crate::py::law::Matrix;
use crate::py::package;
use crate::py::work::watched;

/// See :meth:`Matrix.decompose`.
#[pyfunction(name = "decompose")]
pub fn decompose_one(
    py: Python<'_>,
    matrix: &Matrix,
    options: Given<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Made> {
    let options = options::read(&options, progress)?;
    fits(matrix.inner())?;
    let matrix = matrix.inner();
    let inner = watched(py, progress, |share| {
        birkhoff::decompose(matrix, &options, 1.0, share)
    })?;
    Ok(Made::new(inner, &options))
}

/// See :func:`bistochastic.decompose_all`.
#[pyfunction]
pub fn decompose_all(
    py: Python<'_>,
    matrices: &Bound<'_, PyAny>,
    options: Given<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Made>> {
    let options = options::read(&options, progress)?;
    let must = "be matrices, one after the other";
    let other = |item: &Bound<'_, PyAny>| Error::type_("matrices", must, type_name(item));
    // A matrix has an index, so Python would take it for a sequence.
    if matrices.cast::<Matrix>().is_ok() {
        return Err(other(matrices).into());
    }
    let mut given = Vec::new();
    let items = package::ITEMS
        .get(py)?
        .call1(("matrices", must, matrices))?;
    for item in items.try_iter()? {
        let item = item?;
        let matrix = item.cast::<Matrix>().map_err(|_| other(&item))?;
        fits(matrix.get().inner())?;
        given.push(matrix.get().inner().clone());
    }
    let all = watched(py, progress, |share| {
        birkhoff::decompose_all(&given, &options, share)
    })?;
    Ok(all
        .into_iter()
        .map(|inner| Made::new(inner, &options))
        .collect())
}
