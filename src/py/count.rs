//! Columns of codes to counts.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use super::work::detached;
use crate::draw::count::{Counted, codes as counts_of};
use crate::error::Error;

fn counted<'py, T: Counted + numpy::Element>(
    codes: &Bound<'py, PyAny>,
    size: usize,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let py = codes.py();
    let codes = codes.cast::<PyArray1<T>>()?.readonly();
    let codes = codes.as_slice()?;
    let counts = detached(py, codes.len() as u64, || counts_of(codes, size))?;
    match counts {
        Ok(counts) => Ok(PyArray1::from_vec(py, counts)),
        Err(position) => {
            let must = format!("hold whole numbers from 0 to {}", size - 1);
            let got = format!("one outside at position {position}");
            Err(Error::value("codes", must, got).into())
        }
    }
}

/// How often each code below ``size`` occurs in a contiguous, native array of whole numbers.
#[pyfunction]
pub fn count<'py>(codes: &Bound<'py, PyAny>, size: usize) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let name: String = codes.getattr("dtype")?.getattr("name")?.extract()?;
    match name.as_str() {
        "uint8" => counted::<u8>(codes, size),
        "int8" => counted::<i8>(codes, size),
        "uint16" => counted::<u16>(codes, size),
        "int16" => counted::<i16>(codes, size),
        "uint32" => counted::<u32>(codes, size),
        "int32" => counted::<i32>(codes, size),
        "uint64" => counted::<u64>(codes, size),
        "int64" => counted::<i64>(codes, size),
        _ => Err(Error::type_(
            "codes",
            "be an array of whole numbers",
            format!("dtype {name}"),
        )
        .into()),
    }
}
