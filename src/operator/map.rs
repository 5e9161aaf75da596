//! A matrix as a linear map, and many vectors through one.

use std::fmt::Debug;
use std::sync::Arc;

use realfft::num_complex::Complex64;

use crate::system::memory::Gather;
use crate::system::pool;

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

    /// The least singular value, the largest being 1; 0 if it is known to be or cannot be told
    /// from it. The condition in the 2-norm is its inverse.
    fn least(&self) -> f64;

    /// Whether [`Operator::least`] is below 2^-50, if that is shorter to say.
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
