//! A column of codes to counts.

use numpy::PyArray1;
use pyo3::prelude::*;

use super::widths::bits;
use super::work::detached;
use crate::draw::code::each;
use crate::draw::count::codes as counts_of;
use crate::error::Error;

/// How often each code below ``size`` occurs in a contiguous, native array of integers.
#[pyfunction]
pub fn count<'py>(codes: &Bound<'py, PyAny>, size: usize) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let py = codes.py();
    let (codes, most) = bits("codes", codes)?;
    let below = usize::try_from(most).map_or(size, |most| most.min(size));
    let counts = each!(codes, codes => {
        let codes = codes.as_slice()?;
        detached(py, codes.len() as u64, || {
            // No number of this type is as large as the last codes.
            counts_of(codes, below).map(|mut counts| {
                counts.resize(size, 0);
                counts
            })
        })?
    });
    match counts {
        Ok(counts) => Ok(PyArray1::from_vec(py, counts)),
        Err(position) => {
            let must = format!("hold integers from 0 to {}", size - 1);
            let got = format!("one outside at position {position}");
            Err(Error::value("codes", must, got).into())
        }
    }
}
