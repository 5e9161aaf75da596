//! What a plan draws: columns by position in blocks, columns by ids, the key of a numeric column, pseudonyms. And
//! what it counts: the rows of an id.

use std::sync::{Mutex, PoisonError};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyList;
use zeroize::Zeroize;

use super::convert::type_name;
use super::key::Key;
use super::matrix::Matrix;
use super::randomize::{Columns, Draws, Keyed, one_id, run};
use super::secret::Secret;
use super::spelled::SpelledIds;
use super::work::detached;
use crate::draw::derive::{Label, Purpose, derive};
use crate::draw::hashing::{BLOCK, Hashing, Messages};
use crate::draw::key;
use crate::draw::randomize::Id;
use crate::draw::randomize::block::{self, Codes, Column, Labels, Refused};
use crate::draw::spelled::{Part, Prefixed};
use crate::draw::tally;
use crate::error::Error;
use crate::system::memory;
use crate::system::stop::Paced;
use crate::system::{erase, pool};

fn held<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a key::Key> {
    match key.cast::<Key>() {
        Ok(key) => Ok(key.get().inner()),
        Err(_) => Err(Error::type_("key", "be a Key", type_name(key)).into()),
    }
}

fn names(columns: &[String]) -> Vec<Label> {
    columns.iter().cloned().map(Label::Text).collect()
}

/// The 32 bytes that identify a family with its realised parameters, as hexadecimal digits.
///
/// >>> bs._core.digest_of(bs.uniform(5))[:16]
/// '67fd0e53643b28d9'
#[pyfunction]
pub fn digest_of(py: Python<'_>, matrix: &Bound<'_, Matrix>) -> PyResult<String> {
    let matrix = matrix.get().inner();
    let digest = detached(py, u64::MAX, || *matrix.digest())?;
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Arrays of one column, as they come: names, codes, missing rows, strata, matrices.
type Given<'py> = (
    Vec<String>,
    Bound<'py, PyAny>,
    Option<PyReadonlyArray1<'py, bool>>,
    Option<PyReadonlyArray1<'py, u32>>,
    Vec<Bound<'py, Matrix>>,
);

/// Borrowed codes, and the array that becomes the answer.
enum Arrays<'py> {
    One(PyReadonlyArray1<'py, u8>, Bound<'py, PyArray1<u8>>),
    Two(PyReadonlyArray1<'py, u16>, Bound<'py, PyArray1<u16>>),
    Four(PyReadonlyArray1<'py, u32>, Bound<'py, PyArray1<u32>>),
    Eight(PyReadonlyArray1<'py, u64>, Bound<'py, PyArray1<u64>>),
}

impl<'py> Arrays<'py> {
    fn new(codes: &Bound<'py, PyAny>) -> PyResult<Self> {
        fn of<'py, T: numpy::Element>(
            codes: &Bound<'py, PyAny>,
        ) -> PyResult<(PyReadonlyArray1<'py, T>, Bound<'py, PyArray1<T>>)> {
            // Through Python, so that an allocation that fails is a MemoryError.
            let numpy = codes.py().import("numpy")?;
            let out = numpy.call_method1("empty_like", (codes,))?.cast_into()?;
            Ok((
                codes.cast::<PyArray1<T>>()?.try_readonly().map_err(busy)?,
                out,
            ))
        }
        let bytes: usize = codes.getattr("itemsize")?.extract()?;
        Ok(match bytes {
            1 => of(codes).map(|(given, out)| Arrays::One(given, out))?,
            2 => of(codes).map(|(given, out)| Arrays::Two(given, out))?,
            4 => of(codes).map(|(given, out)| Arrays::Four(given, out))?,
            _ => of(codes).map(|(given, out)| Arrays::Eight(given, out))?,
        })
    }

    fn answer(self) -> Bound<'py, PyAny> {
        match self {
            Arrays::One(_, out) => out.into_any(),
            Arrays::Two(_, out) => out.into_any(),
            Arrays::Four(_, out) => out.into_any(),
            Arrays::Eight(_, out) => out.into_any(),
        }
    }
}

fn busy(_: impl std::fmt::Display) -> PyErr {
    Error::value("codes", "not be written meanwhile", "an array in use").into()
}

/// Reports of the columns of a plan by position: consecutive blocks of rows, from block number ``first`` on, up to the
/// end of the table where ``last``. Each column is (names, codes, missing rows, strata, matrices).
#[pyfunction]
pub fn plan_blocks<'py>(
    py: Python<'py>,
    key: &Bound<'py, PyAny>,
    plan: &str,
    release: &str,
    columns: Vec<Given<'py>>,
    first: u64,
    last: bool,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let key = held(key)?;
    let labels: Vec<Vec<Label>> = columns.iter().map(|given| names(&given.0)).collect();
    let arrays: PyResult<Vec<_>> = columns.iter().map(|given| Arrays::new(&given.1)).collect();
    let arrays = arrays?;
    let mut outs = Vec::new();
    for array in &arrays {
        outs.push(match array {
            Arrays::One(_, out) => Out::One(out.try_readwrite().map_err(busy)?),
            Arrays::Two(_, out) => Out::Two(out.try_readwrite().map_err(busy)?),
            Arrays::Four(_, out) => Out::Four(out.try_readwrite().map_err(busy)?),
            Arrays::Eight(_, out) => Out::Eight(out.try_readwrite().map_err(busy)?),
        });
    }
    let mut blocks = Vec::new();
    for (((given, labels), array), out) in columns.iter().zip(&labels).zip(&arrays).zip(&mut outs) {
        let codes = match (array, out) {
            (Arrays::One(codes, _), Out::One(out)) => {
                Codes::One(codes.as_slice()?, out.as_slice_mut()?)
            }
            (Arrays::Two(codes, _), Out::Two(out)) => {
                Codes::Two(codes.as_slice()?, out.as_slice_mut()?)
            }
            (Arrays::Four(codes, _), Out::Four(out)) => {
                Codes::Four(codes.as_slice()?, out.as_slice_mut()?)
            }
            (Arrays::Eight(codes, _), Out::Eight(out)) => {
                Codes::Eight(codes.as_slice()?, out.as_slice_mut()?)
            }
            _ => unreachable!("outputs are made from their arrays"),
        };
        blocks.push(Column {
            names: labels,
            codes,
            missing: given.2.as_ref().map(|array| array.as_slice()).transpose()?,
            strata: given.3.as_ref().map(|array| array.as_slice()).transpose()?,
            matrices: given.4.iter().map(|m| m.get().inner()).collect(),
        });
    }
    let labels = Labels { plan, release };
    let threads = pool::threads();
    let drawn = detached(py, u64::MAX, || {
        erase::after(|| block::run(key, labels, blocks, (first, last), threads))
    })?;
    drawn.map_err(|refused| match refused {
        Refused::Call(error) => error,
        Refused::Code(column, row) => Error::value(
            "codes",
            "be those of their matrix and stratum",
            format!("another in column {column}, row {row}"),
        ),
    })?;
    drop(outs);
    Ok(arrays.into_iter().map(Arrays::answer).collect())
}

enum Out<'py> {
    One(numpy::PyReadwriteArray1<'py, u8>),
    Two(numpy::PyReadwriteArray1<'py, u16>),
    Four(numpy::PyReadwriteArray1<'py, u32>),
    Eight(numpy::PyReadwriteArray1<'py, u64>),
}

/// Reports of a column of a plan by ids: the same person with the same code has the same report in every file.
#[pyfunction]
#[pyo3(signature = (key, plan, columns, matrix, codes, ids, out=None))]
#[expect(clippy::too_many_arguments)]
pub fn plan_ids<'py>(
    py: Python<'py>,
    key: &Bound<'py, PyAny>,
    plan: &str,
    columns: Vec<String>,
    matrix: &Bound<'py, Matrix>,
    codes: &Bound<'py, PyAny>,
    ids: &Bound<'py, PyAny>,
    out: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let labels = Label::plan(plan, [Label::List(names(&columns))]);
    let secret = Secret::labelled(held(key)?, labels);
    let matrix = matrix.get().inner();
    let size = matrix.family.size();
    let columns = Columns::into(codes, size, out)?;
    let draws = Draws {
        py,
        matrix,
        secret: &secret,
    };
    let keyed = Keyed::ids(draws, ids, columns.len)?;
    let sizes = (size, matrix.sampler().draws());
    let threads = pool::threads();
    match columns.bytes {
        1 => run::<u8>(py, &columns, &keyed, threads, sizes),
        2 => run::<u16>(py, &columns, &keyed, threads, sizes),
        4 => run::<u32>(py, &columns, &keyed, threads, sizes),
        _ => run::<u64>(py, &columns, &keyed, threads, sizes),
    }?;
    columns.finish()
}

/// The key of the order of a numeric column: another for other values.
///
/// ``values`` are the column as words of eight bytes; ``kind`` says of what.
#[pyfunction]
pub fn plan_column_key(
    py: Python<'_>,
    key: &Bound<'_, PyAny>,
    plan: &str,
    release: &str,
    column: &str,
    kind: &str,
    values: PyReadonlyArray1<'_, u64>,
) -> PyResult<Key> {
    let key = held(key)?;
    let release = Label::Text(release.into());
    let labels = Label::plan(plan, [release, Label::Text(column.into())]);
    let values = values.as_slice()?;
    let derived = detached(py, values.len() as u64, || {
        erase::after(|| {
            let secret = derive(key, Purpose::Column, &labels, &[], &[0; 32]);
            let mut hasher = blake3::Hasher::new_keyed(&secret);
            hasher.update(&(kind.len() as u64).to_le_bytes());
            hasher.update(kind.as_bytes());
            let mut buffer = memory::zeros::<u8>(1 << 16);
            for some in values.chunks(buffer.len() / 8) {
                for (cell, value) in buffer.chunks_exact_mut(8).zip(some) {
                    cell.copy_from_slice(&value.to_le_bytes());
                }
                hasher.update(&buffer[..8 * some.len()]);
            }
            buffer.zeroize();
            let mut digest = erase::empty();
            hasher.finalize_xof().fill(&mut digest[..]);
            hasher.zeroize();
            let digest = key::Key::from_bytes(**digest);
            let order = derive(&digest, Purpose::Order, &labels, &[], &[0; 32]);
            key::Key::from_bytes(**order)
        })
    })?;
    Ok(derived.into())
}

/// The key of the rows of one release, where rows rather than people are addressed.
#[pyfunction]
pub fn plan_row_key(key: &Bound<'_, PyAny>, plan: &str, release: &str) -> PyResult<Key> {
    let labels = Label::plan(plan, [Label::Text(release.into())]);
    let key = held(key)?;
    let derived = erase::after(|| {
        let secret = derive(key, Purpose::Rows, &labels, &[], &[0; 32]);
        key::Key::from_bytes(**secret)
    });
    Ok(derived.into())
}

/// Pseudonyms: a keyed hash of 16 bytes for every id, the same in every wave of a plan.
#[pyfunction]
pub fn plan_pseudonyms<'py>(
    py: Python<'py>,
    key: &Bound<'py, PyAny>,
    plan: &str,
    ids: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray2<u8>>> {
    let key = held(key)?;
    let labels = Label::plan(plan, []);
    let secret = erase::after(|| derive(key, Purpose::Pseudonym, &labels, &[], &[0; 32]));
    let hashing = Hashing::new(secret);
    let n = ids.len()?;
    let numpy = py.import("numpy")?;
    let out = numpy.call_method1("empty", ((n, 16), "uint8"))?;
    let out = out.cast_into::<PyArray2<u8>>()?;
    {
        let mut to = out.readwrite();
        let to = to.as_slice_mut()?;
        if let Ok(held) = ids.cast::<SpelledIds>() {
            let held = held.get();
            let kind = if held.is_text() { 1 } else { 2 };
            detached(py, u64::MAX, || {
                for (first, part) in held.parts() {
                    let to = &mut to[16 * first..16 * (first + part.len())];
                    match part.entries() {
                        None => hash_all(&hashing, kind, part.part(0, part.len()), to),
                        // Each different id once.
                        Some((entries, places)) => {
                            let mut each = memory::zeros::<u8>(16 * entries.len());
                            hash_all(&hashing, kind, entries, &mut each);
                            for (to, &place) in to.chunks_exact_mut(16).zip(places).paced() {
                                let at = 16 * place as usize;
                                to.copy_from_slice(&each[at..at + 16]);
                            }
                        }
                    }
                }
            })?;
        } else if let Ok(list) = ids.cast::<PyList>() {
            let hash = |kind: u8, id: &[u8], to: &mut [u8]| {
                to.copy_from_slice(&hashing.one(&[&[kind], id])[..16]);
            };
            for (i, (item, to)) in list.iter().zip(to.chunks_exact_mut(16)).enumerate() {
                match one_id("ids", &item, Some(i))? {
                    Id::Integer(n) => hash(0, &n.to_le_bytes(), to),
                    Id::Text(text) => hash(1, text.as_bytes(), to),
                    Id::Bytes(bytes) => hash(2, bytes, to),
                }
                if i % 65_536 == 0 {
                    py.check_signals()?;
                }
            }
        } else if let Ok(ids) = ids.cast::<PyArray1<i64>>() {
            let ids = ids.readonly();
            let ids = ids.as_slice()?;
            detached(py, 64 * n as u64, || hash_wholes(&hashing, ids, to))?;
        } else {
            let ids = ids.cast::<PyArray1<u64>>()?.readonly();
            let ids = ids.as_slice()?;
            detached(py, 64 * n as u64, || hash_wholes(&hashing, ids, to))?;
        }
    }
    erase::stack();
    Ok(out)
}

/// Records that a thread hashes at a time.
const HASHED: usize = 1 << 12;

/// 16 bytes for each of some messages, by all threads.
fn hash_messages<M: Messages>(
    hashing: &Hashing,
    to: &mut [u8],
    messages: impl Fn(usize, usize) -> M + Sync + Send,
) {
    pool::for_each_chunk(to, 16 * HASHED, false, |i, to| {
        let n = to.len() / 16;
        let some = messages(i * HASHED, i * HASHED + n);
        erase::after(|| {
            hashing.many(&some, n, |i, words: [u32; 4]| {
                for (to, word) in to[16 * i..16 * i + 16].chunks_exact_mut(4).zip(words) {
                    to.copy_from_slice(&word.to_le_bytes());
                }
            });
        });
    });
}

/// Pseudonyms of texts or bytes.
fn hash_all(hashing: &Hashing, kind: u8, ids: Part<'_>, to: &mut [u8]) {
    hash_messages(hashing, to, |start, end| Prefixed {
        ids: ids.part(start, end),
        at: |i| (i, [kind]),
    });
}

/// Whole numbers of 16 bytes behind a zero.
struct Wholes<'a, T>(&'a [T]);

impl<T: Copy + Into<i128>> Wholes<'_, T> {
    fn message(&self, i: usize) -> [u8; 17] {
        let mut message = [0; 17];
        message[1..].copy_from_slice(&self.0[i].into().to_le_bytes());
        message
    }
}

impl<T: Copy + Into<i128>> Messages for Wholes<'_, T> {
    fn len(&self, _i: usize) -> usize {
        17
    }

    fn block(&self, i: usize, _b: usize) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..17].copy_from_slice(&self.message(i));
        block
    }

    fn all(&self, i: usize, take: &mut dyn FnMut(&[u8])) {
        take(&self.message(i));
    }
}

/// Pseudonyms of whole numbers.
fn hash_wholes<T: Copy + Into<i128> + Sync>(hashing: &Hashing, ids: &[T], to: &mut [u8]) {
    hash_messages(hashing, to, |start, end| Wholes(&ids[start..end]));
}

/// Rows of an id, in bounded memory: Misra and Gries.
///
/// An id with more than ``bound`` rows is always found, and one with at most ``limit`` never. The two are the same up
/// to about 2^20 ids.
#[pyclass(frozen, module = "bistochastic._core")]
pub struct Tally(Mutex<tally::Tally>);

#[pymethods]
impl Tally {
    #[new]
    fn new(limit: u64) -> Self {
        Tally(Mutex::new(tally::Tally::new(limit)))
    }

    /// Count rows by their pseudonyms; the position of the first that is one too many, if any.
    fn add(&self, py: Python<'_>, pseudonyms: PyReadonlyArray2<'_, u8>) -> PyResult<Option<usize>> {
        let bytes = pseudonyms.as_slice()?;
        let threads = pool::threads();
        // Never with the GIL, which whoever holds the lock may be waiting for.
        detached(py, u64::MAX, || {
            let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            tally.add(bytes.as_chunks().0, threads)
        })
    }

    /// More rows than this would have been found.
    #[getter]
    fn bound(&self, py: Python<'_>) -> u64 {
        py.detach(|| {
            let tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            tally.bound()
        })
    }
}
