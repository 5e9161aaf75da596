//! Where the records are, as the caller said it.

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::error::Error;
use crate::py::convert::{as_array, integer, type_name};
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
            let array = as_array("ids", must, ids, false)?.call_method1("reshape", (-1,))?;
            let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
            match kind.as_str() {
                "i" => Given::Integers(array, true),
                "u" => Given::Integers(array, false),
                "S" => {
                    refuse_short(&array)?;
                    Given::Objects(array)
                }
                "O" | "U" | "T" => Given::Objects(array),
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

/// NumPy drops zeros at the end of bytes of a fixed width, so that a shorter id may have been another.
fn refuse_short(array: &Bound<'_, PyAny>) -> PyResult<()> {
    let width: usize = array.getattr("dtype")?.getattr("itemsize")?.extract()?;
    let strings = array.py().import("numpy")?.getattr("char")?;
    let lengths = strings.call_method1("str_len", (array,))?;
    let short = lengths.rich_compare(width, CompareOp::Lt)?;
    if short.call_method0("any")?.is_truthy()? {
        let position: usize = short.call_method0("argmax")?.extract()?;
        let must = format!(
            "fill the {width} bytes of a fixed-width array, or be a list, an object array or Arrow binary"
        );
        let got = format!("a shorter one at position {position}");
        return Err(Error::value("ids", must, got).into());
    }
    Ok(())
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
            // An array of text would drop the zero, and address somebody else.
            Ok(text) if text.ends_with('\0') => {
                let must = "not end in the character U+0000";
                Err(Error::value(name, must, at("one that does")).into())
            }
            Ok(text) => Ok(Id::Text(text.as_bytes())),
            Err(_) => Err(Error::value(name, must, at("a text that is no Unicode")).into()),
        };
    }
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(Id::Bytes(bytes.as_bytes()));
    }
    match integer(item)? {
        Some(Some(n)) if (-(1 << 63)..1 << 64).contains(&n) => Ok(Id::Integer(n)),
        Some(_) => Err(Error::value(name, must, at("a number outside")).into()),
        None if item.is_none() => Err(Error::type_(name, must, at("none")).into()),
        None => Err(Error::type_(name, must, at(&type_name(item))).into()),
    }
}
