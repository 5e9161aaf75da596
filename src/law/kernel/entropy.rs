//! The entropy rate of a reflected kernel: streamed, short if the kernel is flat, or bounded.

use super::{Kernel, TERMS};
use crate::number::bits::{self, Entropy};
use crate::number::dd::Dd;
use crate::number::entropy;
use crate::number::lattice;
use crate::system::memory::{self};
use crate::system::pool;
use crate::system::stop::Paced;

impl Kernel<'_> {
    /// The entropy rate of the reflected matrix.
    pub fn entropy_rate(&self) -> Entropy {
        self.entropy_rate_within(TERMS)
    }

    pub(super) fn entropy_rate_within(&self, most: u128) -> Entropy {
        let r = self.r();
        if r * r <= 1024 {
            let total = u64::try_from(self.total);
            if let Ok(total) = total {
                return bits::of_counts(r as u64, total, 1, r * r, |i| {
                    self.count(i / r, i % r) as u64
                });
            }
        }
        let (flat, terms) = self.plan();
        if flat == Some(0) {
            // Constant throughout: perfect secrecy.
            return Entropy::perfect(r as u64);
        }
        let sum = match flat {
            Some(w) => self.with_flat_tail(w, terms <= most),
            None if terms <= most => self.streamed(),
            None => self.kernel_bits_less_one() * Dd::from(r as f64),
        };
        let value = sum / Dd::from(r as f64);
        let exact = self.total.is_power_of_two() && self.total <= u128::from(lattice::GRID);
        Entropy::summed(value, exact)
    }

    /// `H(c) - 1`: folding maps at most two places of the cycle to one.
    pub(super) fn kernel_bits_less_one(&self) -> Dd {
        let scale = 1.0 / self.total as f64;
        let kernel = self.counts;
        let all = entropy::sum_of_terms(kernel.len(), |start, out| {
            for (x, &k) in out.iter_mut().zip(&kernel[start..]) {
                *x = k as f64 * scale;
            }
        });
        let term = |k: i64| entropy::term(k as f64 * scale);
        let bits = all + all - term(kernel[0]) - term(kernel[self.r()]) - Dd::ONE;
        if bits.hi > 0.0 { bits } else { Dd::ZERO }
    }

    /// The sum over all rows of their bits. By symmetry and by turning the scale round, four entries
    /// are alike, except on the two diagonals: with `t = v - u`, the terms of
    /// `c_t + c_{2u+1+t}` for `t = 0..r-2u` count 2 at both ends and 4 between.
    pub(super) fn streamed(&self) -> Dd {
        let r = self.r();
        let scale = 1.0 / self.total as f64;
        let parts = pool::map(r.div_ceil(2), false, |u| {
            let (near, far) = (self.counts, &self.counts[2 * u + 1..]);
            let len = r - 2 * u;
            let inner = entropy::sum(1..len.max(2) - 1, |start, out| {
                for ((x, a), b) in out.iter_mut().zip(&near[start..]).zip(&far[start..]) {
                    *x = (*a + *b) as f64 * scale;
                }
            });
            let end = |t: usize| entropy::term((near[t] + far[t]) as f64 * scale);
            let two = Dd::from(2.0);
            if len == 1 {
                end(0)
            } else {
                inner * Dd::from(4.0) + (end(0) + end(len - 1)) * two
            }
        });
        parts.into_iter().fold(Dd::ZERO, |a, b| a + b)
    }

    /// The same if the kernel is the constant `f` from `w <= r/2` on.
    ///
    /// A row `w` or more from both ends holds `c_0 + f` once, `c_t + f` twice for `0 < t < w`, and `2f`
    /// elsewhere. A row `u < w` is counted with its mirror image, and by symmetry an entry `v < w` right
    /// of the diagonal twice: `c_t + c_{2u+1+t}` for `t = v - u < w`, which is `c_t + f` from
    /// `t = w - 2u - 1` on (prefix sums), then `2f`.
    pub(super) fn with_flat_tail(&self, w: usize, exact: bool) -> Dd {
        let r = self.r();
        let scale = 1.0 / self.total as f64;
        let kernel = self.counts;
        let f = kernel[r];
        let term = |count: i64| entropy::term(count as f64 * scale);
        let number = |n: usize| Dd::from(n as f64);
        // prefix[t] = sum of the terms of c_0 + f, ..., c_{t-1} + f.
        let mut prefix = memory::room(w + 1);
        let mut sum = Dd::ZERO;
        prefix.push(sum);
        for &k in kernel[..w].iter().paced() {
            sum = sum + term(k + f);
            prefix.push(sum);
        }
        let flat = term(f + f);
        let inside = prefix[w] + prefix[w] - prefix[1] + flat * number(r - 2 * w + 1);
        let inside = inside * number(r - 2 * w);
        let two = Dd::from(2.0);
        if !exact {
            return inside + self.kernel_bits_less_one() * number(2 * w);
        }
        let near_end = pool::map(w, w < 256, |u| {
            let far = &kernel[2 * u + 1..];
            // Entries that feel both images, the first of them on the diagonal.
            let both = w.saturating_sub(2 * u + 1);
            let streamed = entropy::sum(1..both.max(1), |start, out| {
                for ((x, a), b) in out.iter_mut().zip(&kernel[start..]).zip(&far[start..]) {
                    *x = (*a + *b) as f64 * scale;
                }
            });
            let diagonal = if both > 0 {
                term(kernel[0] + far[0])
            } else {
                prefix[1]
            };
            let from = both.max(1);
            let twice = streamed + prefix[(w - u).max(from)] - prefix[from];
            let once = prefix[w] - prefix[(w - u).max(from)];
            diagonal + twice * two + once + flat * number(r - u - w)
        });
        let ends = near_end.into_iter().fold(Dd::ZERO, |a, b| a + b);
        inside + ends * two
    }
}
