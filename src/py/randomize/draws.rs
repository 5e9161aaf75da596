//! A caller's codes drawn by position or by ids, and the array that becomes the answer.

use numpy::{PyArray1, PyUntypedArray};
use pyo3::prelude::*;

use crate::draw::code::{Width, typed};
use crate::draw::randomize::{Addresses, randomize};
use crate::error::Error;
use crate::law::Matrix;
use crate::py::convert::{array_type, as_array};
use crate::py::ids::HeldIds;
use crate::py::secret::Secret;
use crate::py::widths;
use crate::py::work::{DETACH_FROM, detached};

/// A column under a matrix and a key.
pub struct Draws<'a, 'py> {
    pub matrix: &'a Matrix,
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
        let done = typed!(Width::of_bytes(self.column.bytes), T => {
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
