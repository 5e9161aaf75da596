//! Where the records are, as the caller said it, and the keys that go with that.

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::draw::randomize::{AnyKeys, Id, IntegerKeys, Keys, Randomizer, RowKeys};
use crate::error::Error;
use crate::law::Matrix;
use crate::py::convert::{as_array, integer, type_name};
use crate::py::secret::Secret;
use crate::py::work::{DETACH_FROM, detached};

/// Where the records are, as the caller said it, with the draws that have keys for such addresses.
pub enum Keyed<'m, 'py> {
    /// Consecutive rows from this one on.
    Rows(Randomizer<'m, RowKeys>, u64),
    /// An array of integers, and whether they have a sign.
    Integers(Randomizer<'m, IntegerKeys>, Bound<'py, PyAny>, bool),
    /// Anything that can be cut and turned into a list.
    Objects(Randomizer<'m, AnyKeys>, Bound<'py, PyAny>),
}

impl<'m, 'py> Keyed<'m, 'py> {
    /// Consecutive rows from this one on.
    pub fn rows(draws: Draws<'m, 'py>, row: u64) -> PyResult<Self> {
        Ok(Keyed::Rows(draws.derive()?, row))
    }

    /// One id for each of `len` records.
    pub fn ids(draws: Draws<'m, 'py>, ids: &Bound<'py, PyAny>, len: usize) -> PyResult<Self> {
        let must = "hold one whole number, text or bytes per record";
        // Of integers, whether they have a sign.
        let (items, signed) = if let Ok(tuple) = ids.cast::<PyTuple>() {
            (tuple.to_list().into_any(), None)
        } else if let Ok(list) = ids.cast::<PyList>() {
            // As it is now: another thread may change the list meanwhile.
            (list.get_slice(0, list.len()).into_any(), None)
        } else if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
            return Err(Error::type_("ids", must, type_name(ids)).into());
        } else {
            let array = as_array("ids", must, ids, false)?.call_method1("reshape", (-1,))?;
            let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
            let signed = match kind.as_str() {
                "i" => Some(true),
                "u" => Some(false),
                "S" => {
                    refuse_short(&array)?;
                    None
                }
                "O" | "U" | "T" => None,
                // None at all are of every kind, in whatever they come: an empty column has lost its own.
                _ if array.len()? == 0 => None,
                _ => {
                    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
                    return Err(Error::type_("ids", must, format!("dtype {name}")).into());
                }
            };
            (array, signed)
        };
        let got = items.len()?;
        if got != len {
            let must = format!("be one for each of the {len} records");
            return Err(Error::value("ids", must, got).into());
        }
        Ok(match signed {
            Some(signed) => Keyed::Integers(draws.derive()?, items, signed),
            None => Keyed::Objects(draws.derive()?, items),
        })
    }
}

/// A matrix and the key of a call.
#[derive(Clone, Copy)]
pub struct Draws<'m, 'py> {
    pub py: Python<'py>,
    pub matrix: &'m Matrix,
    pub secret: &'m Secret<'m>,
}

impl<'m> Draws<'m, '_> {
    /// The keys of all draws, for one kind of address.
    fn derive<K: Keys>(self) -> PyResult<Randomizer<'m, K>> {
        let Draws { py, matrix, secret } = self;
        // Tables are built and hashed once a matrix, which may take a while.
        let size = matrix.family.size();
        let tables = size.saturating_mul(size).max(DETACH_FROM);
        let (key, labels) = (secret.key(), &secret.labels);
        Ok(detached(py, tables, || {
            Randomizer::new(matrix, key, labels)
        })??)
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
                Err(Error::value(name, must, at("a text that does")).into())
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
