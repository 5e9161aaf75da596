//! Maps in closed form: class means, a shift towards the mean, permutations, one swap.

use std::sync::Arc;

use super::map::{Operator, Scratch, Way};

/// The mean inside each class of consecutive codes: a projection, so it is its own pseudo-inverse and
/// only class totals can be told from its result. `runs` are `(class size, how many)`.
#[derive(Debug)]
pub struct Means {
    /// Runs of equal classes, in order.
    pub runs: Vec<(u64, u64)>,
}

impl Operator for Means {
    fn apply(&self, _: Way, x: &[f64], out: &mut [f64], _: &mut Scratch) {
        let mut start = 0;
        for &(size, classes) in &self.runs {
            let end = start + (size * classes) as usize;
            if size == 1 {
                out[start..end].copy_from_slice(&x[start..end]);
            } else {
                let size = size as usize;
                let classes = x[start..end]
                    .chunks(size)
                    .zip(out[start..end].chunks_mut(size));
                for (x, out) in classes {
                    out.fill(sum(x) / size as f64);
                }
            }
            start = end;
        }
    }

    /// Only without a class of two codes or more, and then nothing moves.
    fn solve(&self, _: Way, y: &[f64], out: &mut [f64], _: &mut Scratch) {
        out.copy_from_slice(y);
    }

    fn least(&self) -> f64 {
        f64::from(self.runs.iter().all(|run| run.0 == 1))
    }

    fn rank(&self) -> u64 {
        self.runs.iter().map(|run| run.1).sum()
    }
}

/// Neighbouring sums in eight lanes of blocks: fast, and far better than one running sum.
fn sum(x: &[f64]) -> f64 {
    let blocks = x.chunks(1 << 12).map(|block| {
        let mut lanes = [0.0; 8];
        let (eights, rest) = block.as_chunks::<8>();
        for eight in eights {
            for (lane, x) in lanes.iter_mut().zip(eight) {
                *lane += x;
            }
        }
        lanes.iter().sum::<f64>() + rest.iter().sum::<f64>()
    });
    blocks.sum()
}

/// `a I + q J`, J all ones and `a + size q = 1`: randomized response. The inverse is
/// `(y - q sum(y)) / a`, since sums are kept.
#[derive(Debug)]
pub struct Shift {
    /// Number of categories.
    pub size: u64,
    /// The eigenvalue of everything that sums to 0.
    pub a: f64,
    /// Each lie.
    pub q: f64,
}

impl Operator for Shift {
    fn apply(&self, _: Way, x: &[f64], out: &mut [f64], _: &mut Scratch) {
        let lies = self.q * sum(x);
        for (out, x) in out.iter_mut().zip(x) {
            *out = self.a * x + lies;
        }
    }

    fn solve(&self, _: Way, y: &[f64], out: &mut [f64], _: &mut Scratch) {
        let lies = self.q * sum(y);
        // One division for all: a product may be off by one more unit in the last place.
        let inverse = 1.0 / self.a;
        for (out, y) in out.iter_mut().zip(y) {
            *out = (y - lies) * inverse;
        }
    }

    fn least(&self) -> f64 {
        if self.size == 1 { 1.0 } else { self.a.abs() }
    }

    fn rank(&self) -> u64 {
        if self.size == 1 || self.a == 0.0 {
            1
        } else {
            self.size
        }
    }
}

/// A permutation: the number at `u` moves to `targets[u]`.
#[derive(Debug)]
pub struct Scatter {
    /// Where each code goes.
    pub targets: Arc<[i64]>,
}

impl Scatter {
    /// Every number to the target of its place, or from there.
    fn run(&self, way: Way, x: &[f64], out: &mut [f64]) {
        let targets = self.targets.iter().map(|&v| v as usize);
        match way {
            Way::Forth => targets.zip(x).for_each(|(v, x)| out[v] = *x),
            Way::Back => targets.zip(out).for_each(|(v, out)| *out = x[v]),
        }
    }
}

impl Operator for Scatter {
    fn apply(&self, way: Way, x: &[f64], out: &mut [f64], _: &mut Scratch) {
        self.run(way, x, out);
    }

    fn solve(&self, way: Way, y: &[f64], out: &mut [f64], _: &mut Scratch) {
        let other = if way == Way::Forth {
            Way::Back
        } else {
            Way::Forth
        };
        self.run(other, y, out);
    }

    fn least(&self) -> f64 {
        1.0
    }

    fn rank(&self) -> u64 {
        self.targets.len() as u64
    }
}

/// A T-transform: `keep` of two numbers stays, the rest changes places.
#[derive(Debug)]
pub struct Swap {
    /// Number of categories.
    pub size: u64,
    /// One of the two codes.
    pub i: u64,
    /// The other.
    pub j: u64,
    /// `keep` as a double.
    pub keep: f64,
    /// `2 keep - 1`, the eigenvalue of the difference, rounded once.
    pub a: f64,
}

impl Operator for Swap {
    fn apply(&self, _: Way, x: &[f64], out: &mut [f64], _: &mut Scratch) {
        out.copy_from_slice(x);
        let (p, q) = (x[self.i as usize], x[self.j as usize]);
        out[self.i as usize] = self.keep * p + (1.0 - self.keep) * q;
        out[self.j as usize] = (1.0 - self.keep) * p + self.keep * q;
    }

    /// Sum and difference of the two are eigenvectors, of 1 and of `a`.
    fn solve(&self, _: Way, y: &[f64], out: &mut [f64], _: &mut Scratch) {
        out.copy_from_slice(y);
        let (p, q) = (y[self.i as usize], y[self.j as usize]);
        let (middle, half) = ((p + q) / 2.0, (p - q) / 2.0 / self.a);
        out[self.i as usize] = middle + half;
        out[self.j as usize] = middle - half;
    }

    fn least(&self) -> f64 {
        self.a.abs()
    }

    fn rank(&self) -> u64 {
        // The difference of two integers is 0 in doubles just when it is.
        self.size - u64::from(self.a == 0.0)
    }
}
