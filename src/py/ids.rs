//! Ids of a caller, one or one per record, from whatever holds them.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::convert::{as_array, integer, type_name};
use super::string_ids::{SpelledIds, of_array, of_items};
use super::widths::readable;
use super::work::{detached, guarded};
use crate::draw::plan::joined;
use crate::draw::randomize::{Id, Ids};
use crate::error::Error;
use crate::system::memory;

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

/// What ids must be.
const IDS: &str = "hold one integer, string or bytes per record";

/// Ids of a caller, one per record.
pub enum HeldIds<'py> {
    Signed(PyReadonlyArray1<'py, i64>),
    Unsigned(PyReadonlyArray1<'py, u64>),
    Spelled(Bound<'py, SpelledIds>),
    /// Objects of any kinds.
    Listed(Vec<Bound<'py, PyAny>>),
}

/// The same as the core takes them.
pub enum ReadIds<'a> {
    Held(Ids<'a>),
    Listed(Vec<Id<'a>>),
}

impl ReadIds<'_> {
    pub fn ids(&self) -> Ids<'_> {
        match self {
            ReadIds::Held(ids) => *ids,
            ReadIds::Listed(ids) => Ids::Mixed(ids),
        }
    }
}

impl<'py> HeldIds<'py> {
    /// Read ids from whatever holds them.
    pub fn new(ids: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = ids.py();
        if let Ok(held) = ids.cast::<SpelledIds>() {
            return Ok(HeldIds::Spelled(held.clone()));
        }
        if let Ok(tuple) = ids.cast::<PyTuple>() {
            return HeldIds::listed(py, tuple.iter().collect());
        }
        if let Ok(list) = ids.cast::<PyList>() {
            // As it is now: another thread may change the list meanwhile.
            return HeldIds::listed(py, list.iter().collect());
        }
        if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
            return Err(Error::type_("ids", IDS, type_name(ids)).into());
        }
        let array = as_array("ids", IDS, ids, false)?.call_method1("reshape", (-1,))?;
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        let plain = |dtype: &str| {
            let numpy = py.import("numpy")?;
            numpy.call_method1("require", (&array, dtype, "CA"))
        };
        match kind.as_str() {
            "i" => Ok(HeldIds::Signed(readable(&plain("int64")?)?)),
            "u" => Ok(HeldIds::Unsigned(readable(&plain("uint64")?)?)),
            "U" | "S" => Ok(HeldIds::Spelled(Bound::new(
                py,
                of_array(&array, kind == "U")?,
            )?)),
            "O" | "T" => {
                let list = array.call_method0("tolist")?.cast_into::<PyList>()?;
                HeldIds::listed(py, list.iter().collect())
            }
            // An empty column has lost its type.
            _ if array.len()? == 0 => Ok(HeldIds::Listed(Vec::new())),
            _ => {
                let name: String = array.getattr("dtype")?.getattr("name")?.extract()?;
                Err(Error::type_("ids", IDS, format!("dtype {name}")).into())
            }
        }
    }

    fn listed(py: Python<'py>, items: Vec<Bound<'py, PyAny>>) -> PyResult<Self> {
        Ok(match of_items(py, &items)? {
            Some(ids) => HeldIds::Spelled(Bound::new(py, ids)?),
            None => HeldIds::Listed(items),
        })
    }

    pub fn len(&self) -> usize {
        match self {
            HeldIds::Signed(ids) => ids.len().unwrap_or(0),
            HeldIds::Unsigned(ids) => ids.len().unwrap_or(0),
            HeldIds::Spelled(ids) => ids.get().ids.all().len(),
            HeldIds::Listed(items) => items.len(),
        }
    }

    /// Read them as the core takes them.
    pub fn read(&self, py: Python<'py>) -> PyResult<ReadIds<'_>> {
        Ok(match self {
            HeldIds::Signed(ids) => ReadIds::Held(Ids::Signed(ids.as_slice()?)),
            HeldIds::Unsigned(ids) => ReadIds::Held(Ids::Unsigned(ids.as_slice()?)),
            HeldIds::Spelled(ids) => ReadIds::Held(ids.get().held()),
            HeldIds::Listed(items) => {
                let mut read = guarded(|| memory::room(items.len()))?;
                for (i, item) in items.iter().enumerate() {
                    if i % (1 << 16) == 0 {
                        py.check_signals()?;
                    }
                    read.push(one_id("ids", item, Some(i))?);
                }
                ReadIds::Listed(read)
            }
        })
    }
}

/// Join columns to one id per row: bytes that no row with other values has.
///
/// Each part is its type, its length and its bytes, so that nothing can be cut in two ways.
#[pyfunction]
pub fn joined_ids(py: Python<'_>, columns: Vec<Bound<'_, PyAny>>) -> PyResult<SpelledIds> {
    let held: Vec<HeldIds<'_>> = columns.iter().map(HeldIds::new).collect::<PyResult<_>>()?;
    let rows = held.first().map_or(0, HeldIds::len);
    if let Some(other) = held.iter().find(|column| column.len() != rows) {
        let must = format!("have {rows} rows each");
        return Err(Error::value("columns", must, other.len()).into());
    }
    let read = held.iter().map(|column| column.read(py));
    let read: Vec<_> = read.collect::<PyResult<_>>()?;
    let ids: Vec<Ids<'_>> = read.iter().map(|column| column.ids()).collect();
    let ids = detached(py, u64::MAX, || joined(&ids))?;
    Ok(SpelledIds {
        ids,
        is_text: false,
    })
}

/// Hold the ids of a caller as they are best read: strings and bytes are read once, anything else stays as it is.
#[pyfunction]
pub fn hold_ids<'py>(ids: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let kind: Option<String> = match ids.getattr("dtype") {
        Ok(dtype) => dtype.getattr("kind")?.extract().ok(),
        Err(_) => None,
    };
    if (ids.is_instance_of::<PyList>() || matches!(kind.as_deref(), Some("U" | "S")))
        && let HeldIds::Spelled(held) = HeldIds::new(&ids)?
    {
        return Ok(held.into_any());
    }
    Ok(ids)
}
