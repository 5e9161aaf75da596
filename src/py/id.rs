//! One id of a caller.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::convert::{integer, type_name};
use crate::draw::randomize::Id;
use crate::error::Error;

/// What an id must be.
pub const ONE_ID: &str = "be an integer from -2^63 to 2^64 - 1, a string or bytes";

/// What a string must not do: an array of strings would drop the zero, and address another person.
pub const NO_ZERO: &str = "not end in the character U+0000";

/// Read one id. `position` is its place in an array, if there is one.
pub fn one_id<'a>(
    name: &str,
    item: &'a Bound<'_, PyAny>,
    position: Option<usize>,
) -> PyResult<Id<'a>> {
    let at = |got: &str| match position {
        Some(position) => format!("{got} at position {position}"),
        None => got.to_owned(),
    };
    if let Ok(text) = item.cast::<PyString>() {
        // Half of a surrogate pair has no UTF-8. The id itself stays out of the error.
        return match text.to_str() {
            Ok(text) if text.ends_with('\0') => {
                Err(Error::value(name, NO_ZERO, at("a string that does")).into())
            }
            Ok(text) => Ok(Id::Text(text.as_bytes())),
            Err(_) => Err(Error::value(name, ONE_ID, at("a string that is not Unicode")).into()),
        };
    }
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(Id::Bytes(bytes.as_bytes()));
    }
    match integer(item)? {
        Some(Some(n)) if (-(1 << 63)..1 << 64).contains(&n) => Ok(Id::Integer(n)),
        Some(_) => Err(Error::value(name, ONE_ID, at("a number outside")).into()),
        None if item.is_none() => Err(Error::type_(name, ONE_ID, at("none")).into()),
        None => Err(Error::type_(name, ONE_ID, at(&type_name(item))).into()),
    }
}
