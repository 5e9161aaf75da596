//! Arrays of integers of any width: the one file here that knows how wide.

use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use super::convert::{array_type, type_name};
use crate::draw::code::{ByWidth, CodeWidth, each};
use crate::error::Error;

type Array<'py, T> = Bound<'py, PyArray1<T>>;

/// An array of unsigned integers.
pub type Arrays<'py> = ByWidth<Array<'py, u8>, Array<'py, u16>, Array<'py, u32>, Array<'py, u64>>;

type Read<'py, T> = PyReadonlyArray1<'py, T>;

/// One that is read.
pub type Held<'py> = ByWidth<Read<'py, u8>, Read<'py, u16>, Read<'py, u32>, Read<'py, u64>>;

type Write<'py, T> = PyReadwriteArray1<'py, T>;

type Both<'py, T> = (Read<'py, T>, Write<'py, T>);

/// One that is read, and one of the same width that is written.
pub type Pair<'py> = ByWidth<Both<'py, u8>, Both<'py, u16>, Both<'py, u32>, Both<'py, u64>>;

fn busy(_: impl std::fmt::Display) -> PyErr {
    Error::value("codes", "not be written meanwhile", "an array in use").into()
}

/// An array to be read, if nothing writes to it.
pub fn read<'py, T: Element>(array: &Array<'py, T>) -> PyResult<PyReadonlyArray1<'py, T>> {
    array.try_readonly().map_err(busy)
}

/// An array to be written, if nothing else uses it.
pub fn written<'py, T: Element>(array: &Array<'py, T>) -> PyResult<Write<'py, T>> {
    array.try_readwrite().map_err(busy)
}

/// An array with one axis of this type, to be read.
pub fn readable<'py, T: Element>(given: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray1<'py, T>> {
    read(given.cast::<PyArray1<T>>()?)
}

fn bytes_of(array: &Bound<'_, PyAny>) -> usize {
    let array = array.cast::<PyUntypedArray>();
    array.map_or(8, |array| array.dtype().itemsize())
}

/// An array of unsigned integers, of whatever width.
pub fn array<'py>(name: &str, must: &str, given: &Bound<'py, PyAny>) -> PyResult<Arrays<'py>> {
    let other = |_| Error::type_(name, must, array_type(given));
    let width = CodeWidth::of_bytes(bytes_of(given));
    Ok(each!(width, as_such, () => as_such(given.cast().map_err(other)?.clone())))
}

/// The same to be read.
pub fn held<'py>(name: &str, must: &str, given: &Bound<'py, PyAny>) -> PyResult<Held<'py>> {
    Ok(each!(array(name, must, given)?, as_such, array => as_such(read(&array)?)))
}

/// The bits of integers with or without a sign, and how many of them are not negative.
pub fn bits<'py>(name: &str, given: &Bound<'py, PyAny>) -> PyResult<(Held<'py>, u64)> {
    let must = "be an array of integers without missing values";
    let Ok(array) = given.cast::<PyUntypedArray>() else {
        return Err(Error::type_(name, must, type_name(given)).into());
    };
    let (kind, bytes) = (array.dtype().kind(), array.dtype().itemsize());
    if !matches!(kind, b'i' | b'u') || array.dtype().is_native_byteorder() == Some(false) {
        return Err(Error::type_(name, must, format!("dtype {}", array.dtype())).into());
    }
    let most = u64::MAX >> (64 - 8 * bytes) >> u32::from(kind == b'i');
    let bits = given.call_method1("view", (format!("u{bytes}"),))?;
    Ok((held(name, must, &bits)?, most.saturating_add(1)))
}

/// Codes to be read, and their reports to be written.
pub fn pair<'py>(codes: &Bound<'py, PyAny>, out: &Bound<'py, PyAny>) -> PyResult<Pair<'py>> {
    let codes = array("codes", "be an array of unsigned integers", codes)?;
    Ok(each!(codes, as_such, codes => {
        as_such((read(&codes)?, written(out.cast()?)?))
    }))
}
