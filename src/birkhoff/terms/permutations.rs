//! Which permutation each term is.

use super::Moves;
use crate::law::structure::Alphas;
use std::sync::Arc;

/// Which permutation each term is.
#[derive(Debug, Clone)]
pub enum Permutations {
    /// The column of each row, term by term.
    Listed(Vec<u16>),
    /// The first, and who moves from term to term.
    Moves(Moves),
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
    pub(super) fn swaps(&self, i: u64, time: u64) -> bool {
        let alpha = self.alphas.at(i);
        if i.is_multiple_of(2) {
            time < alpha
        } else {
            time >= self.total - alpha
        }
    }
}
