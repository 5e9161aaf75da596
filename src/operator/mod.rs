//! `P^T x` and its inverse by structure, in doubles: expected reports, and the way back.
//!
//! A family hands out an [`Operator`] where it knows a way that is shorter than the dense one. Composites are
//! taken apart by a [`Program`]; what is left without any structure is done by NumPy's LAPACK from the Python
//! layer, or in conjugate gradients by [`dense`].

use std::fmt::Debug;
use std::sync::Arc;

use realfft::num_complex::Complex64;

use crate::system::memory::Gather;
use crate::system::pool;

mod by_structure;
mod composite;
pub mod dense;
mod direct;
pub mod gradients;
mod joint;
mod spectral;
mod tridiagonal;

pub use composite::{Program, Walk, beside_uniform, is_same};
pub use direct::{Means, Scatter, Shift, Swap};
pub use joint::Joint;
pub use spectral::{Spectral, Spectrum};
pub use tridiagonal::{Source, Tridiagonal};

/// Below this a singular value cannot be told from 0 in doubles, and `is_singular` says so: a condition of 2^50.
pub const LEAST: f64 = 1.0 / (1u64 << 50) as f64;

/// Which way a vector goes through the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `P^T x`: from frequencies of truths to expected frequencies of reports.
    Forth,
    /// `P x`: from scores of reports to expected scores of truths.
    Back,
}

/// Room to work in, made before going parallel.
#[derive(Debug, Default)]
pub struct Scratch {
    /// For transforms.
    pub complex: Vec<Complex64>,
    /// For a vector in another order.
    pub real: Vec<f64>,
}

/// A matrix as a linear map.
pub trait Operator: Debug + Send + Sync {
    /// Room to work in, for one vector at a time.
    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    /// The vector through the matrix.
    fn apply(&self, way: Way, x: &[f64], out: &mut [f64], scratch: &mut Scratch);

    /// The vector that [`Operator::apply`] takes to `y`. Asked only where [`Operator::least`] is positive.
    fn solve(&self, way: Way, y: &[f64], out: &mut [f64], scratch: &mut Scratch);

    /// The least singular value, the largest being 1; 0 where it is known to be or cannot be told
    /// from it. The condition in the 2-norm is its inverse.
    fn least(&self) -> f64;

    /// Whether [`Operator::least`] is below 2^-50, where that is shorter to say.
    fn is_singular(&self) -> bool {
        self.least() < LEAST
    }

    /// How many singular values are not 0.
    fn rank(&self) -> u64;
}

/// Runs many vectors, `size` numbers each, one after the other in `x`. Not finite numbers are passed on.
pub fn run(
    operator: &Arc<dyn Operator>,
    way: Way,
    inverse: bool,
    size: usize,
    x: &[f64],
    out: &mut [f64],
) {
    let vectors = x.len() / size;
    let small = x.len() < 1 << 14;
    // A band of vectors a task, each with scratch made before going parallel.
    let bands = vectors.clamp(1, 4 * pool::threads());
    let height = vectors.div_ceil(bands).max(1);
    let step = |x: &[f64], out: &mut [f64], scratch: &mut Scratch| {
        if inverse {
            operator.solve(way, x, out, scratch);
        } else {
            operator.apply(way, x, out, scratch);
        }
    };
    let mut work: Vec<(&[f64], &mut [f64], Scratch)> = x
        .chunks(size * height)
        .zip(out.chunks_mut(size * height))
        .map(|(x, out)| (x, out, operator.scratch()))
        .gather();
    pool::for_each_chunk(&mut work, 1, small, |_, band| {
        for (x, out, scratch) in band {
            for (x, out) in x.chunks(size).zip(out.chunks_mut(size)) {
                step(x, out, scratch);
            }
        }
    });
}

/// Where the first number stands that is not finite.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_number_that_is_not_finite() {
        let mut x = vec![1.0; 10_000];
        assert_eq!(not_finite(&x), None);
        x[7001] = f64::INFINITY;
        x[9000] = f64::NAN;
        assert_eq!(not_finite(&x), Some(7001));
    }

    #[test]
    fn many_vectors_are_each_done_alone() {
        let operator: Arc<dyn Operator> = Arc::new(Shift {
            size: 3,
            a: 0.5,
            q: 0.5 / 3.0,
        });
        let x: Vec<f64> = (0..300).map(f64::from).collect();
        let mut out = vec![0.0; 300];
        run(&operator, Way::Forth, false, 3, &x, &mut out);
        let mut one = vec![0.0; 3];
        run(&operator, Way::Forth, false, 3, &x[297..], &mut one);
        assert_eq!(one, out[297..]);
        let mut back = vec![0.0; 300];
        run(&operator, Way::Forth, true, 3, &out, &mut back);
        assert!(back.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
