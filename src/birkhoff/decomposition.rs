//! The sum of permutations that is handed out, plain or by factors.

use super::terms::{self, Cells, Terms, add_up};
use super::{Options, counts};
use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::number::dd::Dd;
use crate::number::lattice::nearest;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::progress::Progress;

/// A matrix as a weighted sum of permutations, largest weights first: what [`Matrix::decompose`] gives.
///
/// ```
/// use bistochastic::{Matrix, Options, Target};
/// let sum = Matrix::randomized_response(3, Target::Keep(0.5))?.decompose(&Options::default())?;
/// for j in 0..sum.terms() {
///     println!("{} of {:?}", sum.weight(j)?, sum.permutation(j)?);
/// }
/// # Ok::<(), bistochastic::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Decomposition {
    /// The matrix that was decomposed.
    pub(crate) matrix: Matrix,
    /// The sum.
    pub(crate) sum: Sum,
    /// Whether nothing was left out.
    pub(crate) complete: bool,
}

/// The terms of a decomposition.
#[derive(Debug, Clone)]
pub enum Sum {
    /// One after the other.
    Plain(Terms),
    /// Independent factors: a term is one of each, in C order, or those listed.
    Kron(Vec<Decomposition>, Option<Vec<u64>>),
}

impl Decomposition {
    /// Number of terms: below 2^127, as whoever joins factors sees to.
    pub fn terms(&self) -> u128 {
        match &self.sum {
            Sum::Plain(form) => form.terms().into(),
            Sum::Kron(_, Some(chosen)) => chosen.len() as u128,
            Sum::Kron(factors, None) => factors.iter().map(Decomposition::terms).product(),
        }
    }

    /// The factors and their terms that make up term `j`; the term itself if there are no factors.
    fn leaves(&self, j: u128) -> Vec<(&Terms, u64)> {
        match &self.sum {
            Sum::Plain(form) => vec![(form, j as u64)],
            Sum::Kron(factors, chosen) => {
                let mut rest = chosen
                    .as_ref()
                    .map_or(j, |chosen| chosen[j as usize].into());
                let mut parts = Vec::new();
                for factor in factors.iter().rev() {
                    let terms = factor.terms().max(1);
                    parts.push(factor.leaves(rest % terms));
                    rest /= terms;
                }
                parts.into_iter().rev().flatten().collect()
            }
        }
    }

    /// The weight of term `j` as a product of fractions.
    pub(crate) fn factors_of_weight(&self, j: u128) -> Vec<(u128, u128)> {
        let leaves = self.leaves(j).into_iter();
        leaves.map(|(form, j)| form.weights.ratio(j)).collect()
    }

    /// The same to 30 digits.
    pub(crate) fn precise_weight(&self, j: u128) -> Dd {
        let factors = self.factors_of_weight(j).into_iter();
        factors.fold(Dd::ONE, |w, (n, d)| w * (Dd::from(n) / Dd::from(d)))
    }

    /// The permutation of term `j`.
    pub(crate) fn fill(&self, j: u128, out: &mut [i64]) {
        let leaves = self.leaves(j);
        if let [(form, j)] = leaves[..] {
            return form.fill(j, out);
        }
        // In C order: the code so far times the next size, plus where the next digit goes.
        let mut filled = 1;
        out[0] = 0;
        for (form, j) in leaves {
            let n = form.size as usize;
            let mut term = memory::zeros(n);
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
    pub(crate) fn joint_entropy(&self) -> f64 {
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

    /// What the terms add up to, row by row, of a kron that was cut short or of no kron.
    ///
    /// # Errors
    /// Fractions that leave 127 bits.
    pub(crate) fn cells(&self) -> Result<Cells> {
        if let Sum::Plain(form) = &self.sum {
            return form.cells();
        }
        let terms = 0..self.terms();
        let weight = |j| {
            self.factors_of_weight(j)
                .into_iter()
                .try_fold((1, 1), terms::multiply)
        };
        let size = self.matrix.size() as usize;
        add_up(size, terms, |j, term| self.fill(j, term), weight)
    }

    /// What the terms add up to, as the nearest doubles, row after row. The entries of a kron multiply,
    /// in 30 digits where 128 bits do not hold them.
    ///
    /// # Errors
    /// Sums that 128 bits do not hold.
    pub(crate) fn doubles(&self) -> Result<Vec<f64>> {
        let n = self.matrix.size() as usize;
        let parts: Vec<(usize, Cells)> = if let Sum::Kron(_, Some(_)) = &self.sum {
            vec![(n, self.cells()?)]
        } else {
            let factors = self.leaves(0).into_iter().rev();
            factors
                .map(|(form, _)| Ok((form.size as usize, form.cells()?)))
                .collect::<Result<Vec<_>>>()?
        };
        let mut out = memory::zeros(n * n);
        pool::for_each_chunk(&mut out, n, n < 256, |u, row| {
            for (v, x) in row.iter_mut().enumerate() {
                let digits = || {
                    parts.iter().scan((u, v), |rest, (size, cells)| {
                        let (a, b) = (rest.0 % size, rest.1 % size);
                        *rest = (rest.0 / size, rest.1 / size);
                        Some(cells.ratio(a * size + b))
                    })
                };
                let product = match &parts[..] {
                    [(_, cells)] => Some(cells.ratio(u * n + v)),
                    _ => digits()
                        .map(Some)
                        .reduce(|a, b| terms::multiply(a?, b?))
                        .flatten(),
                };
                let precise = |w: Dd, (a, b)| w * (Dd::from(a) / Dd::from(b));
                *x = match product {
                    Some((a, b)) => nearest(a, b),
                    None => digits().fold(Dd::ONE, precise).hi,
                };
            }
        });
        Ok(out)
    }

    /// What was left out, as a matrix; `None` if nothing was.
    ///
    /// # Errors
    /// A matrix that has no counts below 2^63.
    pub(crate) fn residual(&self) -> Result<Option<Matrix>> {
        if self.complete {
            return Ok(None);
        }
        let too_fine = || {
            let must = "have a common denominator below 2^63 and at most 65536 categories";
            Error::value("residual", must, "a larger number")
        };
        let mut counts = counts::of(&self.matrix).map_err(|_| too_fine())?;
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
        counts::dense(&counts).map(Some)
    }
}

/// Terms of a kron among which the largest can be chosen.
const CHOICE: u128 = 1 << 22;

/// Decompose a kron of `factors`. `share` of the progress is its.
///
/// # Errors
/// As for its factors; too many terms.
pub fn of_kron(
    matrix: &Matrix,
    factors: &[Matrix],
    options: &Options,
    share: f64,
    progress: &Progress,
) -> Result<Decomposition> {
    let each = Options {
        mass: 1.0,
        max_terms: None,
        ..*options
    };
    let share = share / factors.len() as f64;
    let part = |factor| super::decompose(factor, &each, share, progress);
    let parts = factors.iter().map(part).collect::<Result<Vec<_>>>()?;
    let counted = parts.iter().map(Decomposition::terms);
    let terms = counted.fold(1, u128::saturating_mul);
    if terms >= 1 << 127 {
        let got = format!("a product of {} counts above that", factors.len());
        let must = "have fewer than 2^127 terms together";
        return Err(Error::value("matrices", must, got));
    }
    let mut whole = Decomposition {
        matrix: matrix.clone(),
        sum: Sum::Kron(parts, None),
        complete: true,
    };
    if options.mass < 1.0 || options.max_terms.is_some_and(|n| u128::from(n) < terms) {
        if terms > CHOICE {
            let must = format!("be left out for a kron of more than {CHOICE} terms");
            let name = if options.mass < 1.0 {
                "mass"
            } else {
                "max_terms"
            };
            return Err(Error::value(name, must, terms));
        }
        let mut order: Vec<(Dd, u64)> = (0..terms as u64)
            .map(|j| (whole.precise_weight(j.into()), j))
            .gather();
        order.sort_unstable_by(|(a, i), (b, j)| {
            b.hi.total_cmp(&a.hi)
                .then(b.lo.total_cmp(&a.lo))
                .then(i.cmp(j))
        });
        let mut sum = Dd::ZERO;
        let mut chosen = memory::room(order.len());
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
