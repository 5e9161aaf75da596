//! The linear map of a matrix, by its structure. Found once and kept with the matrix, as a composite may hold one
//! matrix many times.

use std::sync::Arc;

use super::direct::{Means, Scatter, Shift, Swap};
use super::map::Operator;
use super::spectral::Spectrum;
use super::tridiagonal::Tridiagonal;
use crate::law::{Alphas, Matrix, Shelf, Shelved, Structure};
use crate::number::dd::Dd;
use crate::number::lattice::{gcd, nearest};
use crate::system::kept::Kept;
use crate::system::memory::{self, Gather};

/// Parts up to which eigenvalues are multiplied: the product is then right to ten digits.
const ROUNDINGS: u64 = 1 << 18;

/// What was found out, each at first use.
#[derive(Default)]
struct Linear {
    spectrum: Kept<Option<Arc<Spectrum>>>,
    map: Kept<Option<Arc<dyn Operator>>>,
    least_and_rank: Kept<Option<(f64, u64)>>,
}

impl Shelved for Linear {
    const SHELF: Shelf = Shelf::Linear;
}

impl Matrix {
    fn linear(&self) -> &Linear {
        self.keep(Linear::default)
    }

    /// The eigenvalues, if a transform that other matrices share makes it diagonal.
    pub fn spectrum(&self) -> Option<&Arc<Spectrum>> {
        let find = || spectrum(self).map(Arc::new);
        self.linear().spectrum.get_or_make(find).as_ref()
    }

    /// The matrix as a linear map, if its structure gives a way shorter than the dense one.
    pub fn operator(&self) -> Option<&Arc<dyn Operator>> {
        self.linear().map.get_or_make(|| operator(self)).as_ref()
    }

    /// Least singular value and rank, if the structure tells.
    pub fn least_and_rank(&self) -> Option<(f64, u64)> {
        let find = || self.operator().map(|map| (map.least(), map.rank()));
        *self.linear().least_and_rank.get_or_make(find)
    }
}

fn spectrum(matrix: &Matrix) -> Option<Spectrum> {
    let size = matrix.family.size();
    let structure = matrix.structure();
    // `diag I + off (J - I)`: everything that sums to 0 is multiplied by `(diag - off) / total`.
    if let Some(two) = structure.two_valued(size) {
        let a = two.diag as i128 - two.off as i128;
        return Some(Spectrum::Flat(a as f64 / two.total as f64));
    }
    let shares =
        |counts: &[i64], total: u64| counts.iter().map(|&c| c as f64 / total as f64).gather();
    match structure {
        Structure::Circulant { first_row, total } => {
            Spectrum::of_first_row(shares(first_row, *total))
        }
        Structure::Even { kernel, total } => {
            let kernel: Vec<f64> = shares(kernel, *total);
            Spectrum::of_kernel(&kernel)
        }
        // One alpha repeated is the reflected kernel that stays with `1 - 2 alpha` and steps with alpha.
        Structure::Neighbours {
            alphas: Alphas::Constant(alpha),
            total,
            ..
        } if (3..1 << 27).contains(&size) => {
            let mut kernel = memory::zeros(size as usize + 1);
            kernel[0] = (total - 2 * alpha) as f64 / *total as f64;
            kernel[1] = *alpha as f64 / *total as f64;
            Spectrum::of_kernel(&kernel)
        }
        Structure::Mix {
            parts,
            weights,
            sum,
        } => {
            let weighted = weights.iter().zip(&**parts).filter(|(w, _)| **w > 0);
            let parts = memory::every(weighted.map(|(&w, part)| {
                let share = Dd::from(w as u128) / Dd::from(u128::from(*sum));
                Some((share.hi, part.spectrum()?))
            }));
            Spectrum::mixed(&parts?, usize::try_from(size).ok()?)
        }
        // Every factor's eigenvalue is off by a rounding, and in a power those add up: one next to 1, raised to
        // a large power, may be anything.
        Structure::Product(parts) => {
            let spectrum = |part| Some((1.0, Matrix::spectrum(part)?));
            let parts = memory::every(parts.iter().map(spectrum))?;
            let exact = |spectrum: &Spectrum| matches!(spectrum, Spectrum::Flat(0.0 | 1.0));
            let many = matrix.family.nesting().parts > ROUNDINGS;
            if many && !parts.iter().all(|(_, spectrum)| exact(spectrum)) {
                return None;
            }
            Spectrum::multiplied(&parts, usize::try_from(size).ok()?)
        }
        _ => None,
    }
}

fn operator(matrix: &Matrix) -> Option<Arc<dyn Operator>> {
    let size = matrix.family.size();
    let structure = matrix.structure();
    if let Some(runs) = structure.classes(size) {
        let runs = runs.iter().map(|run| (run.class_size, run.classes));
        return Some(Arc::new(Means {
            runs: runs.gather(),
        }));
    }
    match structure {
        Structure::Lies { .. } => {
            let two = structure.two_valued(size)?;
            let a = two.diag as i128 - two.off as i128;
            Some(Arc::new(Shift {
                size,
                a: a as f64 / two.total as f64,
                q: nearest(two.off, two.total),
            }))
        }
        Structure::Certain(Some(targets)) => Some(Arc::new(Scatter {
            targets: Arc::clone(targets),
        })),
        Structure::Neighbours { alphas, total, .. } => {
            let alphas = alphas.stored().gather();
            Some(Arc::new(Tridiagonal::new(alphas, size as usize, *total)))
        }
        &Structure::Swap {
            i, j, stay, sum, ..
        } => {
            let g = gcd(stay.into(), sum.into());
            let (stay, sum) = (u128::from(stay) / g, u128::from(sum) / g);
            let go = sum - stay;
            Some(Arc::new(Swap {
                size,
                i: i.min(j),
                j: i.max(j),
                keep: nearest(stay, sum),
                a: (stay as i128 - go as i128) as f64 / sum as f64,
            }))
        }
        _ => Some(matrix.spectrum()?.operator(size)),
    }
}
