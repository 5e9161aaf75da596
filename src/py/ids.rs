//! Ids of a caller, one or one per record, from whatever holds them. Strings and bytes are read once from the buffers of
//! Arrow, NumPy and pandas, without a Python object per record; their key is not known here, nor what is drawn.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::convert::{as_array, integer, type_name};
use super::widths::readable;
use super::work::{detached, guarded};
use crate::draw::plan::joined;
use crate::draw::randomize::{Id, Ids};
use crate::draw::string_ids::{Fault, Spelled};
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

/// Strings or bytes, one per record.
#[pyclass(frozen, module = "bistochastic._core")]
pub struct SpelledIds {
    pub ids: Spelled,
    /// Whether they are strings, as opposed to bytes.
    pub is_text: bool,
}

impl SpelledIds {
    /// As the core takes them.
    pub fn held(&self) -> Ids<'_> {
        match self.is_text {
            true => Ids::Texts(self.ids.all()),
            false => Ids::Bytes(self.ids.all()),
        }
    }
}

#[pymethods]
impl SpelledIds {
    fn __len__(&self) -> usize {
        self.ids.all().len()
    }

    /// Whether they are strings, as opposed to bytes.
    #[getter]
    fn text(&self) -> bool {
        self.is_text
    }

    /// Make a list of Python objects.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for i in 0..self.ids.all().len() {
            let id = self.ids.all().id(i);
            match std::str::from_utf8(id) {
                Ok(text) if self.is_text => list.append(text)?,
                _ => list.append(PyBytes::new(py, id))?,
            }
        }
        Ok(list)
    }

    /// The position of the first one without a byte, if any.
    #[getter]
    fn first_empty(&self) -> Option<usize> {
        let all = self.ids.all();
        (0..all.len()).find(|&i| all.id(i).is_empty())
    }

    /// Copy the ids of some rows.
    fn take(&self, py: Python<'_>, rows: PyReadonlyArray1<'_, i64>) -> PyResult<SpelledIds> {
        let (rows, len) = (rows.as_slice()?, self.ids.all().len());
        if let Some(row) = rows.iter().find(|&&row| row < 0 || row as usize >= len) {
            let must = format!("be rows of ids, below {len}");
            return Err(Error::value("rows", must, format!("row {row}")).into());
        }
        let all = self.ids.all();
        let ids = detached(py, 16 * rows.len() as u64, || {
            Spelled::of(rows.iter().map(|&row| all.id(row as usize)))
        })?;
        let is_text = self.is_text;
        Ok(SpelledIds { ids, is_text })
    }
}

/// The sentence about an id at a position, which says nothing of the id.
fn refuse(fault: Fault, width: usize) -> Error {
    let at = |got: &str, i: usize| format!("{got} at position {i}");
    match fault {
        Fault::NotUnicode(i) => Error::value("ids", ONE_ID, at("a string that is not Unicode", i)),
        Fault::EndsInZero(i) => Error::value("ids", NO_ZERO, at("a string that does", i)),
        Fault::Short(i) => {
            let must = format!(
                "fill the {width} bytes of a fixed-width array, or be a list, an object array or Arrow binary"
            );
            Error::value("ids", must, at("a shorter one", i))
        }
        Fault::Nowhere(i) => {
            let must = "lie in buffers that hold together";
            Error::value("ids", must, at("one that points nowhere", i))
        }
    }
}

/// Read ids in work that may take a while.
fn read(
    py: Python<'_>,
    is_text: bool,
    width: usize,
    add: impl FnOnce(&mut Spelled) -> Result<(), Fault> + Send,
) -> PyResult<SpelledIds> {
    let ids = detached(py, u64::MAX, || {
        let mut ids = Spelled::room(0, 0);
        add(&mut ids)?;
        let ids = ids.finish();
        if is_text {
            ids.check_texts()?;
        }
        Ok(ids)
    })?;
    let ids = ids.map_err(|fault| refuse(fault, width))?;
    Ok(SpelledIds { ids, is_text })
}

/// Read strings (`U`) or bytes (`S`) of NumPy, of one axis.
pub fn of_array(array: &Bound<'_, PyAny>, is_text: bool) -> PyResult<SpelledIds> {
    let (py, dtype) = (array.py(), array.getattr("dtype")?);
    let width: usize = dtype.getattr("itemsize")?.extract()?;
    if width == 0 {
        // Empty strings or bytes, of which an array has no bytes.
        let ids = guarded(|| Spelled::of(std::iter::repeat_n(&b""[..], array.len().unwrap_or(0))))?;
        return Ok(SpelledIds { ids, is_text });
    }
    let native = dtype.call_method1("newbyteorder", ("=",))?;
    let numpy = py.import("numpy")?;
    let plain = numpy.call_method1("require", (array, native, "CA"))?;
    if is_text {
        let chars: PyReadonlyArray1<'_, u32> = readable(&plain.call_method1("view", ("uint32",))?)?;
        let chars = chars.as_slice()?;
        return read(py, true, width, |ids| ids.add_wide(width / 4, chars));
    }
    let bytes: PyReadonlyArray1<'_, u8> = readable(&plain.call_method1("view", ("uint8",))?)?;
    let bytes = bytes.as_slice()?;
    read(py, false, width, |ids| ids.add_fixed(width, bytes))
}

/// Python objects that are read between two looks at signals.
const OBJECTS: usize = 1 << 16;

/// Read objects that are all strings, or all bytes; `None` if they are not, or if there are none.
pub fn of_items(py: Python<'_>, items: &[Bound<'_, PyAny>]) -> PyResult<Option<SpelledIds>> {
    let (mut ids, mut kind) = (Spelled::room(0, 0), None);
    for (n, some) in items.chunks(OBJECTS).enumerate() {
        py.check_signals()?;
        let alike = guarded(|| -> PyResult<bool> {
            for (i, item) in some.iter().enumerate() {
                let (text, id) = match one_id("ids", item, Some(n * OBJECTS + i))? {
                    Id::Text(id) => (true, id),
                    Id::Bytes(id) => (false, id),
                    Id::Integer(_) => return Ok(false),
                };
                if *kind.get_or_insert(text) != text {
                    return Ok(false);
                }
                ids.push(id);
            }
            Ok(true)
        })?;
        if !alike? {
            return Ok(None);
        }
    }
    let ids = guarded(|| ids.finish())?;
    Ok(kind.map(|is_text| SpelledIds { ids, is_text }))
}

/// Read strings or bytes from pairs of offsets and data, as Arrow holds them.
#[pyfunction]
pub fn spelled_ids<'py>(
    py: Python<'py>,
    text: bool,
    pieces: Vec<(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>)>,
) -> PyResult<SpelledIds> {
    let mut slices = Vec::new();
    for (offsets, data) in &pieces {
        slices.push((offsets.as_slice()?, data.as_slice()?));
    }
    read(py, text, 0, |ids| {
        slices
            .iter()
            .try_for_each(|(offsets, data)| ids.add_offsets(offsets, data))
    })
}
