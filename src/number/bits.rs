//! Entropies in bits, rounded so that privacy is never overstated: a closed form is a [`LogSum`], a long
//! sum is a [`Bits`], a value with a bound on its error.

use crate::number::dd::{self, Dd};
use crate::number::entropy;
use crate::number::logarithms::LogSum;

/// A number of bits known up to `error`.
#[derive(Debug, Clone, Copy)]
pub struct Bits {
    /// Near the true value.
    pub value: Dd,
    /// No farther from it than this.
    pub error: f64,
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

impl Bits {
    pub(super) fn over(self, base: u128) -> Bits {
        let unit = Dd::from(base).log2();
        let value = self.value / unit;
        Bits {
            value,
            error: self.error / unit.hi * (1.0 + 1e-15) + value.hi.abs() * dd::RELATIVE_ERROR,
        }
    }

    fn round_down(self, base: u128) -> f64 {
        let scaled = self.over(base);
        let error = scaled.error;
        scaled.value.round_down(error).max(0.0)
    }
}

impl Entropy {
    /// All the bits.
    pub fn perfect(size: u64) -> Self {
        Entropy::Exact(LogSum {
            terms: vec![(1, size.into())],
            denominator: 1,
        })
    }

    /// A long sum over probabilities that are doubles, exactly or rounded once, which moves it by less than 2^-50.
    pub fn summed(value: Dd, exact: bool) -> Self {
        let slack = if exact { 0.0 } else { 2f64.powi(-50) };
        let error = value.hi.abs() * entropy::RELATIVE_ERROR + slack;
        Entropy::Within(Bits { value, error })
    }

    /// Not above the true number of bits, and the nearest such double in closed form.
    pub fn bits_down(&self) -> f64 {
        self.round_down(2)
    }

    /// The largest double not above `self / log2(base)` in closed form, else a double not above it.
    pub fn round_down(&self, base: u128) -> f64 {
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
        let mut counts: Vec<u64> = (0..len).map(get).filter(|&c| c > 0).collect();
        counts.sort_unstable();
        let mut terms = vec![(0, u128::from(total))];
        for equal in counts.chunk_by(|a, b| a == b) {
            let weight = equal.len() as i128 * i128::from(times) * i128::from(equal[0]);
            terms[0].0 += weight;
            terms.push((-weight, u128::from(equal[0])));
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
    Entropy::summed(value, exact)
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

/// The most bits a row can hold, log2 of the size, to nearest.
pub fn max_bits(size: u64) -> f64 {
    Dd::from(u128::from(size)).log2().hi
}
