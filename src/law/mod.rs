//! What a bistochastic matrix is: exact rational laws, one per row, and all that follows from what they are made of.
//!
//! | file | what it says |
//! |---|---|
//! | here | [`Law`]: what a matrix is made of |
//! | [`matrix`] | [`Matrix`]: a law with its name, its parameters, and every number that was found out about it |
//! | [`registry`], [`parameters`] | every family by name; what a caller may give |
//! | `families` | one builder each: from parameters to a law |
//! | `entries` | single entries, rows and sums of rows, exactly and to 30 digits |
//! | [`lines`] | which lines hold the same numbers: bits, epsilon and truthfulness of plain laws |
//! | [`survey`] | what single lines say, in closed form or by looking at every entry |
//! | `ergodic` | whether some power is positive |
//! | `composite` | the bits, epsilon and truthfulness of composites |
//! | `kernel` | the measures of a reflected kernel, whose lines all differ |
//! | [`scaling`] | rows and columns that sum to 1 |
//! | [`digest`], [`same`] | what enters every derivation; whether two laws are the same |
//!
//! To add a family: its builder in `families/` and a line in [`registry`].

use std::sync::Arc;

use crate::number::lattice::gcd;

mod composite;
pub mod digest;
mod entries;
mod ergodic;
#[cfg(test)]
pub(crate) mod examples;
mod families;
mod kernel;
pub mod lines;
pub mod matrix;
pub mod parameters;
pub mod registry;
pub mod same;
pub mod scaling;
pub mod survey;

pub use matrix::Matrix;
pub use registry::build;

/// What a matrix is made of. Closed forms ask for this, never for a family's name: drawing, measures, linear maps, sums of
/// permutations, estimation.
#[derive(Debug, Clone)]
pub enum Law {
    /// Code `u` is always reported as number `u` of these.
    Permutation(Arc<[i64]>),
    /// `u + j mod size`, `j` from one law, Expression (6): `probability(u, v) = first_row[(v - u) mod size]`.
    Circulant {
        /// Counts of `j`.
        first_row: Arc<[i64]>,
        /// Their sum.
        total: u64,
    },
    /// The truth with probability `keep.0 / keep.1`, else any other code, Expression (2).
    RandomizedResponse {
        /// Number of codes, at least 2.
        size: u64,
        /// A fraction in lowest terms.
        keep: (u64, u64),
        /// The same as two counts.
        law: TwoValued,
    },
    /// Any code of the class, Expression (3).
    Classes {
        /// Number of codes.
        size: u64,
        /// In the order of codes. Equal neighbours are one run: a million classes of five are three numbers.
        runs: Vec<Run>,
    },
    /// One step down or up, Expression (7): `probability(i, i+1) = probability(i+1, i) = alpha_i`, and what is left stays.
    Tridiagonal {
        /// Number of codes.
        size: u64,
        /// The step between `i` and `i + 1`, one for all or one each.
        alphas: Alphas,
        /// What they are out of.
        total: u64,
    },
    /// `u + j` on the cycle of `2 size`, folded: `probability(u, v) = c_{v-u} + c_{u+v+1}` for an even law `c`. As `v`
    /// runs over the codes, the indices `v - u` and `-(u+v+1)` run once over the whole cycle, so rows sum to 1; the matrix
    /// is symmetric. Turning the scale round changes nothing.
    Reflected {
        /// `c_0..c_size`.
        kernel: Arc<[i64]>,
        /// Mass of the cycle.
        total: u64,
    },
    /// A law a row.
    Dense {
        /// Row by row.
        counts: Arc<[i64]>,
        /// Sum of each row.
        total: u64,
        /// Number of rows.
        size: usize,
    },
    /// Two codes are swapped unless they stay, with probability `stay / sum` in lowest terms: the smallest step of
    /// majorization. Not every bistochastic matrix is a product of such steps from size 3 on.
    TTransform {
        /// Number of codes.
        size: u64,
        /// The smaller code.
        i: u64,
        /// The other.
        j: u64,
        /// Numerator.
        stay: u64,
        /// Denominator.
        sum: u64,
    },
    /// Independent factors of a joint domain in C order as in `numpy.kron`, the last running fastest. Definition 2 of the
    /// paper with beta is Definition 3 with the same beta for this matrix.
    Kron(Arc<[Matrix]>),
    /// One of several, chosen at random for every record: a convex combination.
    Mix {
        /// All of them.
        parts: Arc<[Matrix]>,
        /// Their weights.
        weights: Arc<[i64]>,
        /// Sum of the weights.
        sum: u64,
    },
    /// First the one, then the other of two: a release that is randomized again.
    Product(Arc<[Matrix]>),
}

/// The steps between neighbours.
#[derive(Debug, Clone)]
pub enum Alphas {
    /// The same everywhere.
    Constant(u64),
    /// One each.
    Vector(Arc<[i64]>),
}

impl Alphas {
    /// The step between `i` and `i + 1`.
    pub fn at(&self, i: u64) -> u64 {
        match self {
            Alphas::Constant(alpha) => *alpha,
            Alphas::Vector(alphas) => alphas[i as usize] as u64,
        }
    }
}

/// One entry on the diagonal and one elsewhere, without a common divisor: `diag + (size - 1) off = total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoValued {
    /// Count of the truth.
    pub diag: u128,
    /// Count of each lie; 0 if there is one code.
    pub off: u128,
    /// What they are out of.
    pub total: u128,
}

impl TwoValued {
    /// The law `diag : off`.
    pub fn new(size: u64, diag: u128, off: u128) -> Self {
        // One category is always itself; no lie exists whose probability could be stored.
        let (diag, off) = if size == 1 { (1, 0) } else { (diag, off) };
        let g = gcd(diag, off);
        let (diag, off) = (diag / g, off / g);
        let total = diag + u128::from(size - 1) * off;
        TwoValued { diag, off, total }
    }

    /// The probability of the truth in lowest terms.
    pub fn keep(&self) -> (u128, u128) {
        let g = gcd(self.diag, self.total);
        (self.diag / g, self.total / g)
    }
}

/// Classes of one size that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// First code.
    pub start: u64,
    /// Codes in each class.
    pub class_size: u64,
    /// How many classes.
    pub classes: u64,
}

impl Run {
    /// Number of codes.
    pub fn codes(&self) -> u64 {
        self.class_size * self.classes
    }
}

impl Law {
    /// Number of codes.
    pub fn size(&self) -> u64 {
        match self {
            Law::Permutation(targets) => targets.len() as u64,
            Law::Circulant { first_row, .. } => first_row.len() as u64,
            Law::RandomizedResponse { size, .. }
            | Law::Classes { size, .. }
            | Law::Tridiagonal { size, .. }
            | Law::TTransform { size, .. } => *size,
            Law::Reflected { kernel, .. } => kernel.len() as u64 - 1,
            Law::Dense { size, .. } => *size as u64,
            Law::Kron(factors) => factors.iter().map(Matrix::size).product(),
            Law::Mix { parts, .. } | Law::Product(parts) => parts[0].size(),
        }
    }

    /// Classes from `(class size, how many of them)`, in order, all positive with a total up to 2^53.
    pub fn classes_of(lengths: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        let mut size = 0;
        for (class_size, classes) in lengths {
            match runs.last_mut() {
                Some(last) if last.class_size == class_size => last.classes += classes,
                _ => crate::system::memory::push(
                    &mut runs,
                    Run {
                        start: size,
                        class_size,
                        classes,
                    },
                ),
            }
            size += class_size * classes;
        }
        Law::Classes { size, runs }
    }

    /// Everything is reported as it is.
    pub fn identity(size: u64) -> Self {
        Law::classes_of([(1, size)])
    }

    /// The parts of a composite; none of all others.
    pub fn parts(&self) -> &[Matrix] {
        match self {
            Law::Kron(parts) | Law::Mix { parts, .. } | Law::Product(parts) => parts,
            _ => &[],
        }
    }

    /// Diagonal and other entry, where these two are all that is stored. Laws that happen to have
    /// only two values, such as a circulant of equal lies, are not looked through.
    pub fn two_valued(&self) -> Option<TwoValued> {
        match self {
            Law::RandomizedResponse { law, .. } => Some(*law),
            Law::Classes { size, runs } => match runs[..] {
                [run] if run.classes == 1 => Some(TwoValued::new(*size, 1, 1)),
                [run] if run.class_size == 1 => Some(TwoValued::new(*size, 1, 0)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether everything is reported as it is, if that is seen at once.
    pub fn is_identity(&self) -> bool {
        self.two_valued().is_some_and(|law| law.off == 0)
    }

    /// Whether every code is as likely, if that is seen at once.
    pub fn is_uniform(&self) -> bool {
        let law = self.two_valued();
        law.is_some_and(|law| law.diag == law.off || self.size() == 1)
    }

    /// The classes of codes, each a perfect secret, from the first code on; classes of one code where
    /// nothing is secret.
    pub fn classes(&self) -> Option<&[Run]> {
        match self {
            Law::Classes { runs, .. } => Some(runs),
            _ => None,
        }
    }

    /// Whether every code has one report, and that is stored as such.
    pub fn is_certain(&self) -> bool {
        match self {
            Law::Permutation(_) => true,
            Law::Classes { runs, .. } => runs.iter().all(|run| run.class_size == 1),
            _ => false,
        }
    }

    /// Whether the rank is read off integers, not off numbers that were rounded.
    pub fn counts_rank(&self) -> bool {
        matches!(
            self,
            Law::Permutation(_)
                | Law::RandomizedResponse { .. }
                | Law::Classes { .. }
                | Law::TTransform { .. }
        )
    }
}
