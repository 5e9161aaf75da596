//! Matrices as sums of permutations: long work that can be watched and stopped.

mod decompose;
mod decomposition;

pub use decompose::{decompose_all, decompose_one};
pub use decomposition::Decomposition;
