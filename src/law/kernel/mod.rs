//! A reflected kernel. What it measures stands in one file each.

use crate::system::memory;
use crate::system::stop::Paced;

mod entropy;
mod epsilon;
mod survey;

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
}

impl Kernel<'_> {
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
    pub(super) fn flat_from(&self) -> usize {
        let tail = self.counts[self.r()];
        let flat = self.counts.iter().rev().take_while(|&&k| k == tail).count();
        self.counts.len() - flat
    }

    /// The kernel index from which on it counts as constant, if that saves work, and the terms to
    /// stream.
    pub(super) fn plan(&self) -> (Option<usize>, u128) {
        let (r, w) = (self.r() as u128, self.flat_from() as u128);
        if 2 * w <= r {
            (Some(w as usize), w * w / 4)
        } else {
            (None, r * r / 4)
        }
    }

    /// The distance on the cycle between `v` and its image.
    pub(super) fn image(&self, v: usize) -> usize {
        (2 * v + 1).min(2 * self.r() - 2 * v - 1)
    }

    /// The lower convex envelope of the kernel, rounded down to counts, and how far the kernel stands
    /// above that at most; `None` if the envelope rises somewhere.
    pub(super) fn envelope(&self) -> Option<(Vec<u128>, u128)> {
        let r = self.r();
        let at = |j: usize| i128::from(self.counts[j]);
        // The envelope's corners, by the usual turn test.
        let mut corners: Vec<usize> = Vec::new();
        for j in (0..=r).paced() {
            while let [.., a, b] = corners[..] {
                let rise = (at(b) - at(a)).checked_mul((j - a) as i128)?;
                let chord = (at(j) - at(a)).checked_mul((b - a) as i128)?;
                if rise < chord {
                    break;
                }
                corners.pop();
            }
            memory::push(&mut corners, j);
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::bits::Entropy;
    use crate::number::logarithms;

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
                let widest = (0..r).map(|u| ratio(kernel.extremes(u)));
                let epsilon = widest.fold(0.0, f64::max);
                assert_eq!(kernel.epsilon(), epsilon, "{r} {w}");
                let few = kernel.epsilon_of_few_columns();
                assert!(few.is_none_or(|few| few == epsilon), "{r} {w}");
            }
        }
    }
}
