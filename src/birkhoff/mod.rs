//! Birkhoff's theorem made usable: a bistochastic matrix as a weighted sum of permutations, exactly.
//!
//! | room | what lives there |
//! |---|---|
//! | [`counts`], [`realise`] | a matrix as whole numbers without zeros; any family as such, on its own grid or a coarser one |
//! | [`matching`], [`queue`] | perfect matchings in a graph that changes; entries in falling order |
//! | [`bottleneck`], [`ties`], [`loose`] | the policy "bottleneck", and what it does with choices on small matrices |
//! | [`events`] | the policy "any" |
//! | [`closed`] | structured families, without a search |
//! | [`listed`], [`form`] | terms as an engine gives them; weights and permutations, stored or described |
//! | [`split`], [`sample`] | half a matrix, exactly; one random permutation without decomposing |
//! | [`draw`] | a random term of a decomposition |
//! | [`control`], [`random`] | progress and a wish to stop; labellings |
//!
//! Where to start: [`decompose`], then [`bottleneck`].

use crate::dd::Dd;
use crate::error::Error;
use crate::family::{Composition, Matrix};
use crate::lattice::nearest;
use crate::pool;

pub mod bottleneck;
pub mod closed;
pub mod control;
pub mod counts;
pub mod draw;
pub mod events;
pub mod form;
pub mod listed;
pub mod loose;
pub mod matching;
pub mod queue;
pub mod random;
pub mod realise;
pub mod sample;
pub mod split;
pub mod ties;

use control::{Control, Stopped};
use counts::Counts;
use form::{Cells, Form, units_for};
use listed::Listed;
use random::Random;

/// Which permutation is taken next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The one whose smallest entry is largest: few terms, largest first.
    Bottleneck,
    /// Any: many terms, each close to the one before, in less time a term.
    Any,
}

/// What is asked of a decomposition.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Which permutation is taken next.
    pub policy: Policy,
    /// The grid `2^-bits` to move to first.
    pub bits: Option<u32>,
    /// Stop as soon as the weights sum to this share.
    pub mass: f64,
    /// Stop after this many terms.
    pub max_terms: Option<u64>,
    /// How many ways the bottleneck policy tries, of which the one with the fewest terms is kept.
    pub restarts: u32,
}

/// When an engine stops early.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Stop as soon as the weights sum to this many units.
    pub enough: u64,
    /// Stop after this many terms.
    pub terms: usize,
}

/// Why there is no decomposition.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// Input that cannot be decomposed.
    Refused(Error),
    /// Who waits for it wanted it no longer.
    Stopped,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Refused(error)
    }
}

impl From<Stopped> for Failure {
    fn from(_: Stopped) -> Self {
        Failure::Stopped
    }
}

/// A matrix as a sum of permutations.
#[derive(Debug, Clone)]
pub struct Decomposition {
    /// The law that was decomposed: the matrix, or the one on the grid that was asked for.
    pub matrix: Matrix,
    /// The sum.
    pub sum: Sum,
    /// Whether nothing was left out.
    pub complete: bool,
}

/// The terms of a decomposition.
#[derive(Debug, Clone)]
pub enum Sum {
    /// One after the other.
    Plain(Form),
    /// Independent factors: a term is one of each, in C order, or those listed.
    Kron(Vec<Decomposition>, Option<Vec<u64>>),
}

/// Terms of a kron among which the largest can be chosen.
const CHOICE: u128 = 1 << 22;

/// Decompose a matrix. `share` of the progress is this matrix's.
///
/// # Errors
/// [`Failure`].
pub fn decompose(
    matrix: &Matrix,
    options: &Options,
    share: f64,
    control: &Control,
) -> Result<Decomposition, Failure> {
    if let Some(Composition::Kron(factors)) = matrix.family.composition() {
        return kron(matrix, factors, options, share, control);
    }
    if let Some(found) = closed::decompose(matrix, options)? {
        control.advance(share);
        return Ok(found);
    }
    let (counts, law) = match options.bits {
        None => (realise::counts(matrix)?, matrix.clone()),
        Some(bits) => match realise::coarse(matrix, bits)? {
            (counts, false) => (counts, matrix.clone()),
            (counts, true) => {
                let law = realise::dense(&counts)?;
                (counts, law)
            }
        },
    };
    let limits = Limits {
        enough: units_for(options.mass, counts.total),
        terms: options
            .max_terms
            .map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)),
    };
    let form = search(&counts, options, &limits, share, control)?;
    let sum: u64 = match &form.weights {
        form::Weights::Units(units, _) => units.iter().sum(),
        _ => counts.total,
    };
    Ok(Decomposition {
        matrix: law,
        complete: sum == counts.total,
        sum: Sum::Plain(form),
    })
}

/// Decompose several matrices side by side.
///
/// # Errors
/// The first [`Failure`], in the order of the matrices.
pub fn decompose_all(
    matrices: &[Matrix],
    options: &Options,
    control: &Control,
) -> Result<Vec<Decomposition>, Failure> {
    let share = 1.0 / matrices.len().max(1) as f64;
    pool::map(matrices.len(), false, |i| {
        control.check()?;
        decompose(&matrices[i], options, share, control)
    })
    .into_iter()
    .collect()
}

/// The best of several ways: as it is, with other labels, and on small matrices with shorter steps. All
/// are decided by their number alone, so that threads make no difference.
fn search(
    counts: &Counts,
    options: &Options,
    limits: &Limits,
    share: f64,
    control: &Control,
) -> Result<Form, Stopped> {
    if options.policy == Policy::Any {
        let events = events::simulate(counts, limits.enough, share, control)?;
        return Ok(Form::of_events(events, counts.total, limits.terms));
    }
    let restarts = options.restarts.max(1);
    let share = share / f64::from(restarts);
    let size = counts.size;
    let small = restarts == 1 || counts.values.len() < 16;
    let tried = pool::map(restarts as usize, small, |i| -> Result<Listed, Stopped> {
        control.check()?;
        let mut random = Random::new(i as u64);
        match i {
            0 => bottleneck::decompose(counts, limits, true, share, control),
            i if size <= loose::MAX_SIZE && i % 2 == 1 => {
                loose::decompose(counts, limits, random, share, control)
            }
            _ => {
                let (rows, columns) = (random.order(size), random.order(size));
                let renamed = counts.relabelled(&rows, &columns);
                let found = bottleneck::decompose(&renamed, limits, false, share, control)?;
                Ok(found.renamed_back(&rows, &columns))
            }
        }
    });
    let mut best: Option<Listed> = None;
    for found in tried {
        let found = found?;
        // Fewer terms; of as many, as a limit leaves, more weight.
        let key = |listed: &Listed| {
            let sum: u64 = listed.weights.iter().sum();
            (listed.weights.len(), std::cmp::Reverse(sum))
        };
        if best.as_ref().is_none_or(|best| key(&found) < key(best)) {
            best = Some(found);
        }
    }
    let best = best.unwrap_or_else(|| Listed::new(size));
    Ok(Form::listed(best, counts.total))
}

fn kron(
    matrix: &Matrix,
    factors: &[Matrix],
    options: &Options,
    share: f64,
    control: &Control,
) -> Result<Decomposition, Failure> {
    let each = Options {
        mass: 1.0,
        max_terms: None,
        ..*options
    };
    let share = share / factors.len() as f64;
    let parts: Result<Vec<Decomposition>, Failure> = factors
        .iter()
        .map(|factor| decompose(factor, &each, share, control))
        .collect();
    let parts = parts?;
    let law = if options.bits.is_some() {
        let matrices = parts.iter().map(|part| part.matrix.clone()).collect();
        let given = crate::parameters::Value::Matrices(matrices);
        crate::family::build("kron", vec![("matrices".to_owned(), given)])?
    } else {
        matrix.clone()
    };
    let mut whole = Decomposition {
        matrix: law,
        sum: Sum::Kron(parts, None),
        complete: true,
    };
    let terms = whole
        .terms()
        .ok_or_else(|| Error::value("matrices", "have fewer than 2^127 terms together", "more"))?;
    if options.mass < 1.0 || options.max_terms.is_some_and(|n| u128::from(n) < terms) {
        if terms > CHOICE {
            let must = format!("be left out for a kron of more than {CHOICE} terms");
            let name = if options.mass < 1.0 {
                "mass"
            } else {
                "max_terms"
            };
            return Err(Error::value(name, must, terms).into());
        }
        let mut order: Vec<(Dd, u64)> = (0..terms as u64)
            .map(|j| (whole.precise_weight(j.into()), j))
            .collect();
        order.sort_by(|(a, i), (b, j)| {
            b.hi.total_cmp(&a.hi)
                .then(b.lo.total_cmp(&a.lo))
                .then(i.cmp(j))
        });
        let mut sum = Dd::ZERO;
        let mut chosen = Vec::new();
        for (weight, j) in order {
            let enough = (sum - Dd::from(options.mass)).hi >= 0.0;
            let many = options.max_terms.is_some_and(|n| chosen.len() as u64 >= n);
            if many || (enough && options.mass < 1.0) {
                break;
            }
            sum = sum + weight;
            chosen.push(j);
        }
        if (chosen.len() as u128) < terms {
            whole.complete = false;
            if let Sum::Kron(_, listed) = &mut whole.sum {
                *listed = Some(chosen);
            }
        }
    }
    Ok(whole)
}

impl Decomposition {
    /// Number of terms, below 2^127 for all that are handed out.
    pub fn terms(&self) -> Option<u128> {
        match &self.sum {
            Sum::Plain(form) => Some(form.terms().into()),
            Sum::Kron(_, Some(chosen)) => Some(chosen.len() as u128),
            Sum::Kron(factors, None) => factors.iter().try_fold(1u128, |product, factor| {
                product
                    .checked_mul(factor.terms()?)
                    .filter(|&terms| terms < 1 << 127)
            }),
        }
    }

    /// The factors and their terms that make up term `j`; itself where there are none.
    fn leaves(&self, j: u128) -> Vec<(&Form, u64)> {
        match &self.sum {
            Sum::Plain(form) => vec![(form, j as u64)],
            Sum::Kron(factors, chosen) => {
                let mut rest = chosen
                    .as_ref()
                    .map_or(j, |chosen| chosen[j as usize].into());
                let mut parts = Vec::new();
                for factor in factors.iter().rev() {
                    let terms = factor.terms().unwrap_or(1).max(1);
                    parts.push(factor.leaves(rest % terms));
                    rest /= terms;
                }
                parts.into_iter().rev().flatten().collect()
            }
        }
    }

    /// The weight of term `j` as a product of fractions.
    pub fn weight(&self, j: u128) -> Vec<(u128, u128)> {
        let leaves = self.leaves(j);
        leaves
            .iter()
            .map(|(form, j)| form.weights.ratio(*j))
            .collect()
    }

    /// The same to 30 digits.
    pub fn precise_weight(&self, j: u128) -> Dd {
        let factors = self.weight(j).into_iter();
        factors.fold(Dd::ONE, |w, (n, d)| w * (Dd::from(n) / Dd::from(d)))
    }

    /// The permutation of term `j`.
    pub fn fill(&self, j: u128, out: &mut [i64]) {
        let leaves = self.leaves(j);
        if let [(form, j)] = leaves[..] {
            return form.fill(j, out);
        }
        // In C order: the code so far times the next size, plus where the next digit goes.
        let mut filled = 1;
        out[0] = 0;
        for (form, j) in leaves {
            let n = form.size as usize;
            let mut term = vec![0; n];
            form.fill(j, &mut term);
            for i in (0..filled).rev() {
                let base = out[i] * n as i64;
                for (x, v) in out[i * n..][..n].iter_mut().zip(&term) {
                    *x = base + v;
                }
            }
            filled *= n;
        }
    }

    /// Entropy of the choice of a term, in bits.
    pub fn joint_entropy(&self) -> f64 {
        match &self.sum {
            Sum::Plain(form) => form.weights.entropy(),
            Sum::Kron(factors, None) => factors.iter().map(Decomposition::joint_entropy).sum(),
            Sum::Kron(_, Some(chosen)) => {
                let bits = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
                let weights: Vec<f64> = (0..chosen.len())
                    .map(|j| self.precise_weight(j as u128).hi)
                    .collect();
                let rest = 1.0 - weights.iter().sum::<f64>();
                weights.iter().map(|&p| bits(p)).sum::<f64>() + bits(rest.max(0.0))
            }
        }
    }

    /// What the terms add up to, row by row.
    ///
    /// # Errors
    /// Fractions that leave 127 bits.
    pub fn cells(&self) -> Result<Cells, Error> {
        let too_long = || Error::value("terms", "add up to fractions below 2^127", "more");
        let factors = match &self.sum {
            Sum::Plain(form) => return form.cells(),
            Sum::Kron(factors, None) => factors,
            Sum::Kron(_, Some(chosen)) => {
                let size = self.matrix.family.size() as usize;
                let mut sums = vec![(0u128, 1u128); size * size];
                let mut term = vec![0; size];
                for j in 0..chosen.len() as u128 {
                    self.fill(j, &mut term);
                    let weight = self.weight(j).into_iter().try_fold((1, 1), form::multiply);
                    let weight = weight.ok_or_else(too_long)?;
                    for (row, &v) in sums.chunks_mut(size).zip(&term) {
                        let cell = &mut row[v as usize];
                        *cell = form::add(*cell, weight).ok_or_else(too_long)?;
                    }
                }
                return Ok(Cells::Ratios(sums));
            }
        };
        let mut size = 1;
        let mut product = vec![(1u128, 1u128)];
        for factor in factors {
            let n = factor.matrix.family.size() as usize;
            let cells = factor.cells()?;
            let mut next = Vec::with_capacity(product.len() * n * n);
            for u in 0..size * n {
                for v in 0..size * n {
                    let a = product[u / n * size + v / n];
                    let b = cells.ratio(u % n * n + v % n);
                    next.push(form::multiply(a, b).ok_or_else(too_long)?);
                }
            }
            (product, size) = (next, size * n);
        }
        Ok(Cells::Ratios(product))
    }

    /// What the terms add up to, as the nearest doubles, row after row. The entries of a kron multiply,
    /// in 30 digits where 128 bits do not hold them.
    ///
    /// # Errors
    /// Sums that 128 bits do not hold.
    pub fn doubles(&self) -> Result<Vec<f64>, Error> {
        let n = self.matrix.family.size() as usize;
        let mut out = vec![0.0; n * n];
        let small = n < 256;
        if let Sum::Kron(factors, None) = &self.sum {
            let parts: Result<Vec<(usize, Cells)>, Error> = factors
                .iter()
                .rev()
                .map(|factor| Ok((factor.matrix.family.size() as usize, factor.cells()?)))
                .collect();
            let parts = parts?;
            pool::for_each_chunk(&mut out, n, small, |u, row| {
                for (v, x) in row.iter_mut().enumerate() {
                    let digits = || {
                        parts.iter().scan((u, v), |rest, (size, cells)| {
                            let (a, b) = (rest.0 % size, rest.1 % size);
                            *rest = (rest.0 / size, rest.1 / size);
                            Some(cells.ratio(a * size + b))
                        })
                    };
                    *x = match digits().try_fold((1, 1), form::multiply) {
                        Some((a, b)) => nearest(a, b),
                        None => {
                            let product = digits().fold(Dd::ONE, |product, (a, b)| {
                                product * (Dd::from(a) / Dd::from(b))
                            });
                            product.hi
                        }
                    };
                }
            });
            return Ok(out);
        }
        let cells = self.cells()?;
        pool::for_each_chunk(&mut out, n, small, |u, row| {
            for (v, x) in row.iter_mut().enumerate() {
                let (a, b) = cells.ratio(u * n + v);
                *x = nearest(a, b);
            }
        });
        Ok(out)
    }

    /// What was left out, as a matrix; none if nothing was.
    ///
    /// # Errors
    /// A matrix that has no counts below 2^63.
    pub fn residual(&self) -> Result<Option<Matrix>, Error> {
        if self.complete {
            return Ok(None);
        }
        if let Sum::Plain(form) = &self.sum
            && let Some(rest) = closed::rest_of_shifts(&self.matrix, form)?
        {
            return Ok(Some(rest));
        }
        let too_fine = || {
            let must = "have a common denominator below 2^63 and at most 65536 categories";
            Error::value("residual", must, "more")
        };
        let mut counts = realise::counts(&self.matrix).map_err(|_| too_fine())?;
        let total = u128::from(counts.total);
        let cells = self.cells().map_err(|_| too_fine())?;
        let size = counts.size;
        let mut taken = 0;
        for u in 0..size {
            taken = 0;
            for i in counts.starts[u]..counts.starts[u + 1] {
                let (n, d) = cells.ratio(u * size + usize::from(counts.columns[i]));
                // Both are fractions of the same total, since weights of a cut sum are.
                let share = n.checked_mul(total).filter(|&x| x % d == 0).map(|x| x / d);
                let share = share.ok_or_else(too_fine)? as u64;
                counts.values[i] = counts.values[i].checked_sub(share).ok_or_else(too_fine)?;
                taken += share;
            }
        }
        counts.total -= taken;
        counts.drop_zeros();
        realise::dense(&counts).map(Some)
    }
}
