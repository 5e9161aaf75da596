//! What mix and product share: exact counts of a composite row by row, and its measures from them.

use crate::dd::Dd;
use crate::entropy::{self, Summer};
use crate::error::{Error, Result};
use crate::family::{Family, Matrix};
use crate::lattice::nearest;
use crate::measure::{self, Bits, Entropy, LogSum};
use crate::pool;
use crate::system::memory::{self, Gather};

/// Bits and epsilon, and whether they are those of the law or bounds.
#[derive(Debug, Clone)]
pub struct Measures {
    pub entropy: Entropy,
    pub epsilon: f64,
    pub exact: bool,
}

/// Deepest nesting of composites: every question asked of one goes down through all of them.
const DEPTH: usize = 256;

/// The depth of a composite of these parts.
///
/// # Errors
/// Nested too deep.
pub fn depth_of(parts: &[Matrix]) -> Result<usize> {
    let depth = 1 + parts
        .iter()
        .map(|part| part.family.depth())
        .max()
        .unwrap_or(0);
    if depth > DEPTH {
        let must = format!("be nested at most {DEPTH} deep");
        return Err(Error::value("matrices", must, depth));
    }
    Ok(depth)
}

/// A row as the nearest doubles: from exact counts out of `total` where `fill` can write them into
/// zeroed numbers, else entry by entry.
pub fn fill_row(
    family: &dyn Family,
    u: u64,
    total: Option<u128>,
    fill: impl FnOnce(u128, &mut [u128]) -> bool,
    out: &mut [f64],
) {
    let mut counts = memory::zeros(if total.is_some() { out.len() } else { 0 });
    match total {
        Some(total) if fill(total, &mut counts) => {
            for (x, &c) in out.iter_mut().zip(&counts) {
                *x = nearest(c, total);
            }
        }
        _ => {
            for (x, p) in out.iter_mut().zip(family.precise_row(u)) {
                *x = p.hi;
            }
        }
    }
}

/// What some consecutive rows are measured with, made before going parallel.
struct Band {
    row: Vec<u128>,
    columns: Vec<(u128, u128)>,
    bits: Dd,
    complete: bool,
}

/// Measures of a matrix from the exact counts of its rows out of `total`, which `fill` writes into
/// zeroed numbers. Probabilities are rounded to doubles once, which moves the entropy by less than
/// 2^-50; the extremes of the columns are compared as integers.
pub fn measures(
    size: usize,
    total: u128,
    fill: impl Fn(u64, &mut [u128]) -> bool + Sync + Send,
) -> Option<Measures> {
    const BANDS: usize = 32;
    let height = size.div_ceil(BANDS);
    let bands = size.div_ceil(height);
    let summer = Summer::new();
    let scale = total as f64;
    let mut work: Vec<Band> = (0..bands)
        .map(|_| Band {
            row: memory::zeros(size),
            columns: memory::filled((u128::MAX, 0), size),
            bits: Dd::ZERO,
            complete: true,
        })
        .gather();
    pool::for_each_chunk(&mut work, 1, size < 64, |band, part| {
        let Some(Band {
            row,
            columns,
            bits,
            complete,
        }) = part.first_mut()
        else {
            return;
        };
        for u in band * height..size.min((band + 1) * height) {
            row.fill(0);
            if !fill(u as u64, row) {
                *complete = false;
                return;
            }
            for (column, &c) in columns.iter_mut().zip(&*row) {
                *column = (column.0.min(c), column.1.max(c));
            }
            let row = &*row;
            *bits = *bits
                + summer.sum(0..size, |start, out| {
                    for (x, &c) in out.iter_mut().zip(&row[start..]) {
                        *x = c as f64 / scale;
                    }
                });
        }
    });
    if work.iter().any(|band| !band.complete) {
        return None;
    }
    let bits = work.iter().fold(Dd::ZERO, |sum, w| sum + w.bits) / Dd::from(size as f64);
    let epsilon = (0..size)
        .map(|v| {
            let low = work.iter().map(|w| w.columns[v].0).min().unwrap_or(0);
            let high = work.iter().map(|w| w.columns[v].1).max().unwrap_or(0);
            measure::log_ratio(high, low)
        })
        .fold(0.0, f64::max);
    let entropy = if epsilon == 0.0 {
        perfect(size as u64)
    } else {
        rounded_once(bits)
    };
    Some(Measures {
        entropy,
        epsilon,
        exact: true,
    })
}

/// Bits of probabilities that were rounded to doubles once.
pub fn rounded_once(bits: Dd) -> Entropy {
    Entropy::Within(Bits {
        value: bits,
        error: bits.hi * entropy::RELATIVE_ERROR + 2f64.powi(-50),
    })
}

/// All the bits.
pub fn perfect(size: u64) -> Entropy {
    Entropy::Exact(LogSum {
        terms: vec![(1, size.into())],
        denominator: 1,
    })
}

/// The least common multiple of totals below 2^127, if it is below 2^127 itself.
pub fn common(totals: impl IntoIterator<Item = Option<u128>>) -> Option<u128> {
    totals.into_iter().try_fold(1u128, |lcm, total| {
        let total = total?;
        (lcm / crate::lattice::gcd(lcm, total))
            .checked_mul(total)
            .filter(|&t| t < 1 << 127)
    })
}

/// Irreducible and aperiodic, from the support alone: `reaches(u)` lists where `u` leads. A matrix
/// with equal line sums can be left wherever it can be entered, so one search from code 0 finds all
/// codes or none ever will. The period is the gcd of `level(u) + 1 - level(v)` over positive entries.
pub fn is_ergodic(size: usize, reaches: impl Fn(usize) -> Vec<usize>) -> bool {
    let mut level = memory::filled(usize::MAX, size);
    level[0] = 0;
    let mut queue = vec![0];
    let mut head = 0;
    let mut period = 0u128;
    while let Some(&u) = queue.get(head) {
        head += 1;
        for v in reaches(u) {
            if level[v] == usize::MAX {
                level[v] = level[u] + 1;
                queue.push(v);
            }
            let around = (level[u] + 1).abs_diff(level[v]);
            period = crate::lattice::gcd(period, around as u128);
        }
    }
    queue.len() == size && period == 1
}
