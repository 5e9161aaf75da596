//! Values and errors across the boundary.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use numpy::{
    IntoPyArray, PyArray1, PyArrayDescrMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyIndexError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::matrix::{self, Matrix};
use super::package::{self, Slot};
use super::scalar::{Scalar, numpy_kind, ratio, scalar};
pub use super::scalar::{as_real, code, flag, integer, whole};
use super::work::guarded;
use crate::error::{Error, Sentence};
use crate::law::parameters::Value;
use crate::system::memory;

/// An exception of the package, with what it knows beside its sentence.
fn named(class: &Slot, said: Sentence, known: &[(&str, Option<f64>)]) -> PyErr {
    Python::attach(|py| {
        let given = (said.name, said.must, said.got);
        let made = || class.get(py)?.call(given, Some(&known.into_py_dict(py)?));
        made().map_or_else(|error| error, PyErr::from_value)
    })
}

impl From<Error> for PyErr {
    fn from(error: Error) -> PyErr {
        match error {
            Error::Value(said) => named(&package::REFUSED, said, &[]),
            Error::Type(said) => named(&package::REFUSED_TYPE, said, &[]),
            Error::Index(said) => PyIndexError::new_err(said.to_string()),
            Error::Memory(said) => named(&package::MEMORY, said, &[]),
            Error::Reach { sentence, most } => named(&package::REACH, sentence, &[("most", most)]),
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

/// The same of an array, with the type of what it holds.
pub fn array_type(value: &Bound<'_, PyAny>) -> String {
    match value.cast::<PyUntypedArray>() {
        Ok(array) => format!("an array of {}", array.dtype()),
        Err(_) => type_name(value),
    }
}

/// Whether the type of `value` has `name`. An instance may answer to any name, and raise.
pub fn has(value: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    value.get_type().hasattr(name)
}

/// One parameter.
pub fn value(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let must = "be a number or a vector of numbers";
    // Before NumPy is asked, which would write matrices out.
    if given.cast::<Matrix>().is_ok() && name == "matrices" {
        return Err(Error::type_(name, "be a list of matrices", "one matrix").into());
    }
    let items = match given.cast::<PyTuple>() {
        Ok(tuple) => Some(tuple.to_list()),
        Err(_) => given.cast::<PyList>().ok().cloned(),
    };
    if let Some(items) = items
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
    if is_vector(given)? {
        return vector(name, given);
    }
    match scalar(given)? {
        Scalar::Whole(n) => Ok(Value::Whole(n)),
        Scalar::Ratio(n, d) => Ok(Value::Ratio(n, d)),
        Scalar::Real(x) => Ok(Value::Real(x)),
        Scalar::Beyond => {
            Err(Error::value(name, "be below 2^127 in magnitude", "2^127 or more").into())
        }
        Scalar::Odd => {
            let must = "have a denominator from 1 to below 2^63";
            Err(Error::value(name, must, "a denominator outside").into())
        }
        Scalar::Not => Err(Error::type_(name, must, type_name(given)).into()),
    }
}

/// Whether several numbers are given: a sequence, an array with an axis, a series, a frame, Arrow.
fn is_vector(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    // Most of what is given; all questions below would take as long as the matrix that is built.
    if given.is_exact_instance_of::<PyFloat>() || given.is_exact_instance_of::<PyInt>() {
        return Ok(false);
    }
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>() {
        return Ok(false);
    }
    if let Ok(array) = given.cast::<PyUntypedArray>() {
        return Ok(array.ndim() > 0);
    }
    let sequence = has(given, "__len__")? && has(given, "__getitem__")? && !has(given, "keys")?;
    // Without a length it is one number, whatever else it is.
    let array = || -> PyResult<bool> {
        let protocols = ["__array__", "__arrow_c_array__", "__arrow_c_stream__"];
        for protocol in protocols {
            if has(given, protocol)? {
                return Ok(!has(given, "__len__")? || given.len().is_ok());
            }
        }
        Ok(false)
    };
    Ok((sequence && given.len().is_ok()) || (numpy_kind(given)?.is_none() && array()?))
}

/// What a caller gave as a plain array; see `bistochastic.arguments.array`. `by_code` says that a place
/// in it is a code.
pub fn as_array<'py>(
    name: &str,
    must: &str,
    given: &Bound<'py, PyAny>,
    by_code: bool,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Ok(array) = given.cast_exact::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let py = given.py();
    let options = PyDict::new(py);
    options.set_item("by_code", by_code)?;
    let array = package::ARRAY
        .get(py)?
        .call((name, must, given), Some(&options))?;
    Ok(array.cast_into()?)
}

fn vector(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let must = "be a vector of numbers of one kind";
    let array = as_array(name, must, given, true)?;
    let shape = match *array.shape() {
        [_] => None,
        [rows, columns] => Some((rows, columns)),
        [] => return Err(Error::type_(name, must, type_name(given)).into()),
        _ => {
            let got = format!("{} axes", array.ndim());
            return Err(Error::value(name, must, got).into());
        }
    };
    let flat = array.call_method1("reshape", (-1,))?;
    let cells = cells(name, &flat, array.dtype().kind())?;
    Ok(match shape {
        None => cells,
        Some((rows, columns)) => Value::Table(rows, columns, Box::new(cells)),
    })
}

/// The numbers of an array as contiguous doubles. A finite one must not become infinite, which would mean
/// something else.
pub fn as_doubles<'py>(name: &str, array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let numpy = py.import("numpy")?;
    let bytes: usize = array.getattr("dtype")?.getattr("itemsize")?.extract()?;
    if bytes <= 8 {
        return numpy.call_method1("require", (array, "float64", "CA"));
    }
    let options = PyDict::new(py);
    options.set_item("over", "ignore")?;
    let quiet = numpy.call_method("errstate", (), Some(&options))?;
    quiet.call_method0("__enter__")?;
    let doubles = numpy.call_method1("require", (array, "float64", "CA"));
    quiet.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
    let doubles = doubles?;
    let infinite = |array| numpy.call_method1("isinf", (array,));
    let same = numpy.call_method1("array_equal", (infinite(&doubles)?, infinite(array)?))?;
    if !same.is_truthy()? {
        return Err(Error::value(name, "hold numbers below 2^1024", "2^1024 or more").into());
    }
    Ok(doubles)
}

/// What `work` makes of a contiguous array with one axis.
fn read<T: numpy::Element, R>(
    array: &Bound<'_, PyAny>,
    work: impl FnOnce(&[T]) -> R,
) -> PyResult<R> {
    let array: PyReadonlyArray1<'_, T> = array.extract()?;
    let numbers = array.as_slice()?;
    guarded(|| work(numbers))
}

/// The numbers of an array with one axis.
fn cells(name: &str, array: &Bound<'_, PyAny>, kind: u8) -> PyResult<Value> {
    let must = "be a vector of numbers of one kind";
    let numpy = array.py().import("numpy")?;
    let cast = |kind: &str| numpy.call_method1("require", (array, kind, "CA"));
    match kind {
        b'f' => Ok(Value::Reals(read(
            &as_doubles(name, array)?,
            memory::shared_copy,
        )?)),
        b'i' => Ok(Value::Wholes(read(&cast("int64")?, memory::shared_copy)?)),
        b'u' => {
            let counts = read(&cast("uint64")?, |numbers: &[u64]| {
                memory::all(numbers.iter().map(|&c| i64::try_from(c))).map(memory::shared)
            })?;
            counts
                .map(Value::Wholes)
                .map_err(|_| Error::value(name, "hold numbers below 2^63", "2^63 or more").into())
        }
        b'O' => {
            let ratios: PyResult<Arc<[(i128, i128)]>> = (0..)
                .zip(array.try_iter()?)
                .map(|(i, item): (usize, _)| {
                    let item = item?;
                    ratio(&item).ok_or_else(|| {
                        let got = format!("{} at position {i}", type_name(&item));
                        Error::type_(name, must, got).into()
                    })
                })
                .collect();
            Ok(Value::Ratios(ratios?))
        }
        _ => {
            let dtype: String = array.getattr("dtype")?.getattr("name")?.extract()?;
            Err(Error::type_(name, must, format!("dtype {dtype}")).into())
        }
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
            Vectors::Lists => listed(py, counts)?,
            Vectors::Arrays => guarded(|| memory::copied(counts))?
                .into_pyarray(py)
                .into_any(),
        },
        Value::Reals(reals) => listed(py, reals)?,
        Value::Matrices(matrices) => matrix::list(py, matrices.iter().cloned())?,
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

/// Numbers as a list, a stretch at a time: a long list can be interrupted, and memory that runs out is Python's.
fn listed<'py, T: numpy::Element + Copy>(
    py: Python<'py>,
    numbers: &[T],
) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for stretch in numbers.chunks(1 << 16) {
        py.check_signals()?;
        let stretch = PyArray1::from_slice(py, stretch).call_method0("tolist")?;
        list.call_method1("extend", (stretch,))?;
    }
    Ok(list.into_any())
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

/// A text that has UTF-8; half of a surrogate pair has none.
pub fn text<'a>(name: &str, must: &str, given: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    let Ok(text) = given.cast::<PyString>() else {
        return Err(Error::type_(name, must, type_name(given)).into());
    };
    let half = |_| Error::value(name, must, "one with half a surrogate pair").into();
    text.to_str().map_err(half)
}

/// The path of a file: text, or what says that it is a path, but no number, which would be an open file.
pub fn path(name: &str, given: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let (py, must) = (given.py(), "be the path of a file");
    let got = "one with a character that file names cannot have";
    let odd = || Error::value(name, must, got);
    let path: PathBuf = given.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyTypeError>(py) {
            Error::type_(name, must, type_name(given)).into()
        } else if error.is_instance_of::<PyValueError>(py) {
            // No bytes for it, or a zero byte.
            odd().into()
        } else {
            error
        }
    })?;
    match path.as_os_str().as_encoded_bytes().contains(&0) {
        true => Err(odd().into()),
        false => Ok(path),
    }
}

/// What the system says of a file, as Python says it: its own exception with number, words and name.
pub fn file_error(py: Python<'_>, path: &Path, error: io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return error.into();
    };
    let words = py
        .import("os")
        .and_then(|os| os.call_method1("strerror", (number,))?.extract::<String>());
    match words {
        Ok(words) => PyOSError::new_err((number, words, path.as_os_str().to_owned())),
        Err(error) => error,
    }
}

/// The path of a file, as text.
#[pyfunction]
pub fn as_path(name: &str, given: &Bound<'_, PyAny>) -> PyResult<OsString> {
    path(name, given).map(PathBuf::into_os_string)
}
