//! `Matrix.decompose` and `decompose_all`, with all their options given.

use pyo3::prelude::*;

use super::decomposition::Made;
use super::options::{self, fits, is_small};
use crate::birkhoff;
use crate::error::Error;
use crate::py::convert::type_name;
use crate::py::law::Matrix;
use crate::py::package;
use crate::py::supervise::supervised;

/// See :meth:`Matrix.decompose`.
#[pyfunction(name = "decompose")]
#[allow(clippy::too_many_arguments)]
pub fn decompose_one(
    py: Python<'_>,
    matrix: &Matrix,
    policy: &Bound<'_, PyAny>,
    bits: Option<&Bound<'_, PyAny>>,
    mass: &Bound<'_, PyAny>,
    max_terms: Option<&Bound<'_, PyAny>>,
    restarts: &Bound<'_, PyAny>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Made> {
    let options = options::read(policy, bits, mass, max_terms, restarts, progress)?;
    fits(matrix.inner())?;
    let inner = supervised(py, is_small(matrix, &options), progress, |control| {
        birkhoff::decompose(matrix.inner(), &options, 1.0, control)
    })?;
    Ok(Made::new(inner, &options))
}

/// See :func:`bistochastic.decompose_all`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn decompose_all(
    py: Python<'_>,
    matrices: &Bound<'_, PyAny>,
    policy: &Bound<'_, PyAny>,
    bits: Option<&Bound<'_, PyAny>>,
    mass: &Bound<'_, PyAny>,
    max_terms: Option<&Bound<'_, PyAny>>,
    restarts: &Bound<'_, PyAny>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Made>> {
    let options = options::read(policy, bits, mass, max_terms, restarts, progress)?;
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
    let all = supervised(py, false, progress, |control| {
        birkhoff::decompose_all(&given, &options, control)
    })?;
    Ok(all
        .into_iter()
        .map(|inner| Made::new(inner, &options))
        .collect())
}
