//! The entropy rate of an array.

use super::convert::{self};
use super::work::detached;
use crate::error::Error;
use crate::measure;
use numpy::{PyArrayDescrMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

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
/// ValueError: `array` must hold non-negative numbers whose rows and columns sum to 1; got a sum of 2 in column 0, off by 1.0e0
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
        measure::array_entropy_rate(numbers, size)
    })??)
}
