//! Elimination along a symmetric tridiagonal matrix, and its eigenvalues by counting signs.

use super::map::{LEAST, Operator, Scratch, Way};
use crate::system::kept::Kept;
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

/// A symmetric tridiagonal matrix with line sums 1.
#[derive(Debug)]
pub struct Tridiagonal {
    /// One alpha repeated, or all of them, as counts out of `total`.
    alphas: Vec<u64>,
    size: usize,
    total: u64,
    lines: Kept<Lines>,
    factors: Kept<Factors>,
}

#[derive(Debug)]
struct Lines {
    diagonal: Vec<f64>,
    beside: Vec<f64>,
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

impl Tridiagonal {
    /// From counts out of `total`: one alpha for all, or one each.
    pub fn new(alphas: Vec<u64>, size: usize, total: u64) -> Self {
        Tridiagonal {
            alphas,
            size,
            total,
            lines: Kept::new(),
            factors: Kept::new(),
        }
    }

    /// One alpha repeated, whose eigenvalues are known.
    fn constant(&self) -> Option<f64> {
        match self.alphas[..] {
            [alpha] => Some(alpha as f64 / self.total as f64),
            _ => None,
        }
    }

    /// Made when they are first needed.
    fn lines(&self) -> &Lines {
        self.lines.get_or_make(|| {
            let total = self.total as f64;
            let alpha = |i: Option<usize>| match (i, &self.alphas[..]) {
                (Some(i), _) if i + 1 >= self.size => 0,
                (None, _) => 0,
                (_, [alpha]) => *alpha,
                (Some(i), alphas) => alphas[i],
            };
            let stays = |u: usize| self.total - alpha(u.checked_sub(1)) - alpha(Some(u));
            let beside = (0..self.size - 1).map(|i| alpha(Some(i)) as f64 / total);
            Lines {
                diagonal: (0..self.size).map(|u| stays(u) as f64 / total).gather(),
                beside: beside.gather(),
            }
        })
    }

    fn factors(&self) -> &Factors {
        self.factors.get_or_make(|| {
            let Lines { diagonal, beside } = self.lines();
            if diagonal.iter().all(|&d| d > 0.5) {
                plain(diagonal, beside)
            } else {
                pivoted(diagonal, beside)
            }
        })
    }
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

/// Eigenvalues below each of eight numbers: the signs of the pivots of `P - t I` (Sylvester).
fn below(lines: &Lines, t: [f64; 8]) -> [usize; 8] {
    const TINY: f64 = 1e-290;
    let mut count = [0usize; 8];
    let mut pivot = [1.0f64; 8];
    let mut square = 0.0;
    for (u, d) in lines.diagonal.iter().enumerate().paced() {
        for k in 0..8 {
            let next = d - t[k] - square / pivot[k];
            pivot[k] = if next.abs() < TINY { -TINY } else { next };
            count[k] += usize::from(pivot[k] < 0.0);
        }
        if let Some(a) = lines.beside.get(u) {
            square = a * a;
        }
    }
    count
}

impl Tridiagonal {
    /// `1 - 4 alpha sin^2(pi k / 2r)` for `k` below r: I - alpha L of the path graph.
    fn eigenvalue(&self, alpha: f64, k: usize) -> f64 {
        let half = (std::f64::consts::PI * k as f64 / (2 * self.size) as f64).sin();
        1.0 - 4.0 * alpha * half * half
    }

    /// Eigenvalues within `t` of 0, for four numbers.
    fn within(&self, t: [f64; 4]) -> [usize; 4] {
        let both = [t[0], t[1], t[2], t[3], -t[0], -t[1], -t[2], -t[3]];
        let count = below(self.lines(), both);
        [0, 1, 2, 3].map(|k| count[k] - count[k + 4])
    }
}

impl Operator for Tridiagonal {
    fn apply(&self, _: Way, x: &[f64], out: &mut [f64], _: &mut Scratch) {
        let Lines { diagonal, beside } = self.lines();
        let n = self.size;
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

    fn solve(&self, _: Way, y: &[f64], out: &mut [f64], _: &mut Scratch) {
        let n = self.size;
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

    /// In closed form for one alpha repeated. Else by narrowing down the smallest `t` with an eigenvalue
    /// between `-t` and `t`, four candidates a pass.
    fn least(&self) -> f64 {
        let n = self.size;
        let least = match self.constant() {
            _ if n == 1 => 1.0,
            Some(alpha) => {
                // The eigenvalues fall with k; 0 lies between two neighbours, or beyond the last.
                let at = if alpha > 0.25 {
                    let turn = (1.0 / (4.0 * alpha)).sqrt().asin();
                    (turn * (2 * n) as f64 / std::f64::consts::PI) as usize
                } else {
                    n - 1
                };
                let near = at.saturating_sub(1)..=at + 2;
                near.map(|k| self.eigenvalue(alpha, k.min(n - 1)).abs())
                    .fold(1.0, f64::min)
            }
            None => {
                if self.within([LEAST; 4])[0] > 0 {
                    return 0.0;
                }
                let (mut low, mut high) = (LEAST, 1.0);
                while high / low > 1.0 + 1e-10 {
                    let step = (high / low).powf(0.2);
                    let t = [1, 2, 3, 4].map(|k| low * step.powi(k));
                    let found = self.within(t);
                    let first = found.iter().position(|&count| count > 0).unwrap_or(4);
                    high = if first < 4 { t[first] } else { high };
                    low = if first > 0 { t[first - 1] } else { low };
                }
                low
            }
        };
        if least < LEAST { 0.0 } else { least }
    }

    fn is_singular(&self) -> bool {
        match (self.constant(), self.size) {
            (Some(_), _) | (_, 1) => self.least() < LEAST,
            // Positive definite where every diagonal entry is above 1/2, else one count tells.
            _ => match self.factors() {
                Factors::Plain { .. } => false,
                Factors::Pivoted { .. } => self.within([LEAST; 4])[0] > 0,
            },
        }
    }

    fn rank(&self) -> u64 {
        let n = self.size as u64;
        match self.constant() {
            // The eigenvalues are all different.
            Some(alpha) if alpha > 0.0 => n - u64::from(self.least() == 0.0),
            Some(_) => n,
            None if n == 1 => 1,
            None => n - self.within([LEAST; 4])[0] as u64,
        }
    }
}
