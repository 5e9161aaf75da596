//! The single lines of any matrix: in closed form if its law knows one, else by looking at every entry.

use crate::law::Matrix;
use crate::law::lines::term;
use crate::law::survey::{RowBits, Survey, neighbours};
use crate::number::bits;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop;

impl Matrix {
    /// What the single lines say; `None` if there are too many to look at. `full` looks at all.
    pub(crate) fn survey(&self, gammas: &[f64], full: bool) -> Option<Survey> {
        self.short_survey(gammas).or_else(|| {
            let look = full || self.size() <= self.looked_at();
            look.then(|| by_table(self, gammas))
        })
    }
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
        let mut rows: Vec<(&mut [u64], bool)> = counts.chunks_mut(size).map(|r| (r, true)).gather();
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
pub fn by_table(matrix: &Matrix, gammas: &[f64]) -> Survey {
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
        .gather();
    // Doubles that are alike may stand for probabilities that are not, so without exact counts only
    // those that are alike with something to spare are.
    let spare = |gamma: f64| {
        if rows.exact {
            gamma
        } else {
            gamma * (1.0 - 1e-15)
        }
    };
    let safe: Vec<f64> = gammas.iter().map(|&gamma| spare(gamma)).gather();
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
            .gather(),
        witness: widest
            .filter(|(_, c)| c.high.1 > c.low.1)
            .map(|(v, c)| (c.high.0, c.low.0, v)),
    }
}
