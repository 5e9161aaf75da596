//! Composites inside one structured family: their measures without looking at every entry.
//!
//! Only the measures collapse. The composite stays what it is and is drawn part by part.

use crate::law::family::randomized_response::RandomizedResponse;
use crate::law::shared::composite::{Measures, common};
use crate::law::shared::kernel::Kernel;
use crate::law::structure::Structure;
use crate::law::{Family, Matrix};
use crate::number::bits::Entropy;
use crate::number::entropy;
use crate::number::lattice::nearest;
use crate::number::logarithms;
use crate::system::memory::{self, Gather};
use crate::system::pool;

/// Largest number of multiply-adds for the product of two first rows.
const WORK: u128 = 1 << 32;

/// `(diag, off)` over `total`, of a matrix that has only these two entries.
fn equal_lies(matrix: &Matrix, total: u128) -> Option<(u128, u128)> {
    let law = matrix.structure().two_valued(matrix.family.size())?;
    let scale = total / law.total;
    Some((law.diag * scale, law.off * scale))
}

/// Whether all rows are shifts of the first, and that is not too long to write down.
fn has_first_row(matrix: &Matrix) -> bool {
    let size = matrix.family.size();
    let structure = matrix.structure();
    let shifts =
        matches!(structure, Structure::Circulant { .. }) || structure.two_valued(size).is_some();
    shifts && size <= 1 << 27
}

/// The first row over `total`, of a matrix whose other rows are shifts of it.
fn first_row(matrix: &Matrix, total: u128) -> Option<Vec<u128>> {
    let family = &*matrix.family;
    if !has_first_row(matrix) {
        return None;
    }
    let mut row = memory::zeros(family.size() as usize);
    family.add_counts(0, total, 1, &mut row).then_some(row)
}

/// The kernel over `total`, of a reflected matrix.
fn kernel(matrix: &Matrix, total: u128) -> Option<Vec<u128>> {
    let Structure::Even { kernel, total: own } = matrix.structure() else {
        return None;
    };
    let scale = total / u128::from(*own);
    Some(kernel.iter().map(|&k| k as u128 * scale).gather())
}

fn of_kernel(counts: &[u128], total: u128) -> Measures {
    let kernel = Kernel { counts, total };
    Measures {
        entropy: kernel.entropy_rate(),
        epsilon: kernel.epsilon(),
        exact: kernel.is_exact(),
    }
}

fn of(family: &dyn Family) -> Measures {
    Measures {
        entropy: family.entropy_rate(),
        epsilon: family.epsilon(),
        exact: family.is_exact(),
    }
}

/// Measures of a matrix whose rows and columns are all permutations of one row.
fn of_row(row: &[u128], total: u128) -> Measures {
    let (low, high) = row
        .iter()
        .fold((u128::MAX, 0), |(low, high), &c| (low.min(c), high.max(c)));
    let entropy = if low == high {
        Entropy::perfect(row.len() as u64)
    } else {
        let bits = entropy::sum_of_terms(row.len(), |start, out| {
            for (x, &c) in out.iter_mut().zip(&row[start..]) {
                *x = c as f64 / total as f64;
            }
        });
        Entropy::summed(bits, false)
    };
    Measures {
        entropy,
        epsilon: logarithms::log_ratio(high, low),
        exact: true,
    }
}

/// A mixture of matrices of one structured family, as `(weight, matrix)` with weights out of `sum`.
pub fn mix(parts: &[(u64, &Matrix)], sum: u64) -> Option<Measures> {
    let first = parts.first()?.1;
    if parts.iter().all(|(_, part)| *part == first) {
        return Some(of(&*first.family));
    }
    let size = first.family.size();
    let total = common(parts.iter().map(|(_, part)| part.total()))?;
    total.checked_mul(sum.into()).filter(|&t| t < 1 << 127)?;
    let lies = memory::every(parts.iter().map(|(_, part)| equal_lies(part, total)));
    if let Some(lies) = lies {
        let weighted = |pick: fn(&(u128, u128)) -> u128| {
            let terms = parts.iter().zip(&lies);
            terms
                .map(|((w, _), l)| u128::from(*w) * pick(l))
                .sum::<u128>()
        };
        let law = RandomizedResponse::new(size, weighted(|l| l.0), weighted(|l| l.1));
        return Some(of(&law));
    }
    let kernels = memory::every(parts.iter().map(|(_, part)| kernel(part, total)));
    if let Some(kernels) = kernels {
        let mut mixed = memory::zeros(kernels[0].len());
        for ((weight, _), counts) in parts.iter().zip(kernels) {
            for (m, c) in mixed.iter_mut().zip(counts) {
                *m += u128::from(*weight) * c;
            }
        }
        return Some(of_kernel(&mixed, total * u128::from(sum)));
    }
    if !parts.iter().all(|(_, part)| has_first_row(part)) {
        return None;
    }
    let mut row = memory::zeros(size as usize);
    for (weight, part) in parts {
        for (sum, c) in row.iter_mut().zip(first_row(part, total)?) {
            *sum += u128::from(*weight) * c;
        }
    }
    Some(of_row(&row, total * u128::from(sum)))
}

/// The probability of the truth in a product of two matrices with equal lies.
pub fn product_keeps(first: &Matrix, second: &Matrix) -> Option<f64> {
    let size = u128::from(first.family.size());
    let (a, b) = (first.total()?, second.total()?);
    let total = a.checked_mul(b).filter(|&t| t < 1 << 127)?;
    let ((d, o), (e, p)) = (equal_lies(first, a)?, equal_lies(second, b)?);
    Some(nearest(d * e + (size - 1) * o * p, total))
}

/// The product of two matrices of one structured family.
pub fn product(first: &Matrix, second: &Matrix) -> Option<Measures> {
    if first.structure().has_classes() && first == second {
        // Averaging over classes twice is averaging once.
        return Some(of(&*first.family));
    }
    let size = u128::from(first.family.size());
    let (a, b) = (first.total()?, second.total()?);
    let total = a.checked_mul(b).filter(|&t| t < 1 << 127)?;
    if let (Some((d, o)), Some((e, p))) = (equal_lies(first, a), equal_lies(second, b)) {
        // From u to itself directly or by way of each other code; to another code by way of
        // either end or of the size - 2 others.
        let law = RandomizedResponse::new(
            size as u64,
            d * e + (size - 1) * o * p,
            d * p + o * e + size.saturating_sub(2) * o * p,
        );
        return Some(of(&law));
    }
    if size * size > WORK {
        return None;
    }
    if let (Some(c), Some(d)) = (kernel(first, a), kernel(second, b)) {
        // Two steps on the cycle are one step of the convolution, and folding waits until the end.
        let r = c.len() - 1;
        let at = |k: &[u128], j: usize| k[j.min(2 * r - j)];
        let counts = pool::map(r + 1, r < 128, |j| {
            (0..2 * r)
                .map(|i| at(&c, i) * at(&d, (2 * r + j - i) % (2 * r)))
                .sum::<u128>()
        });
        return Some(of_kernel(&counts, total));
    }
    let (x, y) = (first_row(first, a)?, first_row(second, b)?);
    let n = x.len();
    let row = pool::map(n, n < 128, |k| {
        (0..n).map(|j| x[j] * y[(k + n - j) % n]).sum::<u128>()
    });
    Some(of_row(&row, total))
}
