//! What the single lines of a matrix say, for the profile, and the entropy rate of an array.

use numpy::{IntoPyArray, PyArrayDescrMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::convert;
use super::law::Matrix;
use super::work::detached;
use crate::error::Error;
use crate::law::survey::RowBits;
use crate::number::{entropy, metric};

/// The survey of the lines as a dictionary; `None` if there are too many to look at.
#[pyfunction(name = "survey")]
pub fn of_lines<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    gammas: Vec<f64>,
    full: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let found = detached(py, u64::MAX, || matrix.inner().survey(&gammas, full))?;
    let Some(found) = found else {
        return Ok(None);
    };
    let lines = PyDict::new(py);
    lines.set_item("worst_row", found.worst_row)?;
    lines.set_item("worst_column", found.worst_column)?;
    lines.set_item("worst_exact", found.worst_exact)?;
    match found.row_bits {
        RowBits::Same(bits) => lines.set_item("row_bits", bits)?,
        RowBits::Each(each) => lines.set_item("row_bits", each.into_pyarray(py))?,
        RowBits::Unknown => lines.set_item("row_bits", None::<f64>)?,
    }
    lines.set_item("peaks", found.peaks)?;
    lines.set_item("peaks_exact", found.peaks_exact)?;
    lines.set_item("least_diagonal", found.least_diagonal)?;
    lines.set_item("deniability", found.deniability)?;
    let witness = found
        .witness
        .map(|witness| PyTuple::new(py, <[u64; 3]>::from(witness)));
    lines.set_item("witness", witness.transpose()?)?;
    Ok(Some(lines))
}

/// The metric epsilon of a table of probabilities under a table of costs.
#[pyfunction]
pub fn metric_epsilon(
    py: Python<'_>,
    dense: PyReadonlyArray2<'_, f64>,
    cost: PyReadonlyArray2<'_, f64>,
) -> PyResult<f64> {
    let size = dense.shape()[0];
    let (dense, cost) = (dense.as_slice()?, cost.as_slice()?);
    detached(py, u64::MAX, || metric::metric_epsilon(dense, cost, size))
}

/// Entropy rate in bits of a plain bistochastic array, Expression (4), in one parallel pass.
///
/// ``-(1/r) * sum of p_uv log2 p_uv`` with ``0 log 0 = 0``. The rows and columns must sum to 1 within 1e-9. The
/// result is a plain double. For a number that is never above the truth, build a :class:`Matrix` with
/// :func:`dense`.
///
/// >>> import numpy as np
/// >>> bs.entropy_rate(np.full((4, 4), 0.25))
/// 2.0
/// >>> bs.entropy_rate([[1, 0], [1, 0]])
/// Traceback (most recent call last):
///     ...
/// bistochastic.errors.Refused: `array` must hold non-negative numbers whose rows and columns sum to 1; got a sum of 2 in column 0, off by 1.0e0
#[pyfunction]
pub fn entropy_rate(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<f64> {
    let must = "be a square array of numbers";
    let plain = convert::as_array("array", must, array, true)?;
    if !matches!(plain.dtype().kind(), b'f' | b'i' | b'u') {
        let dtype: String = plain.dtype().getattr("name")?.extract()?;
        return Err(Error::type_("array", must, format!("dtype {dtype}")).into());
    }
    let shape = plain.shape();
    if shape.len() != 2 || shape[0] != shape[1] || shape[0] == 0 {
        return Err(Error::value("array", must, format!("shape {shape:?}")).into());
    }
    let plain = convert::as_doubles("array", &plain)?;
    let plain: PyReadonlyArray2<'_, f64> = plain.extract()?;
    let size = plain.shape()[0];
    let numbers = plain.as_slice()?;
    Ok(detached(py, numbers.len() as u64, || {
        entropy::entropy_rate(numbers, size)
    })??)
}
