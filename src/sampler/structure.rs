//! What a family is made of, as far as drawing goes.

use std::sync::Arc;

use crate::family::Matrix;

/// What a family is made of, as far as drawing goes.
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

/// The alphas of a tridiagonal matrix.
#[derive(Debug, Clone)]
pub enum Alphas {
    /// The same everywhere.
    Constant(u64),
    /// One each.
    Vector(Arc<[i64]>),
}
