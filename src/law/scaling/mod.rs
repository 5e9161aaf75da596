//! Scaling a non-negative matrix by its rows and columns until every line sums to 1: the bistochastic matrix nearest in
//! relative entropy.

pub mod matching;
pub mod potentials;
pub mod rounding;
mod solver;
pub mod support;

pub use solver::{DONE, Scaling};
