//! Arrays of Python, asked for with a look at what memory there is.

use numpy::PyArray1;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

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
        return Err(Error::memory(
            what,
            format!("fit in the {available} bytes of memory available"),
            format!("a {rows} x {columns} array of {bytes} bytes"),
        ));
    }
    Ok(())
}

/// An array of this shape and type, not filled yet.
pub fn empty<'py>(
    py: Python<'py>,
    what: &str,
    shape: &[u64],
    dtype: &str,
) -> PyResult<Bound<'py, PyAny>> {
    // The widths of the types that this crate asks for; the widest for any other.
    let each = match dtype {
        "uint16" => 2,
        "uint32" => 4,
        _ => 8,
    };
    let (rows, columns) = match *shape {
        [columns] => (1, columns),
        _ => (
            shape[0],
            shape[1..].iter().fold(1u64, |a, b| a.saturating_mul(*b)),
        ),
    };
    require(what, rows, columns, each)?;
    // Through Python, so that an allocation that fails is an exception.
    let shape = PyTuple::new(py, shape)?;
    py.import("numpy")?
        .call_method1("empty", (shape, dtype))
        .map_err(|error| {
            if error.is_instance_of::<PyMemoryError>(py) {
                let bytes = (u128::from(rows) * u128::from(columns)).saturating_mul(each.into());
                let got = format!("a {rows} x {columns} array of {bytes} bytes");
                Error::memory(what, "fit in memory", got).into()
            } else {
                error
            }
        })
}

/// A vector of doubles; a short one without asking anybody.
pub fn doubles<'py>(py: Python<'py>, what: &str, size: u64) -> PyResult<Bound<'py, PyArray1<f64>>> {
    if size <= SHORT {
        return Ok(PyArray1::zeros(py, size as usize, false));
    }
    Ok(empty(py, what, &[size], "float64")?.cast_into()?)
}

/// Raises OutOfMemoryError unless ``rows x columns`` numbers of ``each`` bytes fit in memory, for ``what``.
#[pyfunction]
pub fn require_memory(what: &str, rows: u64, columns: u64, each: u64) -> PyResult<()> {
    Ok(require(what, rows, columns, each)?)
}
