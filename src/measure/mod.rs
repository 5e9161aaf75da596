//! Bits, beta and epsilon of any family, each rounded in the direction that claims less.
//!
//! A closed form is a [`LogSum`]: an exact expression in logarithms of integers. Its value is the
//! largest double not above the true one, ties included (of up to 32 terms): `k_anonymous(16, k=4)`
//! has beta 0.5, not the double below. A long sum is a [`Bits`]: a value with a bound on its error.

pub mod survey;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::number::dd::{self, Dd};
use crate::number::entropy;
use crate::number::lattice::gcd;
use crate::system::memory::{self, Gather};

/// A number of bits known up to `error`.
#[derive(Debug, Clone, Copy)]
pub struct Bits {
    /// Near the true value.
    pub value: Dd,
    /// No farther from it than this.
    pub error: f64,
}

/// `(sum of weight * log2(base)) / denominator`, exactly.
#[derive(Debug, Clone)]
pub struct LogSum {
    /// Weights and bases; a base is positive, or its weight is 0.
    pub terms: Vec<(i128, u128)>,
    /// The common denominator.
    pub denominator: u128,
}

/// An entropy rate.
#[derive(Debug, Clone)]
pub enum Entropy {
    /// In closed form.
    Exact(LogSum),
    /// As a long sum.
    Within(Bits),
}

/// Up to this many numbers the sum is evaluated in closed form, to the last bits.
const CLOSED_FORM: usize = 1024;

impl LogSum {
    /// No bits.
    pub fn zero() -> Self {
        LogSum {
            terms: Vec::new(),
            denominator: 1,
        }
    }

    /// The sum of two, over a common denominator where that fits.
    fn plus(&self, other: &LogSum) -> Option<LogSum> {
        let g = gcd(self.denominator, other.denominator);
        let (a, b) = (other.denominator / g, self.denominator / g);
        let denominator = self.denominator.checked_mul(a)?;
        i128::try_from(denominator).ok()?;
        let scaled = |sum: &LogSum, by: u128| -> Option<Vec<(i128, u128)>> {
            let by = i128::try_from(by).ok()?;
            sum.terms
                .iter()
                .map(|&(w, x)| Some((w.checked_mul(by)?, x)))
                .collect::<Option<_>>()
        };
        let mut terms = scaled(self, a)?;
        terms.extend(scaled(other, b)?);
        Some(LogSum { terms, denominator })
    }

    fn bits(&self) -> Bits {
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
    /// independent over the rationals, so every exponent has to vanish. Where an exponent leaves
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
    fn round_down(&self, base: u128) -> f64 {
        let bits = self.bits();
        let scaled = bits.over(base);
        let low = if mutant!("beta-nearest") {
            scaled.value.hi
        } else {
            scaled.value.round_down(scaled.error)
        };
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
    let mut pending: Vec<u128> = equation.iter().map(|t| t.1).gather();
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

impl Bits {
    fn over(self, base: u128) -> Bits {
        let unit = Dd::from(base).log2();
        let value = self.value / unit;
        Bits {
            value,
            error: self.error / unit.hi * (1.0 + 1e-15) + value.hi.abs() * dd::RELATIVE_ERROR,
        }
    }

    fn round_down(self, base: u128) -> f64 {
        let scaled = self.over(base);
        let error = if mutant!("long-sum-error-upwards") {
            -scaled.error
        } else {
            scaled.error
        };
        scaled.value.round_down(error).max(0.0)
    }
}

impl Entropy {
    /// Not above the true number of bits, and the nearest such double in closed form.
    pub fn bits_down(&self) -> f64 {
        if mutant!("joint-entropy-nearest") {
            return self.bits().value.hi;
        }
        self.round_down(2)
    }

    /// The largest double not above `self / log2(base)` in closed form, else a double not above it.
    fn round_down(&self, base: u128) -> f64 {
        match self {
            Entropy::Exact(sum) => sum.round_down(base),
            Entropy::Within(bits) => bits.round_down(base),
        }
    }
}

/// What some entries add to the entropy rate of `rows` rows: the counts `get(0..len)` out of `total`,
/// each standing in the matrix `times` times.
///
/// `sum of times * -(c/total) log2(c/total) / rows = sum of times * c (log2 total - log2 c) / (rows total)`.
pub fn of_counts(
    rows: u64,
    total: u64,
    times: u64,
    len: usize,
    get: impl Fn(usize) -> u64 + Sync + Send,
) -> Entropy {
    if len <= CLOSED_FORM {
        let mut counts: Vec<u64> = (0..len).map(get).filter(|&c| c > 0).gather();
        counts.sort_unstable();
        let mut terms = vec![(0, u128::from(total))];
        for equal in counts.chunk_by(|a, b| a == b) {
            let weight = equal.len() as i128 * i128::from(times) * i128::from(equal[0]);
            terms[0].0 += weight;
            memory::push(&mut terms, (-weight, u128::from(equal[0])));
        }
        return Entropy::Exact(LogSum {
            terms,
            denominator: u128::from(rows) * u128::from(total),
        });
    }
    // A probability is count/total in doubles, exact on the grid. Elsewhere it is off by one part in
    // 2^53, which moves p log2 p by less than 2^-52 p where log2 p is near 0 and by one part in 2^52
    // elsewhere; all the p of the matrix add up to `rows`.
    let exact = total.is_power_of_two() && total <= 1 << 53;
    let (scale, total) = (1.0 / total as f64, total as f64);
    let sum = entropy::sum_of_terms(len, |start, out| {
        for (i, x) in out.iter_mut().enumerate() {
            let count = get(start + i) as f64;
            *x = if exact { count * scale } else { count / total };
        }
    });
    let value = sum * Dd::from(u128::from(times)) / Dd::from(u128::from(rows));
    let slack = if exact { 0.0 } else { 2f64.powi(-50) };
    Entropy::Within(Bits {
        value,
        error: value.hi.abs() * entropy::RELATIVE_ERROR + slack,
    })
}

impl Entropy {
    /// This times a share of at most 1.
    pub fn scaled(&self, share: Dd) -> Entropy {
        let bits = self.bits();
        let value = bits.value * share;
        Entropy::Within(Bits {
            value,
            error: bits.error + value.hi.abs() * dd::RELATIVE_ERROR,
        })
    }

    fn bits(&self) -> Bits {
        match self {
            Entropy::Exact(sum) => sum.bits(),
            Entropy::Within(bits) => *bits,
        }
    }
}

impl std::ops::Add for Entropy {
    type Output = Entropy;
    fn add(self, other: Entropy) -> Entropy {
        let joined = match (&self, &other) {
            (Entropy::Exact(a), Entropy::Exact(b)) => a.plus(b),
            _ => None,
        };
        match (joined, self, other) {
            (Some(sum), _, _) => Entropy::Exact(sum),
            (None, a, b) => {
                let (a, b) = (a.bits(), b.bits());
                let value = a.value + b.value;
                Entropy::Within(Bits {
                    value,
                    error: a.error + b.error + value.hi.abs() * dd::RELATIVE_ERROR,
                })
            }
        }
    }
}

/// `ln(largest / smallest)` rounded up; 0 where they are equal, infinite where the smallest is 0.
pub fn log_ratio(largest: u128, smallest: u128) -> f64 {
    if largest == smallest {
        0.0
    } else if smallest == 0 {
        f64::INFINITY
    } else {
        let x = Dd::ln_ratio(largest, smallest);
        // `ln_ratio` may be a difference of two logarithms below 89 each.
        let error = if x.hi < 0.35 { x.hi } else { 180.0 };
        if mutant!("epsilon-nearest") {
            return x.hi;
        }
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

/// The entropy rate in bits, Expression (4): never above the true value.
pub fn entropy_rate(family: &dyn Family) -> f64 {
    family.entropy_rate().round_down(2)
}

/// A lower bound of bits and beta, where the true ones take a second or more to find.
pub fn quick_rate(family: &dyn Family) -> Option<(f64, f64)> {
    let entropy = family.quick_entropy_rate()?;
    Some((
        entropy.round_down(2),
        entropy.round_down(family.size().into()).min(1.0),
    ))
}

/// The most bits a row can hold, log2 of the size, to nearest.
pub fn max_bits(size: u64) -> f64 {
    Dd::from(u128::from(size)).log2().hi
}

/// Definition 1: the entropy rate over log2 of the size, never above the true value. With one
/// category there is nothing to hide, and beta is 1.
pub fn beta(family: &dyn Family) -> f64 {
    match family.size() {
        1 => 1.0,
        size => {
            let beta = family.entropy_rate().round_down(u128::from(size));
            beta.max(family.least_beta()).min(1.0)
        }
    }
}

/// `-sum of p log2 p / size` of a plain array in row-major order.
///
/// # Errors
/// An entry that is not a non-negative number; a row or column whose sum is off by more than 1e-9.
pub fn array_entropy_rate(array: &[f64], size: usize) -> Result<f64> {
    let must = "hold non-negative numbers whose rows and columns sum to 1";
    let (rows, columns) = entropy::scan_matrix(array, size);
    if rows.iter().any(|r| r.signed || !r.sum.is_finite())
        && let Some(i) = array.iter().position(|x| !(*x >= 0.0 && x.is_finite()))
    {
        let (u, v) = (i / size, i % size);
        return Err(Error::value(
            "array",
            must,
            format!("{} at ({u}, {v})", array[i]),
        ));
    }
    let off = |sum: f64| (sum - 1.0).abs() > crate::number::lattice::TOLERANCE;
    let complaint = |line: &str, i: usize, sum: f64| {
        Error::value(
            "array",
            must,
            format!("a sum of {sum} in {line} {i}, off by {:.1e}", sum - 1.0),
        )
    };
    if let Some(u) = rows.iter().position(|r| off(r.sum)) {
        return Err(complaint("row", u, rows[u].sum));
    }
    if let Some(v) = columns.iter().position(|&s| off(s)) {
        return Err(complaint("column", v, columns[v]));
    }
    let total = rows
        .iter()
        .fold(Dd::ZERO, |sum, r| sum + Dd::from(r.entropy));
    // The kernel may leave a hair of the wrong sign or above the maximum.
    Ok((total / Dd::from(size as f64))
        .hi
        .clamp(0.0, max_bits(size as u64)))
}

/// Raise unless reported numbers keep what is asked, each given as `(asked, reported)`.
///
/// # Errors
/// [`Error::Guarantee`] where one is not kept; [`Error::Value`] where nothing is asked or a number
/// is none.
pub fn require(beta: Option<(f64, f64)>, epsilon: Option<(f64, f64)>) -> Result<()> {
    if beta.is_none() && epsilon.is_none() {
        return Err(Error::value("require", "be given beta or epsilon", "none"));
    }
    if let Some((asked, reported)) = beta {
        if !(0.0..=1.0).contains(&asked) {
            return Err(Error::value("beta", "be from 0 to 1", asked));
        }
        if reported < asked {
            return Err(Error::guarantee(
                "beta",
                format!("be at least {asked}"),
                reported,
            ));
        }
    }
    if let Some((asked, reported)) = epsilon {
        if !(asked >= 0.0) {
            return Err(Error::value("epsilon", "be at least 0", asked));
        }
        if reported > asked {
            return Err(Error::guarantee(
                "epsilon",
                format!("be at most {asked}"),
                reported,
            ));
        }
    }
    Ok(())
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
    }

    #[test]
    fn cancelling_needs_every_exponent() {
        assert!(logarithms_cancel(&[(1, 12), (-1, 3), (-2, 2)]));
        assert!(!logarithms_cancel(&[(1, 12), (-1, 3), (-1, 2)]));
        assert!(logarithms_cancel(&[(3, 4), (-2, 8)]));
        assert!(logarithms_cancel(&[]));
    }

    #[test]
    fn long_sums_agree_with_the_closed_form() {
        // The same law as 1024 numbers and, each split into two of half the size, as 2048.
        let counts: Vec<u64> = (1..=1024).collect();
        let total: u64 = counts.iter().sum();
        let short = of_counts(1, 2 * total, 1, 1024, |i| 2 * counts[i]);
        let long = of_counts(1, 2 * total, 1, 2048, |i| counts[i / 2]);
        assert!(matches!(long, Entropy::Within(_)));
        let (a, b) = (short.round_down(2) + 1.0, long.round_down(2));
        assert!(b <= a && a - b < 1e-12);
    }

    #[test]
    fn ratios_are_rounded_up() {
        assert_eq!(log_ratio(5, 5), 0.0);
        assert_eq!(log_ratio(5, 0), f64::INFINITY);
        assert_eq!(log_ratio(3, 1), 1.098_612_288_668_109_8);
        let one = log_ratio((1 << 80) + 1, 1 << 80);
        assert_eq!(one, 2f64.powi(-80));
    }

    #[test]
    fn an_array_is_checked_before_it_is_measured() {
        assert_eq!(array_entropy_rate(&[0.5; 4], 2), Ok(1.0));
        assert_eq!(array_entropy_rate(&[1.0, 0.0, 0.0, 1.0], 2), Ok(0.0));
        let error = |a: &[f64]| array_entropy_rate(a, 2).unwrap_err().to_string();
        assert!(error(&[1.0, 0.0, 1.0, 0.0]).ends_with("a sum of 2 in column 0, off by 1.0e0"));
        assert!(error(&[0.5, 0.25, 0.5, 0.75]).contains("in row 0, off by -2.5e-1"));
        assert!(error(&[f64::NAN, 0.5, 0.5, 0.5]).ends_with("NaN at (0, 0)"));
        assert!(error(&[1.0, 0.0, 1.5, -0.5]).ends_with("-0.5 at (1, 1)"));
    }
}
