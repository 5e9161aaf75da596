//! Columns of whole numbers of any width, as codes, for tables of plans.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use super::work::detached;
use crate::draw::recode::recode;
use crate::error::Error;
use crate::system::pool;

fn busy(_: impl std::fmt::Display) -> PyErr {
    Error::value("values", "not be written meanwhile", "an array in use").into()
}

/// An array of whole numbers of any width, at `$slice` in `$run`.
macro_rules! with_wholes {
    ($array:expr, $slice:ident => $run:expr) => {{
        let array: &Bound<'_, PyAny> = $array;
        macro_rules! one {
            ($kind:ty) => {{
                let held = array.cast::<PyArray1<$kind>>()?;
                let held = held.try_readonly().map_err(busy)?;
                let $slice = held.as_slice()?;
                $run
            }};
        }
        let kind: char = array.getattr("dtype")?.getattr("kind")?.extract()?;
        let bytes: usize = array.getattr("itemsize")?.extract()?;
        match (kind, bytes) {
            ('u', 1) => one!(u8),
            ('u', 2) => one!(u16),
            ('u', 4) => one!(u32),
            ('u', _) => one!(u64),
            (_, 1) => one!(i8),
            (_, 2) => one!(i16),
            (_, 4) => one!(i32),
            _ => one!(i64),
        }
    }};
}

/// An array of whole numbers of any width that is written, at `$slice` in `$run`.
macro_rules! with_room {
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
        let kind: char = array.getattr("dtype")?.getattr("kind")?.extract()?;
        let bytes: usize = array.getattr("itemsize")?.extract()?;
        match (kind, bytes) {
            ('u', 1) => one!(u8),
            ('u', 2) => one!(u16),
            ('u', 4) => one!(u32),
            ('u', _) => one!(u64),
            (_, 1) => one!(i8),
            (_, 2) => one!(i16),
            (_, 4) => one!(i32),
            _ => one!(i64),
        }
    }};
}

/// Whole numbers as those of another type; None where one is not from 0 to below ``size``.
///
/// >>> bs._core.plan_recode(np.array([0, 2, 1]), 3, "uint8")
/// array([0, 2, 1], dtype=uint8)
/// >>> bs._core.plan_recode(np.array([0, 3, 1]), 3, "uint8") is None
/// True
#[pyfunction]
pub fn plan_recode<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    size: u64,
    dtype: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let numpy = py.import("numpy")?;
    // Through Python, so that an allocation that fails is a MemoryError.
    let out = numpy.call_method1("empty", (values.len()?, dtype))?;
    let threads = pool::threads();
    let good = with_wholes!(values, given => with_room!(&out, room => {
        detached(py, room.len() as u64, || recode(given, room, size, threads))?
    }));
    Ok(good.then_some(out))
}
