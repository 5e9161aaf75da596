//! Circulant family, Expression (6): row `u` is the first row shifted right by `u`.

use std::sync::Arc;

use crate::error::Result;
use crate::law::Family;
use crate::law::lines::{self, RowBits, Survey};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::structure::Structure;
use crate::number::bits::{self, Entropy};
use crate::number::lattice::{gcd, nearest};
use crate::number::logarithms;
use crate::system::memory::Gather;

/// # Law
/// `probability(u, v) = first_row[(v - u) mod size]`. Column `v` holds the same numbers as row 0 in
/// another order, so rows and columns both sum to one.
///
/// # Cost
/// Build and entropy O(size); an entry O(1).
#[derive(Debug)]
pub struct Circulant {
    /// Counts.
    pub first_row: Arc<[i64]>,
    /// Their sum.
    pub total: u64,
}

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let (counts, total) = arguments.distribution("first_row")?;
    Ok(Arc::new(Circulant {
        first_row: counts,
        total,
    }))
}

impl Circulant {
    /// Smallest and largest entry.
    fn range(&self) -> (u64, u64) {
        self.first_row
            .iter()
            .fold((u64::MAX, 0), |(low, high), &c| {
                (low.min(c as u64), high.max(c as u64))
            })
    }
}

impl Family for Circulant {
    fn name(&self) -> &'static str {
        "circulant"
    }

    fn size(&self) -> u64 {
        self.first_row.len() as u64
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("first_row", Value::Wholes(Arc::clone(&self.first_row))),
            ("total", Value::Whole(self.total.into())),
        ]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        let shift = (v + self.size() - u) % self.size();
        Some((self.first_row[shift as usize] as u128, self.total.into()))
    }

    fn canonical(&self) -> Option<Arc<dyn Family>> {
        None
    }

    fn structure(&self) -> Structure {
        Structure::Circulant {
            first_row: Arc::clone(&self.first_row),
            total: self.total,
        }
    }

    fn total(&self) -> Option<u128> {
        Some(self.total.into())
    }

    fn fill_row(&self, u: u64, out: &mut [f64]) {
        for (x, &c) in out.iter_mut().zip(&*self.first_row) {
            *x = nearest(c as u128, self.total.into());
        }
        out.rotate_right(u as usize);
    }

    /// Every row is a permutation of the first, so one row's entropy is the rate.
    fn entropy_rate(&self) -> Entropy {
        let (low, high) = self.range();
        if low == high {
            // Perfect secrecy, said without rounding at any length.
            return Entropy::perfect(self.size());
        }
        let row = &*self.first_row;
        bits::of_counts(1, self.total, 1, row.len(), |i| row[i] as u64)
    }

    fn extremes(&self) -> Option<(f64, f64)> {
        let (low, high) = self.range();
        let of_total = |c: u64| nearest(c.into(), self.total.into());
        Some((of_total(low).next_down().max(0.0), of_total(high).next_up()))
    }

    /// Every column holds every number of the first row.
    fn epsilon(&self) -> f64 {
        let (low, high) = self.range();
        logarithms::log_ratio(high.into(), low.into())
    }

    fn truthfulness(&self) -> f64 {
        nearest(self.first_row[0] as u128, self.total.into())
    }

    /// A walk on a cycle by the shifts in the support. After `n` steps it can be anywhere, for some
    /// `n`, just when the differences of shifts generate the whole cycle: `gcd(differences, size) = 1`.
    fn is_ergodic(&self) -> bool {
        let mut shifts = (0u128..).zip(&*self.first_row).filter(|(_, c)| **c > 0);
        let first = shifts.next().map_or(0, |(shift, _)| shift);
        shifts.fold(u128::from(self.size()), |g, (shift, _)| {
            gcd(g, shift - first)
        }) == 1
    }

    /// Every line is a permutation of the first row; entry `(u, 0)` is number `-u` of it.
    fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        let bits = self.entropy_rate().bits_down();
        let row = &*self.first_row;
        let (mut low, mut high) = (0, 0);
        for (k, c) in row.iter().enumerate() {
            low = if *c < row[low] { k } else { low };
            high = if *c > row[high] { k } else { high };
        }
        let mut sorted: Vec<u64> = row.iter().map(|&c| c as u64).gather();
        sorted.sort_unstable();
        let deniable = |&gamma: &f64| (lines::neighbours(&sorted, gamma), true);
        let n = row.len();
        let place = |k: usize| ((n - k) % n) as u64;
        Some(Survey {
            worst_row: (0, bits),
            worst_column: (0, bits),
            worst_exact: true,
            row_bits: RowBits::Same(bits),
            peaks: (row[high] as u128 * n as u128, self.total.into()),
            peaks_exact: true,
            least_diagonal: (row[0] as u128, self.total.into()),
            deniability: gammas.iter().map(deniable).gather(),
            witness: (n > 1).then(|| (place(high), place(low), 0)),
        })
    }
}
