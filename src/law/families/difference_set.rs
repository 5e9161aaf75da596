//! Difference set: a circulant of two values with more codes than categories.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::parameters::{Arguments, Value};
use crate::law::survey::{Survey, neighbours};
use crate::law::{Law, Matrix};
use crate::number::bits::Entropy;
use crate::number::lattice::MAX_SIZE;
use crate::number::logarithms::LogSum;
use crate::system::memory::{self, Gather};

/// # Law
/// `probability(u, v)` is `inside/total` where `(v - u) mod modulus` is a residue, and `outside/total`
/// elsewhere. Codes from `size` on are reported and never true.
///
/// A report tells at most `log2 modulus - H` bits, the capacity of the circulant, whatever the prior. The
/// stated bits are what it leaves of a truth among `size`: `log2 size - (log2 modulus - H)`.
///
/// # Cost
/// Build O(modulus); bits and epsilon O(1).
#[derive(Debug)]
pub struct DifferenceSet {
    /// Number of codes that can be true.
    pub size: u64,
    modulus: u64,
    residues: Arc<[i64]>,
    /// Of a shift in the set, and of another.
    counts: [u64; 2],
    total: u64,
}

pub fn build(arguments: &mut Arguments) -> Result<Matrix> {
    // The package finds the last three from those before them.
    let size = arguments.size()?;
    let modulus = arguments.whole("modulus", size, MAX_SIZE)?.unwrap_or(size);
    let must = "be rising whole numbers from 0 to below the modulus";
    let residues = arguments.wholes("residues", must)?;
    let mut least = 0;
    for (i, &residue) in residues.iter().enumerate() {
        if !(least..modulus as i64).contains(&residue) {
            return Err(Error::value("residues", must, format!("{residue} at {i}")));
        }
        least = residue + 1;
    }
    let must = "be two, neither negative, that make a total from 1 to below 2^63";
    let counts = arguments.wholes("counts", must)?;
    let (k, rest) = (residues.len() as u64, modulus - residues.len() as u64);
    let (inside, outside) = match *counts {
        [inside, outside] if inside.min(outside) >= 0 => (inside as u64, outside as u64),
        _ => return Err(Error::value("counts", must, format!("{counts:?}"))),
    };
    let total = u128::from(k) * u128::from(inside) + u128::from(rest) * u128::from(outside);
    if !(1..1 << 63).contains(&total) {
        return Err(Error::value("counts", must, total));
    }
    let mut first_row = memory::filled(outside as i64, modulus as usize);
    for &residue in &*residues {
        first_row[residue as usize] = inside as i64;
    }
    let parameters = vec![
        ("size", size.into()),
        ("modulus", modulus.into()),
        ("residues", (&residues).into()),
        ("counts", Value::Wholes(counts)),
    ];
    let total = total as u64;
    let set = DifferenceSet {
        size,
        modulus,
        residues,
        counts: [inside, outside],
        total,
    };
    let law = Law::Circulant {
        first_row: memory::shared(first_row),
        total,
    };
    Ok(Matrix::of_difference_set(law, parameters, set))
}

impl DifferenceSet {
    /// Of every code the number of truths from which it is a shift in the set.
    fn explained(&self) -> Vec<u64> {
        let v = self.modulus as usize;
        let mut inside = memory::filled(false, v);
        self.residues
            .iter()
            .for_each(|&r| inside[r as usize] = true);
        let size = self.size as usize;
        let mut count = (0..size).filter(|&u| inside[(v - u) % v]).count() as u64;
        (0..v)
            .map(|y| {
                let here = count;
                let next = (y + 1) % v;
                count += u64::from(inside[next]);
                count -= u64::from(inside[(next + v - size) % v]);
                here
            })
            .gather()
    }

    /// The entropy of `times[i]` numbers `counts[i]` out of their sum.
    fn entropy(&self, times: [u64; 2]) -> LogSum {
        let parts = [0, 1].map(|i| i128::from(times[i]) * i128::from(self.counts[i]));
        let total = (parts[0] + parts[1]).unsigned_abs();
        let own = |i: usize| (-parts[i], u128::from(self.counts[i].max(1)));
        LogSum {
            terms: vec![(total as i128, total), own(0), own(1)],
            denominator: total,
        }
    }

    /// Of a truth among those that there are, what a report leaves.
    pub fn entropy_rate(&self) -> Entropy {
        let (v, k) = (self.modulus, self.residues.len() as u64);
        let mut bits = self.entropy([k, v - k]);
        let total = i128::from(self.total);
        bits.terms.push((total, self.size.into()));
        bits.terms.push((-total, v.into()));
        // More may be told than there is to tell: nothing is hidden then.
        match Entropy::Exact(bits) {
            bits if bits.bits_down() > 0.0 => bits,
            _ => Entropy::Exact(LogSum::zero()),
        }
    }

    /// Of the truths that there are: a code explains some of them by shifts in the set, the others by shifts
    /// outside.
    pub fn short_survey(&self, law: &Law, gammas: &[f64]) -> Option<Survey> {
        let mut survey = law.short_survey(gammas)?;
        let explained = self.explained();
        let split = |j: u64| [j, self.size - j];
        let bits = |j: u64| Entropy::Exact(self.entropy(split(j))).bits_down();
        let mut first = memory::filled(None, self.size as usize + 1);
        for (y, &j) in (0u64..).zip(&explained) {
            first[j as usize].get_or_insert(y);
        }
        let [inside, outside] = self.counts;
        // Codes that can be reported.
        let seen = || {
            let codes = (0u64..).zip(&first).filter_map(|(j, y)| Some((j, (*y)?)));
            codes.filter(|&(j, _)| j * inside + (self.size - j) * outside > 0)
        };
        survey.worst_row = (0, self.entropy_rate().bits_down());
        survey.worst_column = seen()
            .map(|(j, y)| (y, bits(j)))
            .reduce(|a, b| if b.1 < a.1 { b } else { a })?;
        let top = |j: u64| {
            let there = split(j).map(|n| n > 0);
            (inside * u64::from(there[0])).max(outside * u64::from(there[1]))
        };
        let peaks = explained.iter().map(|&j| u128::from(top(j))).sum();
        survey.peaks = (peaks, self.total.into());
        let sorted = [inside.min(outside), inside.max(outside)];
        let fewest = seen()
            .flat_map(|(j, _)| split(j).into_iter().zip(self.counts))
            .filter(|&(many, count)| many > 0 && count > 0)
            .map(|(many, _)| many)
            .min()?;
        for (found, &gamma) in survey.deniability.iter_mut().zip(gammas) {
            let alike = inside == outside || sorted[0] > 0 && neighbours(&sorted, &[], gamma) == 2;
            found.0 = if alike { self.size } else { fewest };
        }
        survey.witness = seen()
            .find(|&(j, _)| (1..self.size).contains(&j))
            .and_then(|(_, y)| {
                let is_in = |u: u64| {
                    self.residues
                        .binary_search(&(((y + self.modulus - u) % self.modulus) as i64))
                        .is_ok()
                };
                let (a, b) = (
                    (0..self.size).find(|&u| is_in(u))?,
                    (0..self.size).find(|&u| !is_in(u))?,
                );
                Some(if inside >= outside {
                    (a, b, y)
                } else {
                    (b, a, y)
                })
            });
        Some(survey)
    }
}
