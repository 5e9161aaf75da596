//! What a bistochastic matrix is: exact rational laws, one per row, by their structure.
//!
//! To add a family: its file in `family/`, a `mod` line and a line in [`REGISTRY`]. It says its name, its size, its
//! parameters and its [`Structure`]; all else follows from the structure, unless the family knows better.

#[cfg(test)]
pub(crate) mod battery;
pub mod digest;
mod family;
pub mod lines;
mod matrix;
pub mod parameters;
pub mod rate;
mod registry;
pub mod same;
pub mod scaling;
mod shared;
pub mod structure;

pub use family::Family;
pub use matrix::{Matrix, Shelf, Shelved};
pub use registry::{Entry, REGISTRY, build};
pub use shared::composite::Nesting;
pub use structure::{Alphas, Composition, Structure};
