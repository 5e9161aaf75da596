//! Product: a release that is randomized again, first by one matrix, then by another.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::shared::composite::{self, Joined, Measures, Written};
use crate::law::structure::Structure;
use crate::law::{Composition, Family, Matrix, Nesting};
use crate::number::bits::Entropy;
use crate::number::dd::Dd;
use crate::number::lattice::nearest;
use crate::system::kept::Kept;
use crate::system::memory::{self, Gather};

/// # Law
/// `probability(u, v) = sum over w of a(u, w) b(w, v)`. Randomizing again never takes bits away:
/// `max(H(A), H(B)) <= H(AB) <= H(A) + H(B)`, and epsilon is at most the smaller one.
///
/// # Cost
/// The two matrices. Measures are exact up to 2^32 multiply-adds; beyond, the two inequalities above are what is
/// reported.
#[derive(Debug)]
struct Product {
    pair: Arc<[Matrix]>,
    nesting: Nesting,
    written: Written,
    measures: Kept<Measures>,
    /// The counts of the second matrix out of its total, as every row of the product needs them all.
    second_counts: Kept<Option<Vec<u128>>>,
    /// The same to 30 digits, if there is no common total.
    second_rows: Kept<Vec<Vec<Dd>>>,
}

const WORK: u128 = 1 << 32;

/// Size up to which the rows of the second matrix are kept.
const KEPT: u64 = 1024;

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
    composite::refuse_padding("product", &pair)?;
    let (size, before, after) = (
        u128::from(a),
        first.family.nesting(),
        second.family.nesting(),
    );
    // The rows of the second matrix are kept up to a size.
    let own = if a <= KEPT {
        size * size
    } else {
        after.through
    };
    let row = before.row.saturating_add(own);
    let through = before.through.saturating_add(after.through);
    let mut nesting = Nesting::of(&pair, (row, through))?;
    if a <= KEPT {
        nesting.kept = nesting.kept.saturating_add(size.saturating_mul(after.row));
    }
    Ok(Arc::new(Product {
        nesting,
        written: Written::default(),
        pair,
        measures: Kept::new(),
        second_counts: Kept::new(),
        second_rows: Kept::new(),
    }))
}

impl Product {
    fn first(&self) -> &dyn Family {
        &*self.pair[0].family
    }

    fn second(&self) -> &dyn Family {
        &*self.pair[1].family
    }

    /// The other factor, if one is the identity.
    fn beside_identity(&self) -> Option<&Matrix> {
        match &*self.pair {
            [first, second] if first.is_identity() => Some(second),
            [first, second] if second.is_identity() => Some(first),
            _ => None,
        }
    }

    /// Those of the two matrices, and their product.
    fn totals(&self) -> Option<(u128, u128, u128)> {
        Some((self.pair[0].total()?, self.pair[1].total()?, self.total()?))
    }

    fn measures(&self) -> &Measures {
        self.measures
            .get_or_make(|| self.entry_by_entry().unwrap_or_else(|| self.bounds()))
    }

    /// The probability of the truth, if both matrices have equal lies.
    fn kept_by_equal_lies(&self) -> Option<f64> {
        let size = self.size();
        let total = self.total()?;
        let a = self.pair[0].structure().two_valued(size)?;
        let b = self.pair[1].structure().two_valued(size)?;
        let count = a.diag * b.diag + u128::from(size - 1) * a.off * b.off;
        Some(nearest(count * (total / (a.total * b.total)), total))
    }

    /// Up to 2^32 multiply-adds, which also keeps these counts small.
    fn second_counts(&self) -> Option<&[u128]> {
        let counts = self.second_counts.get_or_make(|| {
            let size = u128::from(self.size());
            let can = size.pow(3) <= WORK && self.nesting.is_quick(self.size());
            let total = self.pair[1].total().filter(|_| can)?;
            let n = size as usize;
            let mut counts = memory::zeros(n * n);
            let mut rows = counts.chunks_mut(n).enumerate();
            rows.all(|(w, row)| self.second().add_counts(w as u64, total, 1, row))
                .then_some(counts)
        });
        counts.as_deref()
    }

    fn entry_by_entry(&self) -> Option<Measures> {
        if self.written.of(self).is_none() {
            self.second_counts()?;
        }
        let total = self.total()?;
        composite::measures(self.size() as usize, total, |u, row| {
            self.add_counts(u, total, 1, row)
        })
    }

    fn bounds(&self) -> Measures {
        let (a, b) = (&self.pair[0], &self.pair[1]);
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
}

/// The mean of `a(u, w) b(w, u)` summed over w: the diagonal of the product.
fn trace(a: &dyn Family, b: &dyn Family) -> f64 {
    const BANDS: usize = 64;
    let n = a.size() as usize;
    let mut work: Vec<(Vec<f64>, Dd)> = memory::filled((memory::zeros(n), Dd::ZERO), BANDS);
    crate::system::pool::for_each_chunk(&mut work, 1, false, |band, part| {
        for (row, sum) in part {
            for u in (band..n).step_by(BANDS) {
                a.fill_row(u as u64, row);
                for (w, p) in (0u64..).zip(&*row).filter(|(_, p)| **p > 0.0) {
                    *sum = *sum + Dd::product(*p, b.probability(w, u as u64));
                }
            }
        }
    });
    let sum = work.iter().fold(Dd::ZERO, |sum, part| sum + part.1);
    sum.hi / n as f64
}

/// The same from whole rows of the product.
fn trace_by_rows(product: &dyn Family) -> f64 {
    let n = product.size() as usize;
    let parts = crate::system::pool::map(n, n < 64, |u| {
        let mut row = memory::zeros(n);
        product.fill_row(u as u64, &mut row);
        row[u]
    });
    let sum = parts.into_iter().fold(Dd::ZERO, |sum, x| sum + Dd::from(x));
    sum.hi / n as f64
}

impl Joined for Product {
    /// The row of the first matrix, then of the second for each code it leads to. A product of many
    /// matrices so costs a row at a time, not a path at a time.
    fn join_counts(&self, u: u64, total: u128, weight: u128, out: &mut [u128]) -> bool {
        let Some((a, b, own)) = self.totals() else {
            return false;
        };
        // `total` may be a multiple of the product's own.
        let weight = weight * (total / own);
        let mut first = memory::zeros(out.len());
        if !self.first().add_counts(u, a, 1, &mut first) {
            return false;
        }
        let Some(second) = self.second_counts() else {
            first.iter_mut().for_each(|n| *n *= weight);
            return self.second().add_counts_through(&first, b, out);
        };
        for (row, n) in second.chunks(out.len()).zip(first).filter(|(_, n)| *n > 0) {
            out.iter_mut()
                .zip(row)
                .for_each(|(out, c)| *out += weight * n * c);
        }
        true
    }

    fn join_precise(&self, u: u64) -> Vec<Dd> {
        let size = self.size();
        let first = self.first().precise_row(u);
        if size > KEPT {
            return self.second().precise_through(&first);
        }
        let all = || (0..size).map(|w| self.second().precise_row(w)).gather();
        let rows = self.second_rows.get_or_make(all);
        let mut sum = memory::filled(Dd::ZERO, size as usize);
        for (a, row) in first.into_iter().zip(rows).filter(|(a, _)| a.hi > 0.0) {
            for (s, b) in sum.iter_mut().zip(row) {
                *s = *s + a * *b;
            }
        }
        sum
    }
}

impl Family for Product {
    composite::joined!();

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
        let total = self.total()?;
        if let Some(table) = self.written.of(self) {
            return table.entry((u * self.size() + v) as usize);
        }
        let mut row = memory::zeros(self.size() as usize);
        let filled = self.add_counts(u, total, 1, &mut row);
        filled.then(|| (row[v as usize], total))
    }

    /// First through the one, then through the other.
    fn add_counts_through(&self, weights: &[u128], total: u128, out: &mut [u128]) -> bool {
        let Some((a, b, own)) = self.totals() else {
            return false;
        };
        let mut between = memory::zeros(out.len());
        if !self.first().add_counts_through(weights, a, &mut between) {
            return false;
        }
        between.iter_mut().for_each(|n| *n *= total / own);
        self.second().add_counts_through(&between, b, out)
    }

    fn precise_through(&self, weights: &[Dd]) -> Vec<Dd> {
        let between = self.first().precise_through(weights);
        self.second().precise_through(&between)
    }

    fn precise(&self, u: u64, v: u64) -> Dd {
        if let Some(table) = self.written.of(self) {
            return table.precise((u * self.size() + v) as usize);
        }
        self.precise_row(u)[v as usize]
    }

    fn fill_row(&self, u: u64, out: &mut [f64]) {
        composite::fill_row(self, u, out);
    }

    fn structure(&self) -> Structure {
        Structure::Product(Arc::clone(&self.pair))
    }

    fn total(&self) -> Option<u128> {
        (self.pair[0].total()?)
            .checked_mul(self.pair[1].total()?)
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

    /// The trace of a product is the sum of `a(u, w) b(w, u)`: short with perfect secrecy or the
    /// identity on one side, too long beyond 2^26 entries, and then not a number.
    fn truthfulness(&self) -> f64 {
        let (a, b) = (self.first(), self.second());
        let size = self.size();
        if self.pair.iter().any(Matrix::is_uniform) {
            return 1.0 / size as f64;
        }
        if let Some(other) = self.beside_identity() {
            return other.truthfulness();
        }
        if let Some(keep) = self.kept_by_equal_lies() {
            return keep;
        }
        if size > 1 << 13 || !self.nesting.is_quick(size) {
            return f64::NAN;
        }
        if size > 256 {
            // trace(AB) = trace(BA): columns are taken of the one whose entries are at hand.
            return match (a.composition().is_none(), b.composition().is_none()) {
                (_, true) => trace(a, b),
                (true, _) => trace(b, a),
                _ if size <= 1024 => trace_by_rows(self),
                _ => f64::NAN,
            };
        }
        trace_by_rows(self)
    }

    fn knows_ergodic(&self) -> bool {
        self.size() <= 4096 && self.nesting.is_quick(self.size()) || self.is_ergodic()
    }

    /// A positive factor makes the product positive. Otherwise the support decides, beyond size 4096
    /// not looked at.
    fn is_ergodic(&self) -> bool {
        let (a, b) = (self.first(), self.second());
        if self.pair.iter().any(|part| part.epsilon().is_finite()) {
            return true;
        }
        if let Some(other) = self.beside_identity() {
            return other.is_ergodic();
        }
        let size = self.size();
        let support = |f: &dyn Family, u: u64| -> Vec<usize> {
            let mut row = memory::zeros(size as usize);
            f.fill_row(u, &mut row);
            (0..size as usize).filter(|&v| row[v] > 0.0).gather()
        };
        if size > 4096 || !self.nesting.is_quick(size) {
            return false;
        }
        let second: Vec<Vec<usize>> = (0..size).map(|w| support(b, w)).gather();
        composite::is_ergodic(size as usize, |u| {
            let mut seen = memory::filled(false, size as usize);
            for w in support(a, u as u64) {
                second[w].iter().for_each(|&v| seen[v] = true);
            }
            (0..size as usize).filter(|&v| seen[v]).gather()
        })
    }

    fn is_exact(&self) -> bool {
        self.measures().exact
    }
}
