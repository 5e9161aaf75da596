//! Elimination along a symmetric tridiagonal matrix, and its eigenvalues by counting signs.

use crate::system::kept::Kept;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop::Paced;

/// A symmetric tridiagonal matrix with line sums 1.
#[derive(Debug)]
pub struct Tridiagonal {
    diagonal: Vec<f64>,
    beside: Vec<f64>,
    factors: Kept<Factors>,
}

/// What elimination leaves, so that a vector costs no division.
#[derive(Debug)]
enum Factors {
    /// Every diagonal entry above 1/2: positive definite, no pivoting. `1/d_i` and `alpha_i/d_i`.
    Plain { inverse: Vec<f64>, ratio: Vec<f64> },
    /// Rows may change places; the upper factor then has two diagonals beside its own.
    Pivoted {
        inverse: Vec<f64>,
        below: Vec<f64>,
        above: Vec<f64>,
        above2: Vec<f64>,
        swapped: Vec<bool>,
    },
}

fn plain(diagonal: &[f64], beside: &[f64]) -> Factors {
    let mut inverse = memory::room(diagonal.len());
    let mut ratio = memory::room(beside.len());
    inverse.push(1.0 / diagonal[0]);
    for (d, a) in diagonal[1..].iter().zip(beside).paced() {
        let r = a * inverse[ratio.len()];
        ratio.push(r);
        inverse.push(1.0 / (d - r * a));
    }
    Factors::Plain { inverse, ratio }
}

/// Gaussian elimination in which the larger of the two candidates becomes the pivot.
fn pivoted(diagonal: &[f64], beside: &[f64]) -> Factors {
    let n = diagonal.len();
    let (mut pivot, mut above) = (memory::copied(diagonal), memory::copied(beside));
    let (mut above2, mut below) = (memory::zeros(n), memory::zeros(n));
    let mut swapped = memory::filled(false, n);
    memory::push(&mut above, 0.0);
    for i in (0..n - 1).paced() {
        let low = beside[i];
        if pivot[i].abs() >= low {
            let factor = if low == 0.0 { 0.0 } else { low / pivot[i] };
            below[i] = factor;
            pivot[i + 1] -= factor * above[i];
        } else {
            let factor = pivot[i] / low;
            (pivot[i], below[i], swapped[i]) = (low, factor, true);
            let next = pivot[i + 1];
            pivot[i + 1] = above[i] - factor * next;
            above[i] = next;
            above2[i] = above[i + 1];
            above[i + 1] *= -factor;
        }
    }
    Factors::Pivoted {
        inverse: pivot.iter().map(|d| 1.0 / d).gather(),
        below,
        above,
        above2,
        swapped,
    }
}

impl Tridiagonal {
    /// From its diagonal, and the numbers beside that, one fewer.
    pub fn new(diagonal: Vec<f64>, beside: Vec<f64>) -> Self {
        assert!(beside.len() + 1 == diagonal.len());
        Tridiagonal {
            diagonal,
            beside,
            factors: Kept::new(),
        }
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.diagonal.len()
    }

    fn factors(&self) -> &Factors {
        self.factors.get_or_make(|| {
            if self.diagonal.iter().all(|&d| d > 0.5) {
                plain(&self.diagonal, &self.beside)
            } else {
                pivoted(&self.diagonal, &self.beside)
            }
        })
    }

    /// Many vectors one after the other, each multiplied by the matrix or by its `inverse`.
    pub fn run(&self, inverse: bool, x: &[f64], out: &mut [f64]) {
        let (size, small) = (self.size(), x.len() < 1 << 14);
        pool::for_each_chunk(out, size, small, |row, out| {
            let x = &x[row * size..][..size];
            if inverse {
                self.solve(x, out);
            } else {
                self.apply(x, out);
            }
        });
    }

    fn apply(&self, x: &[f64], out: &mut [f64]) {
        let (diagonal, beside) = (&self.diagonal, &self.beside);
        let n = diagonal.len();
        if n == 1 {
            out[0] = x[0];
            return;
        }
        out[0] = diagonal[0] * x[0] + beside[0] * x[1];
        let steps = beside.windows(2).zip(x.windows(3)).zip(&diagonal[1..]);
        for (out, ((a, x), d)) in out[1..].iter_mut().zip(steps) {
            *out = a[0] * x[0] + d * x[1] + a[1] * x[2];
        }
        out[n - 1] = beside[n - 2] * x[n - 2] + diagonal[n - 1] * x[n - 1];
    }

    fn solve(&self, y: &[f64], out: &mut [f64]) {
        let n = self.diagonal.len();
        match self.factors() {
            Factors::Plain { inverse, ratio } => {
                let mut z = y[0];
                out[0] = z;
                for ((out, y), r) in out[1..].iter_mut().zip(&y[1..]).zip(ratio) {
                    z = y - r * z;
                    *out = z;
                }
                let mut x = out[n - 1] * inverse[n - 1];
                out[n - 1] = x;
                let rest = out[..n - 1].iter_mut().zip(inverse).zip(ratio);
                for ((out, i), r) in rest.rev() {
                    x = *out * i - r * x;
                    *out = x;
                }
            }
            Factors::Pivoted {
                inverse,
                below,
                above,
                above2,
                swapped,
            } => {
                let mut z = y[0];
                for i in 0..n - 1 {
                    let (kept, moved) = if swapped[i] {
                        (y[i + 1], z)
                    } else {
                        (z, y[i + 1])
                    };
                    out[i] = kept;
                    z = moved - below[i] * kept;
                }
                let (mut next, mut after) = (z * inverse[n - 1], 0.0);
                out[n - 1] = next;
                for i in (0..n - 1).rev() {
                    let x = (out[i] - above[i] * next - above2[i] * after) * inverse[i];
                    (after, next) = (next, x);
                    out[i] = x;
                }
            }
        }
    }

    /// Eigenvalues within `t` of 0, for four numbers.
    pub fn within(&self, t: [f64; 4]) -> [usize; 4] {
        let count = self.below([t[0], t[1], t[2], t[3], -t[0], -t[1], -t[2], -t[3]]);
        [0, 1, 2, 3].map(|k| count[k] - count[k + 4])
    }

    /// Eigenvalues below each of eight numbers: the signs of the pivots of `P - t I` (Sylvester).
    fn below(&self, t: [f64; 8]) -> [usize; 8] {
        const TINY: f64 = 1e-290;
        let mut count = [0usize; 8];
        let mut pivot = [1.0f64; 8];
        let mut square = 0.0;
        for (u, d) in self.diagonal.iter().enumerate().paced() {
            for k in 0..8 {
                let next = d - t[k] - square / pivot[k];
                pivot[k] = if next.abs() < TINY { -TINY } else { next };
                count[k] += usize::from(pivot[k] < 0.0);
            }
            if let Some(a) = self.beside.get(u) {
                square = a * a;
            }
        }
        count
    }
}
