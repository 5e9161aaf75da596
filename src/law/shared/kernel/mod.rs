//! A reflected kernel, whatever its integers: those of a family, or wider ones of a composite. What it measures
//! stands in one file each.

use std::ops::Add;

mod entropy;
mod envelope;
mod epsilon;
mod lines;

/// A non-negative integer of a kernel.
pub trait Count: Copy + PartialEq + Ord + Add<Output = Self> + Send + Sync {
    /// As a double, to nearest.
    fn real(self) -> f64;
    /// As the widest integer.
    fn whole(self) -> u128;
}

impl Count for i64 {
    fn real(self) -> f64 {
        self as f64
    }
    fn whole(self) -> u128 {
        self as u128
    }
}

impl Count for u128 {
    fn real(self) -> f64 {
        self as f64
    }
    fn whole(self) -> u128 {
        self
    }
}

/// Counts `c_0..c_r` out of `total = c_0 + 2 (c_1 + ...) + c_r`.
pub struct Kernel<'a, K> {
    pub counts: &'a [K],
    pub total: u128,
}

/// Terms up to which sums are taken in full.
const TERMS: u128 = 1 << 30;

/// Terms that take some tenths of a second.
const QUICK: u128 = 1 << 27;

impl<K: Count> Kernel<'_, K> {
    /// The size of the reflected matrix.
    pub fn r(&self) -> usize {
        self.counts.len() - 1
    }

    /// The count of entry `(u, v)`.
    pub fn count(&self, u: usize, v: usize) -> u128 {
        let mirror = (u + v + 1).min(2 * self.r() - u - v - 1);
        self.counts[u.abs_diff(v)].whole() + self.counts[mirror].whole()
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

    /// Whether all terms were looked at.
    pub fn is_exact(&self) -> bool {
        self.plan().1 <= TERMS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::law::Family;

    use crate::measure::survey;
    use crate::number::bits::Entropy;
    use crate::number::logarithms;

    fn mass(kernel: &[i64]) -> u128 {
        let sum: i64 = kernel.iter().sum();
        (2 * sum - kernel[0] - kernel[kernel.len() - 1]) as u128
    }

    /// Every way to take the sums, on sizes where entries can still be counted one by one.
    #[test]
    fn all_ways_to_sum_agree() {
        for (r, w) in [
            (40, 3),
            (41, 20),
            (64, 1),
            (65, 32),
            (50, 40),
            (51, 51),
            (33, 16),
        ] {
            let head = |j: usize| 1000 / (1 + j as i64) + (j as i64 * 37) % 11;
            let counts: Vec<i64> = (0..=r).map(|j| if j < w { head(j) } else { 3 }).collect();
            let wide: Vec<u128> = counts.iter().map(|&k| (k as u128) << 80).collect();
            let kernel = Kernel {
                counts: &counts,
                total: mass(&counts),
            };
            let shifted = Kernel {
                counts: &wide,
                total: mass(&counts) << 80,
            };
            let scale = kernel.total as f64;
            let want: f64 = (0..r * r)
                .map(|i| {
                    let p = kernel.count(i / r, i % r) as f64 / scale;
                    -p * p.log2()
                })
                .sum::<f64>()
                / r as f64;
            let law = crate::law::family::reflected::Reflected::new(
                "reflected",
                counts.clone().into(),
                kernel.total as u64,
            );
            let gammas = [1.0, 1.5, 2.0, 1e6, f64::INFINITY];
            let looked = survey::by_table(&law, &gammas);
            survey::laws::agree(&law, &kernel.lines(&gammas), &looked);
            let epsilon = (0..r)
                .map(|u| kernel.extremes(u))
                .map(|(low, high)| logarithms::log_ratio(high, low))
                .fold(0.0, f64::max);
            for entropy in [kernel.entropy_rate(), shifted.entropy_rate()] {
                let Entropy::Within(bits) = entropy else {
                    panic!("long sums are bounded")
                };
                assert!((bits.value.hi - want).abs() < 1e-12, "{r} {w}");
            }
            assert_eq!(kernel.epsilon(), epsilon, "{r} {w}");
            assert!((shifted.epsilon() - epsilon).abs() < 1e-15, "{r} {w}");
        }
    }

    #[test]
    fn a_bound_is_below_the_sum() {
        let counts: Vec<i64> = (0..=200).map(|j| if j < 30 { 40 - j } else { 1 }).collect();
        let kernel = Kernel {
            counts: &counts,
            total: mass(&counts),
        };
        let (exact, bound) = (
            kernel.with_flat_tail(30, true),
            kernel.with_flat_tail(30, false),
        );
        assert!(bound.hi < exact.hi && exact.hi - bound.hi < 60.0);
        assert!((kernel.streamed() - exact).abs().hi < 1e-9);
    }

    #[test]
    fn falling_kernels_are_surveyed_from_their_first_row() {
        let convex = |j: i64| 10_000 / (1 + j) + 2;
        let window = |j: i64| if j < 7 { 50 } else { 1 };
        let rounded = |j: i64| 3 + (9000.0 * (-j as f64 / 3.7).exp()) as i64;
        let zero_tail = |j: i64| (20 - 3 * j).max(0);
        for shape in [convex as fn(i64) -> i64, window, rounded, zero_tail] {
            for r in [1, 2, 5, 40, 41] {
                let counts: Vec<i64> = (0..=r).map(shape).collect();
                let kernel = Kernel {
                    counts: &counts,
                    total: mass(&counts),
                };
                let total = kernel.total as u64;
                let law = crate::law::family::reflected::Reflected::new(
                    "reflected",
                    counts.clone().into(),
                    total,
                );
                let gammas = [1.0, 1.3, 2.0, 1e6, f64::INFINITY];
                let looked = survey::by_table(&law, &gammas);
                let short = kernel.lines(&gammas);
                assert!(short.worst_exact);
                if let Some(epsilon) = kernel.epsilon_of_few_columns() {
                    assert_eq!(epsilon, law.epsilon());
                }
                survey::laws::agree(&law, &short, &looked);
            }
        }
    }
}
