//! Privacy by bistochastic matrices: exact laws, their bits and epsilons, samples from their rows, and the permutations
//! that they are sums of.
//!
//! ```
//! use bistochastic::{Key, Matrix, Options, Rows, Target};
//!
//! let m = Matrix::randomized_response(12, Target::Beta(0.6))?;
//! println!("beta {}, epsilon {}", m.beta(), m.epsilon());
//!
//! let key = Key::generate()?;
//! let mut codes = [3u8, 0, 11, 7];
//! m.randomize(&mut codes, &key, "x", Rows(0))?;
//!
//! let sum = m.decompose(&Options::default())?;
//! assert_eq!(sum.terms(), 12);
//! # Ok::<(), bistochastic::Error>(())
//! ```
//!
//! Every probability is a fraction, and every row and column sums to exactly 1. A stated beta is never above the true one,
//! and a stated epsilon is never below it. Nothing depends on the number of threads, which `BISTOCHASTIC_THREADS` sets.
//!
//! | to | call |
//! |---|---|
//! | make a matrix | [`Matrix::randomized_response`], [`Matrix::build`] for every family |
//! | know what it hides | [`Matrix::beta`], [`Matrix::entropy_rate`], [`Matrix::epsilon`]; [`entropy_rate`] of a plain array |
//! | report | [`Matrix::randomize`] under a [`Key`]; [`Matrix::probabilities`] says how likely each report is |
//! | decompose | [`Matrix::decompose`] and [`decompose_all`] with [`Options`], which give a [`Decomposition`] |
//!
//! This is the core of the Python package of the same name, which has more: estimation, measures, addresses by id.

// For those who change it: the modules are layers, the lowest first. `tests/test_core_layers.py` reads the imports.
// `law::Matrix` keeps the tables to draw from, so `law/matrix.rs` is the one file that names an upper layer.
//
// NaN has to fail a condition, so conditions are written `!(x >= 0.0)`.
#![allow(clippy::neg_cmp_op_on_partial_ord)]
// Most of the core is called by the Python layer alone, and tested without it. What nobody calls is reported where that
// layer is compiled too: `make rust` runs clippy with the feature and without.
#![cfg_attr(not(feature = "python"), allow(dead_code))]

mod error;
mod system;

mod number;

mod law;

mod draw;

mod birkhoff;

mod numeric;

mod rust;

#[cfg(feature = "python")]
mod py;

pub use birkhoff::{Decomposition, Options};
pub use draw::key::{Key, KeyFileError};
pub use error::{Error, Result, Sentence};
pub use law::Matrix;
pub use law::parameters::Value;
pub use rust::{Rows, Target, decompose_all, entropy_rate};

/// For `benches/` and `scripts/trace.rs`: no part of the API.
#[doc(hidden)]
pub mod internals {
    pub use crate::draw::code::Code;
    pub use crate::draw::keystream::{BLOCK, Keystream};
    pub use crate::system::pool::share_out;
    pub use crate::system::processor::Level;
}
