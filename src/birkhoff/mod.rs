//! Birkhoff's theorem made usable: a bistochastic matrix as a weighted sum of permutations, exactly.
//!
//! | room | what lives there |
//! |---|---|
//! | [`counts`] | any matrix as integers without zeros |
//! | [`queue`] | entries in falling order; the graph is in [`matching`](crate::law::scaling::matching) |
//! | [`bottleneck`], [`ties`], [`loose`] | the search, and what it does with choices on small matrices |
//! | [`closed`] | structured families, without a search |
//! | [`listed`], [`terms`] | terms as an engine gives them; weights and permutations, stored or described |
//! | [`decomposition`] | the sum that is handed out, plain or by factors |
//! | [`sample`] | half a matrix, exactly, and so one random permutation without decomposing |
//! | [`random_term`] | a random term of a decomposition |
//! | [`random`] | labellings |
//!
//! Where to start: [`decompose`], then [`bottleneck`].

use crate::error::{Error, Result};
use crate::law::{Law, Matrix};
use crate::system::pool;
use crate::system::progress::Progress;

pub mod bottleneck;
pub mod closed;
pub mod counts;
pub mod decomposition;
pub mod listed;
pub mod loose;
pub mod queue;
pub mod random;
pub mod random_term;
pub mod sample;
pub mod terms;
pub mod ties;
#[cfg(test)]
pub(crate) mod tree;

pub use decomposition::{Decomposition, Sum};

use counts::Counts;
use listed::Listed;
use random::Random;
use terms::{Permutations, Terms, Weights, units_for};

/// What is asked of a decomposition: all of the matrix, by default, in one way.
///
/// ```
/// use bistochastic::Options;
/// let most = Options::default().mass(0.9)?.max_terms(100)?;
/// assert!(most.mass(f64::NAN).is_err() && most.restarts(0).is_err());
/// # Ok::<(), bistochastic::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    mass: f64,
    max_terms: Option<u64>,
    restarts: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            mass: 1.0,
            max_terms: None,
            restarts: 1,
        }
    }
}

impl Options {
    /// Stop as soon as the weights sum to this share.
    ///
    /// # Errors
    /// Not above 0 and at most 1.
    pub fn mass(self, mass: f64) -> Result<Self> {
        match mass > 0.0 && mass <= 1.0 {
            true => Ok(Options { mass, ..self }),
            false => Err(Error::value("mass", "be above 0 and at most 1", mass)),
        }
    }

    /// Stop after this many terms.
    ///
    /// # Errors
    /// It is 0.
    pub fn max_terms(self, terms: u64) -> Result<Self> {
        let max_terms = Some(terms);
        match terms {
            0 => Err(Error::value("max_terms", "be at least 1", terms)),
            _ => Ok(Options { max_terms, ..self }),
        }
    }

    /// How many ways are tried, of which the one with the fewest terms is kept.
    ///
    /// # Errors
    /// Not from 1 to 65,536.
    pub fn restarts(self, restarts: u32) -> Result<Self> {
        match restarts {
            1..=0x1_0000 => Ok(Options { restarts, ..self }),
            _ => Err(Error::value("restarts", "be from 1 to 65536", restarts)),
        }
    }

    /// What enters the derivation of random words for the terms. No option is negative, so -1 is one that was not given.
    pub(crate) fn numbers(&self) -> [i128; 3] {
        let terms = self.max_terms.map_or(-1, i128::from);
        [self.mass.to_bits().into(), terms, self.restarts.into()]
    }
}

/// When an engine stops early.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Stop as soon as the weights sum to this many units.
    pub enough: u64,
    /// Stop after this many terms.
    pub terms: usize,
}

/// Decompose a matrix. `share` of the progress is this matrix's.
///
/// # Errors
/// Counts that are too large.
pub fn decompose(
    matrix: &Matrix,
    options: &Options,
    share: f64,
    progress: &Progress,
) -> Result<Decomposition> {
    if let Law::Kron(factors) = matrix.law() {
        return decomposition::of_kron(matrix, factors, options, share, progress);
    }
    if let Some(found) = closed::decompose(matrix, options)? {
        progress.advance(share);
        return Ok(found);
    }
    let counts = counts::of(matrix)?;
    let limits = Limits {
        enough: units_for(options.mass, counts.total),
        terms: options
            .max_terms
            .map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)),
    };
    let total = counts.total;
    let form = search(counts, options, &limits, share, progress);
    let sum: u64 = match &form.weights {
        Weights::Units(units, _) => units.iter().sum(),
        _ => total,
    };
    Ok(Decomposition {
        matrix: matrix.clone(),
        complete: sum == total,
        sum: Sum::Plain(form),
    })
}

/// Decompose several matrices side by side.
///
/// # Errors
/// The first error, in the order of the matrices.
pub fn decompose_all(
    matrices: &[Matrix],
    options: &Options,
    progress: &Progress,
) -> Result<Vec<Decomposition>> {
    let share = 1.0 / matrices.len().max(1) as f64;
    pool::map(matrices.len(), false, |i| {
        decompose(&matrices[i], options, share, progress)
    })
    .into_iter()
    .collect()
}

/// The best of several ways: as it is, with other labels, and on small matrices with shorter steps. All
/// are decided by their number alone, so that threads make no difference.
fn search(
    counts: Counts,
    options: &Options,
    limits: &Limits,
    share: f64,
    progress: &Progress,
) -> Terms {
    let restarts = options.restarts;
    let share = share / f64::from(restarts);
    let (size, total) = (counts.size, counts.total);
    let again = |i| {
        let mut random = Random::new(i as u64);
        match i {
            0 => bottleneck::decompose(counts.clone(), limits, true, share, progress),
            i if size <= loose::MAX_SIZE && i % 2 == 1 => {
                loose::decompose(&counts, limits, random, share, progress)
            }
            _ => {
                let (rows, columns) = (random.order(size), random.order(size));
                let renamed = counts.relabelled(&rows, &columns);
                let found = bottleneck::decompose(renamed, limits, false, share, progress);
                found.renamed_back(&rows, &columns)
            }
        }
    };
    let tried = match restarts {
        1 => vec![bottleneck::decompose(counts, limits, true, share, progress)],
        _ => pool::map(restarts as usize, counts.values.len() < 16, again),
    };
    // Fewer terms; of as many, as a limit leaves, more weight; then the first.
    let best = tried.into_iter().min_by_key(|listed| {
        let sum: u64 = listed.weights.iter().sum();
        (listed.weights.len(), std::cmp::Reverse(sum))
    });
    let best = best.unwrap_or_else(|| Listed::new(size));
    Terms {
        size: size as u64,
        weights: Weights::Units(best.weights, total),
        permutations: Permutations::Listed(best.columns),
    }
}
