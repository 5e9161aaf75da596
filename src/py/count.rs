//! Columns of codes to counts and to tables of all combinations.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::widths::{Held, bits, held};
use super::work::detached;
use crate::draw::code::each;
use crate::draw::count::codes as counts_of;
use crate::draw::cross::{Column, table};
use crate::error::Error;
use crate::system::memory;

/// How often each code below ``size`` occurs in a contiguous, native array of integers.
#[pyfunction]
pub fn count<'py>(codes: &Bound<'py, PyAny>, size: usize) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let py = codes.py();
    let (codes, most) = bits("codes", codes)?;
    let below = usize::try_from(most).map_or(size, |most| most.min(size));
    let counts = each!(codes, codes => {
        let codes = codes.as_slice()?;
        detached(py, codes.len() as u64, || {
            counts_of(codes, below).map(|counts| match below == size {
                true => counts,
                false => {
                    // No number of this type is as large as the last codes.
                    let mut all = memory::zeros(size);
                    all[..below].copy_from_slice(&counts);
                    all
                }
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

/// Records, sums of weights and sums of their squares; the last two empty without weights.
type Tables<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// How many rows have each combination of codes, the last column running fastest; with weights their sums too.
///
/// Columns are contiguous native arrays of unsigned integers, all of one length.
#[pyfunction]
pub fn cross<'py>(
    columns: &Bound<'py, PyList>,
    sizes: Vec<u32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Tables<'py>> {
    let py = columns.py();
    let must = "hold arrays of unsigned integers";
    let held: Vec<Held<'py>> = columns
        .iter()
        .map(|codes| held("columns", must, &codes))
        .collect::<PyResult<_>>()?;
    let columns: Vec<Column<'_>> = held
        .iter()
        .zip(&sizes)
        .map(|(held, &size)| {
            let codes = each!(held, as_such, held => as_such(held.as_slice()?));
            Ok(Column { codes, size })
        })
        .collect::<PyResult<_>>()?;
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
    let rows = columns.first().map_or(0, |column| column.rows());
    let lengths = columns.iter().map(|column| column.rows());
    let mut lengths = lengths.chain(weights.map(<[f64]>::len));
    if held.len() != sizes.len() || columns.is_empty() || !lengths.all(|length| length == rows) {
        let must = format!("be one column of {rows} rows per size, and at least one");
        let unequal = columns
            .iter()
            .filter(|column| column.rows() != rows)
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
        Ok(table) => {
            let [sums, squares] = table.sums.map(|sums| PyArray1::from_vec(py, sums));
            Ok((PyArray1::from_vec(py, table.records), sums, squares))
        }
        Err((column, row)) => {
            let must = format!("hold integers from 0 to {}", sizes[column].wrapping_sub(1));
            let got = format!("one outside in row {row} of column {column}");
            Err(Error::value("codes", must, got).into())
        }
    }
}
