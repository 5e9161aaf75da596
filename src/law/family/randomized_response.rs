//! Randomized response, Expression (2): the truth with one probability, each lie with another.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::lines::{self, RowBits, Survey};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::rate;
use crate::law::structure::{Structure, TwoValued};
use crate::number::bits::Entropy;
use crate::number::calibrate;
use crate::number::dd::Dd;
use crate::number::lattice::{GRID, gcd, nearest};
use crate::number::logarithms::{self, LogSum};
use crate::system::memory::Gather;

/// # Law
/// `probability(u, v)` is `diag/total` where `u = v` and `off/total` elsewhere, with
/// `total = diag + (size - 1) off`: a line holds one of the first and `size - 1` of the second.
///
/// # Cost
/// Two integers at any size; everything is O(1).
#[derive(Debug)]
pub struct RandomizedResponse {
    size: u64,
    /// In lowest terms, so that equal laws are equal numbers.
    law: TwoValued,
}

/// Sizes up to this one live on the grid.
const GRID_SIZES: u64 = 1 << 16;

/// Beyond the grid `diag + (size - 1) off` stays below 2^63.
const TOTAL: u64 = (1 << 63) - 1;

impl RandomizedResponse {
    /// The law `diag : off`.
    pub fn new(size: u64, diag: u128, off: u128) -> Self {
        let law = TwoValued::new(size, diag, off);
        RandomizedResponse { size, law }
    }

    /// The probability of the truth in lowest terms.
    fn keep(&self) -> (u128, u128) {
        let (n, d) = (self.law.diag, self.law.total);
        let g = gcd(n, d);
        (n / g, d / g)
    }

    /// The law with this `off` on the grid.
    fn on_grid(size: u64, off: u64) -> Self {
        let diag = GRID - (size - 1) * off;
        Self::new(size, diag.into(), off.into())
    }

    /// On the grid the smallest `off`, hence the most truth, for which `holds`. Close to perfect
    /// secrecy the grid may have no such law with `diag >= off`; 1/size itself always serves.
    fn most_truthful_on_grid(size: u64, holds: impl Fn(&Self) -> bool) -> Self {
        let off = calibrate::smallest(1, GRID / size, |off| holds(&Self::on_grid(size, off)));
        let law = Self::on_grid(size, off);
        if holds(&law) {
            law
        } else {
            Self::new(size, 1, 1)
        }
    }

    /// Beyond the grid: `off` as large as `diag = off * odds` allows, then the largest `diag` for
    /// which `holds`. The odds only set the scale, so a power of two above them will do, and the
    /// relative step of `diag` stays below `(size + 2 odds) / (odds 2^63)`.
    fn most_truthful_off_grid(size: u64, log2_odds: f64, holds: impl Fn(&Self) -> bool) -> Self {
        let off = off_for(size, log2_odds);
        let law = |diag: u64| Self::new(size, diag.into(), off.into());
        let most = TOTAL - (size - 1) * off;
        law(calibrate::largest(off, most, |diag| holds(&law(diag))))
    }

    /// The most truthful law whose epsilon is not above this one.
    pub fn by_epsilon(size: u64, epsilon: f64) -> Self {
        let holds = |law: &Self| law.epsilon() <= epsilon;
        if epsilon == 0.0 {
            Self::new(size, 1, 1)
        } else if epsilon == f64::INFINITY || size == 1 {
            Self::new(size, 1, 0)
        } else if size <= GRID_SIZES {
            Self::most_truthful_on_grid(size, holds)
        } else {
            Self::most_truthful_off_grid(size, epsilon * std::f64::consts::LOG2_E, holds)
        }
    }

    /// The most truthful law whose beta is not below this one.
    pub fn by_beta(size: u64, beta: f64) -> Self {
        let holds = |law: &Self| rate::beta(law) >= beta;
        if beta == 1.0 {
            Self::new(size, 1, 1)
        } else if beta == 0.0 || size == 1 {
            Self::new(size, 1, 0)
        } else if size <= GRID_SIZES {
            Self::most_truthful_on_grid(size, holds)
        } else {
            Self::most_truthful_off_grid(size, log2_odds(size, beta), holds)
        }
    }

    /// `keep` as a double: towards 1/size, so never less private than asked. 0 and 1 are exact.
    fn by_keep(size: u64, keep: f64) -> Self {
        if keep == 0.0 || keep == 1.0 {
            return Self::new(size, u128::from(keep == 1.0), u128::from(keep == 0.0));
        }
        let others = u128::from(size - 1);
        let truthful = (Dd::product(keep, size as f64) - Dd::ONE).hi >= 0.0;
        let (diag, off) = if size <= GRID_SIZES {
            let scaled = keep * GRID as f64;
            let diag = if truthful {
                scaled.floor()
            } else {
                scaled.ceil()
            } as u128;
            let lies = u128::from(GRID) - diag;
            let off = if truthful {
                lies.div_ceil(others)
            } else {
                lies / others
            };
            (u128::from(GRID) - others * off, off)
        } else {
            let odds = Dd::from(keep) * Dd::from(others) / (Dd::ONE - Dd::from(keep));
            let off = off_for(size, odds.hi.log2().max(0.0));
            let diag = odds * Dd::from(u128::from(off));
            let diag = if truthful {
                (diag.floor() as u128).min(u128::from(TOTAL) - others * u128::from(off))
            } else {
                diag.floor() as u128 + 1
            };
            (diag, off.into())
        };
        // Rounding must not step over perfect secrecy.
        if (diag >= off) == truthful || diag == off {
            Self::new(size, diag, off)
        } else {
            Self::new(size, 1, 1)
        }
    }

    /// `keep = n/d` exactly: `diag : off = n (size - 1) : (d - n)`.
    pub fn by_fraction(size: u64, n: u128, d: u128) -> Self {
        Self::new(size, n * u128::from(size - 1), d - n)
    }
}

/// The largest `off` that leaves room for `diag = off 2^ceil(log2_odds)` in the total.
fn off_for(size: u64, log2_odds: f64) -> u64 {
    let odds = match log2_odds.ceil() {
        e if e < 63.0 => 1u64 << e as u32,
        _ => TOTAL,
    };
    (u128::from(TOTAL) / (u128::from(size - 1) + u128::from(odds))).max(1) as u64
}

/// log2 of `diag/off` near the given beta, by bisection of
/// `H = e (1 - p) + ln(1 + (size - 1) exp(-e))` nats with `p = 1/(1 + (size - 1) exp(-e))`.
fn log2_odds(size: u64, beta: f64) -> f64 {
    let others = (size - 1) as f64;
    let (mut low, mut high) = (0.0, 44.0);
    for _ in 0..60 {
        let e: f64 = (low + high) / 2.0;
        let lies = others * (-e).exp();
        let entropy = e * lies / (1.0 + lies) + lies.ln_1p();
        if entropy >= beta * (size as f64).ln() {
            low = e;
        } else {
            high = e;
        }
    }
    high * std::f64::consts::LOG2_E
}

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let size = arguments.size()?;
    arguments.exactly_one(&["epsilon", "beta", "keep"])?;
    if let Some(keep) = arguments.take("keep") {
        return by_keep(size, keep).map(|law| Arc::new(law) as Arc<dyn Family>);
    }
    let law = match arguments.real("epsilon")? {
        Some(epsilon) if !(epsilon >= 0.0) => {
            return Err(Error::value("epsilon", "be at least 0", epsilon));
        }
        Some(epsilon) => RandomizedResponse::by_epsilon(size, epsilon),
        None => RandomizedResponse::by_beta(size, arguments.beta()?.unwrap_or(0.0)),
    };
    Ok(Arc::new(law))
}

fn by_keep(size: u64, keep: Value) -> Result<RandomizedResponse> {
    let must = if size == 1 {
        "be 1 where size is 1"
    } else {
        "be from 0 to 1"
    };
    let inside = |x: f64| (0.0..=1.0).contains(&x) && (size > 1 || x == 1.0);
    match keep {
        Value::Real(keep) if inside(keep) => Ok(RandomizedResponse::by_keep(size, keep)),
        Value::Real(keep) => Err(Error::value("keep", must, keep)),
        Value::Whole(n @ (0 | 1)) if inside(n as f64) => {
            Ok(RandomizedResponse::by_fraction(size, n as u128, 1))
        }
        Value::Whole(n) => Err(Error::value("keep", must, n)),
        Value::Ratio(n, d) if n < 0 || n > d || (size == 1 && n != d) => {
            Err(Error::value("keep", must, format!("{n}/{d}")))
        }
        Value::Ratio(n, d) if d < 1 << 63 => {
            Ok(RandomizedResponse::by_fraction(size, n as u128, d as u128))
        }
        Value::Ratio(_, d) => Err(Error::value("keep", "have a denominator below 2^63", d)),
        _ => Err(Error::type_("keep", "be a number", "a vector")),
    }
}

impl Family for RandomizedResponse {
    fn name(&self) -> &'static str {
        "randomized_response"
    }

    fn size(&self) -> u64 {
        self.size
    }

    /// `keep = diag/total` and the size give `diag : off` back.
    fn parameters(&self) -> Parameters {
        let (n, d) = self.keep();
        vec![
            ("size", Value::Whole(self.size.into())),
            ("keep", Value::Ratio(n as i128, d as i128)),
        ]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        let count = if u == v { self.law.diag } else { self.law.off };
        Some((count, self.law.total))
    }

    fn canonical(&self) -> Option<Arc<dyn Family>> {
        None
    }

    fn structure(&self) -> Structure {
        if self.size == 1 {
            return Structure::Certain(None);
        }
        // The denominator is below 2^63, or is a total that stays below 2^64.
        let (n, d) = self.keep();
        Structure::Lies {
            size: self.size,
            keep: (n as u64, d as u64),
        }
    }

    fn total(&self) -> Option<u128> {
        Some(self.law.total)
    }

    fn fill_row(&self, u: u64, out: &mut [f64]) {
        out.fill(nearest(self.law.off, self.law.total));
        out[u as usize] = nearest(self.law.diag, self.law.total);
    }

    /// Every row holds the same numbers:
    /// `H = log2 total - (diag log2 diag + (size - 1) off log2 off) / total`.
    fn entropy_rate(&self) -> Entropy {
        let lies = u128::from(self.size - 1) * self.law.off;
        let total = self.law.total;
        Entropy::Exact(LogSum {
            terms: vec![
                (total as i128, total),
                (-(self.law.diag as i128), self.law.diag),
                (-(lies as i128), self.law.off),
            ],
            denominator: total,
        })
    }

    fn extremes(&self) -> Option<(f64, f64)> {
        let of_sum = |c: u128| nearest(c, self.law.total);
        let (a, b) = (of_sum(self.law.diag), of_sum(self.law.off));
        Some((a.min(b).next_down().max(0.0), a.max(b).next_up()))
    }

    /// A column holds `diag` once and `off` elsewhere.
    fn epsilon(&self) -> f64 {
        if self.size == 1 {
            return 0.0;
        }
        logarithms::log_ratio(
            self.law.diag.max(self.law.off),
            self.law.diag.min(self.law.off),
        )
    }

    fn truthfulness(&self) -> f64 {
        nearest(self.law.diag, self.law.total)
    }

    /// Without lies nothing moves; without truth two codes swap for ever, and three do not.
    fn is_ergodic(&self) -> bool {
        self.size == 1 || (self.law.off > 0 && (self.law.diag > 0 || self.size > 2))
    }

    fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        let (diag, off) = (
            u64::try_from(self.law.diag).ok()?,
            u64::try_from(self.law.off).ok()?,
        );
        let bits = self.entropy_rate().bits_down();
        // One truth and size - 1 equal lies in every column.
        let deniable = |gamma| {
            let alike = if self.size == 1 {
                1
            } else {
                lines::neighbours(&[diag.min(off), diag.max(off)], gamma)
            };
            match (alike, diag) {
                (2, _) => self.size,
                (_, 0) => self.size - 1,
                _ => 1,
            }
        };
        let truth_first = (self.size > 1).then_some(if diag > off { (0, 1, 0) } else { (1, 0, 0) });
        Some(Survey {
            worst_row: (0, bits),
            worst_column: (0, bits),
            worst_exact: true,
            row_bits: RowBits::Same(bits),
            peaks: (
                self.law.diag.max(self.law.off) * u128::from(self.size),
                self.law.total,
            ),
            peaks_exact: true,
            least_diagonal: (self.law.diag, self.law.total),
            deniability: gammas.iter().map(|&g| (deniable(g), true)).gather(),
            witness: truth_first,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::battery::with;

    #[test]
    fn keep_moves_towards_secrecy_by_less_than_the_grid_step() {
        for size in [3, 12, 65_536, 65_537, 10_000_000] {
            for keep in [1e-12, 1e-9, 1e-5, 0.01, 0.3, 0.65, 0.999_999] {
                let m = with("randomized_response", size, "keep", Value::Real(keep));
                let (n, d) = m.family.entry(0, 0).unwrap();
                let got = Dd::from(n) / Dd::from(d);
                let up = (got - Dd::from(keep)).hi;
                let towards = if keep * size as f64 >= 1.0 { -up } else { up };
                let step = size as f64 * 2f64.powi(-53);
                assert!(
                    towards >= 0.0 && towards < step + 1e-9 * keep,
                    "{size} {keep} {up:e}"
                );
            }
        }
    }
}
