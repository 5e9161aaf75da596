//! A sum of permutations, stored or described: its weights, its permutations, what it adds up to.

pub mod fractions;
mod weights;

pub use weights::{Weights, units_for};

use crate::error::Result;
use crate::law::Alphas;
use crate::system::memory::{self, Gather};
use crate::system::stop::{self, Paced};
use std::sync::Arc;

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

    /// Whether every term is a shift of all codes.
    pub fn is_shifts(&self) -> bool {
        matches!(
            self.permutations,
            Permutations::Shifts(_) | Permutations::Ramp(_)
        )
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
        let weight = weight(j).ok_or_else(fractions::too_long)?;
        for (row, &v) in ratios.chunks_mut(size).zip(&term) {
            let cell = &mut row[v as usize];
            *cell = fractions::add(*cell, weight).ok_or_else(fractions::too_long)?;
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
