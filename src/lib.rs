//! The core of `bistochastic`: exact bistochastic matrices, their bits, their parameters.
//!
//! The rooms are layers, the lowest first: each imports only what stands above it in this table. `tests/test_core_layers.py`
//! reads the imports.
//!
//! | room | what lives there |
//! |---|---|
//! | [`error`] | `Error` and its sentences |
//! | [`system`] | what the machine is: threads, memory, how work stops, forks, erasure, the processor's level |
//! | [`number`] | exact and directed arithmetic: double-doubles, logarithms, bits, the grid 2^-53, rank, search; tridiagonal elimination |
//! | [`law`] | `Law`, `Matrix`, `REGISTRY`, `build`: what a matrix is made of, its entries, lines and measures; one builder per family; scaling |
//! | [`measure`] | the single lines of any matrix, metric epsilon, plain arrays, `require` |
//! | [`draw`] | key, derivation, keystream, tables, samplers, inner loops, randomize, respond; counts of codes and of the rows of ids |
//! | [`birkhoff`] | matrices as sums of permutations: search, closed sums, sampling |
//! | [`numeric`] | individuals as categories: a column permuted or averaged, classes of records that are close to each other |
//! | `py` | every `#[pyclass]` and `#[pyfunction]`; the only folder that names pyo3 or numpy |
//!
//! A [`Matrix`](law::Matrix) keeps what is found out about it, the tables to draw from among others: `law/matrix.rs` is the
//! one file that names an upper layer for that.
//!
//! Where to start: [`law::Law`], then one builder of a family, then [`law::lines`].

// NaN has to fail a condition, so conditions are written `!(x >= 0.0)`.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

pub mod birkhoff;
pub mod draw;
pub mod error;
pub mod law;
pub mod measure;
pub mod number;
pub mod numeric;
pub mod system;

#[cfg(feature = "python")]
mod py;
