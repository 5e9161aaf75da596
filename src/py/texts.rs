//! Texts of Arrow as codes and back, for tables of plans.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use super::convert::array_type;
use super::work::{detached, guarded};
use crate::draw::texts::{self, Offset};
use crate::error::Error;
use crate::system::pool;

fn busy(_: impl std::fmt::Display) -> PyErr {
    Error::value("codes", "not be written meanwhile", "an array in use").into()
}

fn same_number(missing: Option<&[bool]>, rows: usize) -> PyResult<()> {
    match missing.map(<[bool]>::len) {
        Some(told) if told != rows => {
            let must = format!("say it of each of {rows} values");
            Err(Error::value("missing", must, told).into())
        }
        _ => Ok(()),
    }
}

/// The texts of a column, in the order of their codes.
///
/// >>> texts = bs._core.Texts(["no", "yes"])
/// >>> offsets, data = texts.spelled(np.array([1, 0, 1], "uint8"), None, False)
/// >>> offsets, data.tobytes()
/// (array([0, 3, 5, 8], dtype=int32), b'yesnoyes')
/// >>> texts.codes(offsets, data, None, "uint8")
/// array([1, 0, 1], dtype=uint8)
/// >>> bs._core.Texts(["no", "maybe"]).codes(offsets, data, None, "uint8") is None
/// True
#[pyclass(frozen, module = "bistochastic._core")]
pub struct Texts {
    inner: texts::Texts,
}

/// One of these arrays, at `$slice` in `$run`; an error for another.
macro_rules! with_one {
    ($name:literal, $array:expr, $slice:ident: $($kind:ty),* => $run:expr) => {{
        let array: &Bound<'_, PyAny> = $array;
        $(if let Ok(held) = array.cast::<PyArray1<$kind>>() {
            let held = held.try_readonly().map_err(busy)?;
            let $slice = held.as_slice()?;
            $run
        } else)* {
            let must = concat!("be an array of one of", $(" ", stringify!($kind),)*);
            return Err(Error::type_($name, must, array_type(array)).into());
        }
    }};
}

/// An array that codes are written into, at `$slice` in `$run`.
macro_rules! with_codes {
    ($array:expr, $slice:ident => $run:expr) => {{
        let array: &Bound<'_, PyAny> = $array;
        macro_rules! one {
            ($kind:ty) => {{
                let held = array.cast::<PyArray1<$kind>>()?;
                let mut held = held.try_readwrite().map_err(busy)?;
                let $slice = held.as_slice_mut()?;
                $run
            }};
        }
        let bytes: usize = array.getattr("itemsize")?.extract()?;
        match bytes {
            1 => one!(u8),
            2 => one!(u16),
            4 => one!(u32),
            _ => one!(u64),
        }
    }};
}

#[pymethods]
impl Texts {
    #[new]
    fn new(texts: Vec<String>) -> PyResult<Self> {
        guarded(|| Texts {
            inner: texts::Texts::new(texts.into_iter().map(String::into_bytes).collect()),
        })
    }

    /// The codes of texts, each ``data[offsets[i]:offsets[i + 1]]``, 0 where missing; None where one is none of these.
    fn codes<'py>(
        &self,
        py: Python<'py>,
        offsets: &Bound<'py, PyAny>,
        data: PyReadonlyArray1<'py, u8>,
        missing: Option<PyReadonlyArray1<'py, bool>>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let rows = offsets.len()?.saturating_sub(1);
        // Through Python, so that an allocation that fails is a MemoryError.
        let out = py.import("numpy")?.call_method1("empty", (rows, dtype))?;
        let data = data.as_slice()?;
        let missing = missing.as_ref().map(|array| array.as_slice()).transpose()?;
        same_number(missing, rows)?;
        let threads = pool::threads();
        let good = with_codes!(&out, out => {
            with_one!("offsets", offsets, offsets: i32, i64 => detached(py, rows as u64, || {
                self.inner.read(offsets, data, missing, out, threads)
            })?)
        });
        Ok(good.then_some(out))
    }

    /// The same for texts in the form of views, two words each, into ``buffers``.
    fn codes_of_views<'py>(
        &self,
        py: Python<'py>,
        views: PyReadonlyArray1<'py, u64>,
        buffers: Vec<PyReadonlyArray1<'py, u8>>,
        missing: Option<PyReadonlyArray1<'py, bool>>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let views = views.as_slice()?;
        let rows = views.len() / 2;
        let views = &views[..2 * rows];
        let out = py.import("numpy")?.call_method1("empty", (rows, dtype))?;
        let buffers: Result<Vec<&[u8]>, _> = buffers.iter().map(|held| held.as_slice()).collect();
        let buffers = buffers?;
        let missing = missing.as_ref().map(|array| array.as_slice()).transpose()?;
        same_number(missing, rows)?;
        let threads = pool::threads();
        let good = with_codes!(&out, out => detached(py, rows as u64, || {
            self.inner.read_views(views, &buffers, missing, out, threads)
        })?);
        Ok(good.then_some(out))
    }

    /// The texts of codes as offsets and bytes, offsets of eight bytes where ``wide``; None where they are too many
    /// for four, or a code is none.
    fn spelled<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
        missing: Option<PyReadonlyArray1<'py, bool>>,
        wide: bool,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let missing = missing.as_ref().map(|array| array.as_slice()).transpose()?;
        let numpy = py.import("numpy")?;
        let threads = pool::threads();
        with_one!("codes", codes, codes: u8, u16, u32, u64 => {
            same_number(missing, codes.len())?;
            let rows = codes.len() as u64;
            let Some(room) = detached(py, rows, || self.inner.room(codes, missing, threads))? else {
                return Ok(None);
            };
            let total: usize = room.iter().sum();
            if total > if wide { i64::MOST } else { i32::MOST } {
                return Ok(None);
            }
            let kind = if wide { "int64" } else { "int32" };
            let offsets = numpy.call_method1("empty", (codes.len() + 1, kind))?;
            let data = numpy.call_method1("empty", (total, "uint8"))?;
            {
                let held = data.cast::<PyArray1<u8>>()?;
                let mut held = held.try_readwrite().map_err(busy)?;
                let data = held.as_slice_mut()?;
                macro_rules! write {
                    ($kind:ty) => {{
                        let held = offsets.cast::<PyArray1<$kind>>()?;
                        let mut held = held.try_readwrite().map_err(busy)?;
                        let offsets = held.as_slice_mut()?;
                        detached(py, rows, || {
                            self.inner.write(codes, missing, &room, offsets, data, threads);
                        })?;
                    }};
                }
                if wide { write!(i64) } else { write!(i32) }
            }
            Ok(Some((offsets, data)))
        })
    }
}
