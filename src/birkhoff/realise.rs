//! Any matrix as whole numbers with a line sum below 2^63, on the grid it has or on a coarser one.

use std::sync::Arc;

use super::counts::{Counts, MAX_SIZE};
use super::split;
use crate::error::{Error, Result};
use crate::family::{self, Matrix};
use crate::lattice::{self, GRID};
use crate::parameters::Value;
use crate::pool;

/// Finest grid that can be asked for.
pub const MAX_BITS: u32 = 53;

/// The sentence for a grid on which an entry would vanish: `smallest` of `total` is positive.
pub fn lost(bits: u32, smallest: u128, total: u128) -> Error {
    Error::value(
        "bits",
        format!(
            "be at least {} to keep every positive entry",
            safe(smallest, total)
        ),
        bits,
    )
}

/// The smallest number of bits at which `smallest / total` is a whole unit.
fn safe(smallest: u128, total: u128) -> u32 {
    (0..128)
        .find(|&bits| smallest >= total.div_ceil(1 << bits))
        .unwrap_or(127)
}

/// Whether `total` units lie on a grid of `bits` already.
pub fn on_grid(total: u128, bits: u32) -> bool {
    total.is_power_of_two() && total <= 1 << bits
}

/// The counts of a matrix.
///
/// # Errors
/// A size or a total that is too large.
pub fn counts(matrix: &Matrix) -> Result<Counts> {
    let size = small_enough(matrix)?;
    let name = matrix.family.name();
    let needed = || {
        let must = format!("be given for a {name} whose common denominator reaches 2^63");
        Error::value("bits", must, "none")
    };
    let total = matrix.total().ok_or_else(needed)?;
    let rows = rows(matrix, size, total).ok_or_else(needed)?;
    let (shared, total) = if total < 1 << 63 {
        (1, total)
    } else {
        let all = rows.iter().flatten();
        let shared = all.fold(
            total,
            |g, &(_, c)| if g == 1 { 1 } else { lattice::gcd(g, c) },
        );
        (shared, total / shared)
    };
    match u64::try_from(total) {
        Ok(total) if total < 1 << 63 => {
            let rows = rows
                .into_iter()
                .map(|row| (row.into_iter()).map(|(v, c)| (usize::from(v), (c / shared) as u64)));
            Ok(Counts::from_rows(size, total, rows))
        }
        _ => Err(needed()),
    }
}

/// The counts on the grid `2^-bits`, and whether that moved anything. Each entry becomes its floor or its
/// ceiling there, up to what the grid 2^-53 moves.
///
/// # Errors
/// A positive entry below one unit.
pub fn coarse(matrix: &Matrix, bits: u32) -> Result<(Counts, bool)> {
    let size = small_enough(matrix)?;
    let total = matrix.total();
    if let Some(total) = total
        && on_grid(total, bits)
    {
        return Ok((counts(matrix)?, false));
    }
    let mut counts = match total {
        Some(total) if total.is_power_of_two() && total < 1 << 63 => counts(matrix)?,
        _ => on_double_grid(matrix, size)?,
    };
    let exact = total.and_then(|total| Some((rows(matrix, size, total)?, total)));
    if let Some((rows, total)) = exact {
        let smallest = rows
            .iter()
            .flatten()
            .map(|&(_, c)| c)
            .min()
            .unwrap_or(total);
        if smallest < total.div_ceil(1 << bits) {
            return Err(lost(bits, smallest, total));
        }
    }
    let smallest = counts.values.iter().copied().min().unwrap_or(counts.total);
    while counts.total > 1 << bits {
        split::halve(&mut counts, || true);
    }
    if counts.values.contains(&0) {
        let total = u128::from(counts.total) << 1;
        return Err(lost(bits, u128::from(smallest), total.max(1 << (bits + 1))));
    }
    Ok((counts, true))
}

/// The dense matrix of some counts.
pub fn dense(counts: &Counts) -> Result<Matrix> {
    let cells: Arc<[i64]> = counts.to_dense().into();
    let table = Value::Table(counts.size, counts.size, Box::new(Value::Wholes(cells)));
    family::build(
        "dense",
        vec![
            ("counts".to_owned(), table),
            ("total".to_owned(), Value::Whole(counts.total.into())),
        ],
    )
}

fn small_enough(matrix: &Matrix) -> Result<usize> {
    match matrix.family.size() {
        size if size <= MAX_SIZE => Ok(size as usize),
        size => Err(Error::value(
            "size",
            format!(
                "be at most {MAX_SIZE} to decompose a {} entry by entry",
                matrix.family.name()
            ),
            size,
        )),
    }
}

/// The positive entries of every row, as counts out of `total`.
fn rows(matrix: &Matrix, size: usize, total: u128) -> Option<Vec<Vec<(u16, u128)>>> {
    pool::map(size, size < 128, |u| {
        let mut row = vec![0; size];
        let known = matrix.family.add_counts(u as u64, total, 1, &mut row);
        let entries = (0..).zip(row).filter(|(_, c)| *c > 0);
        known.then(|| entries.map(|(v, c): (usize, u128)| (v as u16, c)).collect())
    })
    .into_iter()
    .collect()
}

/// The counts of the nearest doubles, rounded onto the grid 2^-53.
fn on_double_grid(matrix: &Matrix, size: usize) -> Result<Counts> {
    let mut cells = vec![0u64; size * size];
    pool::for_each_chunk(&mut cells, size, size < 128, |u, row| {
        let mut doubles = vec![0.0; size];
        matrix.family.fill_row(u as u64, &mut doubles);
        for (cell, x) in row.iter_mut().zip(doubles) {
            *cell = x.to_bits();
        }
    });
    let ones = vec![1.0; size];
    lattice::round_matrix(&mut cells, size, &ones, &ones).map_err(|_| {
        Error::value(
            "bits",
            "leave a matrix that can be rounded",
            "one that cannot",
        )
    })?;
    Ok(Counts::from_dense(size, GRID, &cells))
}
