//! Double-double arithmetic: a number as an unevaluated sum of two doubles, about 32 digits.
//!
//! The reports round a true value in a known direction, so they need it to more than a double's
//! digits. Only IEEE additions, multiplications and divisions are used (no fused operation, no
//! library logarithm), so every platform gets the same bits.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::system::kept::Kept;

/// `hi + lo` with `|lo| <= ulp(hi) / 2`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dd {
    /// The double nearest to the value.
    pub hi: f64,
    /// What that double leaves.
    pub lo: f64,
}

/// Relative error that bounds every operation and [`Dd::log2`] below, with room to spare: the
/// basic operations are good to 2^-103, the series of the logarithm to 2^-101.
pub const RELATIVE_ERROR: f64 = 1.0 / (1u128 << 97) as f64;

const LN_2: Dd = Dd {
    hi: std::f64::consts::LN_2,
    lo: 2.319_046_813_846_299_6e-17,
};
const LOG2_E: Dd = Dd {
    hi: std::f64::consts::LOG2_E,
    lo: 2.035_527_374_093_103_3e-17,
};

/// Knuth's exact sum.
const fn two_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    let t = s - a;
    Dd {
        hi: s,
        lo: (a - (s - t)) + (b - t),
    }
}

/// Dekker's exact sum for `|a| >= |b|`.
const fn fast_two_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    Dd {
        hi: s,
        lo: b - (s - a),
    }
}

/// Dekker's exact product, by splitting each factor into halves of 26 bits.
const fn two_prod(a: f64, b: f64) -> Dd {
    const SPLIT: f64 = 134_217_729.0; // 2^27 + 1
    let p = a * b;
    let (ta, tb) = (SPLIT * a, SPLIT * b);
    let (ah, bh) = (ta - (ta - a), tb - (tb - b));
    let (al, bl) = (a - ah, b - bh);
    Dd {
        hi: p,
        lo: ((ah * bh - p) + ah * bl + al * bh) + al * bl,
    }
}

/// Terms of the atanh series: s <= 0.1716 gives s^2 <= 0.02945, and 0.02945^22 < 2^-111.
const TERMS: usize = 22;

/// 1/(2n+1) to double-double accuracy.
const ODD_RECIPROCALS: [Dd; TERMS] = {
    let mut table = [Dd { hi: 1.0, lo: 0.0 }; TERMS];
    let mut n = 1;
    while n < TERMS {
        let d = (2 * n + 1) as f64;
        let hi = 1.0 / d;
        let back = two_prod(hi, d);
        table[n] = fast_two_sum(hi, ((1.0 - back.hi) - back.lo) / d);
        n += 1;
    }
    table
};

impl Dd {
    /// Zero.
    pub const ZERO: Dd = Dd { hi: 0.0, lo: 0.0 };
    /// One.
    pub const ONE: Dd = Dd { hi: 1.0, lo: 0.0 };

    /// The sum of two doubles, exactly.
    pub fn sum(a: f64, b: f64) -> Dd {
        two_sum(a, b)
    }

    /// The product of two doubles, exactly.
    pub fn product(a: f64, b: f64) -> Dd {
        two_prod(a, b)
    }

    /// `2 atanh(s) = ln((1 + s) / (1 - s))` from this number of terms; all of them serve `|s| <= 0.172`.
    fn two_atanh(s: Dd, terms: usize) -> Dd {
        let z = s * s;
        let mut sum = ODD_RECIPROCALS[terms - 1];
        for c in ODD_RECIPROCALS[..terms - 1].iter().rev() {
            sum = sum * z + *c;
        }
        let t = s * sum;
        t + t
    }

    /// `(k, m)` with `self = m 2^k` and m between sqrt(1/2) and sqrt(2).
    fn split(self) -> (f64, Dd) {
        const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
        let steps = (self.hi.to_bits() as i64 - SQRT_HALF as i64) >> 52;
        // Two factors, since 2^-steps alone leaves the range of a double near its ends.
        let (a, b) = (-steps / 2, -steps - (-steps / 2));
        let power = |e: i64| f64::from_bits(((1023 + e) as u64) << 52);
        let scale = |x: f64| x * power(a) * power(b);
        (
            steps as f64,
            Dd {
                hi: scale(self.hi),
                lo: scale(self.lo),
            },
        )
    }

    /// Logarithm to base 2 of a positive number; exact for powers of two.
    pub fn log2(self) -> Dd {
        let (k, m) = self.split();
        Dd::from(k) + Dd::ln_near_one(m) * LOG2_E
    }

    /// Natural logarithm of a positive number.
    pub fn ln(self) -> Dd {
        let (k, m) = self.split();
        LN_2 * Dd::from(k) + Dd::ln_near_one(m)
    }

    /// Natural logarithm of `m` between sqrt(1/2) and sqrt(2): `ln(m c) - ln c` with a `c` from a table
    /// that brings `m c` within 1/180 of 1, where seven terms do. Around 1 itself `c` is 1, so that a
    /// small logarithm keeps its digits; elsewhere the difference cancels by a factor of 2 at most.
    fn ln_near_one(m: Dd) -> Dd {
        const STEPS: usize = 128;
        const FIRST: usize = 90;
        static TABLE: Kept<Vec<(f64, Dd)>> = Kept::new();
        let full = |m: Dd| Dd::two_atanh((m - Dd::ONE) / (m + Dd::ONE), TERMS);
        let table = TABLE.get_or_make(|| {
            (FIRST..=182)
                .map(|i| STEPS as f64 / i as f64)
                .map(|c| (c, full(Dd::from(c))))
                .collect()
        });
        let place = (m.hi * STEPS as f64 + 0.5) as usize;
        match table.get(place.wrapping_sub(FIRST)) {
            Some(&(c, ln_c)) => {
                let near = m * Dd::from(c);
                Dd::two_atanh((near - Dd::ONE) / (near + Dd::ONE), 8) - ln_c
            }
            None => full(m),
        }
    }

    /// `ln(a / b)` for positive integers, to full relative accuracy also where `a / b` is nearly 1:
    /// there `2 atanh((a - b) / (a + b))` starts from an exact difference.
    pub fn ln_ratio(a: u128, b: u128) -> Dd {
        let difference = if a >= b {
            Dd::from(a - b)
        } else {
            -Dd::from(b - a)
        };
        let s = difference / (Dd::from(a) + Dd::from(b));
        if s.hi.abs() <= 0.17 {
            Dd::two_atanh(s, TERMS)
        } else {
            Dd::from(a).ln() - Dd::from(b).ln()
        }
    }

    /// Absolute value.
    #[cfg(test)]
    pub fn abs(self) -> Dd {
        if self.hi < 0.0 { -self } else { self }
    }

    /// The largest double not above `self - error`.
    pub fn round_down(self, error: f64) -> f64 {
        let x = self - Dd::from(error);
        if x.lo < 0.0 { x.hi.next_down() } else { x.hi }
    }

    /// The smallest double not below `self + error`.
    pub fn round_up(self, error: f64) -> f64 {
        -(-self).round_down(error)
    }

    /// The largest integer not above the value, for values of magnitude below 2^100.
    pub fn floor(self) -> i128 {
        let hi = self.hi.floor();
        if hi == self.hi {
            hi as i128 + self.lo.floor() as i128
        } else {
            hi as i128
        }
    }
}

impl From<f64> for Dd {
    fn from(x: f64) -> Dd {
        Dd { hi: x, lo: 0.0 }
    }
}

/// Exact below 2^106, else to 2^-106.
impl From<u128> for Dd {
    fn from(x: u128) -> Dd {
        let hi = x as f64;
        // `hi as u128` saturates only at 2^128, where the difference is still right to a double.
        let back = hi as u128;
        let lo = if back >= x {
            -((back - x) as f64)
        } else {
            (x - back) as f64
        };
        fast_two_sum(hi, lo)
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

impl Add for Dd {
    type Output = Dd;
    fn add(self, b: Dd) -> Dd {
        let s = two_sum(self.hi, b.hi);
        let t = two_sum(self.lo, b.lo);
        let c = fast_two_sum(s.hi, s.lo + t.hi);
        fast_two_sum(c.hi, t.lo + c.lo)
    }
}

impl Sub for Dd {
    type Output = Dd;
    fn sub(self, b: Dd) -> Dd {
        self + (-b)
    }
}

impl Mul for Dd {
    type Output = Dd;
    fn mul(self, b: Dd) -> Dd {
        let p = two_prod(self.hi, b.hi);
        fast_two_sum(p.hi, p.lo + (self.hi * b.lo + self.lo * b.hi))
    }
}

impl Div for Dd {
    type Output = Dd;
    fn div(self, b: Dd) -> Dd {
        let q1 = self.hi / b.hi;
        let r = self - b * Dd::from(q1);
        let q2 = r.hi / b.hi;
        let r = r - b * Dd::from(q2);
        let q3 = r.hi / b.hi;
        let q = fast_two_sum(q1, q2);
        q + Dd::from(q3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(x: Dd, hi: f64, lo: f64) {
        let error = (x - Dd { hi, lo }).abs().hi;
        assert!(
            error <= x.hi.abs() * RELATIVE_ERROR,
            "{x:?} differs by {error:e}"
        );
    }

    #[test]
    fn logarithms_match_forty_digits() {
        // Splits of ln 3, log2 3, log2 10 and ln 10 into two doubles.
        close(
            Dd::from(3.0).ln(),
            1.098_612_288_668_109_8,
            -9.071_297_235_001_529e-17,
        );
        close(
            Dd::from(10.0).ln(),
            std::f64::consts::LN_10,
            -2.170_756_223_382_249_4e-16,
        );
        close(
            Dd::from(3.0).log2(),
            1.584_962_500_721_156,
            1.057_978_124_011_255_4e-16,
        );
    }

    #[test]
    fn the_table_agrees_with_the_full_series() {
        for i in 0..2000 {
            let m = Dd::from(0.708 + 0.706 * f64::from(i) / 2000.0) + Dd::from(1e-18);
            let full = Dd::two_atanh((m - Dd::ONE) / (m + Dd::ONE), TERMS);
            let error = (Dd::ln_near_one(m) - full).abs().hi;
            assert!(error <= full.hi.abs() * RELATIVE_ERROR, "{m:?} {error:e}");
        }
    }

    #[test]
    fn powers_of_two_are_exact() {
        for k in 0..120u32 {
            let l = Dd::from(1u128 << k).log2();
            assert_eq!((l.hi, l.lo), (f64::from(k), 0.0));
        }
    }

    #[test]
    fn ratios_near_one_keep_their_digits() {
        // ln(1 + x) = x - x^2/2 + ... with x = 2^-80: the first term is right to 2^-80.
        let b = 1u128 << 80;
        let l = Dd::ln_ratio(b + 1, b);
        let x = 2f64.powi(-80);
        assert_eq!(l.hi, x);
        assert_eq!(l.lo, -x * x / 2.0);
        assert_eq!(Dd::ln_ratio(7, 7), Dd::ZERO);
        assert_eq!(Dd::ln_ratio(2, 9), -Dd::ln_ratio(9, 2));
    }

    #[test]
    fn rounding_brackets_the_value() {
        let third = Dd::ONE / Dd::from(3.0);
        let (down, up) = (third.round_down(0.0), third.round_up(0.0));
        assert_eq!(up, down.next_up());
        assert_eq!(Dd::ONE.round_down(0.0), 1.0);
        assert_eq!(Dd::ONE.round_down(1e-30), 1.0f64.next_down());
    }

    #[test]
    fn floors_are_exact() {
        assert_eq!(Dd::from((1u128 << 90) + 7).floor(), (1i128 << 90) + 7);
        assert_eq!(
            (Dd::from(1u128 << 53) - Dd::from(1e-9)).floor(),
            (1 << 53) - 1
        );
        assert_eq!(Dd::from(2.5).floor(), 2);
    }
}
