//! Sums of doubles times whole numbers without any rounding, and their quotients rounded once.
//!
//! A double is a whole number of units of `2^-1074`. Such numbers, shifted by 64 more bits for what a division
//! leaves behind the point, are added up in limbs of 32 bits; carries wait until there may be too many of them.

/// Limbs: 2098 bits of doubles, 64 behind the point, 96 of factors, 64 of a count, and a sign.
const LIMBS: usize = 74;

/// Bits behind the unit `2^-1074`.
const BEHIND: usize = 64;

/// Additions to a limb of less than 2^32 each before 63 bits are full, with room to spare.
const PATIENCE: u32 = 1 << 29;

/// A sum.
#[derive(Clone)]
pub struct Sum {
    limbs: [i64; LIMBS],
    added: u32,
}

impl Default for Sum {
    fn default() -> Self {
        Sum {
            limbs: [0; LIMBS],
            added: 0,
        }
    }
}

impl Sum {
    /// `x * times` more, `x` finite and `times` below 2^96 in magnitude.
    pub fn add(&mut self, x: f64, times: i128) {
        let bits = x.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as usize;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, shift) = match exponent {
            0 => (fraction, BEHIND),
            _ => (fraction | 1 << 52, BEHIND + exponent - 1),
        };
        let negative = x.is_sign_negative() != (times < 0);
        let mut times = times.unsigned_abs();
        let mut at = shift / 32;
        while times > 0 {
            // 53 + 32 + 31 bits.
            let mut part = (u128::from(mantissa) * (times & 0xffff_ffff)) << (shift % 32);
            for limb in &mut self.limbs[at..at + 4] {
                let low = (part & 0xffff_ffff) as i64;
                *limb += if negative { -low } else { low };
                part >>= 32;
            }
            times >>= 32;
            at += 1;
        }
        self.added += 1;
        if self.added == PATIENCE {
            self.carry();
        }
    }

    /// Every limb but the last between 0 and 2^32.
    fn carry(&mut self) {
        let mut over = 0;
        let last = LIMBS - 1;
        for limb in &mut self.limbs[..last] {
            let whole = *limb + over;
            over = whole >> 32;
            *limb = whole & 0xffff_ffff;
        }
        self.limbs[last] += over;
        self.added = 4;
    }

    /// The nearest double to the sum over the product of `divisors`, ties to even. Each is below 2^63.
    pub fn over(&self, divisors: &[u64]) -> f64 {
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.limbs[LIMBS - 1] < 0;
        if negative {
            for limb in &mut sum.limbs {
                *limb = -*limb;
            }
            sum.carry();
        }
        let mut limbs = sum.limbs;
        // A remainder of any step is one of the whole: floors of floors are floors.
        let mut rest = false;
        for &divisor in divisors {
            let mut remainder = 0u128;
            for limb in limbs.iter_mut().rev() {
                let here = remainder << 32 | *limb as u128;
                *limb = (here / u128::from(divisor)) as i64;
                remainder = here % u128::from(divisor);
            }
            rest |= remainder > 0;
        }
        let found = rounded(&limbs, rest);
        if negative { -found } else { found }
    }
}

/// The nearest double to a number of units of `2^-1138`, with or without a rest behind them.
fn rounded(limbs: &[i64; LIMBS], rest: bool) -> f64 {
    let bit = |i: usize| limbs[i / 32] >> (i % 32) & 1 == 1;
    let Some(top) = limbs.iter().rposition(|&limb| limb > 0) else {
        return 0.0;
    };
    let length = 32 * top + 64 - limbs[top].leading_zeros() as usize;
    let drop = length.saturating_sub(53).max(BEHIND);
    let mut mantissa = 0u64;
    for i in (drop..length).rev() {
        mantissa = mantissa << 1 | u64::from(bit(i));
    }
    let half = bit(drop - 1);
    let more = rest || (0..drop - 1).any(bit);
    if half && (more || mantissa & 1 == 1) {
        mantissa += 1;
    }
    // Two factors, both powers of two that are normal: what comes out is a double, so nothing is rounded here.
    let exponent = drop as i32 - BEHIND as i32 - 1074;
    let (a, b) = (exponent / 2, exponent - exponent / 2);
    mantissa as f64 * 2f64.powi(a) * 2f64.powi(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(terms: &[(f64, i128)], divisors: &[u64]) -> f64 {
        let mut sum = Sum::default();
        terms.iter().for_each(|&(x, times)| sum.add(x, times));
        sum.over(divisors)
    }

    #[test]
    fn nothing_is_lost_between_the_ends_of_the_range() {
        let (large, tiny) = (f64::MAX, f64::from_bits(1));
        assert_eq!(sum(&[(large, 1), (tiny, 1), (large, -1)], &[1]), tiny);
        assert_eq!(sum(&[(1e300, 1), (1.0, 1), (-1e300, 1)], &[1]), 1.0);
        assert_eq!(sum(&[(large, 3)], &[3]), large);
        assert_eq!(sum(&[(large, (1 << 95) - 1)], &[(1 << 62), 1 << 33]), large);
        assert_eq!(sum(&[(-2.5, 4), (1.0, 4)], &[2]), -3.0);
        assert_eq!(sum(&[], &[5]), 0.0);
        assert_eq!(sum(&[(tiny, 3)], &[2]), 2.0 * tiny);
        assert_eq!(sum(&[(tiny, 1)], &[2]), 0.0);
        assert_eq!(sum(&[(tiny, 2)], &[3]), tiny);
        assert_eq!(
            sum(&[(f64::MIN_POSITIVE, 1)], &[3]),
            f64::MIN_POSITIVE / 3.0
        );
    }

    #[test]
    fn quotients_are_those_of_the_processor() {
        let mut seed = 5u64;
        for _ in 0..2000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let x = f64::from_bits(seed >> 2 | seed << 63);
            let n = seed >> 40 | 1;
            if x.is_finite() {
                assert_eq!(sum(&[(x, 1)], &[n]), x / n as f64);
                assert_eq!(sum(&[(x, 7), (-x, 6)], &[1]), x);
            }
        }
    }

    #[test]
    fn carries_are_found_in_time() {
        let mut sum = Sum {
            added: PATIENCE - 3,
            ..Sum::default()
        };
        for _ in 0..10 {
            sum.add(-3.0, 1);
        }
        assert_eq!(sum.over(&[3]), -10.0);
        assert!(sum.added < 20);
    }
}
