//! Columns of codes to a table of all combinations.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::convert::array_type;
use super::work::detached;
use crate::draw::cross::{Codes, Column, table};
use crate::error::Error;

/// A column borrowed from Python, of one of four widths.
enum Held<'py> {
    Eight(PyReadonlyArray1<'py, u8>),
    Sixteen(PyReadonlyArray1<'py, u16>),
    ThirtyTwo(PyReadonlyArray1<'py, u32>),
    SixtyFour(PyReadonlyArray1<'py, u64>),
}

impl<'py> Held<'py> {
    fn of(codes: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(codes) = codes.cast::<PyArray1<u8>>() {
            return Ok(Self::Eight(codes.readonly()));
        }
        if let Ok(codes) = codes.cast::<PyArray1<u16>>() {
            return Ok(Self::Sixteen(codes.readonly()));
        }
        if let Ok(codes) = codes.cast::<PyArray1<u32>>() {
            return Ok(Self::ThirtyTwo(codes.readonly()));
        }
        if let Ok(codes) = codes.cast::<PyArray1<u64>>() {
            return Ok(Self::SixtyFour(codes.readonly()));
        }
        let must = "hold arrays of unsigned whole numbers";
        Err(Error::type_("columns", must, array_type(codes)).into())
    }

    fn codes(&self) -> PyResult<Codes<'_>> {
        Ok(match self {
            Self::Eight(codes) => Codes::Eight(codes.as_slice()?),
            Self::Sixteen(codes) => Codes::Sixteen(codes.as_slice()?),
            Self::ThirtyTwo(codes) => Codes::ThirtyTwo(codes.as_slice()?),
            Self::SixtyFour(codes) => Codes::SixtyFour(codes.as_slice()?),
        })
    }
}

/// Records, sums of weights and sums of their squares; the last two empty without weights.
type Tables<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// How many rows have each combination of codes, the last column running fastest; with weights their sums too.
///
/// Columns are contiguous native arrays of unsigned whole numbers, all of one length.
#[pyfunction]
pub fn cross<'py>(
    columns: &Bound<'py, PyList>,
    sizes: Vec<u32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Tables<'py>> {
    let py = columns.py();
    let held: Vec<Held<'py>> = columns
        .iter()
        .map(|codes| Held::of(&codes))
        .collect::<PyResult<_>>()?;
    let columns: Vec<Column<'_>> = held
        .iter()
        .zip(&sizes)
        .map(|(held, &size)| held.codes().map(|codes| Column { codes, size }))
        .collect::<PyResult<_>>()?;
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
    let rows = columns.first().map_or(0, |column| column.codes.len());
    let lengths = columns.iter().map(|column| column.codes.len());
    let mut lengths = lengths.chain(weights.map(<[f64]>::len));
    if held.len() != sizes.len() || columns.is_empty() || !lengths.all(|length| length == rows) {
        let must = format!("be one column of {rows} rows per size, and at least one");
        let unequal = columns
            .iter()
            .filter(|column| column.codes.len() != rows)
            .count();
        let got = format!(
            "{} columns, {} sizes, {unequal} columns of other lengths and weights of {} rows",
            held.len(),
            sizes.len(),
            weights.map_or(rows, <[f64]>::len),
        );
        return Err(Error::value("columns", must, got).into());
    }
    let cells = sizes
        .iter()
        .fold(1u64, |all, &size| all.saturating_mul(size.into()));
    if cells >= 1 << 32 {
        let must = "make less than 2^32 cells";
        return Err(Error::value("columns", must, cells).into());
    }
    let found = detached(py, rows as u64, || table(&columns, cells as usize, weights))?;
    match found {
        Ok(table) => Ok((
            PyArray1::from_vec(py, table.records),
            PyArray1::from_vec(py, table.sums),
            PyArray1::from_vec(py, table.squares),
        )),
        Err((column, row)) => {
            let must = format!(
                "hold whole numbers from 0 to {}",
                sizes[column].wrapping_sub(1)
            );
            let got = format!("one outside in row {row} of column {column}");
            Err(Error::value("codes", must, got).into())
        }
    }
}
