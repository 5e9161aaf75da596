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
//! | [`law`] | `Family`, `Structure`, `Matrix`, `REGISTRY`, `build`; one file per family; scaling; whether two laws are the same |
//! | [`measure`] | the single lines of any matrix, metric epsilon, plain arrays, `require` |
//! | [`draw`] | key, derivation, keystream, tables, samplers, inner loops, randomize, respond; counts of codes and of the rows of ids |
//! | [`birkhoff`] | matrices as sums of permutations: search, closed sums, sampling |
//! | [`numeric`] | individuals as categories: a column permuted or averaged, classes of records that are close to each other |
//! | `py` | every `#[pyclass]` and `#[pyfunction]`; the only folder that names pyo3 or numpy |
//!
//! What an upper layer finds out about a [`Matrix`](law::Matrix) (its tables, what Python keeps with it) lies on a
//! [`Shelf`](law::Shelf) of it, so that no law knows what that is.
//!
//! Where to start: [`law::Family`], then one family, then [`law::rate`].

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
