//! Product: a release that is randomized again, first by one matrix, then by another.

use std::sync::{Arc, OnceLock};

use crate::dd::Dd;
use crate::error::{Error, Result};
use crate::family::composite::{self, Measures};
use crate::family::{Composition, Family, Matrix, collapse};
use crate::measure::{self, Entropy};
use crate::parameters::{Arguments, Parameters, Value};

/// # Law
/// `probability(u, v) = sum over w of a(u, w) b(w, v)`. Randomizing again never takes bits away:
/// `max(H(A), H(B)) <= H(AB) <= H(A) + H(B)`, and epsilon is at most the smaller one.
///
/// # Cost
/// The two matrices. Measures are exact up to 2^32 multiply-adds or inside one structured family;
/// beyond, the two inequalities above are what is reported.
#[derive(Debug)]
struct Product {
    pair: Arc<[Matrix]>,
    measures: OnceLock<Measures>,
    /// The counts of the second matrix out of its total, as every row of the product needs them all.
    second_counts: OnceLock<Option<Vec<u128>>>,
}

const WORK: u128 = 1 << 32;

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let pair = arguments.matrices()?;
    let [first, second] = &*pair else {
        return Err(Error::value("matrices", "be two for a product", pair.len()));
    };
    let (a, b) = (first.family.size(), second.family.size());
    if a != b {
        let must = format!("have one size, {a} as the first");
        return Err(Error::value("matrices", must, b));
    }
    Ok(Arc::new(Product {
        pair,
        measures: OnceLock::new(),
        second_counts: OnceLock::new(),
    }))
}

impl Product {
    fn first(&self) -> &dyn Family {
        &*self.pair[0].family
    }

    fn second(&self) -> &dyn Family {
        &*self.pair[1].family
    }

    fn measures(&self) -> &Measures {
        self.measures.get_or_init(|| {
            collapse::product(&self.pair[0], &self.pair[1])
                .or_else(|| self.entry_by_entry())
                .unwrap_or_else(|| self.bounds())
        })
    }

    /// Up to 2^32 multiply-adds, which also keeps these counts small.
    fn second_counts(&self) -> Option<&[u128]> {
        let counts = self.second_counts.get_or_init(|| {
            let size = u128::from(self.size());
            let total = self.second().total().filter(|_| size.pow(3) <= WORK)?;
            let n = size as usize;
            let mut counts = vec![0; n * n];
            let mut rows = counts.chunks_mut(n).enumerate();
            rows.all(|(w, row)| composite::add_counts(self.second(), w as u64, total, 1, row))
                .then_some(counts)
        });
        counts.as_deref()
    }

    /// `out[v] += count of (u, v)` out of the product's total.
    fn add_row(&self, u: u64, out: &mut [u128]) -> bool {
        let (Some(total), Some(second)) = (self.first().total(), self.second_counts()) else {
            return false;
        };
        (0..self.size()).all(|w| match self.first().entry(u, w) {
            Some((0, _)) => true,
            Some((n, d)) => {
                let count = n * (total / d);
                let row = &second[w as usize * out.len()..][..out.len()];
                out.iter_mut()
                    .zip(row)
                    .for_each(|(out, b)| *out += count * b);
                true
            }
            None => false,
        })
    }

    fn entry_by_entry(&self) -> Option<Measures> {
        self.second_counts()?;
        let total = self.total()?;
        composite::measures(self.size() as usize, total, |u, row| self.add_row(u, row))
    }

    fn bounds(&self) -> Measures {
        let (a, b) = (self.first(), self.second());
        let more = if measure::entropy_rate(a) >= measure::entropy_rate(b) {
            a
        } else {
            b
        };
        Measures {
            entropy: more.entropy_rate(),
            epsilon: a.epsilon().min(b.epsilon()),
            exact: false,
        }
    }
}

impl Family for Product {
    fn name(&self) -> &'static str {
        "product"
    }

    fn size(&self) -> u64 {
        self.first().size()
    }

    fn parameters(&self) -> Parameters {
        vec![("matrices", Value::Matrices(Arc::clone(&self.pair)))]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        let (a, b) = (self.first().total()?, self.second().total()?);
        let total = self.total()?;
        let mut sum = 0u128;
        for w in 0..self.size() {
            let (m, d) = self.first().entry(u, w)?;
            if m > 0 {
                let (n, e) = self.second().entry(w, v)?;
                sum += m * (a / d) * (n * (b / e));
            }
        }
        Some((sum, total))
    }

    fn precise(&self, u: u64, v: u64) -> Dd {
        (0..self.size()).fold(Dd::ZERO, |sum, w| {
            sum + self.first().precise(u, w) * self.second().precise(w, v)
        })
    }

    fn fill_row(&self, u: u64, out: &mut [f64]) {
        composite::fill_row(self, u, self.total(), |_, row| self.add_row(u, row), out);
    }

    fn total(&self) -> Option<u128> {
        (self.first().total()?)
            .checked_mul(self.second().total()?)
            .filter(|&t| t < 1 << 127)
    }

    fn composition(&self) -> Option<Composition<'_>> {
        Some(Composition::Product(&self.pair[0], &self.pair[1]))
    }

    fn entropy_rate(&self) -> Entropy {
        self.measures().entropy.clone()
    }

    fn least_beta(&self) -> f64 {
        self.pair[0].beta().max(self.pair[1].beta())
    }

    fn epsilon(&self) -> f64 {
        let parts = self.pair[0].epsilon().min(self.pair[1].epsilon());
        self.measures().epsilon.min(parts)
    }

    /// The trace of a product is the sum of `a(u, w) b(w, u)`.
    fn truthfulness(&self) -> f64 {
        let size = self.size();
        let parts = crate::pool::map(size as usize, size < 64, |u| {
            (0..size).fold(0.0, |sum, w| {
                let a = self.first().probability(u as u64, w);
                if a > 0.0 {
                    sum + a * self.second().probability(w, u as u64)
                } else {
                    sum
                }
            })
        });
        parts
            .into_iter()
            .fold(Dd::ZERO, |sum, x| sum + Dd::from(x))
            .hi
            / size as f64
    }

    /// A positive factor makes the product positive. Otherwise the support decides, beyond size 4096
    /// not looked at.
    fn is_ergodic(&self) -> bool {
        let (a, b) = (self.first(), self.second());
        if a.epsilon().is_finite() || b.epsilon().is_finite() {
            return true;
        }
        let size = self.size();
        let support = |f: &dyn Family, u: u64| -> Vec<usize> {
            (0..size)
                .filter(|&v| f.probability(u, v) > 0.0)
                .map(|v| v as usize)
                .collect()
        };
        if size > 4096 {
            return false;
        }
        let second: Vec<Vec<usize>> = (0..size).map(|w| support(b, w)).collect();
        composite::is_ergodic(size as usize, |u| {
            let mut seen = vec![false; size as usize];
            for w in support(a, u as u64) {
                second[w].iter().for_each(|&v| seen[v] = true);
            }
            (0..size as usize).filter(|&v| seen[v]).collect()
        })
    }

    fn is_exact(&self) -> bool {
        self.measures().exact
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::laws::{check_laws, make};

    fn product(a: &Matrix, b: &Matrix) -> Result<Matrix> {
        let pair = Value::Matrices([a.clone(), b.clone()].into());
        make("product", &[("matrices", pair)])
    }

    #[test]
    fn laws() {
        let wholes = |family: &str, name: &str, v: &[i64]| {
            make(family, &[(name, Value::Wholes(v.into()))]).unwrap()
        };
        let keep = [("size", Value::Whole(3)), ("keep", Value::Ratio(1, 2))];
        let rr = make("randomized_response", &keep).unwrap();
        let all = [
            make("identity", &[("size", Value::Whole(3))]).unwrap(),
            make("uniform", &[("size", Value::Whole(3))]).unwrap(),
            rr,
            wholes("circulant", "first_row", &[2, 1, 0]),
            wholes("circulant", "first_row", &[0, 1, 3]),
            wholes("blocks", "sizes", &[1, 2]),
            wholes("permutation", "targets", &[1, 2, 0]),
        ];
        for a in &all {
            for b in &all {
                check_laws(&product(a, b).unwrap());
            }
        }
    }

    #[test]
    fn order_counts_and_sizes_must_agree() {
        let swap = |targets: &[i64]| {
            make("permutation", &[("targets", Value::Wholes(targets.into()))]).unwrap()
        };
        let (a, b) = (swap(&[1, 0, 2]), swap(&[0, 2, 1]));
        assert_eq!(product(&a, &b).unwrap().family.entry(0, 2), Some((1, 1)));
        assert_eq!(product(&b, &a).unwrap().family.entry(0, 1), Some((1, 1)));
        let error = product(&a, &swap(&[0])).unwrap_err().to_string();
        assert!(error.ends_with("3 as the first; got 1"), "{error}");
    }
}
