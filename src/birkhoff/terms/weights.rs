//! The weights of the terms, as fractions of 1.

use super::fractions::add;
use crate::number::dd::Dd;
use crate::number::lattice::nearest;

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

    pub(super) fn keep(&mut self, terms: u64) {
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
