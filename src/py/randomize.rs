//! `Matrix.randomize` and `Matrix.respond`: a caller's codes, drawn by position or by ids, and the array that becomes
//! the answer.

use numpy::{PyArray1, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::PyInt;

use super::convert::{self, array_type, as_array, type_name, whole};
use super::ids::{HeldIds, one_id};
use super::key::{Secret, missing};
use super::matrix::Matrix;
use super::scalar::{Scalar, scalar};
use super::widths;
use super::work::{DETACH_FROM, detached};
use crate::draw::code::{CodeWidth, typed};
use crate::draw::randomize::{Addresses, randomize};
use crate::draw::respond::{keyed, with_words};
use crate::error::Error;
use crate::law;
use crate::system::pool;

/// Rows are counted below this.
const ROWS: u64 = 1 << 62;

#[pymethods]
impl Matrix {
    /// Draw a report for every true code, from the exact law of its row.
    ///
    /// ``codes`` are integers of any width, or bool, from 0 to ``size - 1``. They may come as an array of any
    /// shape, a list, or anything that NumPy reads as one. Missing values are refused. The result is an array of
    /// the same dtype and shape.
    ///
    /// Without a ``key`` the random words come from the operating system and are forgotten. With a key the same
    /// call gives the same reports again, for any number of threads. **Anyone with the key can undo the
    /// release.** A key needs
    ///
    /// * ``stream``, a name for this use of the key: take the name of the column, and never one name for two
    ///   columns, and
    /// * either ``start``, the row number of the first record, so that a column may come in pieces,
    /// * or ``ids``, one integer, text or bytes per record. The same person with the same value then gets the
    ///   same report in every file and wave, and an independent one as soon as the value changes.
    ///
    /// Never randomize two versions of a column under the same key, stream and rows: comparing the two releases
    /// reveals how the originals differ. With ``start``, put the wave into the name of the stream. With ``ids``,
    /// never do: everyone would get new noise in every wave, which averages away.
    ///
    /// For circulant, randomized response, reflected, geometric, uniform and T-transform matrices neither branches
    /// nor memory addresses depend on the true value. For the others they do.
    ///
    /// ``out`` is an array to write to, of the shape and dtype of ``codes``; it is returned. ``threads`` is the most
    /// threads to use. The default is all of them, or ``BISTOCHASTIC_THREADS``. No other thread may change the
    /// arrays meanwhile.
    ///
    /// Text ids must not end in U+0000. NumPy drops zeros at the end of fixed-width items. So text (dtype ``U``)
    /// is read as NumPy shows it, and bytes (dtype ``S``) are refused if one is shorter than the width: pass a
    /// list or an object array.
    ///
    /// >>> import numpy as np
    /// >>> m = bs.randomized_response(4, beta=0.6)
    /// >>> codes = np.array([0, 1, 2, 3, 3, 3], dtype=np.uint8)
    /// >>> reports = m.randomize(codes)
    /// >>> reports.dtype, reports.shape
    /// (dtype('uint8'), (6,))
    /// >>> key = bs.Key.insecure(1)          # for examples; Key.generate() for releases
    /// >>> m.randomize(codes, key=key, stream="class", start=0)
    /// array([0, 1, 2, 3, 1, 2], dtype=uint8)
    /// >>> m.randomize(codes[4:], key=key, stream="class", start=4)
    /// array([1, 2], dtype=uint8)
    /// >>> m.randomize([0, 4])
    /// Traceback (most recent call last):
    ///     ...
    /// bistochastic.errors.Refused: `codes` must hold integers from 0 to 3; got one outside at position 1
    #[pyo3(signature = (codes, *, key=None, stream=None, start=None, ids=None, out=None, threads=None))]
    #[allow(clippy::too_many_arguments)]
    fn randomize<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
        key: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        start: Option<&Bound<'py, PyAny>>,
        ids: Option<&Bound<'py, PyAny>>,
        out: Option<Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let matrix = self.inner();
        if ids.is_some() && start.is_some() {
            let must = "be left out where ids address the records";
            return Err(Error::value("start", must, "both").into());
        }
        if ids.is_some() && key.is_none() {
            return Err(Error::value("key", "be given with ids", "none").into());
        }
        let threads = match threads {
            Some(threads) => whole("threads", threads, 1, pool::MOST as u64)? as usize,
            None => pool::threads(),
        };
        let row = start
            .map(|start| whole("start", start, 0, ROWS))
            .transpose()?;
        let secret = Secret::new(key, stream)?;
        if key.is_some() && row.is_none() && ids.is_none() {
            let must = "be given with a key, for one release, whose stream names the column and the wave; or ids, for \
                        people who come again, whose stream names only the column";
            return Err(Error::value("start", must, "none of both").into());
        }
        let draws = Draws {
            matrix,
            secret: &secret,
            column: Column::new(codes, matrix.size(), out)?,
            threads,
        };
        match ids {
            Some(ids) => draws.by_ids(py, ids),
            None => draws.draw(py, Addresses::Rows(row.unwrap_or(0))),
        }
    }

    /// One report, for a client that has one value.
    ///
    /// With a key, ``stream`` and ``id`` it is the report of ``randomize([code], ids=[id])``: asked again, the same
    /// person gives the same report. Without a key it is a fresh draw. Its random words come from a buffer that
    /// threads can share safely, that a forked child does not inherit, and that erases what was used. An empty ``id`` is
    /// drawn like any other, and tools refuse it.
    ///
    /// >>> m = bs.randomized_response(4, beta=0.6)
    /// >>> m.respond(2) in range(4)
    /// True
    /// >>> key = bs.Key.insecure(1)
    /// >>> m.respond(2, key=key, stream="class", id="person 7")
    /// 2
    /// >>> int(m.randomize([2], key=key, stream="class", ids=["person 7"])[0])
    /// 2
    #[pyo3(signature = (code, *, key=None, stream=None, id=None))]
    fn respond(
        &self,
        code: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
        id: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let matrix = self.inner();
        let u = one_code(code, matrix.truths())?;
        if !matrix.has_sampler() {
            // Tables take long once, and others need not wait for them.
            detached(code.py(), u64::MAX, || {
                matrix.sampler();
            })?;
        }
        if key.is_none() {
            if id.is_some() {
                return Err(Error::value("key", "be given with an id", "none").into());
            }
            let sampler = matrix.sampler();
            return Ok(with_words(|words| {
                sampler.respond(u, None, &mut |leaf, _, u| leaf.draw(u, words))
            })?);
        }
        let secret = Secret::new(key, stream)?;
        let Some(id) = id else {
            return Err(missing("id"));
        };
        let id = one_id("id", id, None)?;
        Ok(keyed(matrix, secret.key(), &secret.labels, u, id)?)
    }
}

/// A true code, never quoted.
fn one_code(code: &Bound<'_, PyAny>, size: u64) -> PyResult<u64> {
    if let Ok(plain) = code.cast_exact::<PyInt>()
        && let Ok(u) = plain.extract::<u64>()
        && u < size
    {
        return Ok(u);
    }
    let must = format!("be an integer from 0 to {}", size - 1);
    match scalar(code)? {
        Scalar::Whole(n) if (0..size.into()).contains(&n) => Ok(n as u64),
        Scalar::Whole(_) | Scalar::Beyond => {
            Err(Error::value("code", must, "a number outside").into())
        }
        _ => match convert::flag("code", code) {
            Ok(flag) if size == 2 => Ok(flag.into()),
            _ => Err(Error::type_("code", must, type_name(code)).into()),
        },
    }
}

/// A column under a matrix and a key.
pub struct Draws<'a, 'py> {
    pub matrix: &'a law::Matrix,
    pub secret: &'a Secret<'a>,
    pub column: Column<'py>,
    pub threads: usize,
}

impl<'py> Draws<'_, 'py> {
    /// Draw by ids, one per record.
    pub fn by_ids(self, py: Python<'py>, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (held, records) = (HeldIds::new(ids)?, self.column.len);
        if held.len() != records {
            let must = format!("be one for each of the {records} records");
            return Err(Error::value("ids", must, held.len()).into());
        }
        let read = held.read(py)?;
        self.draw(py, Addresses::Ids(read.ids()))
    }

    /// Draw for these addresses.
    pub fn draw(self, py: Python<'py>, addresses: Addresses<'_>) -> PyResult<Bound<'py, PyAny>> {
        // Tables are built and hashed once per matrix, which may take a while.
        let (matrix, size) = (self.matrix, self.matrix.size());
        let tables = size.saturating_mul(size).max(DETACH_FROM);
        let draws = detached(py, tables, || {
            matrix.digest();
            matrix.sampler().draws()
        })?;
        let numbers = (self.column.len as u64).saturating_mul(draws);
        let (key, labels, threads) = (self.secret.key(), &self.secret.labels, self.threads);
        let done = typed!(CodeWidth::of_bytes(self.column.bytes), T => {
            let codes = self.column.codes.as_ref().map(|codes| codes.cast::<PyArray1<T>>());
            let codes = codes.transpose()?.map(widths::read).transpose()?;
            let codes = codes.as_ref().map(|codes| codes.as_slice()).transpose()?;
            let mut out = widths::written(self.column.out.cast::<PyArray1<T>>()?)?;
            let out = out.as_slice_mut()?;
            detached(py, numbers, || {
                randomize(matrix, key, labels, codes, out, addresses, threads)
            })?
        });
        done?;
        self.column.finish()
    }
}

/// The caller's codes, and the array that becomes the answer.
pub struct Column<'py> {
    /// Contiguous and native, to be read; `None` if the codes were copied into `out`.
    pub codes: Option<Bound<'py, PyAny>>,
    /// Unsigned integers of the codes' width, one axis.
    pub out: Bound<'py, PyAny>,
    /// The same memory with the codes' type and shape.
    answer: Bound<'py, PyAny>,
    /// Whether the answer's bytes have to be swapped in the end.
    swapped: bool,
    /// Of one code.
    pub bytes: usize,
    /// Number of codes.
    pub len: usize,
}

const CODES: &str = "be an array of integers without missing values";

impl<'py> Column<'py> {
    /// Codes below `size`. If there is `room`, an array like the codes, the answer has its memory.
    pub fn new(
        codes: &Bound<'py, PyAny>,
        size: u64,
        room: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let py = codes.py();
        let numpy = py.import("numpy")?;
        let mut array = as_array("codes", CODES, codes, false)?.into_any();
        let shape = array.getattr("shape")?;
        let len: usize = array.getattr("size")?.extract()?;
        let dtype = array.getattr("dtype")?;
        let kind: String = dtype.getattr("kind")?.extract()?;
        let is_array = codes.cast::<PyUntypedArray>().is_ok();
        // An empty list or series has no type.
        if len == 0 && !is_array && matches!(kind.as_str(), "f" | "O") {
            array = array.call_method1("astype", ("int64",))?;
        } else if !matches!(kind.as_str(), "i" | "u" | "b") {
            let name: String = dtype.getattr("name")?.extract()?;
            return Err(Error::type_("codes", CODES, format!("dtype {name}")).into());
        }
        let dtype = array.getattr("dtype")?;
        let bytes: usize = dtype.getattr("itemsize")?.extract()?;
        let most = match kind.as_str() {
            "b" => 1,
            "u" => u64::MAX >> (64 - 8 * bytes),
            _ => i64::MAX as u64 >> (64 - 8 * bytes),
        };
        if size - 1 > most {
            let name: String = dtype.getattr("name")?.extract()?;
            let must = format!("have a dtype that holds {}", size - 1);
            return Err(Error::value("codes", must, name).into());
        }
        let unsigned = format!("u{bytes}");
        let native: bool = dtype.getattr("isnative")?.extract()?;
        // An array of the caller's holds native numbers, and nothing that is exchanged at the end.
        let swapped = !native && room.is_none();
        let plain = native && has_flags(&array, &["C_CONTIGUOUS", "ALIGNED"])?;
        // Through Python, so that an allocation that fails is a MemoryError.
        let own = dtype.call_method1("newbyteorder", ("=",))?;
        let result = match room {
            Some(room) => {
                let room = checked(room, &shape, &own)?;
                // What is interrupted would leave true codes among reported ones.
                if numpy
                    .call_method1("may_share_memory", (&array, &room))?
                    .extract()?
                {
                    let must = "share no memory with the codes";
                    return Err(Error::value("out", must, "an array that does").into());
                }
                room
            }
            None => numpy.call_method1("empty", (&shape, own))?,
        };
        let flat = |array: &Bound<'py, PyAny>| {
            array
                .call_method1("reshape", (-1,))?
                .call_method1("view", (&unsigned,))
        };
        let codes = if plain {
            Some(flat(&array)?)
        } else {
            numpy.call_method1("copyto", (&result, &array))?;
            None
        };
        Ok(Column {
            codes,
            out: flat(&result)?,
            answer: if swapped {
                result.call_method1("view", (dtype,))?
            } else {
                result
            },
            swapped,
            bytes,
            len,
        })
    }

    /// The answer.
    pub fn finish(self) -> PyResult<Bound<'py, PyAny>> {
        if self.swapped {
            self.answer.call_method1("byteswap", (true,))?;
        }
        Ok(self.answer)
    }
}

/// Whether an array has all of these flags.
fn has_flags(array: &Bound<'_, PyAny>, names: &[&str]) -> PyResult<bool> {
    let flags = array.getattr("flags")?;
    let mut held = names.iter().map(|name| flags.get_item(name)?.extract());
    held.try_fold(true, |all, flag: PyResult<bool>| Ok(all && flag?))
}

/// Room for an answer of this shape and type, one number after the other.
fn checked<'py>(
    room: Bound<'py, PyAny>,
    shape: &Bound<'py, PyAny>,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if room.cast::<PyUntypedArray>().is_ok()
        && room.getattr("shape")?.eq(shape)?
        && room.getattr("dtype")?.eq(dtype)?
        && has_flags(&room, &["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])?
    {
        return Ok(room);
    }
    Err(Error::value("out", "be an array like the codes", array_type(&room)).into())
}
