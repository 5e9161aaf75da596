//! The lines of a matrix one by one: worst row and column, peaks of the columns, deniability.
//!
//! Beta is an average. What an attacker can do to the worst category, and with the best guess, is read
//! off the single lines. Most laws know which are alike; [`measure::survey`](crate::measure::survey) looks at every entry
//! of the others.

use crate::law::kernel::Kernel;
use crate::law::lines::{Line, Sum, term};
use crate::law::{Law, Matrix, Run};
use crate::number::lattice::nearest;
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

/// Size up to which every entry is looked at without being asked to.
pub const SIZE: u64 = 4096;

/// Rows whose bits are written down one by one.
pub const ROWS: u64 = 1 << 27;

/// What the lines say.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The row with the fewest bits, and these, not above the true number.
    pub worst_row: (u64, f64),
    /// The same of the columns.
    pub worst_column: (u64, f64),
    /// Whether these two are the true ones, or bounds.
    pub worst_exact: bool,
    /// The bits of every row.
    pub row_bits: RowBits,
    /// `sum over v of max_u p_uv` as a fraction, not below the true number.
    pub peaks: (u128, u128),
    /// Whether it is the true number.
    pub peaks_exact: bool,
    /// The least `p_uu`, as a fraction.
    pub least_diagonal: (u128, u128),
    /// Of each gamma asked for: the largest k with (k, gamma)-deniability, and whether it is that or a
    /// smaller number.
    pub deniability: Vec<(u64, bool)>,
    /// `(u, w, v)` with the widest ratio `p_uv / p_wv`, if one was found.
    pub witness: Option<(u64, u64, u64)>,
}

/// Bits of rows, near the true number.
#[derive(Debug, Clone)]
pub enum RowBits {
    /// All the same.
    Same(f64),
    /// One a row.
    Each(Vec<f64>),
    /// Too many to look at.
    Unknown,
}

impl RowBits {
    /// One a row, unless there are more than [`ROWS`].
    pub fn each<I: Iterator<Item = f64>>(size: u64, bits: impl FnOnce() -> I) -> Self {
        if size <= ROWS {
            RowBits::Each(bits().gather())
        } else {
            RowBits::Unknown
        }
    }
}

impl Matrix {
    /// What the single lines say, deniability for each of `gammas`, if that takes no look at every
    /// entry.
    pub(crate) fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        match self.difference_set() {
            Some(set) => set.short_survey(self.law(), gammas),
            None => self.law().short_survey(gammas),
        }
    }
}

impl Law {
    /// The same of a law that is no composite.
    pub(super) fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        let size = self.size();
        match self {
            // Small ones are looked at.
            Law::Tridiagonal { .. } | Law::Reflected { .. } if size <= SIZE => return None,
            Law::TTransform { .. } if size == 2 => return None,
            Law::Reflected { kernel, total } => {
                return Some(Kernel::new(kernel, *total).short_survey(gammas));
            }
            _ => {}
        }
        let mut worst: Option<(f64, Line<'_>)> = None;
        let mut peaks = Sum::default();
        let mut least = (1, 1);
        let mut deniable = memory::filled(u64::MAX, gammas.len());
        for line in self.lines()?.paced() {
            let (_, high) = line.range();
            // Ratios are compared in 64 bits.
            u64::try_from(high).ok()?;
            peaks.add(line.alike, high, line.total);
            if line.alike == size || line.diagonal * least.1 < least.0 * line.total {
                least = (line.diagonal, line.total);
            }
            if !gammas.is_empty() {
                line.in_order(|counts, times| {
                    for (k, &gamma) in deniable.iter_mut().zip(gammas) {
                        *k = (*k).min(neighbours(counts, times, gamma));
                    }
                });
            }
            let bits = line.near_bits();
            if worst.as_ref().is_none_or(|worst| bits < worst.0) {
                worst = Some((bits, line));
            }
        }
        let worst = worst?.1;
        // A long line is summed as the matrix is.
        let bits = match worst.alike == size {
            true => self.entropy().bits_down(),
            false => worst.bits_down(),
        };
        Some(Survey {
            worst_row: (worst.first, bits),
            worst_column: (worst.first, bits),
            worst_exact: true,
            row_bits: self.row_bits(bits),
            peaks: peaks.fraction(),
            peaks_exact: true,
            least_diagonal: least,
            deniability: deniable.into_iter().map(|k| (k, true)).gather(),
            witness: if size > 1 { self.witness() } else { None },
        })
    }

    /// The bits of every row, near the true number; those of the worst row, if all are alike.
    fn row_bits(&self, worst: f64) -> RowBits {
        let size = self.size();
        match self {
            Law::Classes { runs, .. } if runs.len() > 1 => {
                let codes = |run: &Run| {
                    let bits = (run.class_size as f64).log2();
                    std::iter::repeat_n(bits, run.codes() as usize)
                };
                RowBits::each(size, || runs.iter().flat_map(codes))
            }
            Law::Tridiagonal { .. } => {
                let bits = |u| self.step_line(u, 1).near_bits();
                RowBits::each(size, || (0..size).map(bits))
            }
            Law::TTransform {
                i, j, stay, sum, ..
            } => {
                let p = nearest((*stay).into(), (*sum).into());
                let coin = term(p) + term(1.0 - p);
                let bits = |u| if u == *i || u == *j { coin } else { 0.0 };
                RowBits::each(size, || (0..size).map(bits))
            }
            _ => RowBits::Same(worst),
        }
    }

    /// Two truths and a report with the widest ratio, of a law with lines and more than one code.
    fn witness(&self) -> Option<(u64, u64, u64)> {
        let size = self.size();
        match self {
            Law::Permutation(targets) => Some((0, 1, targets[0] as u64)),
            // Entry `(u, 0)` is number `-u` of the first row.
            Law::Circulant { first_row, .. } => {
                let (mut low, mut high) = (0, 0);
                for (k, c) in first_row.iter().enumerate() {
                    low = if *c < first_row[low] { k } else { low };
                    high = if *c > first_row[high] { k } else { high };
                }
                let place = |k: usize| (size - k as u64) % size;
                Some((place(high), place(low), 0))
            }
            Law::RandomizedResponse { law, .. } if law.diag > law.off => Some((0, 1, 0)),
            Law::RandomizedResponse { .. } => Some((1, 0, 0)),
            Law::Classes { runs, .. } => {
                let first = runs[0].class_size;
                (first < size).then_some((0, first, 0))
            }
            Law::Tridiagonal { .. } => Some((u64::from(self.steps(0)[1] == 0), size - 1, 0)),
            _ => {
                let certain = self.lines()?.next()?.first;
                Some((certain, u64::from(certain == 0), certain))
            }
        }
    }
}

/// Whether `a <= gamma b`, exactly. `gamma` is at least 1.
fn at_most(a: u64, gamma: f64, b: u64) -> bool {
    if a <= b {
        return true;
    }
    if gamma == f64::INFINITY {
        return b > 0;
    }
    let bits = gamma.to_bits();
    let mantissa = u128::from((bits & ((1 << 52) - 1)) | (1 << 52));
    // gamma = mantissa 2^(exponent), exponent at least -52.
    let exponent = (bits >> 52) as i32 - 1075;
    let right = mantissa * u128::from(b);
    if exponent <= 0 {
        u128::from(a) << -exponent <= right
    } else {
        b > 0 && (exponent >= 12 || right >= u128::from(a).div_ceil(1 << exponent))
    }
}

/// The smallest number of neighbours within a factor `gamma` that a positive number of the column has,
/// itself included. The column is sorted; number `i` of it stands there `times[i]` times, or once.
pub fn neighbours(column: &[u64], times: &[u64], gamma: f64) -> u64 {
    if gamma < 1.0 {
        return 1;
    }
    let many = |i: usize| times.get(i).copied().unwrap_or(1);
    let first = column.partition_point(|&c| c == 0);
    let (mut low, mut high) = (first, first);
    let (mut alike, mut fewest) = (0, u64::MAX);
    for &c in &column[first..] {
        while !at_most(c, gamma, column[low]) {
            alike -= many(low);
            low += 1;
        }
        while high < column.len() && at_most(column[high], gamma, c) {
            alike += many(high);
            high += 1;
        }
        fewest = fewest.min(alike);
    }
    fewest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_compared_exactly() {
        assert!(at_most(3, 3.0, 1) && !at_most(3, 3.0f64.next_down(), 1));
        assert!(at_most(u64::MAX, 1.0, u64::MAX) && !at_most(u64::MAX, 1.0, u64::MAX - 1));
        assert!(at_most(7, f64::INFINITY, 1) && !at_most(7, f64::INFINITY, 0));
        assert!(at_most(1 << 60, 2f64.powi(60), 1) && !at_most((1 << 60) + 1, 2f64.powi(60), 1));
        assert!(at_most(u64::MAX, 1e300, 1) && !at_most(1, 1e300, 0));
    }
}
