//! `P^T x` and its inverse by structure, in doubles: expected reports, and the way back.
//!
//! A family hands out an [`Operator`] if it knows a way that is shorter than the dense one. Composites are
//! taken apart by a [`Program`]; what is left without any structure is done by NumPy's LAPACK from the Python
//! layer, or in conjugate gradients by [`dense`].

mod by_structure;
mod composite;
pub mod dense;
mod direct;
pub mod gradients;
mod joint;
mod map;
mod spectral;
mod tridiagonal;

pub use composite::{Program, Walk, beside_uniform, is_same};
pub use direct::{Means, Scatter, Shift, Swap};
pub use joint::Joint;
pub use map::{LEAST, Operator, Scratch, Way, run};
pub use spectral::{Spectral, Spectrum};
pub use tridiagonal::Tridiagonal;

/// The position of the first number that is not finite.
pub fn not_finite(x: &[f64]) -> Option<usize> {
    // Without an early exit inside a part, so that it vectorises.
    let clean = x
        .chunks(4096)
        .all(|part| part.iter().fold(true, |all, x| all & x.is_finite()));
    if clean {
        None
    } else {
        x.iter().position(|x| !x.is_finite())
    }
}
