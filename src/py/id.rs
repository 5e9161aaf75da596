//! One id of a caller.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::convert::{integer, type_name};
use crate::draw::randomize::Id;
use crate::error::Error;

/// What an id must be.
pub const ONE_ID: &str = "be a whole number from -2^63 to 2^64 - 1, a text or bytes";

/// What a text must not: an array of text would drop the zero, and address somebody else.
pub const NO_ZERO: &str = "not end in the character U+0000";

/// One id. `position` says where it stands, if in an array.
pub fn one_id<'a>(
    name: &str,
    item: &'a Bound<'_, PyAny>,
    position: Option<usize>,
) -> PyResult<Id<'a>> {
    let must = ONE_ID;
    let at = |got: &str| match position {
        Some(position) => format!("{got} at position {position}"),
        None => got.to_owned(),
    };
    if let Ok(text) = item.cast::<PyString>() {
        // A half of a surrogate pair has no UTF-8. The id itself stays out of the error.
        return match text.to_str() {
            Ok(text) if text.ends_with('\0') => {
                Err(Error::value(name, NO_ZERO, at("a text that does")).into())
            }
            Ok(text) => Ok(Id::Text(text)),
            Err(_) => Err(Error::value(name, must, at("a text that is not Unicode")).into()),
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
