//! Factors of rows and columns that make every line sum to 1.
//!
//! Sinkhorn's alternation first, which for a well-mixed matrix is done in a few rounds; if it
//! crawls (chains, near-permutations), Newton on the convex dual `sum A_ij exp(u_i + v_j) - sum u - sum v`
//! by conjugate gradients, two passes over the matrix an iteration.

use crate::system::memory;
use crate::system::pool;
use crate::system::stop;

/// Deviation of a line sum at which scaling is done: two units of the grid.
pub const DONE: f64 = 1.0 / (1u64 << 52) as f64;

/// Rows a band: each band has column sums of its own, and their number depends on the size alone.
const BANDS: usize = 16;

/// A matrix `diag(x) P diag(y)` in the making.
pub struct Scaling<'a> {
    matrix: &'a [f64],
    size: usize,
    /// Factors of the rows.
    pub x: Vec<f64>,
    /// Factors of the columns.
    pub y: Vec<f64>,
    /// Passes over the matrix so far.
    pub passes: usize,
    /// Column sums band by band, kept so that no pass allocates.
    bands: Vec<(f64, f64)>,
}

/// Add `x` to a sum kept as a double and what it leaves.
#[inline(always)]
fn add((high, low): (f64, f64), x: f64) -> (f64, f64) {
    let sum = high + x;
    let back = sum - high;
    (sum, low + ((high - (sum - back)) + (x - back)))
}

impl<'a> Scaling<'a> {
    /// Start with factors 1.
    pub fn new(matrix: &'a [f64], size: usize) -> Self {
        Scaling {
            matrix,
            size,
            x: memory::filled(1.0, size),
            y: memory::filled(1.0, size),
            passes: 0,
            bands: memory::filled((0.0, 0.0), BANDS.min(size) * size),
        }
    }

    fn small(&self) -> bool {
        self.matrix.len() < 1 << 14
    }

    /// `P y`, to more than a double's digits before the last rounding.
    fn times(&mut self, y: &[f64]) -> Vec<f64> {
        self.passes += 1;
        let (matrix, size) = (self.matrix, self.size);
        let mut out = memory::zeros(size);
        pool::for_each_chunk(&mut out, size.div_ceil(64), self.small(), |band, part| {
            let first = band * size.div_ceil(64);
            for (i, out) in part.iter_mut().enumerate() {
                let row = &matrix[(first + i) * size..][..size];
                let mut lanes = [(0.0, 0.0); 4];
                let (groups, rest) = row.as_chunks::<4>();
                let (scales, last) = y.as_chunks::<4>();
                for (p, y) in groups.iter().zip(scales) {
                    for l in 0..4 {
                        lanes[l] = add(lanes[l], p[l] * y[l]);
                    }
                }
                for (p, y) in rest.iter().zip(last) {
                    lanes[0] = add(lanes[0], p * y);
                }
                let (high, low) = lanes.iter().fold((0.0, 0.0), |s, l| {
                    let s = add(s, l.0);
                    (s.0, s.1 + l.1)
                });
                *out = high + low;
            }
        });
        out
    }

    /// `P^T x`, likewise.
    fn transposed_times(&mut self, x: &[f64]) -> Vec<f64> {
        self.passes += 1;
        let (matrix, size) = (self.matrix, self.size);
        let small = self.small();
        let height = size.div_ceil(BANDS.min(size));
        pool::for_each_chunk(&mut self.bands, size, small, |band, sums| {
            sums.fill((0.0, 0.0));
            let rows = matrix.chunks(size).zip(x).skip(band * height).take(height);
            for (row, &x) in rows {
                for (sum, &p) in sums.iter_mut().zip(row) {
                    *sum = add(*sum, p * x);
                }
            }
        });
        let mut out = memory::filled((0.0, 0.0), size);
        for band in self.bands.chunks(size) {
            for (sum, part) in out.iter_mut().zip(band) {
                *sum = add(*sum, part.0);
                sum.1 += part.1;
            }
        }
        out.into_iter().map(|(high, low)| high + low).collect()
    }

    /// Make the rows exact and return what the columns are off by, with the largest of it.
    fn rows_exact(&mut self) -> (Vec<f64>, f64) {
        let y = std::mem::take(&mut self.y);
        let rows = self.times(&y);
        self.y = y;
        for (x, row) in self.x.iter_mut().zip(rows) {
            *x = 1.0 / row;
        }
        let x = std::mem::take(&mut self.x);
        let columns = self.transposed_times(&x);
        self.x = x;
        let off: Vec<f64> = columns
            .iter()
            .zip(&self.y)
            .map(|(c, y)| c * y - 1.0)
            .collect();
        let worst = off.iter().fold(0.0, |m: f64, o| m.max(o.abs()));
        (off, worst)
    }

    /// Scale until both margins are within `target`, or no step helps any more. The matrix must have
    /// total support. Returns the largest deviation left.
    pub fn run(&mut self, target: f64) -> f64 {
        /// Rounds of plain Sinkhorn that must halve the deviation to be worth going on.
        const ROUNDS: usize = 3;
        let (mut off, mut worst) = self.rows_exact();
        let mut mark = worst;
        let mut round = 0;
        while worst > target {
            stop::point();
            for (y, off) in self.y.iter_mut().zip(&off) {
                *y /= 1.0 + off;
            }
            (off, worst) = self.rows_exact();
            round += 1;
            if round % ROUNDS == 0 {
                if !(worst <= mark / 2.0) {
                    break;
                }
                mark = worst;
            }
        }
        // Newton from here. The dual is convex and falls with every good step, so a step is halved until
        // it does; close to the end, where it no longer moves in doubles, the deviation decides.
        let mut idle = 0;
        for _ in 0..2000 {
            stop::point();
            if worst <= target || idle >= 6 {
                break;
            }
            let (before, dual) = (worst, self.dual());
            let kept = self.y.clone();
            let step = self.newton_step(&off);
            let longest = step.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            let mut share = (4.0 / longest).min(1.0);
            for attempt in 0..8 {
                for ((y, &old), v) in self.y.iter_mut().zip(&kept).zip(&step) {
                    *y = old * (share * v).exp();
                }
                (off, worst) = self.rows_exact();
                if worst < before || self.dual() < dual {
                    break;
                }
                if attempt == 7 {
                    self.y.copy_from_slice(&kept);
                    (off, worst) = self.rows_exact();
                }
                share /= 4.0;
            }
            if worst > target {
                for (y, off) in self.y.iter_mut().zip(&off) {
                    *y /= 1.0 + off;
                }
                (off, worst) = self.rows_exact();
            }
            let fell = dual - self.dual();
            let progress = worst < 0.9 * before || fell > 1e-12 * dual.abs().max(1.0);
            idle = if progress { 0 } else { idle + 1 };
        }
        worst
    }

    /// `- sum ln x - sum ln y`, which rows that are exact leave of the dual.
    fn dual(&self) -> f64 {
        -self.x.iter().chain(&self.y).map(|f| f.ln()).sum::<f64>()
    }

    /// Solve `(C - A^T A) v = 1 - c` for the columns' logarithms, rows being exact, by conjugate
    /// gradients with the diagonal as preconditioner, to the accuracy that the next step can use.
    fn newton_step(&mut self, off: &[f64]) -> Vec<f64> {
        let size = self.size;
        let diagonal = self.hessian_diagonal();
        let mut v = memory::zeros(size);
        let mut residual: Vec<f64> = off.iter().map(|o| -o).collect();
        let precondition =
            |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut z = precondition(&residual);
        let mut direction = z.clone();
        let mut rho = dot(&residual, &z);
        let goal = rho * 1e-6;
        for _ in 0..(2 * size).min(300) {
            stop::point();
            if !(rho > goal) {
                break;
            }
            let image = self.hessian_times(&direction, off);
            let curvature = dot(&direction, &image);
            if !(curvature > 0.0) {
                break;
            }
            let length = rho / curvature;
            for j in 0..size {
                v[j] += length * direction[j];
                residual[j] -= length * image[j];
            }
            z = precondition(&residual);
            let next = dot(&residual, &z);
            let ratio = next / rho;
            rho = next;
            for (d, z) in direction.iter_mut().zip(&z) {
                *d = z + ratio * *d;
            }
        }
        v
    }

    /// `(C - A^T A) v` with `A = diag(x) P diag(y)`.
    fn hessian_times(&mut self, v: &[f64], off: &[f64]) -> Vec<f64> {
        let scaled: Vec<f64> = v.iter().zip(&self.y).map(|(v, y)| v * y).collect();
        let mut rows = self.times(&scaled);
        for (row, x) in rows.iter_mut().zip(&self.x) {
            *row *= x * x;
        }
        let columns = self.transposed_times(&rows);
        (0..self.size)
            .map(|j| (1.0 + off[j]) * v[j] - self.y[j] * columns[j])
            .collect()
    }

    /// `sum over i of a_ij (1 - a_ij)`, the diagonal of `C - A^T A` without its cancellation.
    fn hessian_diagonal(&mut self) -> Vec<f64> {
        let mut out = memory::filled(f64::MIN_POSITIVE, self.size);
        for (row, x) in self.matrix.chunks(self.size).zip(&self.x) {
            for ((out, p), y) in out.iter_mut().zip(row).zip(&self.y) {
                let a = p * x * y;
                *out += a * (1.0 - a).abs();
            }
        }
        out
    }
}
