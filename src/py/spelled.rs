//! Ids that are texts or bytes, read once from the buffers of Arrow, NumPy and pandas: no object of Python's per
//! record. Their key is not known here, nor what is drawn.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::id::{NO_ZERO, ONE_ID, one_id};
use super::package;
use super::work::{detached, guarded};
use crate::draw::randomize::Id;
use crate::draw::spelled::{Fault, Part, Spelled};
use crate::error::Error;
use crate::system::pool;
use crate::system::stop::Paced;

/// Texts or bytes, one for each record, in as many parts as they came in.
#[pyclass(frozen, module = "bistochastic._core")]
pub struct SpelledIds {
    /// With the position of the first of each.
    parts: Vec<(usize, Spelled)>,
    len: usize,
    text: bool,
}

impl SpelledIds {
    fn new(text: bool, parts: impl IntoIterator<Item = Spelled>) -> Self {
        let (mut len, mut held) = (0, Vec::new());
        for part in parts {
            if !part.is_empty() {
                let n = part.len();
                held.push((len, part));
                len += n;
            }
        }
        SpelledIds {
            parts: held,
            len,
            text,
        }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.len
    }

    /// Whether they are texts, and no bytes.
    pub fn is_text(&self) -> bool {
        self.text
    }

    /// The parts, each with the position of its first.
    pub fn parts(&self) -> &[(usize, Spelled)] {
        &self.parts
    }

    /// Those from `start` on, up to `end` or the end of their part.
    pub fn from(&self, start: usize, end: usize) -> Part<'_> {
        let at = self.parts.partition_point(|(first, _)| *first <= start) - 1;
        let (first, part) = &self.parts[at];
        part.part(start - first, part.len().min(end - first))
    }
}

#[pymethods]
impl SpelledIds {
    fn __len__(&self) -> usize {
        self.len
    }

    /// Whether they are texts, and no bytes.
    #[getter]
    fn text(&self) -> bool {
        self.text
    }

    /// Objects of Python's, one for each.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (_, part) in &self.parts {
            let ids = part.part(0, part.len());
            for i in 0..part.len() {
                match std::str::from_utf8(ids.id(i)) {
                    Ok(text) if self.text => list.append(text)?,
                    _ => list.append(PyBytes::new(py, ids.id(i)))?,
                }
            }
        }
        Ok(list)
    }

    /// Those of some rows, which there are.
    fn take(&self, py: Python<'_>, rows: PyReadonlyArray1<'_, i64>) -> PyResult<SpelledIds> {
        let rows = rows.as_slice()?;
        if let Some(row) = rows
            .iter()
            .find(|&&row| row < 0 || row as usize >= self.len)
        {
            let must = format!("be rows of ids, below {}", self.len);
            return Err(Error::value("rows", must, format!("row {row}")).into());
        }
        let taken = detached(py, 16 * rows.len() as u64, || {
            let id = |&row: &i64| self.from(row as usize, row as usize + 1).id(0);
            Spelled::of(rows.iter().map(id))
        })?;
        Ok(SpelledIds::new(self.text, [taken]))
    }
}

/// The sentence about an id at a position, which says nothing of the id.
fn refuse(fault: Fault, first: usize, width: usize) -> Error {
    let at = |got: &str, i: usize| format!("{got} at position {}", first + i);
    match fault {
        Fault::NotUnicode(i) => Error::value("ids", ONE_ID, at("a text that is not Unicode", i)),
        Fault::EndsInZero(i) => Error::value("ids", NO_ZERO, at("a text that does", i)),
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

/// NumPy's own texts (`U`) or bytes (`S`), of one axis, as numbers one behind the other, and how many each has.
struct Fixed<'py> {
    numbers: Bound<'py, PyAny>,
    count: usize,
    width: usize,
    text: bool,
}

impl<'py> Fixed<'py> {
    /// None of what is neither.
    fn new(array: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let dtype = array.getattr("dtype")?;
        let kind: String = dtype.getattr("kind")?.extract()?;
        let text = match kind.as_str() {
            "U" => true,
            "S" => false,
            _ => return Ok(None),
        };
        let numpy = array.py().import("numpy")?;
        let (count, width): (usize, usize) = (array.len()?, dtype.getattr("itemsize")?.extract()?);
        let (view, width) = if text {
            ("uint32", width / 4)
        } else {
            ("uint8", width)
        };
        let numbers = if width == 0 || count == 0 {
            numpy.call_method1("empty", (0, view))?
        } else {
            let native = dtype.call_method1("newbyteorder", ("=",))?;
            let plain = numpy.call_method1("require", (array, native, "CA"))?;
            plain.call_method1("view", (view,))?
        };
        Ok(Some(Fixed {
            numbers,
            count,
            width,
            text,
        }))
    }
}

/// NumPy's own texts (`U`) and bytes (`S`), of one axis, copied; `None` for anything else.
pub fn of_array(array: &Bound<'_, PyAny>) -> PyResult<Option<SpelledIds>> {
    Fixed::new(array)?.map(|fixed| copied(&fixed)).transpose()
}

/// Texts of NumPy's that one thread copies at a time.
const PIECE: usize = 1 << 17;

fn copied(fixed: &Fixed<'_>) -> PyResult<SpelledIds> {
    let Fixed {
        numbers: plain,
        count,
        width,
        text,
    } = fixed;
    let (py, count, width) = (plain.py(), *count, *width);
    let read = if *text {
        let chars = plain.cast::<PyArray1<u32>>()?.readonly();
        let chars = chars.as_slice()?;
        let pieces = count.div_ceil(PIECE);
        detached(py, chars.len() as u64, || {
            pool::map(pieces, pieces < 2, |i| {
                let (first, end) = (PIECE * i, count.min(PIECE * (i + 1)));
                let some = chars.get(width * first..width * end).unwrap_or(&[]);
                Spelled::from_wide(width, end - first, some)
            })
        })?
    } else {
        let bytes = plain.cast::<PyArray1<u8>>()?.readonly();
        let bytes = bytes.as_slice()?;
        vec![detached(py, bytes.len() as u64, || {
            // A shorter one may have been another.
            let mut last = bytes.chunks_exact(width.max(1)).map(|id| id[width - 1]);
            match last.position(|byte| byte == 0) {
                Some(i) => Err(Fault::Short(i)),
                None => Spelled::from_fixed(width, count, bytes),
            }
        })?]
    };
    let mut parts = Vec::new();
    for (i, part) in read.into_iter().enumerate() {
        parts.push(part.map_err(|fault| refuse(fault, PIECE * i, width))?);
    }
    Ok(SpelledIds::new(*text, parts))
}

/// Ids of which all are texts, or all bytes, and whether they are texts; none of others, or where there are none.
pub fn of_ids(ids: &[Id<'_>]) -> Option<(Spelled, bool)> {
    let is_text = |id: &Id<'_>| matches!(id, Id::Text(_));
    let is_bytes = |id: &Id<'_>| matches!(id, Id::Bytes(_));
    let text = is_text(ids.first()?);
    if !ids
        .iter()
        .all(|id| if text { is_text(id) } else { is_bytes(id) })
    {
        return None;
    }
    let body = |id| match id {
        Id::Text(text) => str::as_bytes(text),
        Id::Bytes(bytes) => bytes,
        Id::Integer(_) => &[],
    };
    Some((Spelled::of(ids.iter().map(|&id| body(id))), text))
}

/// Objects of Python's that are read at a time.
const OBJECTS: usize = 1 << 16;

/// The ids in a list from `start` on, as many as are read at a time.
fn objects<T>(
    list: &Bound<'_, PyList>,
    start: usize,
    then: impl FnOnce(&[Id<'_>]) -> PyResult<T>,
) -> PyResult<T> {
    list.py().check_signals()?;
    let some = list.get_slice(start, start.saturating_add(OBJECTS));
    let items: Vec<Bound<'_, PyAny>> = some.iter().collect();
    let ids: PyResult<Vec<Id<'_>>> = items
        .iter()
        .enumerate()
        .map(|(i, item)| one_id("ids", item, Some(start + i)))
        .collect();
    then(&ids?)
}

/// A list of which all are texts, or all bytes, read once; none of any other list.
fn spelled_objects(list: &Bound<'_, PyList>) -> PyResult<Option<SpelledIds>> {
    let (mut parts, mut kind, mut start) = (Vec::new(), None, 0);
    while start < list.len() {
        let found = objects(list, start, |ids| {
            start += ids.len();
            guarded(|| of_ids(ids))
        })?;
        match found {
            Some((part, text)) if kind.is_none_or(|kind| kind == text) => {
                kind = Some(text);
                parts.push(part);
            }
            _ => return Ok(None),
        }
    }
    Ok(kind.map(|text| SpelledIds::new(text, parts)))
}

/// Texts or bytes from buffers, piece by piece; the first word of a piece says how it is laid out:
///
/// * ``("offsets", offsets, data)``, ``("views", views, [data, ...])``, ``("fixed", width, count, data)``,
/// * ``("entries", piece, indices)``: each record has an entry of the piece.
#[pyfunction]
pub fn spelled_ids(
    py: Python<'_>,
    text: bool,
    pieces: Vec<Bound<'_, PyTuple>>,
) -> PyResult<SpelledIds> {
    let (mut parts, mut first) = (Vec::new(), 0);
    for piece in &pieces {
        let mut part = read(py, piece)?;
        if text {
            part = detached(py, u64::MAX, || part?.texts())?;
        }
        let part = part.map_err(|fault| refuse(fault, first, 0))?;
        first += part.len();
        parts.push(part);
    }
    Ok(SpelledIds::new(text, parts))
}

fn read(py: Python<'_>, piece: &Bound<'_, PyTuple>) -> PyResult<Result<Spelled, Fault>> {
    type Bytes<'py> = PyReadonlyArray1<'py, u8>;
    let layout: String = piece.get_item(0)?.extract()?;
    match &*layout {
        "offsets" => {
            let (offsets, data) = (piece.get_item(1)?, piece.get_item(2)?);
            let data: Bytes<'_> = data.extract()?;
            let data = data.as_slice()?;
            if let Ok(offsets) = offsets.extract::<PyReadonlyArray1<'_, i32>>() {
                let offsets = offsets.as_slice()?;
                let numbers = offsets.len() as u64;
                detached(py, numbers, || Spelled::from_offsets(offsets, data))
            } else {
                let offsets: PyReadonlyArray1<'_, i64> = offsets.extract()?;
                let offsets = offsets.as_slice()?;
                let numbers = offsets.len() as u64;
                detached(py, numbers, || Spelled::from_offsets(offsets, data))
            }
        }
        "views" => {
            let views: Bytes<'_> = piece.get_item(1)?.extract()?;
            let views = views.as_slice()?;
            let buffers: Vec<Bytes<'_>> = piece.get_item(2)?.extract()?;
            let buffers: Result<Vec<&[u8]>, _> = buffers.iter().map(|b| b.as_slice()).collect();
            let buffers = buffers?;
            let numbers = views.len() as u64;
            detached(py, numbers, || Spelled::from_views(views, &buffers))
        }
        "fixed" => {
            let (width, count) = (piece.get_item(1)?.extract()?, piece.get_item(2)?.extract()?);
            let data: Bytes<'_> = piece.get_item(3)?.extract()?;
            let data = data.as_slice()?;
            detached(py, count as u64, || Spelled::from_fixed(width, count, data))
        }
        _ => {
            let entries = read(py, &piece.get_item(1)?.cast_into::<PyTuple>()?)?;
            let indices: PyReadonlyArray1<'_, i64> = piece.get_item(2)?.extract()?;
            let indices = indices.as_slice()?;
            let numbers = indices.len() as u64;
            detached(py, numbers, || entries?.indexed(indices))
        }
    }
}

/// What a row is addressed by, a column at a time.
enum Cells<'a> {
    Signed(&'a [i64]),
    Unsigned(&'a [u64]),
    Spelled(&'a SpelledIds),
    Listed(&'a [Id<'a>]),
}

impl Cells<'_> {
    fn len(&self) -> usize {
        match self {
            Cells::Signed(numbers) => numbers.len(),
            Cells::Unsigned(numbers) => numbers.len(),
            Cells::Spelled(ids) => ids.len,
            Cells::Listed(ids) => ids.len(),
        }
    }

    fn at(&self, row: usize) -> Id<'_> {
        match self {
            Cells::Signed(numbers) => Id::Integer(numbers[row].into()),
            Cells::Unsigned(numbers) => Id::Integer(numbers[row].into()),
            Cells::Listed(ids) => ids[row],
            // Not looked at as text again: bytes either way.
            Cells::Spelled(ids) => Id::Bytes(ids.from(row, row + 1).id(0)),
        }
    }

    /// How many bytes [`write`](Cells::write) writes.
    fn size(&self, row: usize) -> usize {
        match self.at(row) {
            Id::Text(text) => 9 + text.len(),
            Id::Bytes(body) => 9 + body.len(),
            Id::Integer(_) => 17,
        }
    }

    /// The bytes of one cell: its type, its length and its body, so that nothing can be cut in two ways.
    fn write(&self, row: usize, to: &mut Vec<u8>) {
        let mut spelled = |kind: u8, body: &[u8]| {
            to.push(kind);
            to.extend_from_slice(&(body.len() as u64).to_le_bytes());
            to.extend_from_slice(body);
        };
        match (self, self.at(row)) {
            (Cells::Spelled(ids), Id::Bytes(body)) if ids.text => spelled(b't', body),
            (_, Id::Text(text)) => spelled(b't', text.as_bytes()),
            (_, Id::Bytes(body)) => spelled(b'b', body),
            (_, Id::Integer(n)) => {
                to.push(b'i');
                to.extend_from_slice(&n.to_le_bytes());
            }
        }
    }
}

/// One text of bytes for each row, of what its columns hold: no two rows share one.
///
/// Each part is its type, its length and its bytes, so that nothing can be cut in two ways.
#[pyfunction]
pub fn joined_ids(py: Python<'_>, columns: Vec<Bound<'_, PyAny>>) -> PyResult<SpelledIds> {
    enum Held<'py> {
        Signed(PyReadonlyArray1<'py, i64>),
        Unsigned(PyReadonlyArray1<'py, u64>),
        Spelled(Bound<'py, SpelledIds>),
        Listed(Vec<Bound<'py, PyAny>>),
    }
    let mut held = Vec::new();
    for column in &columns {
        held.push(if let Ok(ids) = column.cast::<SpelledIds>() {
            Held::Spelled(ids.clone())
        } else if let Ok(list) = column.cast::<PyList>() {
            match spelled_objects(list)? {
                Some(ids) => Held::Spelled(Bound::new(py, ids)?),
                None => Held::Listed(list.iter().collect()),
            }
        } else if let Ok(numbers) = column.extract() {
            Held::Signed(numbers)
        } else {
            Held::Unsigned(column.extract()?)
        });
    }
    let mut lists = Vec::new();
    for column in &held {
        let mut ids = Vec::new();
        if let Held::Listed(items) = column {
            for (i, item) in items.iter().enumerate() {
                ids.push(one_id("ids", item, Some(i))?);
            }
        }
        lists.push(ids);
    }
    let mut cells = Vec::new();
    for (column, ids) in held.iter().zip(&lists) {
        cells.push(match column {
            Held::Signed(numbers) => Cells::Signed(numbers.as_slice()?),
            Held::Unsigned(numbers) => Cells::Unsigned(numbers.as_slice()?),
            Held::Spelled(ids) => Cells::Spelled(ids.get()),
            Held::Listed(_) => Cells::Listed(ids),
        });
    }
    let rows = cells.first().map_or(0, Cells::len);
    if let Some(other) = cells.iter().find(|column| column.len() != rows) {
        let must = format!("have {rows} rows each");
        return Err(Error::value("columns", must, other.len()).into());
    }
    let cells = &cells;
    let joined = detached(py, u64::MAX, || {
        let sizes = (0..rows).flat_map(|row| cells.iter().map(move |column| column.size(row)));
        Spelled::written(rows, sizes.paced().sum(), |row, to| {
            for column in cells {
                column.write(row, to);
            }
        })
    })?;
    Ok(SpelledIds::new(false, [joined]))
}

/// A caller's column of texts or bytes, whose library lays it out as Arrow does; none of other columns.
pub fn of_column<'py>(given: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, SpelledIds>>> {
    let found = package::SPELLED.get(given.py())?.call1(("ids", given))?;
    if found.is_none() {
        return Ok(None);
    }
    Ok(Some(found.cast_into::<SpelledIds>()?))
}

/// The ids of a caller as they are best read: texts and bytes from their buffers, lists of them read once, and
/// anything else as it is.
#[pyfunction]
pub fn hold_ids<'py>(ids: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = ids.py();
    let held = match ids.cast::<PyList>() {
        Ok(list) => spelled_objects(list)?,
        Err(_) if ids.cast::<SpelledIds>().is_ok() => None,
        Err(_) => of_array(&ids)?,
    };
    match held {
        Some(held) => Ok(Bound::new(py, held)?.into_any()),
        None => Ok(ids),
    }
}
