//! Composites: their bits, epsilon and truthfulness.

use crate::error::{Error, Result};
use crate::law::kernel::Kernel;
use crate::law::{Law, Matrix};
use crate::number::bits::Entropy;
use crate::number::dd::{Dd, RELATIVE_ERROR};
use crate::number::entropy;
use crate::number::lattice::nearest;
use crate::number::logarithms::{self, LogSum};
use crate::system::memory;
use crate::system::pool;

/// Refuse codes that are never true: what is randomized again, or mixed, can be any code.
///
/// # Errors
/// A part that has such codes.
pub(super) fn refuse_padding(family: &str, parts: &[Matrix]) -> Result<()> {
    let padding = |m: &Matrix| m.size() - m.true_size();
    let Some(padding) = parts.iter().map(padding).find(|&padding| padding > 0) else {
        return Ok(());
    };
    let must = format!("have codes that can all be true for {family}");
    let got = format!("{padding} that are never true");
    Err(Error::value("matrices", must, got))
}

/// A number of bits as a share of `log2 size`, never above the truth; 1 where there is nothing to hide.
pub(super) fn beta(entropy: &Entropy, size: u64) -> f64 {
    match size {
        1 => 1.0,
        size => entropy.round_down(size.into()).min(1.0),
    }
}

/// Bits and epsilon, and whether they are those of the law or bounds.
#[derive(Debug, Clone)]
pub(crate) struct Measures {
    entropy: Entropy,
    epsilon: f64,
    exact: bool,
}

/// Size up to which every entry of a mixture is looked at.
const SIZE: u64 = 4096;

impl Matrix {
    /// Whether bits and epsilon are those of the law, or certified bounds of them.
    pub fn is_exact(&self) -> bool {
        match self.law() {
            Law::Kron(_) => self.wide().all(Matrix::is_exact),
            Law::Mix { .. } | Law::Product(_) => self.measures().exact,
            Law::Reflected { kernel, total } => Kernel::new(kernel, *total).is_exact(),
            _ => true,
        }
    }

    pub(super) fn measured_entropy(&self) -> Entropy {
        match self.law() {
            // Given the truth the reports are independent, so their entropies add.
            Law::Kron(_) => self
                .wide()
                .map(Matrix::entropy)
                .fold(Entropy::Exact(LogSum::zero()), |a, b| a + b),
            Law::Mix { .. } | Law::Product(_) => self.measures().entropy.clone(),
            law => match self.difference_set() {
                Some(set) => set.entropy_rate(),
                None => law.entropy(),
            },
        }
    }

    /// A beta that this one cannot be below, whatever rounding says.
    pub(super) fn least_beta(&self) -> f64 {
        match self.law() {
            // A mean of the factors' betas is not below the least of them.
            Law::Kron(_) => self.wide().map(Matrix::beta).fold(1.0, f64::min),
            Law::Product(pair) => pair.iter().map(Matrix::beta).fold(0.0, f64::max),
            _ => 0.0,
        }
    }

    pub(super) fn measured_epsilon(&self) -> f64 {
        match self.law() {
            // Extremes of a column are products of the factors' extremes, so the logarithms add.
            Law::Kron(_) => {
                let epsilons: Vec<f64> = self.wide().map(Matrix::epsilon).collect();
                if epsilons.contains(&f64::INFINITY) {
                    return f64::INFINITY;
                }
                let sum = epsilons.iter().fold(Dd::ZERO, |sum, &e| sum + Dd::from(e));
                // Adding 0 turns a negative zero into the plain one.
                sum.round_up(0.0) + 0.0
            }
            Law::Mix { .. } => self.measures().epsilon,
            Law::Product(pair) => {
                let parts = pair[0].epsilon().min(pair[1].epsilon());
                self.measures().epsilon.min(parts)
            }
            plain => plain.epsilon(),
        }
    }

    fn measures(&self) -> &Measures {
        self.found().measures.get_or_make(|| match self.law() {
            Law::Product(pair) => {
                let can = self.second_rows::<u128>().is_some();
                let looked = || can.then(|| entry_by_entry(self)).flatten();
                looked().unwrap_or_else(|| bounds_of_product(pair))
            }
            _ => self.measures_of_mixture(),
        })
    }

    fn measures_of_mixture(&self) -> Measures {
        let parts = self.shares::<Dd>();
        let (first, rest) = (parts[0].1, &parts[1..]);
        if rest.iter().all(|(_, part)| *part == first) {
            return Measures {
                entropy: first.entropy(),
                epsilon: first.epsilon(),
                exact: first.is_exact(),
            };
        }
        let can = self.size() <= self.largest(SIZE);
        let looked = || can.then(|| entry_by_entry(self)).flatten();
        looked().unwrap_or_else(|| bounds_of_mixture(&parts))
    }

    /// The other factor of a product, if one is the identity.
    pub(super) fn beside_identity(&self) -> Option<&Matrix> {
        match self.law().parts() {
            [first, second] if first.law().is_identity() => Some(second),
            [first, second] if second.law().is_identity() => Some(first),
            _ => None,
        }
    }

    pub(super) fn measured_truthfulness(&self) -> f64 {
        match self.law() {
            Law::Kron(_) => self.wide().map(Matrix::truthfulness).product(),
            Law::Mix { .. } => {
                let parts = self.shares::<Dd>();
                let terms = parts
                    .iter()
                    .map(|(share, part)| *share * Dd::from(part.truthfulness()));
                terms.fold(Dd::ZERO, |a, b| a + b).hi
            }
            Law::Product(pair) => self.truthfulness_of_product(&pair[0], &pair[1]),
            plain => plain.truthfulness(),
        }
    }

    /// The trace of a product is the sum of `a(u, w) b(w, u)`: short with perfect secrecy or the
    /// identity on one side, too long for large matrices, and then not a number.
    fn truthfulness_of_product(&self, a: &Matrix, b: &Matrix) -> f64 {
        let size = self.size();
        if a.law().is_uniform() || b.law().is_uniform() {
            return 1.0 / size as f64;
        }
        if let Some(other) = self.beside_identity() {
            return other.truthfulness();
        }
        // Equal lies in both.
        if let (Some(total), Some(x), Some(y)) =
            (self.total(), a.law().two_valued(), b.law().two_valued())
        {
            let count = x.diag * y.diag + u128::from(size - 1) * x.off * y.off;
            return nearest(count * (total / (x.total * y.total)), total);
        }
        match size <= self.looked_at() {
            true => trace_by_rows(self),
            false => f64::NAN,
        }
    }
}

/// Entropy is concave, so the weighted mean of the parts bounds it; epsilon is at most the largest, and the ratio of
/// the weighted extremes.
fn bounds_of_mixture(parts: &[(Dd, &Matrix)]) -> Measures {
    let entropies = parts
        .iter()
        .map(|(share, part)| part.entropy().scaled(*share));
    let largest = parts
        .iter()
        .map(|(_, part)| part.epsilon())
        .fold(0.0, f64::max);
    let ends = parts
        .iter()
        .map(|(_, part)| part.law().extremes())
        .collect::<Option<Vec<_>>>();
    let by_extremes = ends.map_or(f64::INFINITY, |ends| {
        let mean = |pick: fn(&(f64, f64)) -> f64| {
            let terms = parts.iter().zip(&ends);
            terms.fold(Dd::ZERO, |sum, ((share, _), ends)| {
                sum + *share * Dd::from(pick(ends))
            })
        };
        let (low, high) = (mean(|ends| ends.0), mean(|ends| ends.1));
        match low.hi > 0.0 {
            true => (high / low).ln().round_up(1e3 * RELATIVE_ERROR),
            false => f64::INFINITY,
        }
    });
    Measures {
        entropy: entropies
            .reduce(|a, b| a + b)
            .unwrap_or_else(|| Entropy::perfect(1)),
        epsilon: largest.min(by_extremes),
        exact: false,
    }
}

/// Randomizing again never takes bits away: `max(H(A), H(B)) <= H(AB) <= H(A) + H(B)`, and epsilon is at most the
/// smaller one.
fn bounds_of_product(pair: &[Matrix]) -> Measures {
    let (a, b) = (&pair[0], &pair[1]);
    let more = if a.entropy_rate() >= b.entropy_rate() {
        a
    } else {
        b
    };
    Measures {
        entropy: more.entropy(),
        epsilon: a.epsilon().min(b.epsilon()),
        exact: false,
    }
}

/// The mean of the diagonal, from whole rows of the product.
fn trace_by_rows(product: &Matrix) -> f64 {
    let n = product.size() as usize;
    let parts = pool::map(n, n < 64, |u| product.probability(u as u64, u as u64));
    let sum = parts.into_iter().fold(Dd::ZERO, |sum, x| sum + Dd::from(x));
    sum.hi / n as f64
}

/// Measures of a composite from the exact counts of its rows. Probabilities are rounded to doubles once; the extremes of
/// the columns are compared as integers.
fn entry_by_entry(matrix: &Matrix) -> Option<Measures> {
    const BANDS: usize = 32;
    let (size, scale) = (matrix.size() as usize, matrix.total()? as f64);
    let height = size.div_ceil(BANDS);
    let bands = pool::map(size.div_ceil(height), size < 64, |band| {
        let mut columns = memory::filled((u128::MAX, 0), size);
        let mut bits = Dd::ZERO;
        for u in band * height..size.min((band + 1) * height) {
            let row = matrix.row::<u128>(u as u64)?;
            for (column, &c) in columns.iter_mut().zip(&row) {
                *column = (column.0.min(c), column.1.max(c));
            }
            bits = bits
                + entropy::sum(0..size, |start, out| {
                    for (x, &c) in out.iter_mut().zip(&row[start..]) {
                        *x = c as f64 / scale;
                    }
                });
        }
        Some((columns, bits))
    });
    let bands = bands.into_iter().collect::<Option<Vec<_>>>()?;
    let bits = bands.iter().fold(Dd::ZERO, |sum, band| sum + band.1) / Dd::from(size as f64);
    let ends = (0..size).map(|v| {
        let low = bands.iter().map(|band| band.0[v].0).min().unwrap_or(0);
        let high = bands.iter().map(|band| band.0[v].1).max().unwrap_or(0);
        logarithms::log_ratio(high, low)
    });
    let epsilon = ends.fold(0.0, f64::max);
    Some(Measures {
        entropy: match epsilon == 0.0 {
            true => Entropy::perfect(size as u64),
            false => Entropy::summed(bits, false),
        },
        epsilon,
        exact: true,
    })
}
