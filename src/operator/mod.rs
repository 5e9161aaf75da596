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

#[cfg(test)]
pub(crate) mod laws {
    //! What every operator obeys, against the entries of its family.

    use super::*;
    use crate::law::Matrix;

    fn numbers(n: usize) -> Vec<f64> {
        (0..n)
            .map(|i| ((i * 7919 + 13) % 101) as f64 / 10.0 - 3.0)
            .collect()
    }

    /// `apply` against the sum over entries both ways, `solve` against `apply`, up to rounding.
    pub fn check_operator(matrix: &Matrix) {
        let family = &*matrix.family;
        let Some(operator) = matrix.operator() else {
            return;
        };
        let n = family.size() as usize;
        let x = numbers(n);
        for way in [Way::Forth, Way::Back] {
            let mut out = vec![f64::NAN; n];
            run(operator, way, false, n, &x, &mut out);
            for (v, got) in out.iter().enumerate() {
                let want: f64 = (0..n)
                    .map(|u| match way {
                        Way::Forth => x[u] * family.probability(u as u64, v as u64),
                        Way::Back => x[u] * family.probability(v as u64, u as u64),
                    })
                    .sum();
                assert!((got - want).abs() < 1e-13 * 10.0, "{way:?} {got} {want}");
            }
            assert_eq!(operator.is_singular(), operator.least() < LEAST);
            if operator.least() > 0.0 {
                assert_eq!(operator.rank(), n as u64);
                let mut again = vec![f64::NAN; n];
                run(operator, way, true, n, &out, &mut again);
                for (a, b) in again.iter().zip(&x) {
                    assert!((a - b).abs() * operator.least() < 1e-13 * 10.0, "{a} {b}");
                }
            } else {
                assert!(operator.rank() < n as u64);
            }
        }
    }
}
