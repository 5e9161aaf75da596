//! Columns of whole numbers of any width, as codes and as pages of Parquet, for tables of plans.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::work::detached;
use crate::draw::packed::packed;
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

/// What occurs, the bits of a place, and the pages.
type Pages<'py> = (Bound<'py, PyAny>, u32, Bound<'py, PyList>);

/// Whole numbers in pages of ``rows`` rows: those that occur, the bits of a place among them, and for each page how many
/// numbers it holds and the runs of their places. None where they are too far apart, or all missing.
///
/// >>> levels, width, pages = bs._core.plan_packed(np.array([7, 9, 7, 7]), None, 8)
/// >>> levels, width, pages
/// (array([7, 9]), 1, [(4, b'\x03\x02')])
/// >>> bs._core.plan_packed(np.array([0, 10**9]), None, 8) is None
/// True
#[pyfunction]
pub fn plan_packed<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    missing: Option<PyReadonlyArray1<'py, bool>>,
    rows: usize,
) -> PyResult<Option<Pages<'py>>> {
    let missing = missing.as_ref().map(|array| array.as_slice()).transpose()?;
    let n = values.len()?;
    if let Some(missing) = missing.filter(|missing| missing.len() != n) {
        let got = format!("{} of {n}", missing.len());
        return Err(Error::value("missing", "say it of every number", got).into());
    }
    if rows == 0 {
        return Err(Error::value("rows", "be at least 1", "0").into());
    }
    with_wholes!(values, values => {
        let found = detached(py, n as u64, || packed(values, missing, rows))?;
        let Some(found) = found else {
            return Ok(None);
        };
        let pages = PyList::empty(py);
        for (count, bytes) in &found.pages {
            pages.append((count, PyBytes::new(py, bytes)))?;
        }
        let levels = PyArray1::from_vec(py, found.levels).into_any();
        Ok(Some((levels, found.width, pages)))
    })
}
