//! The epsilon of a reflected kernel: by all columns, or by the few that bounds leave.

use super::{Kernel, TERMS};
use crate::number::logarithms::{self};
use crate::system::memory::Gather;
use crate::system::pool;
use crate::system::stop::Paced;

impl Kernel<'_> {
    /// Symmetric, so the extremes of a column are those of a row, and those of `u` those of `r-1-u`.
    pub fn epsilon(&self) -> f64 {
        let r = self.r();
        let (flat, terms) = self.plan();
        let ratio = |(low, high): (u128, u128)| logarithms::log_ratio(high, low);
        if r > 1024
            && let Some(epsilon) = self.epsilon_of_few_columns()
        {
            return epsilon;
        }
        let rows = match flat {
            _ if terms > TERMS => {
                // An entry is a sum of two kernel entries.
                let whole = self.counts.iter().map(|&k| k as u128);
                let range = whole.fold((u128::MAX, 0), |(a, b), k| (a.min(k), b.max(k)));
                return ratio(range);
            }
            Some(w) if w > 0 => pool::map((w + 1).min(r), w < 256, |u| {
                ratio(self.extremes_near_end(u, w))
            }),
            _ => pool::map(r.div_ceil(2), r < 128, |u| ratio(self.extremes(u))),
        };
        rows.into_iter().fold(0.0, f64::max)
    }

    /// Smallest and largest count of row `u`, the same as of column `u`.
    pub(super) fn extremes(&self, u: usize) -> (u128, u128) {
        (0..self.r())
            .map(|v| self.count(u, v))
            .fold((u128::MAX, 0), |(low, high), c| (low.min(c), high.max(c)))
    }

    /// The same if the kernel is constant from `w` on: entries further from the diagonal are all alike.
    pub(super) fn extremes_near_end(&self, u: usize, w: usize) -> (u128, u128) {
        let (end, flat) = (self.r().min(u + w), 2 * self.counts[self.r()] as u128);
        let near = (0..end).map(|v| self.count(u, v));
        let far = (end < self.r()).then_some(flat);
        near.chain(far)
            .fold((u128::MAX, 0), |(low, high), c| (low.min(c), high.max(c)))
    }

    /// Epsilon by bounds that leave few columns to look at; `None` if they leave many.
    ///
    /// Column `v` is at most `c_0 + c_d` and twice the bulge (see [`Kernel::short_survey`]). Its least entry is
    /// not below that of the convex, falling envelope, which is at one end of the scale: moving away
    /// from `v` both terms fall, or their places close in on each other.
    pub(super) fn epsilon_of_few_columns(&self) -> Option<f64> {
        const COLUMNS: usize = 64;
        let (below, bulge) = self.envelope()?;
        let r = self.r();
        let bounds = |v: usize| {
            let low = (below[v] + below[v + 1]).min(below[r - 1 - v] + below[r - v]);
            let high = (self.counts[0] as u128) + (self.counts[self.image(v)] as u128) + 2 * bulge;
            high as f64 / low as f64 * (1.0 + 1e-12)
        };
        let mut columns: Vec<(f64, usize)> = (0..r.div_ceil(2)).map(|v| (bounds(v), v)).gather();
        let few = COLUMNS.min(columns.len());
        let order = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0);
        columns.select_nth_unstable_by(few - 1, order);
        let next = columns[few..].iter().map(|c| c.0).fold(0.0, f64::max);
        columns.truncate(few);
        columns.sort_unstable_by(order);
        let mut worst: f64 = 0.0;
        for &(bound, v) in columns.iter().paced() {
            if bound.ln() < worst {
                return Some(worst);
            }
            let (low, high) = self.extremes(v);
            worst = worst.max(logarithms::log_ratio(high, low));
            if worst == f64::INFINITY {
                return Some(worst);
            }
        }
        (next == 0.0 || next.ln() < worst).then_some(worst)
    }
}
