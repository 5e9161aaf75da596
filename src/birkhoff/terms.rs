//! A sum of permutations, stored or described: its weights, its permutations, what it adds up to.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Alphas;
use crate::number::dd::Dd;
use crate::number::lattice::{gcd, nearest};
use crate::system::memory::{self, Gather};
use crate::system::stop::{self, Paced};

/// A sum of permutations.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Number of codes.
    pub size: u64,
    /// What each term weighs.
    pub weights: Weights,
    /// What each term is.
    pub permutations: Permutations,
}

impl Terms {
    /// Number of terms.
    pub fn terms(&self) -> u64 {
        self.weights.terms()
    }

    /// Keep the first terms only.
    pub fn keep(&mut self, terms: u64) {
        self.weights.keep(terms);
        let terms = terms as usize;
        match &mut self.permutations {
            Permutations::Listed(columns) => columns.truncate(terms * self.size as usize),
            Permutations::Shifts(shifts) => shifts.truncate(terms),
            Permutations::Classes(_, Times::Listed(times)) => times.truncate(terms),
            Permutations::Pairs(_, times) => times.truncate(terms),
            _ => {}
        }
    }

    /// The permutation of term `j`: where each code goes.
    pub fn fill(&self, j: u64, out: &mut [i64]) {
        let size = self.size;
        let shift = |by: u64, out: &mut [i64]| {
            // Two runs, since nothing wraps twice.
            let wrap = (size - by) as usize;
            (by as i64..)
                .zip(&mut out[..wrap])
                .for_each(|(v, x)| *x = v);
            (0..).zip(&mut out[wrap..]).for_each(|(v, x)| *x = v);
        };
        match &self.permutations {
            Permutations::Listed(columns) => {
                let term = &columns[j as usize * size as usize..][..size as usize];
                for (x, &v) in out.iter_mut().zip(term) {
                    *x = v.into();
                }
            }
            Permutations::Shifts(shifts) => shift(shifts[j as usize].into(), out),
            Permutations::Ramp(first) => shift((first + j) % size, out),
            Permutations::Given(targets) => out.copy_from_slice(targets),
            Permutations::Swap(i, k, first) => {
                (0..).zip(&mut *out).for_each(|(u, x)| *x = u);
                if *first == (j == 0) {
                    out.swap(*i as usize, *k as usize);
                }
            }
            Permutations::Classes(runs, times) => {
                let (p, q) = match times {
                    Times::Even(n) => (j, *n),
                    Times::Listed(times) => {
                        let (p, q) = times[j as usize];
                        (p.into(), q.into())
                    }
                };
                for &(start, n, classes) in runs {
                    let by = (u128::from(p) * u128::from(n) / u128::from(q)) as u64;
                    for class in 0..classes {
                        let base = start + class * n;
                        for u in 0..n {
                            out[(base + u) as usize] = (base + (u + by) % n) as i64;
                        }
                    }
                }
            }
            Permutations::Pairs(pairs, times) => {
                let time = times[j as usize];
                (0..).zip(&mut *out).for_each(|(u, x)| *x = u);
                for i in 0..size - 1 {
                    if pairs.swaps(i, time) {
                        out.swap(i as usize, i as usize + 1);
                    }
                }
            }
        }
    }

    /// What the terms add up to.
    ///
    /// # Errors
    /// Fractions that leave 127 bits.
    pub fn cells(&self) -> Result<Cells> {
        let size = self.size as usize;
        if let Weights::Units(weights, total) = &self.weights {
            let mut units = memory::zeros(size * size);
            let mut term = memory::zeros(size);
            for (j, &weight) in (0..).zip(weights).paced() {
                self.fill(j, &mut term);
                for (row, &v) in units.chunks_mut(size).zip(&term) {
                    row[v as usize] += weight;
                }
            }
            return Ok(Cells::Units(units, *total));
        }
        let mut order: Vec<u64> = (0..self.terms()).gather();
        if let Permutations::Classes(_, Times::Listed(times)) = &self.permutations {
            // In the order of time neighbouring fractions add up to short ones.
            let key = |j: u64| times[j as usize];
            drop(memory::room::<u8>(size_of_val(&*order)));
            order.sort_by(|&a, &b| {
                let ((a, b), (c, d)) = (key(a), key(b));
                (u64::from(a) * u64::from(d)).cmp(&(u64::from(c) * u64::from(b)))
            });
        }
        let fill = |j, term: &mut [i64]| self.fill(j, term);
        add_up(size, order, fill, |j| Some(self.weights.ratio(j)))
    }
}

/// What terms add up to, which `fill` writes and which have these weights; `None` is one that 127 bits do not hold.
pub(super) fn add_up<J: Copy>(
    size: usize,
    terms: impl IntoIterator<Item = J>,
    fill: impl Fn(J, &mut [i64]),
    weight: impl Fn(J) -> Option<(u128, u128)>,
) -> Result<Cells> {
    let mut ratios = memory::filled((0, 1), size * size);
    let mut term = memory::zeros(size);
    for j in terms {
        stop::point();
        fill(j, &mut term);
        let weight = weight(j).ok_or_else(too_long)?;
        for (row, &v) in ratios.chunks_mut(size).zip(&term) {
            let cell = &mut row[v as usize];
            *cell = add(*cell, weight).ok_or_else(too_long)?;
        }
    }
    Ok(Cells::Ratios(ratios))
}

/// Which permutation each term is.
#[derive(Debug, Clone)]
pub enum Permutations {
    /// The column of each row, term by term.
    Listed(Vec<u16>),
    /// `v = u + shifts[j]`, modulo the size.
    Shifts(Vec<u32>),
    /// `v = u + first + j`, modulo the size.
    Ramp(u64),
    /// One permutation.
    Given(Arc<[i64]>),
    /// All stay in one term, and these two change places in the other, which comes first or not.
    Swap(u64, u64, bool),
    /// Classes of consecutive codes, `(first code, class size, classes)`, each class shifted by
    /// `floor(time * class size)`; the time of each term.
    Classes(Vec<(u64, u64, u64)>, Times),
    /// Neighbours `i` and `i + 1` change places before time `alpha_i` for even `i`, from time
    /// `total - alpha_i` on for odd `i`; the time of each term.
    Pairs(Pairs, Vec<u64>),
}

/// Times from 0 to below 1.
#[derive(Debug, Clone)]
pub enum Times {
    /// `j/n` for term `j`.
    Even(u64),
    /// One by one.
    Listed(Vec<(u32, u32)>),
}

/// Pairs of neighbours that change places, out of a total.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// How often each pair does.
    pub alphas: Alphas,
    /// What that is out of.
    pub total: u64,
}

impl Pairs {
    /// Whether codes `i` and `i + 1` change places at `time`.
    fn swaps(&self, i: u64, time: u64) -> bool {
        let alpha = self.alphas.at(i);
        if i.is_multiple_of(2) {
            time < alpha
        } else {
            time >= self.total - alpha
        }
    }
}

/// What a sum of permutations adds up to, row by row.
#[derive(Debug, Clone)]
pub enum Cells {
    /// Integers out of a total.
    Units(Vec<u64>, u64),
    /// Fractions.
    Ratios(Vec<(u128, u128)>),
}

impl Cells {
    /// One cell as a fraction.
    pub fn ratio(&self, i: usize) -> (u128, u128) {
        match self {
            Cells::Units(units, total) => (units[i].into(), (*total).into()),
            Cells::Ratios(ratios) => ratios[i],
        }
    }
}

/// The weights of the terms, as fractions of 1.
#[derive(Debug, Clone)]
pub enum Weights {
    /// Integers out of a total.
    Units(Vec<u64>, u64),
    /// `(weight, how many terms)`, out of a total below 2^127.
    Runs(Vec<(u128, u64)>, u128),
    /// Fractions in lowest terms.
    Ratios(Vec<(u64, u64)>),
}

impl Weights {
    /// Number of terms.
    pub fn terms(&self) -> u64 {
        match self {
            Weights::Units(units, _) => units.len() as u64,
            Weights::Runs(runs, _) => runs.iter().map(|run| run.1).sum(),
            Weights::Ratios(ratios) => ratios.len() as u64,
        }
    }

    /// The weight of term `j`.
    pub fn ratio(&self, j: u64) -> (u128, u128) {
        match self {
            Weights::Units(units, total) => (units[j as usize].into(), (*total).into()),
            Weights::Runs(runs, total) => {
                let mut before = 0;
                for &(weight, terms) in runs {
                    before += terms;
                    if j < before {
                        return (weight, *total);
                    }
                }
                (0, *total)
            }
            Weights::Ratios(ratios) => {
                let (n, d) = ratios[j as usize];
                (n.into(), d.into())
            }
        }
    }

    /// The weights in order, and how many terms in a row have each.
    fn runs(&self) -> Box<dyn Iterator<Item = ((u128, u128), u64)> + '_> {
        match self {
            Weights::Runs(runs, total) => Box::new(runs.iter().map(|run| ((run.0, *total), run.1))),
            _ => Box::new((0..self.terms()).map(|j| (self.ratio(j), 1))),
        }
    }

    /// The nearest doubles of all weights.
    pub fn fill(&self, out: &mut [f64]) {
        let mut rest = out;
        for ((n, d), terms) in self.runs() {
            let (part, after) = rest.split_at_mut(terms as usize);
            part.fill(nearest(n, d));
            rest = after;
        }
    }

    /// Entropy of the choice of a term in bits; the rest of a cut sum counts as one more term.
    pub fn entropy(&self) -> f64 {
        if let Weights::Runs(runs, total) = self
            && let [(weight, terms)] = runs[..]
            && weight * u128::from(terms) == *total
        {
            return (terms as f64).log2();
        }
        let bits = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
        // Compensated, so that a million terms lose no digit.
        let (mut sum, mut rest) = (Dd::ZERO, Dd::ONE);
        for ((n, d), terms) in self.runs() {
            let p = nearest(n, d);
            sum = sum + Dd::product(bits(p), terms as f64);
            rest = rest - Dd::product(p, terms as f64);
        }
        let most = (self.terms() as f64 + 1.0).log2();
        let cut = rest.hi > 1e-12;
        let bits = sum.hi + if cut { bits(rest.hi) } else { 0.0 };
        bits.min(most).max(0.0)
    }

    /// How many terms to keep for a sum of at least `mass`, and at most `terms`.
    pub fn enough(&self, mass: f64, terms: u64) -> u64 {
        let all = self.terms();
        if mass >= 1.0 {
            return all.min(terms);
        }
        let found = match self {
            Weights::Ratios(ratios) => {
                // Exactly as long as the sum is a fraction of 128 bits, then to 30 digits.
                let (mut exact, mut sum) = (Some((0, 1)), Dd::ZERO);
                let found = ratios.iter().position(|&(n, d)| {
                    let term = (u128::from(n), u128::from(d));
                    sum = sum + Dd::from(term.0) / Dd::from(term.1);
                    exact = exact.and_then(|sum| add(sum, term));
                    let reached = exact.and_then(|(n, d)| Some(n >= share_of(mass, d)?));
                    reached.unwrap_or((sum - Dd::from(mass)).hi >= 0.0)
                });
                found.map(|j| j as u64 + 1)
            }
            Weights::Units(_, total) => self.enough_of(share_of(mass, (*total).into()), mass),
            Weights::Runs(_, total) => self.enough_of(share_of(mass, *total), mass),
        };
        found.map_or(all, |kept| kept.clamp(1, all)).min(terms)
    }

    /// How many terms of one total sum to at least `mass`, which is `units` of it: to 30 digits if 128 bits do not hold
    /// the two next to each other.
    fn enough_of(&self, units: Option<u128>, mass: f64) -> Option<u64> {
        let (mut units, mut left, mut kept) = (units, Dd::from(mass), 0);
        for ((n, d), count) in self.runs() {
            let each = Dd::from(n) / Dd::from(d);
            let need = match units {
                Some(units) => u64::try_from(units.div_ceil(n.max(1))).ok(),
                None => Some((left / each).hi.ceil().max(0.0) as u64),
            };
            if let Some(need) = need.filter(|&need| need <= count) {
                return Some(kept + need);
            }
            kept += count;
            units = units.map(|units| units - n * u128::from(count));
            left = left - each * Dd::from(u128::from(count));
        }
        None
    }

    fn keep(&mut self, terms: u64) {
        match self {
            Weights::Units(units, _) => units.truncate(terms as usize),
            Weights::Ratios(ratios) => ratios.truncate(terms as usize),
            Weights::Runs(runs, _) => {
                let mut left = terms;
                for run in runs.iter_mut() {
                    run.1 = run.1.min(left);
                    left -= run.1;
                }
                runs.retain(|run| run.1 > 0);
            }
        }
    }
}

/// The smallest integer whose share of `total` is at least `mass`, which is below 1; `None` if 128
/// bits do not hold the product of the two.
fn share_of(mass: f64, total: u128) -> Option<u128> {
    // A double below 1 is `mantissa / 2^places`, so that nothing is rounded here.
    let bits = mass.to_bits();
    let exponent = (bits >> 52) as i64;
    let mantissa = u128::from(bits & ((1 << 52) - 1) | u64::from(exponent > 0) << 52);
    let places = 1075 - exponent.max(1);
    let product = mantissa.checked_mul(total)?;
    Some(if places >= 128 {
        1
    } else {
        product.div_ceil(1 << places)
    })
}

/// The smallest number of units whose share of `total` is at least `mass`, from above 0 to 1.
pub fn units_for(mass: f64, total: u64) -> u64 {
    if mass >= 1.0 {
        return total;
    }
    // A product of 53 and 64 bits has room.
    share_of(mass, total.into()).map_or(total, |units| (units as u64).clamp(1, total))
}

/// What is said of a decomposition whose terms have no such sum or product.
pub fn too_long() -> Error {
    let must = "add up to fractions with denominators below 2^127";
    Error::value("terms", must, "a longer denominator")
}

/// The sum of two fractions in lowest terms, below 2^127.
pub fn add((a, b): (u128, u128), (c, d): (u128, u128)) -> Option<(u128, u128)> {
    let g = gcd(b, d);
    let n = a.checked_mul(d / g)?.checked_add(c.checked_mul(b / g)?)?;
    let d = (b / g).checked_mul(d)?;
    let g = gcd(n, d);
    (d / g < 1 << 127).then_some((n / g, d / g))
}

/// The product of two fractions in lowest terms, below 2^127.
pub fn multiply((a, b): (u128, u128), (c, d): (u128, u128)) -> Option<(u128, u128)> {
    let (g, h) = (gcd(a, d).max(1), gcd(c, b).max(1));
    let product = ((a / g).checked_mul(c / h)?, (b / h).checked_mul(d / g)?);
    (product.1 < 1 << 127).then_some(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_taken_exactly() {
        assert_eq!(units_for(1.0, 7), 7);
        assert_eq!(units_for(0.5, 7), 4);
        assert_eq!(units_for(0.5, 8), 4);
        assert_eq!(units_for(1e-300, 8), 1);
        assert_eq!(units_for(f64::MIN_POSITIVE / 4.0, 8), 1);
        // A third as a double is below 1/3, so that one of three is enough; 0.1 is above 1/10.
        assert_eq!(units_for(1.0 / 3.0, 3), 1);
        assert_eq!(units_for(0.1, 10), 2);
        assert_eq!(units_for(1.0 - f64::EPSILON / 2.0, 1 << 53), (1 << 53) - 1);
    }
}
