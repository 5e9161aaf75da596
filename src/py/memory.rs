//! Arrays of Python, asked for with a look at what memory there is.

use numpy::{Element, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::work::detached;
use crate::error::Error;
use crate::system::memory;

/// Bytes that no machine has, if the system does not say: more than a laptop's.
const UNKNOWN: u128 = 1 << 36;

/// Numbers that there is always room for.
const SHORT: u64 = 1 << 12;

/// Refuses what would not fit: `rows * columns` numbers of `each` bytes.
pub fn require(what: &str, rows: u64, columns: u64, each: u64) -> Result<(), Error> {
    let bytes = (u128::from(rows) * u128::from(columns)).saturating_mul(each.into());
    if bytes < memory::LOOK_FROM {
        return Ok(());
    }
    let available = memory::available().unwrap_or(UNKNOWN);
    if bytes > available {
        let must = format!("fit in the {available} bytes of memory available");
        let got = format!("a {rows} x {columns} array of {bytes} bytes");
        return Err(Error::memory(what, must, got));
    }
    Ok(())
}

/// An array of this shape, not filled yet; a short vector without asking anybody.
fn empty<'py, T: Element>(
    py: Python<'py>,
    what: &str,
    shape: &[u64],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let (rows, columns) = match *shape {
        [size] if size <= SHORT => return Ok(PyArrayDyn::zeros(py, &[size as usize][..], false)),
        [columns] => (1, columns),
        _ => (
            shape[0],
            shape[1..].iter().fold(1u64, |a, b| a.saturating_mul(*b)),
        ),
    };
    let each = size_of::<T>() as u64;
    require(what, rows, columns, each)?;
    // Through Python, so that an allocation that fails is an exception.
    let shape = PyTuple::new(py, shape)?;
    let made = py
        .import("numpy")?
        .call_method1("empty", (shape, numpy::dtype::<T>(py)))
        .map_err(|error| {
            if error.is_instance_of::<PyMemoryError>(py) {
                let bytes = (u128::from(rows) * u128::from(columns)).saturating_mul(each.into());
                let got = format!("a {rows} x {columns} array of {bytes} bytes");
                Error::memory(what, "fit in memory", got).into()
            } else {
                error
            }
        })?;
    Ok(made.cast_into()?)
}

/// A new array of this shape, as `write` fills it in work on `numbers` numbers.
pub fn written<'py, T: Element + Send>(
    py: Python<'py>,
    what: &str,
    shape: &[u64],
    numbers: u64,
    write: impl FnOnce(&mut [T]) + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let array = empty::<T>(py, what, shape)?;
    {
        let mut out = array.readwrite();
        let out = out.as_slice_mut()?;
        detached(py, numbers, || write(out))?;
    }
    Ok(array.into_any())
}

/// Raises OutOfMemoryError unless ``rows x columns`` numbers of ``each`` bytes fit in memory, for ``what``.
#[pyfunction]
pub fn require_memory(what: &str, rows: u64, columns: u64, each: u64) -> PyResult<()> {
    Ok(require(what, rows, columns, each)?)
}
