//! Where the records are, as the caller said it.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyString, PyTuple};

use super::columns::as_array;
use crate::error::Error;
use crate::py::convert::type_name;
use crate::randomize::Id;

/// Where the records are, as the caller said it.
pub enum Given<'py> {
    /// Consecutive rows from this one on.
    From(u64),
    /// An array of integers, and whether they have a sign.
    Integers(Bound<'py, PyAny>, bool),
    /// Anything that can be cut and turned into a list.
    Objects(Bound<'py, PyAny>),
}

impl<'py> Given<'py> {
    /// One id a record.
    pub fn ids(ids: &Bound<'py, PyAny>, len: usize) -> PyResult<Self> {
        let must = "hold one whole number, text or bytes a record";
        let given = if let Ok(tuple) = ids.cast::<PyTuple>() {
            Given::Objects(tuple.to_list().into_any())
        } else if let Ok(list) = ids.cast::<PyList>() {
            // As it is now: another thread may change the list meanwhile.
            Given::Objects(list.get_slice(0, list.len()).into_any())
        } else if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
            return Err(Error::type_("ids", must, type_name(ids)).into());
        } else {
            if ids.hasattr("mask")? {
                return Err(Error::type_("ids", must, "a masked array").into());
            }
            let array = as_array("ids", must, ids)?.call_method1("reshape", (-1,))?;
            let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
            match kind.as_str() {
                "i" => Given::Integers(array, true),
                "u" => Given::Integers(array, false),
                "O" | "U" | "S" | "T" => Given::Objects(array),
                _ => {
                    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
                    return Err(Error::type_("ids", must, format!("dtype {name}")).into());
                }
            }
        };
        let got = match &given {
            Given::From(_) => len,
            Given::Integers(array, _) => array.len()?,
            Given::Objects(items) => items.len()?,
        };
        if got != len {
            let must = format!("be one for each of the {len} records");
            return Err(Error::value("ids", must, got).into());
        }
        Ok(given)
    }
}

/// One id. `position` says where it stands, if in an array.
pub fn id<'a>(name: &str, item: &'a Bound<'_, PyAny>, position: Option<usize>) -> PyResult<Id<'a>> {
    let must = "be a whole number from -2^63 to 2^64 - 1, a text or bytes";
    let at = |got: &str| match position {
        Some(position) => format!("{got} at position {position}"),
        None => got.to_owned(),
    };
    if let Ok(text) = item.cast::<PyString>() {
        // A half of a surrogate pair has no UTF-8. The id itself stays out of the error.
        return match text.to_str() {
            Ok(text) => Ok(Id::Text(text.as_bytes())),
            Err(_) => Err(Error::value(name, must, at("a text that is no Unicode")).into()),
        };
    }
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(Id::Bytes(bytes.as_bytes()));
    }
    let whole = item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>();
    let scalar = || Ok::<_, PyErr>(item.hasattr("dtype")? && item.hasattr("__index__")?);
    if !(whole || scalar()?) {
        let got = if item.is_none() { "none" } else { "another" };
        return Err(Error::type_(name, must, at(got)).into());
    }
    match item.extract::<i128>() {
        Ok(n) if (-(1 << 63)..1 << 64).contains(&n) => Ok(Id::Integer(n)),
        _ => Err(Error::value(name, must, at("another number")).into()),
    }
}
