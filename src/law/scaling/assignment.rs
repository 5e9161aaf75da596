//! The cheapest assignment of rows to columns in integers, and what every other entry costs beyond it.
//!
//! # Law
//! Costs that are doubles are whole multiples of a power of two, so sums and differences of them are exact
//! in integers. A row's and a column's share of the cost can be taken out of every entry without changing the
//! Gibbs law; with the shares of a cheapest assignment what is left is nowhere negative, and 0 on every
//! cheapest assignment. So nothing large is left to cancel.

use crate::error::{Error, Result};
use crate::law::scaling::support;
use crate::number::calibrate;
use crate::system::memory::{self, Gather};
use crate::system::stop;

/// Bits of a sum of costs.
const BITS: i32 = 124;

/// Bits below a temperature that are kept: what is rounded away moves no exponential.
pub const FINER: i32 = 60;

/// Entries that are looked at, at most.
const STEPS: u64 = 1 << 33;

/// What entries cost beyond the cheapest assignment: whole multiples of a power of two.
pub struct Reduced {
    /// Row by row; `None` if the cost is infinite.
    pub units: Vec<Option<i128>>,
    /// The exponent of that power of two.
    pub exponent: i32,
    /// Whether bits below it were rounded away that sums had no room for.
    pub is_rounded: bool,
}

impl Reduced {
    /// In doubles, as multiples of `2^exponent`, infinite where they were.
    pub fn in_units(&self, exponent: i32) -> Vec<f64> {
        let by = self.exponent - exponent;
        // What is beyond doubles is not forbidden for that.
        let double = |n: i128| scaled(n as f64, by).min(f64::MAX);
        let double = |n: &Option<i128>| n.map_or(f64::INFINITY, double);
        self.units.iter().map(double).gather()
    }
}

/// The mantissa and the exponent of a finite non-negative double: `mantissa * 2^exponent`.
fn parts(x: f64) -> (i128, i32) {
    let bits = x.to_bits();
    let (high, low) = (
        (bits >> 52 & 0x7ff) as i32,
        (bits & ((1 << 52) - 1)) as i128,
    );
    match high {
        0 => (low, -1074),
        _ => (low | 1 << 52, high - 1075),
    }
}

/// The exponent of the lowest bit, and the one above the highest; `None` for 0.
fn span(x: f64) -> Option<(i32, i32)> {
    let (mantissa, exponent) = parts(x);
    let (low, length) = (
        mantissa.trailing_zeros() as i32,
        128 - mantissa.leading_zeros() as i32,
    );
    (mantissa > 0).then_some((exponent + low, exponent + length))
}

/// `x * 2^exponent` in the nearest double, also if the power itself is none.
pub fn scaled(x: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    // Two or three factors that are doubles themselves, the larger steps first.
    let step = |e: i32| 2f64.powi(e.clamp(-1000, 1000));
    x * step(half) * step(exponent - half)
}

/// The exponent of the highest bit of a positive double.
pub fn exponent(x: f64) -> i32 {
    span(x).map_or(-1074, |(_, end)| end - 1)
}

/// The same Gibbs law with smaller costs, in doubles and exactly, if that is to be had at once: a line's
/// least cost is taken out of it, and costs beyond all that the cheapest assignment can take are cut down to
/// `slack` above.
pub fn bounded(cost: &[f64], size: usize, slack: f64) -> Vec<f64> {
    let mut left = memory::copied(cost);
    let mut take = |cells: &mut dyn Iterator<Item = usize>| {
        let cells: Vec<usize> = cells.filter(|&i| left[i].is_finite()).gather();
        let least = cells.iter().fold(f64::INFINITY, |m, &i| m.min(left[i]));
        let exact = |c: f64| {
            let rest = c - least;
            let back = rest - c;
            (c - (rest - back)) - (least + back) == 0.0
        };
        if cells.iter().all(|&i| exact(left[i])) {
            cells.iter().for_each(|&i| left[i] -= least);
        }
    };
    (0..size).for_each(|u| take(&mut (u * size..(u + 1) * size)));
    (0..size).for_each(|v| take(&mut (v..size * size).step_by(size)));
    // The smallest power of two, or 0, up to which there is an assignment.
    let mut steps: Vec<f64> = left
        .iter()
        .filter(|c| c.is_finite())
        .map(|&c| {
            if c > 0.0 {
                scaled(1.0, exponent(c) + 1)
            } else {
                0.0
            }
        })
        .gather();
    steps.sort_unstable_by(f64::total_cmp);
    steps.dedup();
    let enough = |i: u64| {
        let most = steps[i as usize];
        support::has_diagonal(size, |u, v| left[u * size + v] <= most)
    };
    let last = steps.len().saturating_sub(1) as u64;
    let most = steps.get(calibrate::smallest(0, last, enough) as usize);
    // A permutation that takes a cost above this is dearer than the cheapest by at least the slack.
    let limit = size as f64 * most.copied().unwrap_or(f64::INFINITY) + slack;
    let cut = |c: &f64| if c.is_finite() { c.min(limit) } else { *c };
    left.iter().map(cut).gather()
}

/// Reduce costs, non-negative or infinite, in which a finite assignment exists. Bits below `2^finest` are
/// rounded away. With `coarser` so are as many more as sums need to fit.
///
/// # Errors
/// Costs of too different magnitude, or too many of them.
pub fn reduce(cost: &[f64], size: usize, finest: i32, coarser: bool) -> Result<Reduced> {
    let spans = || {
        cost.iter()
            .filter(|c| c.is_finite())
            .filter_map(|&c| span(c))
    };
    let lowest = spans().map(|s| s.0).min().unwrap_or(finest).max(finest);
    let highest = spans().map(|s| s.1).max().unwrap_or(lowest);
    // Sums of as many costs as there are rows, and their differences.
    let room = BITS - 2 * (usize::BITS - size.leading_zeros()) as i32;
    let exponent = if coarser {
        lowest.max(highest - room)
    } else {
        lowest
    };
    if highest - exponent > room {
        let must = format!(
            "need at most 2^{} times `temperature`, or 2^{} times its own smallest number, for its \
             cheapest reports",
            room - FINER,
            room - 53
        );
        let got = format!("2^{} times `temperature`", highest - finest - FINER);
        return Err(Error::value("cost", must, got));
    }
    let units: Vec<Option<i128>> = cost
        .iter()
        .map(|&c| {
            c.is_finite().then(|| {
                let (mantissa, e) = parts(c);
                match e - exponent {
                    up @ 0.. if mantissa > 0 => mantissa << up,
                    up @ -60..0 => ((mantissa >> (-up - 1)) + 1) >> 1,
                    _ => 0,
                }
            })
        })
        .gather();
    let mut reduced = Reduced {
        units,
        exponent,
        is_rounded: exponent > lowest,
    };
    shares(&mut reduced.units, size)?;
    Ok(reduced)
}

/// Take the shares of a cheapest assignment out of all costs: shortest augmenting paths, row by row
/// (Jonker and Volgenant).
fn shares(units: &mut [Option<i128>], size: usize) -> Result<()> {
    const NONE: usize = usize::MAX;
    // From every column what its cheapest entry costs, then from every row.
    let mut column: Vec<i128> = (0..size)
        .map(|v| {
            (0..size)
                .filter_map(|u| units[u * size + v])
                .min()
                .unwrap_or(0)
        })
        .gather();
    let mut row: Vec<i128> = units
        .chunks(size)
        .map(|line| {
            let left = line.iter().zip(&column);
            left.filter_map(|(c, share)| Some((*c)? - share))
                .min()
                .unwrap_or(0)
        })
        .gather();
    let mut row_of = memory::filled(NONE, size);
    let mut waiting = Vec::new();
    for u in 0..size {
        let free = |v: &usize| {
            row_of[*v] == NONE && units[u * size + v].is_some_and(|c| c == row[u] + column[*v])
        };
        match (0..size).find(free) {
            Some(v) => row_of[v] = u,
            None => waiting.push(u),
        }
    }
    let mut steps = 0;
    let mut distance = memory::filled(i128::MAX, size);
    let mut before = memory::filled(NONE, size);
    let mut done = memory::filled(false, size);
    for start in waiting {
        stop::point();
        distance.fill(i128::MAX);
        before.fill(NONE);
        done.fill(false);
        let (mut u, mut at, mut last, mut reached) = (start, 0, NONE, Vec::new());
        let end = loop {
            steps += size as u64;
            if steps > STEPS {
                let must = format!("take at most {STEPS} steps to its cheapest assignment");
                return Err(Error::value(
                    "cost",
                    must,
                    format!("a table of {size} rows that takes longer"),
                ));
            }
            let mut nearest = NONE;
            for v in (0..size).filter(|&v| !done[v]) {
                if let Some(c) = units[u * size + v] {
                    let here = at + (c - row[u] - column[v]);
                    if here < distance[v] {
                        (distance[v], before[v]) = (here, last);
                    }
                }
                if distance[v] < i128::MAX && (nearest == NONE || distance[v] < distance[nearest]) {
                    nearest = v;
                }
            }
            if nearest == NONE {
                // An assignment exists, as was checked; without one nothing can be shared out.
                return Ok(());
            }
            done[nearest] = true;
            at = distance[nearest];
            if row_of[nearest] == NONE {
                break nearest;
            }
            reached.push(nearest);
            (last, u) = (nearest, row_of[nearest]);
        };
        for &v in &reached {
            row[row_of[v]] += at - distance[v];
            column[v] -= at - distance[v];
        }
        row[start] += at;
        // Turn the path over.
        let mut v = end;
        while v != NONE {
            let previous = before[v];
            row_of[v] = if previous == NONE {
                start
            } else {
                row_of[previous]
            };
            v = previous;
        }
    }
    for (line, share) in units.chunks_mut(size).zip(row) {
        for (cell, other) in line.iter_mut().zip(&column) {
            *cell = cell.map(|c| c - share - other);
        }
    }
    Ok(())
}
