//! Where the records are, as the caller said it, and the keys that go with that.

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::draw::randomize::{AnyKeys, IntegerKeys, Keys, Randomizer, RowKeys};
use crate::error::Error;
use crate::law::Matrix;
use crate::py::convert::{as_array, type_name};
use crate::py::secret::Secret;
use crate::py::spelled::{SpelledIds, of_array, of_column};
use crate::py::work::{DETACH_FROM, detached};

/// Where the records are, as the caller said it, with the draws that have keys for such addresses.
pub enum Keyed<'m, 'py> {
    /// Consecutive rows from this one on.
    Rows(Randomizer<'m, RowKeys>, u64),
    /// An array of integers, and whether they have a sign.
    Integers(Randomizer<'m, IntegerKeys>, Bound<'py, PyAny>, bool),
    /// Texts or bytes that were read once.
    Spelled(Randomizer<'m, AnyKeys>, Bound<'py, SpelledIds>),
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
        let refuse_other = |got: usize| {
            let must = format!("be one for each of the {len} records");
            if got == len {
                Ok(())
            } else {
                Err(Error::value("ids", must, got))
            }
        };
        // Of integers, whether they have a sign.
        let (items, signed) = if let Ok(tuple) = ids.cast::<PyTuple>() {
            (tuple.to_list().into_any(), None)
        } else if let Ok(list) = ids.cast::<PyList>() {
            // As it is now: another thread may change the list meanwhile.
            (list.get_slice(0, list.len()).into_any(), None)
        } else if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
            return Err(Error::type_("ids", must, type_name(ids)).into());
        } else if let Some(held) = spelled(ids)? {
            refuse_other(held.get().count())?;
            return Ok(Keyed::Spelled(draws.derive()?, held));
        } else {
            let array = as_array("ids", must, ids, false)?.call_method1("reshape", (-1,))?;
            let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
            let signed = match kind.as_str() {
                "i" => Some(true),
                "u" => Some(false),
                "S" | "U" => {
                    refuse_other(array.len()?)?;
                    if let Some(ids) = of_array(&array)? {
                        let held = Bound::new(array.py(), ids)?;
                        return Ok(Keyed::Spelled(draws.derive()?, held));
                    }
                    None
                }
                "O" | "T" => None,
                // None at all are of every kind, in whatever they come: an empty column has lost its own.
                _ if array.len()? == 0 => None,
                _ => {
                    let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
                    return Err(Error::type_("ids", must, format!("dtype {name}")).into());
                }
            };
            (array, signed)
        };
        refuse_other(items.len()?)?;
        Ok(match signed {
            Some(signed) => Keyed::Integers(draws.derive()?, items, signed),
            None => Keyed::Objects(draws.derive()?, items),
        })
    }
}

/// Texts or bytes that were read before, or that a library lays out as Arrow does.
fn spelled<'py>(ids: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, SpelledIds>>> {
    if let Ok(held) = ids.cast::<SpelledIds>() {
        return Ok(Some(held.clone()));
    }
    if ids.cast_exact::<PyUntypedArray>().is_ok() {
        return Ok(None);
    }
    of_column(ids)
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
