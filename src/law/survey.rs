//! The lines of a matrix one by one: worst row and column, peaks of the columns, deniability.
//!
//! Beta is an average. What an attacker can do to the worst category, and with the best guess, is read
//! off the single lines: in closed form if the law knows which are alike, else by looking at every entry.

use crate::law::kernel::Kernel;
use crate::law::lines::{Line, Sum, term};
use crate::law::{Law, Matrix, Run};
use crate::number::bits;
use crate::number::lattice::nearest;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop::{self, Paced};

/// Size up to which every entry of steps between neighbours and of a kernel is looked at.
const SIZE: u64 = 4096;

/// Rows whose bits are written down one by one.
const ROWS: u64 = 1 << 27;

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
    fn each<I: Iterator<Item = f64>>(size: u64, bits: impl FnOnce() -> I) -> Self {
        if size <= ROWS {
            RowBits::Each(bits().gather())
        } else {
            RowBits::Unknown
        }
    }
}

impl Matrix {
    /// What the single lines say, deniability for each of `gammas`; `None` if there are too many to look at. `full` looks at
    /// all.
    pub(crate) fn survey(&self, gammas: &[f64], full: bool) -> Option<Survey> {
        let short = match self.difference_set() {
            Some(set) => set.short_survey(self.law(), gammas),
            None => self.law().short_survey(gammas),
        };
        let look = full || self.size() <= self.looked_at();
        short.or_else(|| look.then(|| by_table(self, gammas)))
    }
}

impl Law {
    /// The same without a look at every entry, of a law that is no composite.
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
            deniability: deniable.into_iter().map(|k| (k, true)).collect(),
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
pub(super) fn neighbours(column: &[u64], times: &[u64], gamma: f64) -> u64 {
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

/// Every entry as a count out of `total`, row after row. If a composite has no total below 2^64,
/// probabilities are rounded to multiples of 2^-63, which `exact` says.
struct Table {
    size: usize,
    counts: Vec<u64>,
    total: u64,
    exact: bool,
}

impl Table {
    fn new(matrix: &Matrix) -> Self {
        let size = matrix.size() as usize;
        // Saturated: a table that no memory holds is refused as such.
        let mut counts = memory::zeros::<u64>(size.saturating_mul(size));
        let common = matrix.total().and_then(|t| u64::try_from(t).ok());
        const FINE: u64 = 1 << 63;
        let (mut total, mut exact) = (common.unwrap_or(FINE), common.is_some());
        if exact {
            exact = Self::fill(&mut counts, size, |u, row| {
                let counts = matrix.row::<u128>(u);
                let cells = counts.iter().flatten();
                row.iter_mut().zip(cells).for_each(|(c, w)| *c = *w as u64);
                counts.is_some()
            });
        }
        if !exact {
            total = FINE;
            Self::fill(&mut counts, size, |u, row| {
                let mut reals = memory::zeros(size);
                matrix.fill_row(u, &mut reals);
                for (c, p) in row.iter_mut().zip(&reals) {
                    // A positive entry stays so.
                    *c = ((p * FINE as f64) as u64).max(u64::from(*p > 0.0));
                }
                true
            });
        }
        Table {
            size,
            counts,
            total,
            exact,
        }
    }

    /// `row(u, out)` for every row. Whether all of them said yes.
    fn fill(counts: &mut [u64], size: usize, row: impl Fn(u64, &mut [u64]) -> bool + Sync) -> bool {
        let mut rows: Vec<(&mut [u64], bool)> =
            counts.chunks_mut(size).map(|r| (r, true)).collect();
        pool::for_each_chunk(&mut rows, 1, size < 64, |u, out| {
            stop::point();
            for (out, done) in out {
                *done = row(u as u64, out);
            }
        });
        rows.iter().all(|row| row.1)
    }

    fn transposed(&self) -> Self {
        const BLOCK: usize = 32;
        let n = self.size;
        let mut counts = memory::zeros(n * n);
        pool::for_each_chunk(&mut counts, n * BLOCK, n < 256, |band, rows| {
            for first in (0..n).step_by(BLOCK) {
                stop::point();
                for (i, row) in rows.chunks_mut(n).enumerate() {
                    let v = band * BLOCK + i;
                    let end = n.min(first + BLOCK);
                    for (u, c) in (first..end).zip(&mut row[first..end]) {
                        *c = self.counts[u * n + v];
                    }
                }
            }
        });
        Table { counts, ..*self }
    }

    fn line(&self, u: usize) -> &[u64] {
        &self.counts[u * self.size..(u + 1) * self.size]
    }

    fn bits(&self) -> Vec<f64> {
        let scale = self.total as f64;
        pool::map(self.size, self.size < 64, |u| {
            // Sums of sums: the error stays that of a few additions.
            let parts = self.line(u).chunks(64);
            parts
                .map(|part| part.iter().map(|&c| term(c as f64 / scale)).sum::<f64>())
                .sum()
        })
    }

    /// The line with the fewest bits, and these, not above the true number. Of lines that are alike in
    /// doubles the true least is looked for in closed form, or a hair is taken off.
    fn worst(&self, bits: &[f64]) -> (u64, f64) {
        const CLOSED_FORM: usize = 1024;
        let near = bits.iter().fold(f64::INFINITY, |a, b| a.min(*b)) * (1.0 + 1e-12);
        let alike = || (0..self.size).filter(|&u| bits[u] <= near);
        let exact = |u: usize| {
            let line = self.line(u);
            let total = if self.exact {
                self.total
            } else {
                // The rounded line sums to a little less or more than the total.
                let sum: u128 = line.iter().map(|&c| u128::from(c)).sum();
                u64::try_from(sum).unwrap_or(u64::MAX)
            };
            bits::of_counts(1, total, 1, line.len(), |v| line[v]).bits_down()
        };
        let looked = if self.size <= CLOSED_FORM {
            usize::MAX
        } else {
            1
        };
        let worst = alike()
            .take(looked)
            .map(|u| (u as u64, exact(u)))
            .reduce(|a, b| if b.1 < a.1 { b } else { a })
            .unwrap_or((0, 0.0));
        let hair = if self.size <= CLOSED_FORM || alike().count() == 1 {
            0.0
        } else {
            2e-12 * worst.1
        };
        let slack = if self.exact { 0.0 } else { 1e-12 };
        (worst.0, (worst.1 - slack - hair).max(0.0))
    }
}

/// What one column says.
struct Column<'a> {
    counts: &'a mut [u64],
    /// Where its largest and smallest count stand, and these.
    high: (u64, u64),
    low: (u64, u64),
    neighbours: Vec<u64>,
}

impl Column<'_> {
    /// Leaves the counts sorted.
    fn look(&mut self, gammas: &[f64]) {
        (self.high, self.low) = ((0, self.counts[0]), (0, self.counts[0]));
        for (u, &c) in (0u64..).zip(&*self.counts) {
            self.high = if c > self.high.1 { (u, c) } else { self.high };
            self.low = if c < self.low.1 { (u, c) } else { self.low };
        }
        self.counts.sort_unstable();
        for (fewest, &gamma) in self.neighbours.iter_mut().zip(gammas) {
            *fewest = neighbours(self.counts, &[], gamma);
        }
    }

    /// Whether its widest ratio is wider than the other's.
    fn is_wider(&self, other: &Column<'_>) -> bool {
        let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
        wide(self.high.1, other.low.1) > wide(other.high.1, self.low.1)
            || (self.low.1 == 0 && other.low.1 > 0)
    }
}

/// By looking at every entry.
fn by_table(matrix: &Matrix, gammas: &[f64]) -> Survey {
    let rows = Table::new(matrix);
    let mut columns = rows.transposed();
    let bits = rows.bits();
    let worst_column = columns.worst(&columns.bits());
    let n = rows.size;
    let mut looked: Vec<Column<'_>> = columns
        .counts
        .chunks_mut(n)
        .map(|counts| Column {
            counts,
            high: (0, 0),
            low: (0, 0),
            neighbours: memory::zeros(gammas.len()),
        })
        .collect();
    // Doubles that are alike may stand for probabilities that are not, so without exact counts only
    // those that are alike with something to spare are.
    let spare = |gamma: f64| {
        if rows.exact {
            gamma
        } else {
            gamma * (1.0 - 1e-15)
        }
    };
    let safe: Vec<f64> = gammas.iter().map(|&gamma| spare(gamma)).collect();
    pool::for_each_chunk(&mut looked, 1, n < 64, |_, column| column[0].look(&safe));
    let widest = (0u64..)
        .zip(&looked)
        .reduce(|a, b| if b.1.is_wider(a.1) { b } else { a });
    let peaks: u128 = looked.iter().map(|c| u128::from(c.high.1)).sum();
    // A double is within 2^-54 of a probability, 2^9 of the fine units.
    let slack = if rows.exact { 0 } else { n as u128 * 1024 };
    let fewest = |g: usize| looked.iter().map(|c| c.neighbours[g]).min().unwrap_or(0);
    Survey {
        worst_row: rows.worst(&bits),
        worst_column,
        worst_exact: true,
        row_bits: RowBits::Each(bits),
        peaks: (peaks + slack, rows.total.into()),
        peaks_exact: true,
        least_diagonal: (
            u128::from((0..n).map(|u| rows.line(u)[u]).min().unwrap_or(0))
                .saturating_sub(slack / n as u128),
            rows.total.into(),
        ),
        deniability: (0..gammas.len())
            .map(|g| (fewest(g), rows.exact || gammas[g] == f64::INFINITY))
            .collect(),
        witness: widest
            .filter(|(_, c)| c.high.1 > c.low.1)
            .map(|(v, c)| (c.high.0, c.low.0, v)),
    }
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
