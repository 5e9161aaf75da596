//! `Matrix.decompose` and `decompose_all`: what they are asked, what it would cost, and the work.

use pyo3::prelude::*;

use super::decomposition::{Decomposition, Made};
use crate::birkhoff::counts::MAX_SIZE;
use crate::birkhoff::{self, Options};
use crate::draw::derive::Label;
use crate::error::Error;
use crate::law::{self, Law};
use crate::py::convert::{as_real, type_name, whole};
use crate::py::law::Matrix;
use crate::py::work::watched;
use crate::py::{memory, package};

/// Mass, most terms and restarts, as `decompose` and `decompose_all` are given them.
pub type Given<'py> = (
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
);

/// Read the options of a decomposition.
fn read(given: &Given<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Options> {
    let (mass, max_terms, restarts) = given;
    let mut options = Options::default().mass(as_real("mass", "be a number", mass)?)?;
    if let Some(given) = max_terms {
        options = options.max_terms(whole("max_terms", given, 1, u64::MAX)?)?;
    }
    let options = options.restarts(whole("restarts", restarts, 1, 1 << 16)? as u32)?;
    if let Some(progress) = progress
        && !progress.is_callable()
    {
        let must = "be a function of the share that is done";
        return Err(Error::type_("progress", must, type_name(progress)).into());
    }
    Ok(options)
}

/// Refuse a matrix without zeros whose entries, copied and queued, would not fit in memory.
fn fits(matrix: &law::Matrix) -> Result<(), Error> {
    let size = matrix.size();
    match matrix.law() {
        Law::Dense { .. } | Law::Reflected { .. } if size <= MAX_SIZE => {
            memory::require("decompose", size, size, 32)
        }
        _ => Ok(()),
    }
}

/// A decomposition for Python. The matrix and the options decide its terms.
fn made(inner: birkhoff::Decomposition, options: &Options) -> Made {
    // The first two are those of all decompositions.
    let mut labels = vec![Label::Text("bottleneck".into()), Label::Integer(-1)];
    labels.extend(options.numbers().map(Label::Integer));
    Made(Decomposition {
        inner,
        options: labels,
    })
}

/// See :meth:`Matrix.decompose`.
#[pyfunction(name = "decompose")]
pub fn decompose_one(
    py: Python<'_>,
    matrix: &Matrix,
    options: Given<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Made> {
    let options = read(&options, progress)?;
    fits(matrix.inner())?;
    let matrix = matrix.inner();
    let inner = watched(py, progress, |share| {
        birkhoff::decompose(matrix, &options, 1.0, share)
    })?;
    Ok(made(inner, &options))
}

/// See :func:`bistochastic.decompose_all`.
#[pyfunction]
pub fn decompose_all(
    py: Python<'_>,
    matrices: &Bound<'_, PyAny>,
    options: Given<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Made>> {
    let options = read(&options, progress)?;
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
    Ok(all.into_iter().map(|inner| made(inner, &options)).collect())
}
