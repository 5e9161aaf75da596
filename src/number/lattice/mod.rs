//! Exact integers: a law is a vector of counts out of a common total, nothing else.
//!
//! Floating point enters here and only here. [`round_vector`] moves a probability vector onto the
//! grid 2^-53, where its sum is an integer identity; [`common_total`] takes fractions as they are.

mod rationals;
mod rounding;

pub use rationals::{common_total, gcd, nearest};
pub use rounding::{round_even, round_number, round_vector};

/// Units of the grid: an entry is an integer of them, a line sums to all of them.
pub const GRID: u64 = 1 << 53;

/// Largest size: codes and counts up to it are exact as doubles, too.
pub const MAX_SIZE: u64 = 1 << 53;

/// How far a sum of given floats may be from 1 and still mean 1.
pub const TOLERANCE: f64 = 1e-9;
