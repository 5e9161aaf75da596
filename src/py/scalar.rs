//! One number of a caller, whatever Python type it has.

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString, PyType};

use super::convert::{has, type_name};
use crate::error::Error;

/// `(numerator, denominator)` of a rational number of Python.
pub fn ratio(value: &Bound<'_, PyAny>) -> Option<(i128, i128)> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    let part = |name| value.getattr(name).ok()?.extract::<i128>().ok();
    Some((part("numerator")?, part("denominator")?)).filter(|r| r.1 > 0)
}

/// What one number of a caller is; every scalar is read by [`scalar`] and nowhere else.
pub enum Scalar {
    /// An integer.
    Whole(i128),
    /// An integer of 2^127 or more in magnitude.
    Beyond,
    /// A rational number.
    Ratio(i128, i128),
    /// A rational number with a denominator that is none, or too large.
    Odd,
    /// Any other; of more digits than a double (`numpy.longdouble`) the nearest one.
    Real(f64),
    /// No number: text, a boolean, a complex number, a date, a vector.
    Not,
}

/// The kind of a NumPy scalar, or of an array without an axis; `None` for anything else.
pub fn numpy_kind(given: &Bound<'_, PyAny>) -> PyResult<Option<u8>> {
    if let Ok(array) = given.cast::<PyUntypedArray>() {
        return Ok((array.ndim() == 0).then(|| array.dtype().kind()));
    }
    let py = given.py();
    let generic = py.import("numpy")?.getattr("generic")?;
    if !given.is_instance(&generic)? {
        return Ok(None);
    }
    let dtype = given.getattr("dtype")?;
    Ok(dtype.cast::<PyArrayDescr>().ok().map(|dtype| dtype.kind()))
}

/// Whether an array without an axis is masked, as `numpy.ma.masked` is.
fn is_masked(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    if given.cast::<PyUntypedArray>().is_err() || !has(given, "mask")? {
        return Ok(false);
    }
    given.getattr("mask")?.is_truthy()
}

/// `Some(Some(n))` for an integer of Python or NumPy, `Some(None)` if 128 bits do not hold it. Objects that merely convert
/// to an integer do not count.
pub fn integer(given: &Bound<'_, PyAny>) -> PyResult<Option<Option<i128>>> {
    if !given.is_instance_of::<PyInt>() && !matches!(numpy_kind(given)?, Some(b'i' | b'u')) {
        return Ok(None);
    }
    Ok(match scalar(given)? {
        Scalar::Whole(n) => Some(Some(n)),
        Scalar::Beyond => Some(None),
        _ => None,
    })
}

/// A float of NumPy's. One that only a longer type holds must not become infinite.
fn real_scalar(given: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    let x: f64 = given.extract()?;
    if x.is_infinite() {
        let numpy = given.py().import("numpy")?;
        if !numpy.call_method1("isinf", (given,))?.is_truthy()? {
            return Ok(Scalar::Beyond);
        }
    }
    Ok(Scalar::Real(x))
}

/// What `given` is.
pub fn scalar(given: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    let py = given.py();
    if given.is_instance_of::<PyBool>()
        || given.is_instance_of::<PyString>()
        || given.is_instance_of::<PyBytes>()
        || given.is_instance_of::<PyType>()
    {
        return Ok(Scalar::Not);
    }
    let whole = |given: &Bound<'_, PyAny>| match given.extract::<i128>() {
        Ok(n) => Ok(Scalar::Whole(n)),
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Ok(Scalar::Beyond),
        Err(error) => Err(error),
    };
    if given.is_instance_of::<PyInt>() {
        return whole(given);
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(Scalar::Real(given.extract()?));
    }
    if let Some(kind) = numpy_kind(given)? {
        return match kind {
            _ if is_masked(given)? => Ok(Scalar::Not),
            b'f' => real_scalar(given),
            // Before NumPy 2.0 its 64-bit ones without a sign cannot be shifted, as `extract` does.
            b'i' | b'u' => whole(&given.call_method0("__index__")?),
            // A complex number would lose a part.
            _ => Ok(Scalar::Not),
        };
    }
    if has(given, "__len__")? && given.len().is_ok() {
        return Ok(Scalar::Not);
    }
    let refused = |error: PyErr| {
        let ours =
            error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py);
        if ours { Ok(()) } else { Err(error) }
    };
    if has(given, "__index__")? {
        match whole(given) {
            // Some have the method and are not whole.
            Err(error) => refused(error)?,
            found => return found,
        }
    }
    if given.hasattr("numerator")? && given.hasattr("denominator")? {
        return Ok(ratio(given).map_or(Scalar::Odd, |(n, d)| Scalar::Ratio(n, d)));
    }
    if has(given, "__float__")? {
        match given.extract::<f64>() {
            Ok(x) => return Ok(Scalar::Real(x)),
            Err(error) => refused(error)?,
        }
    }
    Ok(Scalar::Not)
}

/// One integer of a caller from `low` to `high`, or of at least `low`, read here and nowhere else. Out of range it is an
/// error of an index if `is_index`.
fn whole_number(
    name: &str,
    given: &Bound<'_, PyAny>,
    low: i128,
    high: Option<i128>,
    is_index: bool,
) -> PyResult<i128> {
    let must = match high {
        None => format!("be an integer of at least {low}"),
        // Nobody would recognize its digits.
        Some(high) if high == i128::from(u64::MAX) => {
            format!("be an integer from {low} to 2^64 - 1")
        }
        Some(high) => format!("be an integer from {low} to {high}"),
    };
    let got = match scalar(given)? {
        Scalar::Whole(n) if n >= low && high.is_none_or(|high| n <= high) => return Ok(n),
        Scalar::Whole(n) => n.to_string(),
        Scalar::Beyond => "a number beyond 2^127".to_owned(),
        _ => return Err(Error::type_(name, must, type_name(given)).into()),
    };
    Err(match is_index {
        true => Error::index(name, must, got),
        false => Error::value(name, must, got),
    }
    .into())
}

/// An integer from `low` to `high`.
pub fn whole(name: &str, given: &Bound<'_, PyAny>, low: u64, high: u64) -> PyResult<u64> {
    whole_number(name, given, low.into(), Some(high.into()), false).map(|n| n as u64)
}

/// One code of ``size``; IndexError if it is outside.
#[pyfunction(name = "as_code")]
pub fn code(name: &str, given: &Bound<'_, PyAny>, size: u64) -> PyResult<u64> {
    let high = Some(i128::from(size) - 1);
    whole_number(name, given, 0, high, true).map(|n| n as u64)
}

/// True or False, as Python or NumPy writes them, and nothing that only counts as one of them.
#[pyfunction(name = "as_flag")]
pub fn flag(name: &str, given: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(flag.is_true());
    }
    if numpy_kind(given)? == Some(b'b') && !is_masked(given)? {
        return given.is_truthy();
    }
    Err(Error::type_(name, "be True or False", type_name(given)).into())
}

/// One number as a double, the nearest to it.
#[pyfunction]
pub fn as_real(name: &str, must: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    match scalar(given)? {
        Scalar::Real(x) => Ok(x),
        // By Python, which rounds once.
        Scalar::Whole(_) | Scalar::Ratio(..) | Scalar::Beyond => match given.extract::<f64>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
                Ok(f64::INFINITY.copysign(if given.gt(0)? { 1.0 } else { -1.0 }))
            }
            other => other,
        },
        Scalar::Odd | Scalar::Not => Err(Error::type_(name, must, type_name(given)).into()),
    }
}

/// One integer of at least ``low``, below 2^127.
#[pyfunction]
pub fn as_whole(name: &str, given: &Bound<'_, PyAny>, low: i128) -> PyResult<i128> {
    whole_number(name, given, low, None, false)
}
