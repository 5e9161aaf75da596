//! Ids that are strings or bytes, read once from the buffers of Arrow, NumPy and pandas: no Python object per record.
//! Their key is not known here, nor what is drawn.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::ids::{NO_ZERO, ONE_ID, one_id};
use super::widths::readable;
use super::work::{detached, guarded};
use crate::draw::randomize::{Id, Ids};
use crate::draw::string_ids::{Fault, Spelled};
use crate::error::Error;

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
