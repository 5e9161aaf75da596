//! Exact sums of logarithms of integers, and their roundings.
//!
//! The value of a [`LogSum`] is the largest double not above the true one, ties included (of up to 32
//! terms): `k_anonymous(16, k=4)` has beta 0.5, not the double below.

use crate::number::bits::Bits;
use crate::number::dd::{self, Dd};
use crate::number::lattice::gcd;

/// `(sum of weight * log2(base)) / denominator`, exactly.
#[derive(Debug, Clone)]
pub struct LogSum {
    /// Weights and bases; a base is positive, or its weight is 0.
    pub terms: Vec<(i128, u128)>,
    /// The common denominator.
    pub denominator: u128,
}

impl LogSum {
    /// No bits.
    pub fn zero() -> Self {
        LogSum {
            terms: Vec::new(),
            denominator: 1,
        }
    }

    /// The sum of two, over a common denominator if that fits.
    pub(super) fn plus(&self, other: &LogSum) -> Option<LogSum> {
        let g = gcd(self.denominator, other.denominator);
        let (a, b) = (other.denominator / g, self.denominator / g);
        let denominator = self.denominator.checked_mul(a)?;
        i128::try_from(denominator).ok()?;
        let scaled = |sum: &LogSum, by: u128| -> Option<Vec<(i128, u128)>> {
            let by = i128::try_from(by).ok()?;
            let terms = sum.terms.iter();
            terms
                .map(|&(w, x)| Some((w.checked_mul(by)?, x)))
                .collect::<Option<Vec<_>>>()
        };
        let mut terms = scaled(self, a)?;
        terms.extend(scaled(other, b)?);
        Some(LogSum { terms, denominator })
    }

    pub(super) fn bits(&self) -> Bits {
        let mut value = Dd::ZERO;
        let mut size = 0.0;
        for &(weight, base) in &self.terms {
            if weight == 0 {
                continue;
            }
            let term = Dd::from(weight.unsigned_abs()) * Dd::from(base).log2();
            size += term.hi;
            value = if weight < 0 {
                value - term
            } else {
                value + term
            };
        }
        let denominator = Dd::from(self.denominator);
        Bits {
            value: value / denominator,
            // Each of the n terms and partial sums is good to RELATIVE_ERROR of `size`.
            error: (2 + self.terms.len()) as f64 * dd::RELATIVE_ERROR * size / denominator.hi,
        }
    }

    /// Whether the sum is exactly `x log2(base)`, decided in integers.
    ///
    /// `x = m 2^-e`, so the question is whether integer multiples of logarithms of integers add up
    /// to 0. Over a coprime basis of the bases (found by gcds, no factoring) the logarithms are
    /// independent over the rationals, so every exponent has to vanish. If an exponent leaves
    /// 128 bits the answer is no, which only costs the last bit.
    fn is_exactly(&self, x: f64, base: u128) -> bool {
        if x == 0.0 && self.terms.iter().all(|t| t.0 == 0 || t.1 == 1) {
            return true;
        }
        if self.terms.len() > 32 || !(2f64.powi(-60)..=64.0).contains(&x) {
            return false;
        }
        let bits = x.to_bits();
        let mut m = i128::from((bits & ((1 << 52) - 1)) | (1 << 52));
        let mut e = 1075 - (bits >> 52) as i32;
        while m % 2 == 0 {
            m /= 2;
            e -= 1;
        }
        let (scale, m) = if e >= 0 {
            (1i128.checked_shl(e as u32), Some(m))
        } else {
            (Some(1), m.checked_mul(1 << -e))
        };
        let equation = || {
            let (scale, m) = (scale?, m?);
            let mut equation = vec![(
                m.checked_mul(i128::try_from(self.denominator).ok()?)?
                    .checked_neg()?,
                base,
            )];
            for &(w, b) in self.terms.iter().filter(|t| t.0 != 0) {
                equation.push((w.checked_mul(scale)?, b));
            }
            Some(equation)
        };
        equation().is_some_and(|equation| logarithms_cancel(&equation))
    }

    /// The largest double not above `sum / log2(base)`.
    pub(super) fn round_down(&self, base: u128) -> f64 {
        let bits = self.bits();
        let scaled = bits.over(base);
        let low = scaled.value.round_down(scaled.error);
        // Mostly no double lies as close to the value as its error; one that does may be the value.
        let near = scaled.value.round_down(-scaled.error);
        if near > low && self.is_exactly(near, base) {
            near
        } else if low < 0.0 {
            0.0
        } else {
            low
        }
    }
}

/// Whether `sum of weight * log(base)` is 0.
fn logarithms_cancel(equation: &[(i128, u128)]) -> bool {
    let mut basis: Vec<u128> = Vec::new();
    let mut pending: Vec<u128> = equation.iter().map(|t| t.1).collect();
    while let Some(x) = pending.pop() {
        if x <= 1 {
            continue;
        }
        match basis.iter().position(|&b| gcd(b, x) > 1) {
            None => basis.push(x),
            Some(i) => {
                let b = basis[i];
                if b == x {
                    continue;
                }
                let g = gcd(b, x);
                basis.swap_remove(i);
                pending.extend([g, b / g, x / g]);
            }
        }
    }
    basis.iter().all(|&b| {
        equation
            .iter()
            .try_fold(0i128, |sum, &(weight, base)| {
                let (mut x, mut power) = (base, 0i128);
                while x > 1 && x % b == 0 {
                    x /= b;
                    power += 1;
                }
                sum.checked_add(weight.checked_mul(power)?)
            })
            .is_some_and(|sum| sum == 0)
    })
}

/// `ln(largest / smallest)` rounded up; 0 if they are equal, infinite if the smallest is 0.
pub fn log_ratio(largest: u128, smallest: u128) -> f64 {
    if largest == smallest {
        0.0
    } else if smallest == 0 {
        f64::INFINITY
    } else {
        let x = Dd::ln_ratio(largest, smallest);
        // `ln_ratio` may be a difference of two logarithms below 89 each.
        let error = if x.hi < 0.35 { x.hi } else { 180.0 };

        x.round_up(error * dd::RELATIVE_ERROR)
    }
}

/// [`log_ratio`] of the widest of many pairs `(smallest, largest)`. Which one that is is found in
/// integers, so that one logarithm is taken.
pub fn widest(pairs: impl IntoIterator<Item = (u64, u64)>) -> f64 {
    let (low, high) = pairs.into_iter().fold((1, 1), |a, b| {
        let (left, right) = (
            u128::from(a.1) * u128::from(b.0),
            u128::from(b.1) * u128::from(a.0),
        );
        if left >= right { a } else { b }
    });
    log_ratio(high.into(), low.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_sum(terms: &[(i128, u128)], denominator: u128) -> LogSum {
        LogSum {
            terms: terms.to_vec(),
            denominator,
        }
    }

    #[test]
    fn ties_are_decided_in_integers() {
        // log 4 / log 16, log 27 / log 81 (= 3/4), (18 log 2 + 18 log 3)/(36 log 36) = 1/4.
        assert_eq!(log_sum(&[(1, 4)], 1).round_down(16), 0.5);
        assert_eq!(log_sum(&[(1, 27)], 1).round_down(81), 0.75);
        assert_eq!(log_sum(&[(18, 2), (18, 3)], 36).round_down(36), 0.25);
        assert_eq!(log_sum(&[(1, 1_000_000)], 1).round_down(1_000_000), 1.0);
        assert_eq!(log_sum(&[(5, 1)], 3).round_down(7), 0.0);
    }

    #[test]
    fn a_value_between_two_doubles_is_rounded_down() {
        let x = log_sum(&[(1, 3)], 1).round_down(2);
        assert!(Dd::from(x).hi <= 1.584_962_500_721_156_2);
        assert_eq!(x, 1.584_962_500_721_156);
        // The nearest double is above it.
        assert_eq!(log_sum(&[(1, 7)], 1).round_down(2), 2.807_354_922_057_603_7);
    }

    #[test]
    fn cancelling_needs_every_exponent() {
        assert!(logarithms_cancel(&[(1, 12), (-1, 3), (-2, 2)]));
        assert!(!logarithms_cancel(&[(1, 12), (-1, 3), (-1, 2)]));
        assert!(logarithms_cancel(&[(3, 4), (-2, 8)]));
        assert!(logarithms_cancel(&[]));
    }

    #[test]
    fn ratios_are_rounded_up() {
        assert_eq!(log_ratio(5, 5), 0.0);
        assert_eq!(log_ratio(5, 0), f64::INFINITY);
        assert_eq!(log_ratio(3, 1), 1.098_612_288_668_109_8);
        let one = log_ratio((1 << 80) + 1, 1 << 80);
        assert_eq!(one, 2f64.powi(-80));
    }
}
