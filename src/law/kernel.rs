//! A reflected kernel: its entropy rate, streamed, short if the kernel is flat, or bounded; its epsilon, by all columns or by
//! the few that bounds leave; its single lines.

use crate::law::lines::term;
use crate::law::survey::{RowBits, Survey};
use crate::number::bits::{self, Entropy};
use crate::number::dd::Dd;
use crate::number::{entropy, lattice, logarithms};
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop::Paced;

/// Counts `c_0..c_r` out of `total = c_0 + 2 (c_1 + ...) + c_r`.
pub struct Kernel<'a> {
    counts: &'a [i64],
    total: u128,
}

/// Terms up to which sums are taken in full.
const TERMS: u128 = 1 << 30;

impl<'a> Kernel<'a> {
    /// The kernel of a law.
    pub fn new(counts: &'a [i64], total: u64) -> Self {
        let total = total.into();
        Kernel { counts, total }
    }

    /// The size of the reflected matrix.
    pub fn r(&self) -> usize {
        self.counts.len() - 1
    }

    /// The count of entry `(u, v)`.
    pub fn count(&self, u: usize, v: usize) -> u128 {
        let mirror = (u + v + 1).min(2 * self.r() - u - v - 1);
        (self.counts[u.abs_diff(v)] as u128) + (self.counts[mirror] as u128)
    }

    /// The index from which on the kernel is constant.
    fn flat_from(&self) -> usize {
        let tail = self.counts[self.r()];
        let flat = self.counts.iter().rev().take_while(|&&k| k == tail).count();
        self.counts.len() - flat
    }

    /// The kernel index from which on it counts as constant, if that saves work, and the terms to
    /// stream.
    fn plan(&self) -> (Option<usize>, u128) {
        let (r, w) = (self.r() as u128, self.flat_from() as u128);
        if 2 * w <= r {
            (Some(w as usize), w * w / 4)
        } else {
            (None, r * r / 4)
        }
    }

    /// The distance on the cycle between `v` and its image.
    fn image(&self, v: usize) -> usize {
        (2 * v + 1).min(2 * self.r() - 2 * v - 1)
    }

    /// The lower convex envelope of the kernel, rounded down to counts, and how far the kernel stands
    /// above that at most; `None` if the envelope rises somewhere.
    fn envelope(&self) -> Option<(Vec<u128>, u128)> {
        let r = self.r();
        let at = |j: usize| i128::from(self.counts[j]);
        // The envelope's corners, by the usual turn test.
        let mut corners: Vec<usize> = memory::room(r + 1);
        for j in (0..=r).paced() {
            while let [.., a, b] = corners[..] {
                let rise = (at(b) - at(a)).checked_mul((j - a) as i128)?;
                let chord = (at(j) - at(a)).checked_mul((b - a) as i128)?;
                if rise < chord {
                    break;
                }
                corners.pop();
            }
            corners.push(j);
        }
        let mut below = memory::room(r + 1);
        for pair in corners.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let (fall, run) = (at(a) - at(b), (b - a) as i128);
            if fall < 0 {
                return None;
            }
            for j in (0..run).paced() {
                let down = fall.checked_mul(j)?;
                below.push((at(a) - (down + run - 1) / run) as u128);
            }
        }
        below.push(self.counts[r] as u128);
        let above = self.counts.iter().zip(&below);
        let bulge = above.map(|(c, b)| *c as u128 - b).max().unwrap_or(0);
        Some((below, bulge))
    }

    /// Whether all terms were looked at.
    pub fn is_exact(&self) -> bool {
        self.plan().1 <= TERMS
    }

    /// The entropy rate of the reflected matrix.
    pub fn entropy_rate(&self) -> Entropy {
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
            Some(w) => self.with_flat_tail(w, terms <= TERMS),
            None if terms <= TERMS => self.streamed(),
            None => self.kernel_bits_less_one() * Dd::from(r as f64),
        };
        let value = sum / Dd::from(r as f64);
        let exact = self.total.is_power_of_two() && self.total <= u128::from(lattice::GRID);
        Entropy::summed(value, exact)
    }

    /// `H(c) - 1`: folding maps at most two places of the cycle to one.
    fn kernel_bits_less_one(&self) -> Dd {
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
    fn streamed(&self) -> Dd {
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
    fn with_flat_tail(&self, w: usize, exact: bool) -> Dd {
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
            Some(w) if w > 0 => pool::map((w + 1).min(r), w < 256, |u| ratio(self.extremes(u, w))),
            _ => pool::map(r.div_ceil(2), r < 128, |u| ratio(self.extremes(u, r))),
        };
        rows.into_iter().fold(0.0, f64::max)
    }

    /// Smallest and largest count of row `u`, the same as of column `u`, if the kernel is constant from `w` on: entries
    /// further from the diagonal are all alike.
    fn extremes(&self, u: usize, w: usize) -> (u128, u128) {
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
    fn epsilon_of_few_columns(&self) -> Option<f64> {
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
            let (low, high) = self.extremes(v, r);
            worst = worst.max(logarithms::log_ratio(high, low));
            if worst == f64::INFINITY {
                return Some(worst);
            }
        }
        (next == 0.0 || next.ln() < worst).then_some(worst)
    }

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
            deniability: gammas.iter().map(|&gamma| deniable(gamma)).collect(),
            witness,
        }
    }

    /// The bits of every row, if the kernel is constant from a short `w` on: rows further than that
    /// from both ends are alike, and the others feel `2w` entries that are not `2f`.
    fn row_bits(&self) -> RowBits {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to take the sums, on sizes where entries can still be counted one by one.
    #[test]
    fn all_ways_to_sum_agree() {
        let rough = |j: i64| 1000 / (1 + j) + (j * 37) % 11;
        let falling = |j: i64| 10_000 / (1 + j) + 2;
        for (r, w) in [
            (40, 3),
            (41, 20),
            (64, 1),
            (65, 32),
            (50, 40),
            (51, 51),
            (33, 16),
        ] {
            for head in [rough as fn(i64) -> i64, falling] {
                let count = |j| if j < w { head(j as i64) } else { 3 };
                let counts: Vec<i64> = (0..=r).map(count).collect();
                let total = 2 * counts.iter().sum::<i64>() - counts[0] - counts[r];
                let kernel = Kernel::new(&counts, total as u64);
                let term = |i: usize| {
                    let p = kernel.count(i / r, i % r) as f64 / total as f64;
                    -p * p.log2()
                };
                let want = (0..r * r).map(term).sum::<f64>() / r as f64;
                let Entropy::Within(bits) = kernel.entropy_rate() else {
                    panic!("long sums are bounded")
                };
                assert!((bits.value.hi - want).abs() < 1e-12, "{r} {w}");
                if 2 * w <= r {
                    assert!(
                        (kernel.streamed() - kernel.with_flat_tail(w, true))
                            .abs()
                            .hi
                            < 1e-9
                    );
                    assert!(kernel.with_flat_tail(w, false).hi <= want * r as f64);
                }
                let ratio = |(low, high)| logarithms::log_ratio(high, low);
                let widest = (0..r).map(|u| ratio(kernel.extremes(u, r)));
                let epsilon = widest.fold(0.0, f64::max);
                assert_eq!(kernel.epsilon(), epsilon, "{r} {w}");
                let few = kernel.epsilon_of_few_columns();
                assert!(few.is_none_or(|few| few == epsilon), "{r} {w}");
            }
        }
    }
}
