//! What a family is made of. Closed forms ask for this, never for a family's name: drawing,
//! measures, operators, sums of permutations, estimation.

use std::sync::Arc;

use crate::law::Matrix;
use crate::number::lattice::gcd;
use crate::system::memory::Gather;

/// What a family is made of.
#[derive(Debug, Clone)]
pub enum Structure {
    /// Every code has one report: itself, or its target.
    Certain(Option<Arc<[i64]>>),
    /// `u + j mod size`, `j` from one law.
    Circulant {
        /// Counts of `j`.
        first_row: Arc<[i64]>,
        /// Their sum.
        total: u64,
    },
    /// The truth with probability `keep.0 / keep.1`, else any other code.
    Lies {
        /// Number of codes, at least 2.
        size: u64,
        /// A fraction.
        keep: (u64, u64),
    },
    /// Any code of the class: runs of (first code, class size), up to the next run's first code.
    Classes {
        /// Number of codes.
        size: u64,
        /// In the order of codes.
        runs: Vec<(u64, u64)>,
    },
    /// One step down or up.
    Neighbours {
        /// Number of codes.
        size: u64,
        /// The step between `i` and `i + 1`, one for all or one each.
        alphas: Alphas,
        /// What they are out of.
        total: u64,
    },
    /// `u + j` on the cycle of `2 size`, folded.
    Even {
        /// `c_0..c_size`.
        kernel: Arc<[i64]>,
        /// Mass of the cycle.
        total: u64,
    },
    /// A law a row.
    Rows {
        /// Row by row.
        counts: Arc<[i64]>,
        /// Sum of each row.
        total: u64,
        /// Number of rows.
        size: usize,
    },
    /// Two codes are swapped unless they stay, with probability `stay / sum`.
    Swap {
        /// Number of codes.
        size: u64,
        /// One code.
        i: u64,
        /// The other.
        j: u64,
        /// Numerator.
        stay: u64,
        /// Denominator.
        sum: u64,
    },
    /// Factors of a joint domain, the last running fastest.
    Kron(Arc<[Matrix]>),
    /// One of several.
    Mix {
        /// All of them.
        parts: Arc<[Matrix]>,
        /// Their weights.
        weights: Arc<[i64]>,
        /// Sum of the weights.
        sum: u64,
    },
    /// First one, then the other.
    Product(Arc<[Matrix]>),
}

/// The parts of a composite, from which it is drawn in turn.
#[derive(Debug)]
pub enum Composition<'a> {
    /// Independent factors of a joint domain in C order.
    Kron(&'a [Matrix]),
    /// One of several, chosen with these weights.
    Mix(Vec<((i64, i64), &'a Matrix)>),
    /// First one, then the other.
    Product(&'a Matrix, &'a Matrix),
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

    /// The numbers that are stored: one for all, or one each.
    pub fn stored(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self {
            Alphas::Constant(alpha) => Box::new(std::iter::once(*alpha)),
            Alphas::Vector(alphas) => Box::new(alphas.iter().map(|&alpha| alpha as u64)),
        }
    }

    /// The same number of numbers, each changed alike.
    pub fn map(&self, change: impl Fn(u64) -> u64) -> Self {
        match self {
            Alphas::Constant(alpha) => Alphas::Constant(change(*alpha)),
            Alphas::Vector(alphas) => {
                let changed = alphas.iter().map(|&alpha| change(alpha as u64) as i64);
                Alphas::Vector(changed.gather_shared())
            }
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

impl Structure {
    /// Diagonal and other entry, where these two are all that is stored. Laws that happen to have
    /// only two values, such as a circulant of equal lies, are not looked through.
    pub fn two_valued(&self, size: u64) -> Option<TwoValued> {
        match self {
            Structure::Certain(None) => Some(TwoValued::new(size, 1, 0)),
            Structure::Lies { keep: (n, d), .. } => {
                let (n, d) = (u128::from(*n), u128::from(*d));
                Some(TwoValued::new(size, n * u128::from(size - 1), d - n))
            }
            Structure::Classes { runs, .. } => match runs[..] {
                [(_, n)] if n == size => Some(TwoValued::new(size, 1, 1)),
                [(_, 1)] => Some(TwoValued::new(size, 1, 0)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether everything is reported as it is, if that is seen at once.
    pub fn is_identity(&self, size: u64) -> bool {
        self.two_valued(size).is_some_and(|law| law.off == 0)
    }

    /// Whether every code is as likely, if that is seen at once.
    pub fn is_uniform(&self, size: u64) -> bool {
        self.two_valued(size)
            .is_some_and(|law| law.diag == law.off || size == 1)
    }

    /// The classes of codes, each a perfect secret, from the first code on; classes of one code where
    /// nothing is secret.
    pub fn classes(&self, size: u64) -> Option<Vec<Run>> {
        match self {
            Structure::Certain(None) => Some(vec![Run {
                start: 0,
                class_size: 1,
                classes: size,
            }]),
            Structure::Classes { runs, .. } => {
                let ends = runs.iter().skip(1).map(|run| run.0).chain([size]);
                let lengths = runs.iter().zip(ends);
                let runs = lengths.map(|(&(start, class_size), end)| Run {
                    start,
                    class_size,
                    classes: (end - start) / class_size,
                });
                Some(runs.gather())
            }
            _ => None,
        }
    }

    /// Whether the rank is read off integers, not off numbers that were rounded.
    pub fn counts_rank(&self) -> bool {
        matches!(
            self,
            Structure::Certain(_)
                | Structure::Lies { .. }
                | Structure::Classes { .. }
                | Structure::Swap { .. }
        )
    }
}
