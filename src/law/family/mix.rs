//! Mix: one of several matrices, chosen at random for every record.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::shared::composite::{self, Joined, Measures, Written};
use crate::law::structure::Structure;
use crate::law::{Composition, Family, Matrix, Nesting};
use crate::number::bits::Entropy;
use crate::number::dd::{Dd, RELATIVE_ERROR};
use crate::number::lattice::{self, gcd};
use crate::system::kept::Kept;
use crate::system::memory::{self, Gather};

/// # Law
/// `probability(u, v) = sum of weight_k p_k(u, v)`, with weights that sum to 1: a convex combination
/// of bistochastic matrices.
///
/// # Cost
/// The parts. Measures are exact up to size 4096 (O(size^2) a part) and of equal parts; beyond, bits are
/// bounded by the weighted mean (entropy is concave), epsilon by the largest, or by the ratio of the weighted extremes.
#[derive(Debug)]
struct Mix {
    parts: Arc<[Matrix]>,
    weights: Arc<[i64]>,
    sum: u64,
    nesting: Nesting,
    written: Written,
    measures: Kept<Measures>,
}

/// Size up to which every entry is looked at.
const SIZE: u64 = 4096;

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let parts = arguments.matrices()?;
    let (weights, sum) = weights(arguments)?;
    if weights.len() != parts.len() {
        let must = format!("be one for each of the {} matrices", parts.len());
        return Err(Error::value("weights", must, weights.len()));
    }
    let size = parts[0].family.size();
    if let Some(other) = parts.iter().find(|part| part.family.size() != size) {
        let must = format!("have one size, {size} as the first");
        return Err(Error::value("matrices", must, other.family.size()));
    }
    composite::refuse_padding("mix", &parts)?;
    let (mut row, mut through) = (u128::from(size), 0u128);
    for inner in parts.iter().map(|part| part.family.nesting()) {
        row = row.saturating_add(inner.row);
        through = through.saturating_add(inner.through);
    }
    Ok(Arc::new(Mix {
        nesting: Nesting::of(&parts, (row, through))?,
        written: Written::default(),
        parts,
        weights,
        sum,
        measures: Kept::new(),
    }))
}

/// Weights in lowest terms. Integers and fractions must sum to exactly 1, floats within 1e-9.
fn weights(arguments: &mut Arguments) -> Result<(Arc<[i64]>, u64)> {
    let must = "be non-negative and sum to 1";
    let (counts, total) = match arguments.required("weights")? {
        Value::Reals(reals) => {
            let rounded = lattice::round_vector("weights", &reals)?;
            (rounded.counts, lattice::GRID)
        }
        Value::Ratios(ratios) => lattice::common_total("weights", &ratios)?,
        Value::Wholes(wholes) => {
            let ratios: Vec<(i128, i128)> = wholes.iter().map(|&n| (n.into(), 1)).gather();
            lattice::common_total("weights", &ratios)?
        }
        other => {
            return Err(Error::type_(
                "weights",
                "be a vector of numbers",
                other.kind(),
            ));
        }
    };
    let sum: u128 = counts.iter().map(|&c| u128::from(c as u64)).sum();
    if sum != u128::from(total) {
        return Err(Error::value(
            "weights",
            must,
            format!("a sum of {sum}/{total}"),
        ));
    }
    let g = (counts.iter()).fold(u128::from(total), |g, &c| gcd(g, c as u128)) as i64;
    Ok((
        counts.iter().map(|c| c / g).gather_shared(),
        total / g as u64,
    ))
}

impl Mix {
    fn weighted(&self) -> Vec<(u64, &Matrix)> {
        let pairs = self.weights.iter().zip(&*self.parts);
        pairs
            .filter(|p| *p.0 > 0)
            .map(|(&w, part)| (w as u64, part))
            .gather()
    }

    fn share(&self, weight: u64) -> Dd {
        Dd::from(u128::from(weight)) / Dd::from(u128::from(self.sum))
    }

    /// The weighted sum of one row of each part.
    fn blend(&self, row: impl Fn(&dyn Family) -> Vec<Dd>) -> Vec<Dd> {
        let mut sum = memory::filled(Dd::ZERO, self.size() as usize);
        for (w, part) in self.weighted() {
            let share = self.share(w);
            for (s, p) in sum.iter_mut().zip(row(&*part.family)) {
                *s = *s + share * p;
            }
        }
        sum
    }

    fn measures(&self) -> &Measures {
        self.measures.get_or_make(|| {
            self.of_equal_parts()
                .or_else(|| self.entry_by_entry())
                .unwrap_or_else(|| self.bounds())
        })
    }

    fn of_equal_parts(&self) -> Option<Measures> {
        let parts = self.weighted();
        let first = parts.first()?.1;
        let equal = parts.iter().all(|(_, part)| *part == first);
        equal.then(|| Measures {
            entropy: first.family.entropy_rate(),
            epsilon: first.family.epsilon(),
            exact: first.family.is_exact(),
        })
    }

    fn entry_by_entry(&self) -> Option<Measures> {
        let can = self.size() <= SIZE && self.nesting.is_quick(self.size());
        let total = self.total().filter(|_| can)?;
        composite::measures(self.size() as usize, total, |u, row| {
            self.add_counts(u, total, 1, row)
        })
    }

    fn bounds(&self) -> Measures {
        let parts = self.weighted();
        let entropy = parts
            .iter()
            .map(|(w, part)| part.entropy().scaled(self.share(*w)));
        let entropy = entropy
            .reduce(|a, b| a + b)
            .unwrap_or_else(|| Entropy::perfect(1));
        let largest = parts
            .iter()
            .map(|(_, part)| part.epsilon())
            .fold(0.0, f64::max);
        let ends = memory::every(parts.iter().map(|(_, p)| p.family.extremes()));
        let by_extremes = ends.map_or(f64::INFINITY, |ends| {
            let mean = |pick: fn(&(f64, f64)) -> f64| {
                let terms = parts.iter().zip(&ends);
                terms.fold(Dd::ZERO, |sum, ((w, _), e)| {
                    sum + self.share(*w) * Dd::from(pick(e))
                })
            };
            let (low, high) = (mean(|e| e.0), mean(|e| e.1));
            if low.hi <= 0.0 {
                f64::INFINITY
            } else {
                (high / low).ln().round_up(1e3 * RELATIVE_ERROR)
            }
        });
        Measures {
            entropy,
            epsilon: largest.min(by_extremes),
            exact: false,
        }
    }
}

impl Joined for Mix {
    fn join_counts(&self, u: u64, total: u128, weight: u128, out: &mut [u128]) -> bool {
        let inner = total / u128::from(self.sum);
        let parts = self.weighted();
        let mut parts = parts.iter();
        parts.all(|(w, part)| {
            part.family
                .add_counts(u, inner, weight * u128::from(*w), out)
        })
    }

    fn join_precise(&self, u: u64) -> Vec<Dd> {
        self.blend(|part| part.precise_row(u))
    }
}

impl Family for Mix {
    composite::joined!();

    fn name(&self) -> &'static str {
        "mix"
    }

    fn size(&self) -> u64 {
        self.parts[0].family.size()
    }

    fn parameters(&self) -> Parameters {
        let weights = self.weights.iter().map(|&w| {
            let g = gcd(w as u128, self.sum.into()) as i128;
            (i128::from(w) / g, i128::from(self.sum) / g)
        });
        vec![
            ("matrices", Value::Matrices(Arc::clone(&self.parts))),
            ("weights", Value::Ratios(weights.gather_shared())),
        ]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        let total = self.total()?;
        if let Some(table) = self.written.of(self) {
            return table.entry((u * self.size() + v) as usize);
        }
        let inner = total / u128::from(self.sum);
        let count = self.weighted().iter().try_fold(0u128, |sum, (w, part)| {
            let (n, d) = part.family.entry(u, v)?;
            Some(sum + u128::from(*w) * (n * (inner / d)))
        })?;
        Some((count, total))
    }

    fn precise(&self, u: u64, v: u64) -> Dd {
        if let Some(table) = self.written.of(self) {
            return table.precise((u * self.size() + v) as usize);
        }
        self.weighted().iter().fold(Dd::ZERO, |sum, (w, part)| {
            sum + self.share(*w) * part.family.precise(u, v)
        })
    }

    fn fill_row(&self, u: u64, out: &mut [f64]) {
        composite::fill_row(self, u, out);
    }

    fn structure(&self) -> Structure {
        Structure::Mix {
            parts: Arc::clone(&self.parts),
            weights: Arc::clone(&self.weights),
            sum: self.sum,
        }
    }

    fn total(&self) -> Option<u128> {
        composite::common(self.parts.iter().map(Matrix::total))?
            .checked_mul(self.sum.into())
            .filter(|&t| t < 1 << 127)
    }

    fn add_counts_through(&self, weights: &[u128], total: u128, out: &mut [u128]) -> bool {
        let inner = total / u128::from(self.sum);
        self.weighted().iter().all(|(w, part)| {
            let weights: Vec<u128> = weights.iter().map(|x| x * u128::from(*w)).gather();
            part.family.add_counts_through(&weights, inner, out)
        })
    }

    fn precise_through(&self, weights: &[Dd]) -> Vec<Dd> {
        self.blend(|part| part.precise_through(weights))
    }

    fn knows_ergodic(&self) -> bool {
        self.size() <= SIZE && self.nesting.is_quick(self.size()) || self.is_ergodic()
    }

    fn composition(&self) -> Option<Composition<'_>> {
        let pairs = self.weights.iter().zip(&*self.parts);
        let parts = pairs
            .map(|(&w, part)| ((w, self.sum as i64), part))
            .gather();
        Some(Composition::Mix(parts))
    }

    fn entropy_rate(&self) -> Entropy {
        self.measures().entropy.clone()
    }

    fn epsilon(&self) -> f64 {
        self.measures().epsilon
    }

    fn truthfulness(&self) -> f64 {
        let parts = self.weighted();
        let terms = parts
            .iter()
            .map(|(w, part)| self.share(*w) * Dd::from(part.truthfulness()));
        terms.fold(Dd::ZERO, |a, b| a + b).hi
    }

    /// One ergodic part is enough; else the union of the supports decides, beyond size 4096 not looked
    /// at.
    fn is_ergodic(&self) -> bool {
        let parts = self.weighted();
        if parts.iter().any(|(_, part)| part.is_ergodic()) {
            return true;
        }
        let size = self.size();
        size <= SIZE
            && self.nesting.is_quick(size)
            && composite::is_ergodic(size as usize, |u| {
                let mut row = memory::zeros(size as usize);
                let mut seen = memory::filled(false, size as usize);
                for (_, part) in &parts {
                    part.family.fill_row(u as u64, &mut row);
                    seen.iter_mut().zip(&row).for_each(|(s, p)| *s |= *p > 0.0);
                }
                (0..size as usize).filter(|&v| seen[v]).gather()
            })
    }

    fn is_exact(&self) -> bool {
        self.measures().exact
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::battery::wholes;

    #[test]
    fn bounds_are_on_the_safe_side() {
        let circle = wholes("circulant", "first_row", &[5, 3, 1, 1]);
        let parts = [circle, wholes("blocks", "sizes", &[2, 2])];
        let mixed = Mix {
            weights: [1, 3].into(),
            sum: 4,
            nesting: Nesting::of(&parts, (1, 1)).unwrap(),
            parts: parts.into(),
            written: Written::default(),
            measures: Kept::new(),
        };
        let (exact, bound) = (mixed.entry_by_entry().unwrap(), mixed.bounds());
        assert!(exact.exact && !bound.exact);
        let bits = |m: &Measures| match &m.entropy {
            Entropy::Within(bits) => bits.value.hi,
            Entropy::Exact(_) => f64::NAN,
        };
        assert!(bits(&bound) <= bits(&exact));
        assert!(bound.epsilon >= exact.epsilon);
    }
}
