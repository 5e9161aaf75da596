//! The single lines of a reflected kernel.

use super::Kernel;
use crate::law::lines::term;
use crate::law::survey::{RowBits, Survey};
use crate::number::entropy::{self};
use crate::system::memory::Gather;
use crate::system::pool;

impl Kernel<'_> {
    /// What the single lines say, without looking at all of them.
    ///
    /// *Worst line.* If the kernel never rises, row 0 holds `c_v + c_{v+1}`, and its k largest entries
    /// add up to the 2k largest of the cycle; k entries of any other row are 2k places of the cycle,
    /// so row 0 majorizes it and has the fewest bits. Otherwise a row has at least `H(c) - 1` bits.
    ///
    /// *Peaks.* Column `v` holds `c_a + c_b` with `a + b` or `b - a` equal to `d`, the distance between
    /// `v` and its image. If C is convex, never rises and lies above c, then `c_a + c_b <= C_0 + C_d`.
    /// With C the envelope raised by its bulge b this is at most `c_0 + c_d + 2b`, and the diagonal
    /// attains `c_0 + c_d`.
    ///
    /// *Deniability.* Where neighbours of the kernel have ratios of at most rho, truths m steps apart have
    /// ratios of at most rho^m, and at least `m + 1` truths lie within m steps.
    pub fn short_survey(&self, gammas: &[f64]) -> Survey {
        let r = self.r();
        let total = self.total;
        let count = |j: usize| self.counts[j] as u128;
        let scale = total as f64;
        let falls = self.counts.windows(2).all(|w| w[0] >= w[1]);
        let bits = if falls {
            entropy::sum_of_terms(r, |start, out| {
                for (v, x) in (start..).zip(out) {
                    *x = self.count(0, v) as f64 / scale;
                }
            })
        } else {
            self.kernel_bits_less_one()
        };
        let bits = bits.hi * (1.0 - entropy::RELATIVE_ERROR) - 2f64.powi(-50);
        let worst = (0, bits.max(0.0));
        let diagonal = |v: usize| count(0) + count(self.image(v));
        let (peaks, peaks_exact) = match self.envelope() {
            Some((_, bulge)) => {
                let sum: u128 = (0..r).map(diagonal).sum();
                (sum + 2 * bulge * r as u128, bulge == 0)
            }
            None => {
                let most = self.counts.iter().map(|&k| k as u128).max().unwrap_or(0);
                (2 * most * r as u128, false)
            }
        };
        let (mut rho, mut positive) = (1.0f64, true);
        for w in self.counts.windows(2) {
            let (a, b) = (w[0] as f64, w[1] as f64);
            positive &= a > 0.0 && b > 0.0;
            rho = rho.max(if a == b { 1.0 } else { a.max(b) / a.min(b) });
        }
        // Doubles of the counts and their ratio are good to a few parts in 2^53.
        let rho = rho.ln() * (1.0 + 1e-12) + 1e-15;
        let flat = self.flat_from() == 0;
        let deniable = |gamma: f64| {
            if (gamma == f64::INFINITY && positive) || flat {
                return (r as u64, true);
            }
            let steps = gamma.ln() * (1.0 - 1e-12) / rho;
            let steps = if steps.is_finite() && steps > 0.0 {
                steps as u64
            } else {
                0
            };
            ((steps + 1).min(r as u64), steps + 1 >= r as u64)
        };
        // A column that is full takes a look at all of it, so of very long ones a few are tried.
        let columns = if positive { 0 } else { r.min((1 << 28) / r) };
        let witness = (0..columns).find_map(|v| {
            let empty = (0..r).find(|&u| self.count(u, v) == 0)?;
            let full = (0..r).find(|&u| self.count(u, v) > 0)?;
            Some((full as u64, empty as u64, v as u64))
        });
        Survey {
            worst_row: worst,
            worst_column: worst,
            worst_exact: falls,
            row_bits: self.row_bits(),
            peaks: (peaks, total),
            peaks_exact,
            least_diagonal: ((0..r).map(diagonal).min().unwrap_or(0), total),
            deniability: gammas.iter().map(|&gamma| deniable(gamma)).gather(),
            witness,
        }
    }

    /// The bits of every row, if the kernel is constant from a short `w` on: rows further than that
    /// from both ends are alike, and the others feel `2w` entries that are not `2f`.
    pub(super) fn row_bits(&self) -> RowBits {
        const MOST: usize = 1 << 13;
        let (r, w) = (self.r(), self.flat_from().max(1));
        if w > MOST || 2 * w > r {
            return RowBits::Unknown;
        }
        let scale = self.total as f64;
        let flat = term((self.counts[r] as f64) * 2.0 / scale);
        let near = |u: usize| {
            let end = (u + w).min(r);
            let streamed: f64 = (u.saturating_sub(w)..end)
                .map(|v| term(self.count(u, v) as f64 / scale))
                .sum();
            streamed + flat * (r - (end - u.saturating_sub(w))) as f64
        };
        let ends = pool::map(w + 1, w < 64, near);
        let inside = ends[w];
        let each = (0..r).map(|u| {
            let from_end = u.min(r - 1 - u);
            *ends.get(from_end).unwrap_or(&inside)
        });
        RowBits::Each(each.gather())
    }
}
