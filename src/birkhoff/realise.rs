//! Any matrix as integers with a line sum below 2^63, on the grid it has or on a coarser one.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::build;
use super::counts::{Counts, MAX_SIZE};
use super::split::Halver;
use crate::error::{Error, Result};
use crate::law::parameters::Value;
use crate::law::scaling::rounding;
use crate::law::{Composition, Matrix, Structure};
use crate::number::lattice::{self, GRID};
use crate::system::memory::{self, Gather};
use crate::system::pool;

/// Finest grid that can be asked for.
pub const MAX_BITS: u32 = 53;

/// Refuse a grid on which the smallest positive entry, `smallest` of `total`, is less than a unit and may
/// vanish. At a unit or more its floor is positive, and so is whatever it is rounded to.
///
/// # Errors
/// The smallest number of bits at which it is safe.
pub fn refuse_loss(bits: u32, smallest: u128, total: u128) -> Result<()> {
    let is_safe = |bits: u32| smallest >= total.div_ceil(1 << bits);
    if is_safe(bits) {
        return Ok(());
    }
    let least = (bits..127).find(|&bits| is_safe(bits)).unwrap_or(127);
    let must = if least <= MAX_BITS {
        format!("be at least {least} to keep every positive entry")
    } else {
        format!("be at least {least} to keep every positive entry, and at most {MAX_BITS}")
    };
    Err(Error::value("bits", must, bits))
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
    if let Structure::Rows { counts, total, .. } = matrix.structure() {
        return Ok(Counts::from_dense(size, *total, counts));
    }
    let name = matrix.family.name();
    let needed = || {
        let must = format!("be given for a {name} whose common denominator reaches 2^63");
        Error::value("bits", must, "none")
    };
    let total = matrix.total().ok_or_else(needed)?;
    if total < 1 << 63 {
        let rows = rows(matrix, size, total, |c| c as u64).ok_or_else(needed)?;
        return Ok(Counts::from_rows(size, total as u64, rows));
    }
    let rows = rows(matrix, size, total, |c| c).ok_or_else(needed)?;
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
        _ => {
            let exact = total.and_then(|total| Some((rows(matrix, size, total, |c| c)?, total)));
            if let Some((rows, total)) = exact {
                let smallest = rows.iter().flatten().map(|&(_, c)| c).min();
                refuse_loss(bits, smallest.unwrap_or(total), total)?;
                on_double_grid(matrix, size, None)?
            } else {
                on_double_grid(matrix, size, Some(bits))?
            }
        }
    };
    let smallest = counts.values.iter().copied().min();
    let total = counts.total;
    refuse_loss(bits, smallest.unwrap_or(total).into(), total.into())?;
    let mut halver = Halver::new(size);
    while counts.total > 1 << bits {
        halver.halve(&mut counts, || true);
    }
    Ok((counts, true))
}

/// The dense matrix of some counts.
pub fn dense(counts: &Counts) -> Result<Matrix> {
    let cells: Arc<[i64]> = memory::shared(counts.to_dense());
    let table = Value::Table(counts.size, counts.size, Box::new(Value::Wholes(cells)));
    let total = Value::Whole(counts.total.into());
    build("dense", vec![("counts", table), ("total", total)])
}

fn small_enough(matrix: &Matrix) -> Result<usize> {
    matrix.check_written()?;
    let (size, name) = (matrix.family.size(), matrix.family.name());
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
    total: u128,
    number: impl Fn(u128) -> T + Sync + Send,
) -> Option<Vec<Vec<(u16, T)>>> {
    memory::every(pool::map(size, size < 128, |u| {
        let mut row = memory::zeros(size);
        let known = matrix.family.add_counts(u as u64, total, 1, &mut row);
        let entries = row.into_iter().enumerate().filter(|(_, c)| *c > 0);
        known.then(|| entries.map(|(v, c)| (v as u16, number(c))).gather())
    }))
}

/// Which entries are positive, by composition: doubles may not tell a tiny one from 0. 64 columns a word.
/// A composite may hold one matrix many times.
fn support(matrix: &Matrix, size: usize, seen: &mut Seen) -> Rc<Vec<Vec<u64>>> {
    let place = Arc::as_ptr(&matrix.family).cast::<()>();
    if let Some(found) = seen.get(&place) {
        return Rc::clone(found);
    }
    let found = Rc::new(support_of(matrix, size, seen));
    seen.insert(place, Rc::clone(&found));
    found
}

type Seen = HashMap<*const (), Rc<Vec<Vec<u64>>>>;

fn support_of(matrix: &Matrix, size: usize, seen: &mut Seen) -> Vec<Vec<u64>> {
    let words = size.div_ceil(64);
    let positive = |row: &[u64], v: usize| row[v / 64] >> (v % 64) & 1 == 1;
    match matrix.family.composition() {
        Some(Composition::Mix(parts)) => {
            let mut joint = memory::filled(memory::zeros(words), size);
            for ((weight, _), part) in parts {
                if weight > 0 {
                    for (row, more) in joint.iter_mut().zip(&*support(part, size, seen)) {
                        row.iter_mut().zip(more).for_each(|(a, b)| *a |= b);
                    }
                }
            }
            joint
        }
        Some(Composition::Product(first, second)) => {
            let (first, second) = (support(first, size, seen), support(second, size, seen));
            first
                .iter()
                .map(|row| {
                    let mut reached = memory::zeros(words);
                    for (w, onward) in second.iter().enumerate() {
                        if positive(row, w) {
                            reached.iter_mut().zip(onward).for_each(|(a, b)| *a |= b);
                        }
                    }
                    reached
                })
                .gather()
        }
        // A kron's factors are decomposed one by one; inside a product its entries are looked at.
        _ => (0..size as u64)
            .map(|u| {
                let mut row = memory::zeros(words);
                for v in 0..size {
                    if matrix.family.probability(u, v as u64) > 0.0 {
                        row[v / 64] |= 1 << (v % 64);
                    }
                }
                row
            })
            .gather(),
    }
}

/// Refuse doubles that are below a unit of the grid if the entry is positive.
fn refuse_faint(matrix: &Matrix, cells: &[u64], size: usize, bits: u32) -> Result<()> {
    let unit = 2f64.powi(-(bits as i32));
    let places = support(matrix, size, &mut HashMap::new());
    let mut smallest = 1.0f64;
    for (row, places) in cells.chunks(size).zip(&*places) {
        for (v, cell) in row.iter().enumerate() {
            if places[v / 64] >> (v % 64) & 1 == 1 {
                smallest = smallest.min(f64::from_bits(*cell));
            }
        }
    }
    if smallest >= unit {
        return Ok(());
    }
    let must = if smallest >= 2f64.powi(-(MAX_BITS as i32)) {
        let least = (bits..=MAX_BITS).find(|&b| smallest >= 2f64.powi(-(b as i32)));
        format!(
            "be at least {} to keep every positive entry",
            least.unwrap_or(MAX_BITS)
        )
    } else {
        format!("be more than the {MAX_BITS} there are to keep every positive entry")
    };
    Err(Error::value("bits", must, bits))
}

/// The counts of the nearest doubles, rounded onto the grid 2^-53. With `bits`, no positive entry may be
/// below a unit of that grid.
fn on_double_grid(matrix: &Matrix, size: usize, bits: Option<u32>) -> Result<Counts> {
    let mut cells = memory::zeros::<u64>(size * size);
    pool::for_each_chunk(&mut cells, size, size < 128, |u, row| {
        let mut doubles = memory::zeros(size);
        matrix.family.fill_row(u as u64, &mut doubles);
        for (cell, x) in row.iter_mut().zip(doubles) {
            *cell = x.to_bits();
        }
    });
    if let Some(bits) = bits {
        refuse_faint(matrix, &cells, size, bits)?;
    }
    let ones = memory::filled(1.0, size);
    rounding::round_matrix("matrix", &mut cells, size, &ones, &ones).map_err(|_| {
        Error::value(
            "bits",
            "leave a matrix that can be rounded",
            "one that cannot",
        )
    })?;
    let cells: Vec<i64> = cells.into_iter().map(|c| c as i64).gather();
    Ok(Counts::from_dense(size, GRID, &cells))
}
