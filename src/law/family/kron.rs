//! Kron: independent matrices on several attributes, as one on their joint domain.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::shared::composite::{self, Joined, Written};
use crate::law::structure::Structure;
use crate::law::{Composition, Family, Matrix, Nesting};
use crate::number::bits::Entropy;
use crate::number::dd::Dd;
use crate::number::lattice::MAX_SIZE;
use crate::number::logarithms::LogSum;
use crate::system::memory::{self, Gather};

/// # Law
/// `probability(u, v)` is the product of the factors' at the digits of `u` and `v`, the joint code
/// in C order as in `numpy.kron`: the last factor runs fastest. Definition 2 of the paper with beta is
/// Definition 3 with the same beta for this matrix.
///
/// # Cost
/// The factors. Bits and epsilon add, truth multiplies.
#[derive(Debug)]
struct Kron {
    factors: Arc<[Matrix]>,
    size: u64,
    nesting: Nesting,
    written: Written,
}

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let factors = arguments.matrices()?;
    let size = factors.iter().try_fold(1u64, |size, factor| {
        size.checked_mul(factor.family.size())
            .filter(|&size| size <= MAX_SIZE)
    });
    let row = factors
        .iter()
        .fold(size.unwrap_or(u64::MAX).into(), |sum: u128, factor| {
            sum.saturating_add(factor.family.nesting().row)
        });
    let through = row.saturating_mul(size.unwrap_or(u64::MAX).into());
    let nesting = Nesting::of(&factors, (row, through))?;
    match size {
        Some(size) => Ok(Arc::new(Kron {
            factors,
            size,
            nesting,
            written: Written::default(),
        })),
        None => Err(Error::value(
            "matrices",
            "have a joint domain of at most 2^53 cells",
            format!("{} factors with more cells", factors.len()),
        )),
    }
}

impl Kron {
    /// The factors with more than one code; of the others there may be very many, and they say nothing.
    fn wide(&self) -> impl Iterator<Item = &Matrix> {
        self.factors
            .iter()
            .filter(|factor| factor.family.size() > 1)
    }

    fn at(&self, u: u64, v: u64) -> usize {
        (u * self.size + v) as usize
    }

    /// The factors with the digits of `u` and `v`, the last first.
    fn digits(&self, u: u64, v: u64) -> impl Iterator<Item = (&Matrix, u64, u64)> {
        let mut rest = (u, v);
        self.factors.iter().rev().map(move |factor| {
            let n = factor.family.size();
            let digits = (factor, rest.0 % n, rest.1 % n);
            rest = (rest.0 / n, rest.1 / n);
            digits
        })
    }
}

impl Joined for Kron {
    fn join_counts(&self, u: u64, total: u128, weight: u128, out: &mut [u128]) -> bool {
        let Some(own) = self.total() else {
            return out.iter_mut().enumerate().all(|(v, out)| {
                let entry = self.entry(u, v as u64);
                *out += entry.map_or(0, |(n, d)| weight * (n * (total / d)));
                entry.is_some()
            });
        };
        let mut row = vec![weight * (total / own)];
        for (factor, u, _) in self.digits(u, 0) {
            let mut part = memory::zeros(factor.family.size() as usize);
            let of = factor.total().unwrap_or(0);
            if !factor.family.add_counts(u, of, 1, &mut part) {
                return false;
            }
            row = part
                .iter()
                .flat_map(|&c| row.iter().map(move |&d| d * c))
                .gather();
        }
        out.iter_mut().zip(row).for_each(|(out, c)| *out += c);
        true
    }

    /// From a row of each factor, multiplied in the order of [`Family::precise`].
    fn join_precise(&self, u: u64) -> Vec<Dd> {
        let mut row = vec![Dd::ONE];
        for (factor, u, _) in self.digits(u, 0) {
            let part = factor.family.precise_row(u);
            row = part
                .iter()
                .flat_map(|&p| row.iter().map(move |&q| q * p))
                .gather();
        }
        row
    }
}

impl Family for Kron {
    composite::joined!();

    fn name(&self) -> &'static str {
        "kron"
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn true_size(&self) -> u64 {
        self.factors.iter().map(|m| m.family.true_size()).product()
    }

    fn parameters(&self) -> Parameters {
        vec![("matrices", Value::Matrices(Arc::clone(&self.factors)))]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        if let Some(table) = self.written.of(self) {
            return table.entry(self.at(u, v));
        }
        self.digits(u, v)
            .try_fold((1u128, 1u128), |(n, d), (factor, u, v)| {
                let (m, e) = factor.family.entry(u, v)?;
                let product = (n.checked_mul(m)?, d.checked_mul(e)?);
                (product.1 < 1 << 127).then_some(product)
            })
    }

    fn precise(&self, u: u64, v: u64) -> Dd {
        if let Some(table) = self.written.of(self) {
            return table.precise(self.at(u, v));
        }
        self.digits(u, v)
            .fold(Dd::ONE, |p, (factor, u, v)| p * factor.family.precise(u, v))
    }

    /// Entries of factors that are composites take a row each, so that rows are taken whole.
    fn fill_row(&self, u: u64, out: &mut [f64]) {
        if self
            .wide()
            .all(|factor| factor.family.composition().is_none())
        {
            for (v, x) in out.iter_mut().enumerate() {
                *x = self.probability(u, v as u64);
            }
            return;
        }
        composite::fill_row(self, u, out);
    }

    fn structure(&self) -> Structure {
        Structure::Kron(Arc::clone(&self.factors))
    }

    fn total(&self) -> Option<u128> {
        self.factors.iter().try_fold(1u128, |total, factor| {
            total.checked_mul(factor.total()?).filter(|&t| t < 1 << 127)
        })
    }

    fn knows_ergodic(&self) -> bool {
        self.wide().all(Matrix::knows_ergodic)
    }

    fn composition(&self) -> Option<Composition<'_>> {
        Some(Composition::Kron(&self.factors))
    }

    /// Given the truth the reports are independent, so their entropies add.
    fn entropy_rate(&self) -> Entropy {
        self.wide()
            .map(Matrix::entropy)
            .fold(Entropy::Exact(LogSum::zero()), |a, b| a + b)
    }

    /// A mean of the factors' betas is not below the least of them.
    fn least_beta(&self) -> f64 {
        self.factors
            .iter()
            .filter(|factor| factor.family.size() > 1)
            .map(Matrix::beta)
            .fold(1.0, f64::min)
    }

    /// Extremes of a column are products of the factors' extremes, so the logarithms add.
    fn epsilon(&self) -> f64 {
        let epsilons: Vec<f64> = self.factors.iter().map(Matrix::epsilon).gather();
        if epsilons.contains(&f64::INFINITY) {
            return f64::INFINITY;
        }
        let sum = epsilons.iter().fold(Dd::ZERO, |sum, &e| sum + Dd::from(e));

        // Adding 0 turns a negative zero into the plain one.
        sum.round_up(0.0) + 0.0
    }

    fn truthfulness(&self) -> f64 {
        self.wide().map(Matrix::truthfulness).product()
    }

    /// Powers are taken factor by factor, so all of them have to be.
    fn is_ergodic(&self) -> bool {
        self.wide().all(Matrix::is_ergodic)
    }

    fn is_exact(&self) -> bool {
        self.factors.iter().all(Matrix::is_exact)
    }
}
