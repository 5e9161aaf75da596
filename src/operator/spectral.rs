//! Matrices that a Fourier or a cosine transform makes diagonal: circulant, reflected, and what is mixed
//! or multiplied of them.

use std::fmt;
use std::sync::Arc;

use realfft::num_complex::Complex64;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

use super::direct::Shift;
use super::map::{LEAST, Operator, Scratch, Way};
use crate::system::memory::{self, Gather};
use crate::system::stop;

/// Eigenvalues in a basis that other matrices share.
#[derive(Debug)]
pub enum Spectrum {
    /// 1 for the vector of ones and this for everything that sums to 0: diagonal in every basis below.
    Flat(f64),
    /// Of a circulant, in the Fourier basis: index 0 to size/2, the others are their conjugates.
    Cyclic(Vec<Complex64>),
    /// Of a reflected kernel, in the cosine basis (DCT-II): one for each code.
    Cosine(Vec<f64>),
}

/// Largest size whose eigenvalues are worth writing down.
const MOST: usize = 1 << 28;

/// Stops unless a plan can be made: its tables and its scratch cannot be refused. Sizes with large prime factors
/// go through a transform of more than twice the length.
fn probe(size: usize) {
    stop::point();
    let each = if size.is_power_of_two() { 64 } else { 256 };
    memory::probe(each * size);
}

fn forward(size: usize) -> Arc<dyn RealToComplex<f64>> {
    probe(size);
    RealFftPlanner::new().plan_fft_forward(size)
}

/// The transform of a real vector. The lengths fit by construction, so the plan cannot refuse them.
fn transform(x: &mut [f64]) -> Vec<Complex64> {
    let plan = forward(x.len());
    let mut out = memory::filled(Complex64::default(), x.len() / 2 + 1);
    let mut scratch = memory::filled(Complex64::default(), plan.get_scratch_len());
    let done = plan.process_with_scratch(x, &mut out, &mut scratch);
    debug_assert!(done.is_ok());
    out
}

impl Spectrum {
    /// Of the circulant with this first row. `P^T x` is the cyclic convolution with it.
    pub fn of_first_row(mut row: Vec<f64>) -> Option<Self> {
        (row.len() <= MOST).then(|| Spectrum::Cyclic(transform(&mut row)))
    }

    /// Of the reflected kernel `c_0..c_r`: `sum of c_j cos(pi k j / r)` over the cycle of length 2r, that
    /// is the Fourier transform of the even law at `k < r`.
    pub fn of_kernel(kernel: &[f64]) -> Option<Self> {
        let r = kernel.len() - 1;
        if 2 * r > MOST {
            return None;
        }
        let mut cycle = memory::copied(kernel);
        memory::extend(&mut cycle, kernel[1..r].iter().rev().copied());
        let mut values: Vec<f64> = transform(&mut cycle).iter().map(|z| z.re).gather();
        values.truncate(r);
        Some(Spectrum::Cosine(values))
    }

    /// Number `k` in the Fourier basis.
    fn cyclic(&self, k: usize) -> Complex64 {
        match self {
            Spectrum::Cyclic(values) => values[k],
            other => Complex64::new(other.cosine(k), 0.0),
        }
    }

    /// Number `k` in the cosine basis.
    fn cosine(&self, k: usize) -> f64 {
        match self {
            Spectrum::Flat(a) if k > 0 => *a,
            Spectrum::Flat(_) => 1.0,
            Spectrum::Cosine(values) => values[k],
            Spectrum::Cyclic(_) => f64::NAN,
        }
    }

    /// Several spectra as one, joined number by number, where they share a basis.
    fn join(
        parts: &[(f64, &Arc<Spectrum>)],
        size: usize,
        real: impl Fn(f64, f64, f64) -> f64,
        complex: impl Fn(Complex64, f64, Complex64) -> Complex64,
        start: f64,
    ) -> Option<Self> {
        let reals = |k: usize| {
            parts
                .iter()
                .fold(start, |s, (w, p)| real(s, *w, p.cosine(k)))
        };
        let one = Complex64::new(start, 0.0);
        let numbers = |k: usize| {
            parts
                .iter()
                .fold(one, |s, (w, p)| complex(s, *w, p.cyclic(k)))
        };
        let any = |basis| parts.iter().any(|(_, part)| part.basis() == basis);
        match (any("cyclic"), any("cosine")) {
            (true, true) => None,
            (true, false) => Some(Spectrum::Cyclic((0..=size / 2).map(numbers).gather())),
            (false, true) => Some(Spectrum::Cosine((0..size).map(reals).gather())),
            (false, false) => Some(Spectrum::Flat(reals(1))),
        }
    }

    /// Of a weighted sum.
    pub fn mixed(parts: &[(f64, &Arc<Spectrum>)], size: usize) -> Option<Self> {
        Self::join(parts, size, |s, w, x| s + w * x, |s, w, z| s + z * w, 0.0)
    }

    /// Of a product.
    pub fn multiplied(parts: &[(f64, &Arc<Spectrum>)], size: usize) -> Option<Self> {
        Self::join(parts, size, |s, _, x| s * x, |s, _, z| s * z, 1.0)
    }

    /// The name of the basis.
    pub fn basis(&self) -> &'static str {
        match self {
            Spectrum::Flat(_) => "flat",
            Spectrum::Cyclic(_) => "cyclic",
            Spectrum::Cosine(_) => "cosine",
        }
    }

    /// The operator with these eigenvalues.
    pub fn operator(self: &Arc<Self>, size: u64) -> Arc<dyn Operator> {
        match **self {
            Spectrum::Flat(a) => Arc::new(Shift {
                size,
                a,
                q: (1.0 - a) / size as f64,
            }),
            _ => Arc::new(Spectral::new(size as usize, Arc::clone(self))),
        }
    }
}

/// A matrix by its eigenvalues: transform, multiply or divide, transform back.
pub struct Spectral {
    size: usize,
    spectrum: Arc<Spectrum>,
    forward: Arc<dyn RealToComplex<f64>>,
    backward: Arc<dyn ComplexToReal<f64>>,
    /// `exp(-i pi k / 2r)` for the cosine basis.
    turns: Vec<Complex64>,
}

impl fmt::Debug for Spectral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spectral of size {}", self.size)
    }
}

impl Spectral {
    fn new(size: usize, spectrum: Arc<Spectrum>) -> Self {
        probe(size);
        let mut planner = RealFftPlanner::new();
        let turns = match *spectrum {
            Spectrum::Cosine(_) => (0..=size / 2)
                .map(|k| {
                    let angle = -std::f64::consts::PI * k as f64 / (2 * size) as f64;
                    Complex64::from_polar(1.0, angle)
                })
                .gather(),
            _ => Vec::new(),
        };
        Spectral {
            size,
            spectrum,
            forward: planner.plan_fft_forward(size),
            backward: planner.plan_fft_inverse(size),
            turns,
        }
    }

    /// The magnitude of each eigenvalue and how often it counts.
    fn magnitudes(&self) -> Box<dyn Iterator<Item = (f64, u64)> + '_> {
        let n = self.size;
        match &*self.spectrum {
            Spectrum::Flat(a) => Box::new([(1.0, 1), (a.abs(), n as u64 - 1)].into_iter()),
            Spectrum::Cyclic(values) => Box::new(values.iter().enumerate().map(move |(k, z)| {
                let alone = k == 0 || 2 * k == n;
                (z.norm(), if alone { 1 } else { 2 })
            })),
            Spectrum::Cosine(values) => Box::new(values.iter().map(|x| (x.abs(), 1))),
        }
    }

    /// Each eigenvalue applied to `spectrum / size`, the transform being scaled by the size both ways.
    fn scale(&self, way: Way, inverse: bool, numbers: &mut [Complex64]) {
        let n = self.size;
        let share = 1.0 / n as f64;
        match &*self.spectrum {
            Spectrum::Flat(_) => {}
            Spectrum::Cyclic(values) => {
                for (x, z) in numbers.iter_mut().zip(values) {
                    let z = if way == Way::Back { z.conj() } else { *z };
                    *x = if inverse {
                        *x * share / z
                    } else {
                        *x * z * share
                    };
                }
            }
            Spectrum::Cosine(values) => {
                // With A_k = V_k exp(-i pi k / 2r), the cosine transform is X_k = Re A_k and
                // X_{r-k} = -Im A_k (V: the Fourier transform of the folded order).
                for (k, (x, turn)) in numbers.iter_mut().zip(&self.turns).enumerate() {
                    let a = *x * turn;
                    let (here, there) = (values[k], values[if k == 0 { 0 } else { n - k }]);
                    let scaled = if inverse {
                        Complex64::new(a.re / here, a.im / there)
                    } else {
                        Complex64::new(a.re * here, a.im * there)
                    };
                    *x = scaled * turn.conj() * share;
                }
            }
        }
    }

    fn run(&self, way: Way, inverse: bool, x: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let n = self.size;
        let (numbers, rest) = scratch.complex.split_at_mut(n / 2 + 1);
        let folded = &mut scratch.real[..];
        let cosine = matches!(*self.spectrum, Spectrum::Cosine(_));
        if cosine {
            // Even places in order, then odd places backwards.
            for (j, pair) in x.chunks(2).enumerate() {
                folded[j] = pair[0];
                if let Some(odd) = pair.get(1) {
                    folded[n - 1 - j] = *odd;
                }
            }
        } else {
            folded.copy_from_slice(x);
        }
        let forth = self.forward.process_with_scratch(folded, numbers, rest);
        self.scale(way, inverse, numbers);
        // What rounding left where a real signal has nothing.
        numbers[0].im = 0.0;
        if n.is_multiple_of(2) {
            numbers[n / 2].im = 0.0;
        }
        let target = if cosine { &mut *folded } else { &mut *out };
        let back = self.backward.process_with_scratch(numbers, target, rest);
        debug_assert!(forth.is_ok() && back.is_ok());
        if cosine {
            for (j, pair) in out.chunks_mut(2).enumerate() {
                pair[0] = folded[j];
                if let Some(odd) = pair.get_mut(1) {
                    *odd = folded[n - 1 - j];
                }
            }
        }
    }
}

impl Operator for Spectral {
    fn scratch(&self) -> Scratch {
        let work = self
            .forward
            .get_scratch_len()
            .max(self.backward.get_scratch_len());
        Scratch {
            complex: memory::filled(Complex64::default(), self.size / 2 + 1 + work),
            real: memory::zeros(self.size),
        }
    }

    fn apply(&self, way: Way, x: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        self.run(way, false, x, out, scratch);
    }

    fn solve(&self, way: Way, y: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        self.run(way, true, y, out, scratch);
    }

    fn least(&self) -> f64 {
        let least = self.magnitudes().fold(1.0, |a: f64, (x, _)| a.min(x));
        if least < LEAST { 0.0 } else { least }
    }

    fn rank(&self) -> u64 {
        let seen = self.magnitudes().filter(|(x, _)| *x >= LEAST);
        seen.map(|(_, times)| times).sum()
    }
}
