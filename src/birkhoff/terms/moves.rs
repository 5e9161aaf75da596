//! Permutations that differ little from term to term.

use crate::system::memory::{self};
use crate::system::stop::Paced;

/// Permutations that differ little from term to term, with one in full every so often.
#[derive(Debug, Clone)]
pub struct Moves {
    pub(super) moves: Vec<(u16, u16)>,
    /// Where the moves of each term start, and the end.
    pub(super) starts: Vec<usize>,
    pub(super) every: usize,
    pub(super) full: Vec<u16>,
}

impl Moves {
    pub(super) fn cells(&self, size: usize, weights: &[u64]) -> Vec<u64> {
        let mut units = memory::zeros(size * size);
        let mut now: Vec<u16> = memory::copied(&self.full[..size]);
        let mut since = memory::zeros::<u64>(size);
        let mut time = 0;
        for (j, &weight) in weights.iter().enumerate().paced() {
            for &(u, v) in &self.moves[self.starts[j]..self.starts[j + 1]] {
                let u = usize::from(u);
                units[u * size + usize::from(now[u])] += time - since[u];
                (now[u], since[u]) = (v, time);
            }
            time += weight;
        }
        for u in 0..size {
            units[u * size + usize::from(now[u])] += time - since[u];
        }
        units
    }
}
