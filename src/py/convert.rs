//! Values and errors across the boundary.

use std::sync::Arc;

use numpy::{
    IntoPyArray, PyArrayDescrMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyList, PyString};

use super::exact;
use super::matrix::Matrix;
use crate::error::Error;
use crate::parameters::Value;

/// An exception of `bistochastic.errors`.
fn named(class: &str, text: &str) -> PyErr {
    Python::attach(|py| {
        let error = py
            .import("bistochastic.errors")
            .and_then(|errors| errors.getattr(class))
            .and_then(|class| class.call1((text,)));
        match error {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        }
    })
}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        let text = error.to_string();
        match error {
            Error::Value(_) => PyValueError::new_err(text),
            Error::Type(_) => PyTypeError::new_err(text),
            Error::Index(_) => PyIndexError::new_err(text),
            Error::Guarantee(_) => named("GuaranteeError", &text),
            Error::Memory(_) => named("OutOfMemoryError", &text),
        }
    }
}

/// The name of a type, for a sentence.
pub fn type_name(value: &Bound<'_, PyAny>) -> String {
    value
        .get_type()
        .name()
        .map_or_else(|_| "something else".to_owned(), |name| name.to_string())
}

/// `(numerator, denominator)` of a rational number of Python.
fn ratio(value: &Bound<'_, PyAny>) -> Option<(i128, i128)> {
    let part = |name| value.getattr(name).ok()?.extract::<i128>().ok();
    Some((part("numerator")?, part("denominator")?)).filter(|r| r.1 > 0)
}

/// One parameter.
pub fn value(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let must = "be a number or a vector of numbers";
    if given.is_instance_of::<PyBool>()
        || given.is_instance_of::<PyString>()
        || given.is_instance_of::<PyBytes>()
    {
        return Err(Error::type_(name, must, type_name(given)).into());
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(Value::Real(given.extract()?));
    }
    // NumPy's scalars, and arrays without an axis, are the number they hold.
    if given.hasattr("dtype")? && given.getattr("ndim")?.extract::<usize>()? == 0 {
        let kind: String = given.getattr("dtype")?.getattr("kind")?.extract()?;
        let item = given.call_method0("item")?;
        return match kind.as_str() {
            "f" | "i" | "u" => value(name, &item),
            _ => Err(Error::type_(name, must, type_name(given)).into()),
        };
    }
    if let Ok(items) = given.cast::<PyList>()
        && items.iter().any(|item| item.cast::<Matrix>().is_ok())
    {
        let matrices: PyResult<Vec<_>> = items
            .iter()
            .map(|item| match item.cast::<Matrix>() {
                Ok(matrix) => Ok(matrix.get().inner().clone()),
                Err(_) => Err(Error::type_(name, "hold matrices", type_name(&item)).into()),
            })
            .collect();
        return Ok(Value::Matrices(matrices?.into()));
    }
    if given.hasattr("__len__")? && given.hasattr("__getitem__")? && !given.hasattr("keys")? {
        return vector(name, given);
    }
    if given.hasattr("__index__")? {
        return match given.extract::<i128>() {
            Ok(n) => Ok(Value::Whole(n)),
            Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
                Err(Error::value(name, "be below 2^127 in magnitude", "more").into())
            }
            Err(error) => Err(error),
        };
    }
    if given.hasattr("numerator")? && given.hasattr("denominator")? {
        return match ratio(given) {
            Some((n, d)) => Ok(Value::Ratio(n, d)),
            None => {
                Err(Error::value(name, "have a denominator from 1 to below 2^63", "another").into())
            }
        };
    }
    match given.extract::<f64>() {
        Ok(x) => Ok(Value::Real(x)),
        Err(_) => Err(Error::type_(name, must, type_name(given)).into()),
    }
}

fn vector(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = given.py();
    let must = "be a vector of numbers of one kind";
    let numpy = py.import("numpy")?;
    let array = numpy
        .call_method1("asarray", (given,))
        .map_err(|_| Error::type_(name, must, type_name(given)))?;
    let untyped = array.cast::<PyUntypedArray>()?;
    let shape = match *untyped.shape() {
        [_] => None,
        [rows, columns] => Some((rows, columns)),
        _ => {
            let got = format!("{} axes", untyped.ndim());
            return Err(Error::value(name, must, got).into());
        }
    };
    let flat = array.call_method1("reshape", (-1,))?;
    let cells = cells(name, &flat, untyped.dtype().kind())?;
    Ok(match shape {
        None => cells,
        Some((rows, columns)) => Value::Table(rows, columns, Box::new(cells)),
    })
}

/// The numbers of an array with one axis.
fn cells(name: &str, array: &Bound<'_, PyAny>, kind: u8) -> PyResult<Value> {
    let must = "be a vector of numbers of one kind";
    let numpy = array.py().import("numpy")?;
    let cast = |kind: &str| numpy.call_method1("require", (array, kind, "CA"));
    match kind {
        b'f' => {
            let array = cast("float64")?;
            let array: PyReadonlyArray1<'_, f64> = array.extract()?;
            Ok(Value::Reals(array.as_slice()?.into()))
        }
        b'i' => {
            let array = cast("int64")?;
            let array: PyReadonlyArray1<'_, i64> = array.extract()?;
            Ok(Value::Wholes(array.as_slice()?.into()))
        }
        b'u' => {
            let array = cast("uint64")?;
            let array: PyReadonlyArray1<'_, u64> = array.extract()?;
            let counts: std::result::Result<Arc<[i64]>, _> = array
                .as_slice()?
                .iter()
                .map(|&c| i64::try_from(c))
                .collect();
            counts
                .map(Value::Wholes)
                .map_err(|_| Error::value(name, "hold numbers below 2^63", "more").into())
        }
        b'O' => {
            let ratios: Option<Arc<[(i128, i128)]>> = array
                .try_iter()?
                .map(|item| item.ok().as_ref().and_then(ratio))
                .collect();
            ratios
                .map(Value::Ratios)
                .ok_or_else(|| Error::type_(name, must, "others").into())
        }
        _ => Err(Error::type_(name, must, "others").into()),
    }
}

/// Keyword arguments; those that are `None` were not given.
pub fn arguments(given: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
    given
        .iter()
        .filter(|(_, v)| !v.is_none())
        .map(|(k, v)| {
            let name: String = k.extract()?;
            let value = value(&name, &v)?;
            Ok((name, value))
        })
        .collect()
}

/// The form of a vector in Python.
#[derive(Clone, Copy)]
pub enum Vectors {
    /// Plain lists, to look at and compare.
    Lists,
    /// Arrays, to pickle.
    Arrays,
}

fn to_python<'py>(py: Python<'py>, value: &Value, vectors: Vectors) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Whole(n) => n.into_pyobject(py)?.into_any(),
        Value::Real(x) => x.into_pyobject(py)?.into_any(),
        Value::Ratio(n, d) => fraction(py)?.call1((n, d))?,
        Value::Wholes(counts) => match vectors {
            Vectors::Lists => counts.to_vec().into_pyobject(py)?.into_any(),
            Vectors::Arrays => counts.to_vec().into_pyarray(py).into_any(),
        },
        Value::Reals(reals) => reals.to_vec().into_pyobject(py)?.into_any(),
        Value::Matrices(matrices) => exact::list(py, matrices.iter().cloned().map(Into::into))?,
        Value::Table(rows, columns, cells) => {
            let array = to_python(py, cells, Vectors::Arrays)?
                .call_method1("reshape", (*rows, *columns))?;
            match vectors {
                Vectors::Lists => array.call_method0("tolist")?,
                Vectors::Arrays => array,
            }
        }
        Value::Ratios(ratios) => {
            let fraction = fraction(py)?;
            let list: PyResult<Vec<_>> = ratios.iter().map(|r| fraction.call1(*r)).collect();
            list?.into_pyobject(py)?.into_any()
        }
    })
}

/// The class `fractions.Fraction`, imported when first needed.
pub fn fraction(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("fractions")?.getattr("Fraction")
}

/// Parameters as a dictionary.
pub fn dictionary<'py, 'a>(
    py: Python<'py>,
    parameters: impl IntoIterator<Item = (&'a str, &'a Value)>,
    vectors: Vectors,
) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, value) in parameters {
        dictionary.set_item(name, to_python(py, value, vectors)?)?;
    }
    Ok(dictionary)
}

/// A category given by a caller, from 0 to `size - 1`.
pub fn code(name: &str, given: &Bound<'_, PyAny>, size: u64) -> PyResult<u64> {
    let must = format!("be from 0 to {}", size - 1);
    if given.is_instance_of::<PyBool>() || !given.hasattr("__index__")? {
        return Err(Error::type_(name, must, type_name(given)).into());
    }
    match given.extract::<i128>() {
        Ok(code) if (0..i128::from(size)).contains(&code) => Ok(code as u64),
        Ok(code) => Err(Error::index(name, must, code).into()),
        Err(_) => Err(Error::index(name, must, "a number beyond 2^127").into()),
    }
}

/// A number given by a caller to be checked against.
pub fn real(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<f64>> {
    Ok(match given {
        None => None,
        Some(given) => match value(name, given)? {
            Value::Real(x) => Some(x),
            Value::Whole(n) => Some(n as f64),
            Value::Ratio(n, d) => Some(n as f64 / d as f64),
            _ => return Err(Error::type_(name, "be a number", type_name(given)).into()),
        },
    })
}

/// A whole number from `low` to `high`.
pub fn whole(name: &str, given: &Bound<'_, PyAny>, low: u64, high: u64) -> PyResult<u64> {
    let must = format!("be a whole number from {low} to {high}");
    if given.is_instance_of::<PyBool>() || !given.hasattr("__index__")? {
        return Err(Error::type_(name, must, type_name(given)).into());
    }
    match given.extract::<i128>() {
        Ok(n) if (i128::from(low)..=i128::from(high)).contains(&n) => Ok(n as u64),
        Ok(n) => Err(Error::value(name, must, n).into()),
        Err(_) => Err(Error::value(name, must, "another").into()),
    }
}
