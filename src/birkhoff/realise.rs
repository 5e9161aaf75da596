//! Any matrix as integers with a line sum below 2^63.

use std::sync::Arc;

use super::build;
use super::counts::{Counts, MAX_SIZE};
use crate::error::{Error, Result};
use crate::law::parameters::Value;
use crate::law::{Law, Matrix};
use crate::number::lattice;
use crate::system::memory::{self, Gather};
use crate::system::pool;

/// The counts of a matrix.
///
/// # Errors
/// A size or a total that is too large.
pub fn counts(matrix: &Matrix) -> Result<Counts> {
    let size = small_enough(matrix)?;
    if let Law::Dense { counts, total, .. } = matrix.law() {
        return Ok(Counts::from_dense(size, *total, counts));
    }
    let name = matrix.name();
    let needed = || {
        let must = "have a common denominator below 2^63";
        Error::value("matrix", must, format!("a {name} without one"))
    };
    let total = matrix.total().ok_or_else(needed)?;
    if total < 1 << 63 {
        let rows = rows(matrix, size, |c| c as u64).ok_or_else(needed)?;
        return Ok(Counts::from_rows(size, total as u64, rows));
    }
    let rows = rows(matrix, size, |c| c).ok_or_else(needed)?;
    let all = rows.iter().flatten();
    let shared = all.fold(
        total,
        |g, &(_, c)| {
            if g == 1 { 1 } else { lattice::gcd(g, c) }
        },
    );
    if total / shared >= 1 << 63 {
        return Err(needed());
    }
    let row = |row: Vec<(u16, u128)>| row.into_iter().map(|(v, c)| (v, (c / shared) as u64));
    let rows = rows.into_iter().map(row);
    Ok(Counts::from_rows(size, (total / shared) as u64, rows))
}

/// The dense matrix of some counts.
pub fn dense(counts: &Counts) -> Result<Matrix> {
    let cells: Arc<[i64]> = memory::shared(counts.to_dense());
    let table = Value::Table(counts.size, counts.size, Box::new(Value::Wholes(cells)));
    let total = Value::Whole(counts.total.into());
    build("dense", vec![("counts", table), ("total", total)])
}

fn small_enough(matrix: &Matrix) -> Result<usize> {
    let (size, name) = (matrix.size(), matrix.name());
    if size > MAX_SIZE {
        let must = format!("be at most {MAX_SIZE} to decompose a {name} entry by entry");
        return Err(Error::value("size", must, size));
    }
    Ok(size as usize)
}

/// The positive entries of every row, as counts out of `total`.
fn rows<T: Send>(
    matrix: &Matrix,
    size: usize,
    number: impl Fn(u128) -> T + Sync + Send,
) -> Option<Vec<Vec<(u16, T)>>> {
    pool::map(size, size < 128, |u| {
        let row = matrix.row::<u128>(u as u64)?;
        let entries = row.into_iter().enumerate().filter(|(_, c)| *c > 0);
        Some(entries.map(|(v, c)| (v as u16, number(c))).gather())
    })
    .into_iter()
    .collect::<Option<Vec<_>>>()
}
