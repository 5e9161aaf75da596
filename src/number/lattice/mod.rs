//! Exact integers: a law is a vector of counts out of a common total, nothing else.
//!
//! Floating point enters here and only here. [`round_vector`] moves a probability vector onto the
//! grid 2^-53, where its sum is an integer identity; [`common_total`] takes fractions as they are.

mod rounding;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::number::dd::{Dd, RELATIVE_ERROR};
use crate::system::memory;

pub use rounding::{Rounded, round_even, round_number, round_vector};

/// Units of the grid: an entry is an integer of them, a line sums to all of them.
pub const GRID: u64 = 1 << 53;

/// Largest size: codes and counts up to it are exact as doubles, too.
pub const MAX_SIZE: u64 = 1 << 53;

/// How far a sum of given floats may be from 1 and still mean 1.
pub const TOLERANCE: f64 = 1e-9;

/// Greatest common divisor.
pub fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Non-negative fractions over their least common denominator: counts and that total. A count of 2^63 or more, which
/// no total reaches, is a negative number.
///
/// # Errors
/// A negative fraction, or a common denominator of 2^63 or more.
pub fn common_total(name: &str, ratios: &[(i128, i128)]) -> Result<(Arc<[i64]>, u64)> {
    let mut total: u128 = 1;
    for (i, &(n, d)) in ratios.iter().enumerate() {
        if n < 0 {
            let got = format!("{n}/{d} at {i}");
            return Err(Error::value(name, "hold non-negative numbers", got));
        }
        let d = d.unsigned_abs();
        // Neither factor reaches 2^63, so their product does not leave 128 bits.
        let lcm = (d < 1 << 63).then(|| total / gcd(total, d) * d);
        total = lcm.unwrap_or(u128::MAX);
        if total >= 1 << 63 {
            let must = "have a common denominator below 2^63";
            let got = format!("2^63 or more up to position {i}");
            return Err(Error::value(name, must, got));
        }
    }
    let count = |(i, &(n, d)): (usize, &(i128, i128))| {
        (n.unsigned_abs())
            .checked_mul(total / d.unsigned_abs())
            .and_then(|c| u64::try_from(c).ok())
            .map(|c| c as i64)
            .ok_or_else(|| Error::value(name, "hold numbers up to 1", format!("{n}/{d} at {i}")))
    };
    let counts = memory::all(ratios.iter().enumerate().map(count))?;
    Ok((memory::shared(counts), total as u64))
}

/// The double nearest to `numerator / denominator`.
pub fn nearest(numerator: u128, denominator: u128) -> f64 {
    if numerator <= 1 << 53 && denominator <= 1 << 53 {
        // Both are doubles, and IEEE division rounds to nearest. Processors convert 64 bits, not 128.
        return numerator as u64 as f64 / denominator as u64 as f64;
    }
    // To 30 digits the nearest double is mostly clear: what it leaves is less than half a gap, on the
    // smaller side of a power of two.
    let quotient = Dd::from(numerator) / Dd::from(denominator);
    let half_gap = (quotient.hi - quotient.hi.next_down()) / 2.0;
    if quotient.lo.abs() + quotient.hi * RELATIVE_ERROR < half_gap {
        return quotient.hi;
    }
    // Long division to 55 bits, then one more for whether anything is left: rounding that integer
    // to a double is rounding the quotient. The divisor is below 2^127, as every total is.
    let (mut quotient, mut rest) = (numerator / denominator, numerator % denominator);
    let mut places = 1;
    while quotient < 1 << 54 && (quotient > 0 || rest > 0) {
        rest <<= 1;
        quotient <<= 1;
        if rest >= denominator {
            rest -= denominator;
            quotient |= 1;
        }
        places += 1;
    }
    let more = rest > 0;
    (quotient << 1 | u128::from(more)) as f64 * 2f64.powi(-places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_double_is_exact_where_it_can_be() {
        assert_eq!(nearest(1, 3), 1.0 / 3.0);
        assert_eq!(nearest(1 << 100, 1 << 101), 0.5);
        assert_eq!(nearest(0, 1 << 101), 0.0);
        assert_eq!(nearest((1 << 80) + 1, 1 << 80), 1.0);
        // Just above the middle of two doubles.
        let f = (10_127_791_349_648_701, 3_304_496_702_185_360_803);
        assert_eq!(nearest(f.0, f.1), 0.003_064_851_401_712_973_6);
    }
}
