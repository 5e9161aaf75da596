//! What a matrix is made of, for the room `bistochastic.structure`.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use super::law::{Matrix, list};
use super::work::guarded;
use crate::error::Error;
use crate::law::{Alphas, Law};
use crate::number::lattice::nearest;
use crate::system::memory::{self, Gather};

/// One thing that a matrix is made of; None if it is made of something else.
///
/// "composition": "kron", "mix" or "product", the weights of a mixture as the nearest doubles, and the parts.
/// "classes" of consecutive codes: the size of each run of equal ones, and how many there are. "two values": the entry on
/// the diagonal, the one elsewhere, and their difference, which is the eigenvalue of all that sums to 0. "targets": where
/// each code goes for certain, None if each stays and nothing is written down. "first row" of which the others are shifts,
/// even "kernel" of a folded step, "steps" between neighbours (one for all or one each): counts, and their total. "swap":
/// two codes that may change places, and the chance that they stay as numerator and denominator. "counts" of a matrix that
/// is kept row by row.
#[pyfunction]
pub fn structure_of<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    what: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let law = matrix.inner().law();
    let array =
        |counts: &[i64]| Ok::<_, PyErr>(guarded(|| memory::copied(counts))?.into_pyarray(py));
    let vector =
        |counts: &[i64], total: u64| (array(counts)?, total).into_bound_py_any(py).map(Some);
    match (what, law) {
        ("composition", Law::Kron(parts) | Law::Product(parts) | Law::Mix { parts, .. }) => {
            let (kind, weights) = match law {
                Law::Kron(_) => ("kron", Vec::new()),
                Law::Mix { weights, sum, .. } => {
                    let shares = weights.iter().map(|&w| nearest(w as u128, (*sum).into()));
                    ("mix", guarded(|| shares.gather())?)
                }
                _ => ("product", Vec::new()),
            };
            (kind, weights, list(py, parts.iter().cloned())?)
                .into_bound_py_any(py)
                .map(Some)
        }
        ("classes", _) => {
            let found = guarded(|| {
                law.classes().map(|runs| {
                    let sizes: Vec<i64> = runs.iter().map(|run| run.class_size as i64).gather();
                    let many: Vec<i64> = runs.iter().map(|run| run.classes as i64).gather();
                    (sizes, many)
                })
            })?;
            let arrays = found.map(|(sizes, many)| (sizes.into_pyarray(py), many.into_pyarray(py)));
            arrays.map(|pair| pair.into_bound_py_any(py)).transpose()
        }
        ("two values", _) => {
            let found = law.two_valued().map(|two| {
                let apart = two.diag as i128 - two.off as i128;
                let entry = |count| nearest(count, two.total);
                (
                    entry(two.diag),
                    entry(two.off),
                    apart as f64 / two.total as f64,
                )
            });
            found
                .map(|numbers| numbers.into_bound_py_any(py))
                .transpose()
        }
        ("targets", Law::Permutation(targets)) => Ok(Some(array(targets)?.into_any())),
        ("first row", Law::Circulant { first_row, total }) => vector(first_row, *total),
        ("kernel", Law::Reflected { kernel, total }) => vector(kernel, *total),
        ("steps", Law::Tridiagonal { alphas, total, .. }) => match alphas {
            Alphas::Constant(alpha) => vector(&[*alpha as i64], *total),
            Alphas::Vector(alphas) => vector(alphas, *total),
        },
        (
            "swap",
            Law::TTransform {
                i, j, stay, sum, ..
            },
        ) => (*i, *j, *stay, *sum).into_bound_py_any(py).map(Some),
        ("counts", Law::Dense { counts, size, .. }) => {
            Ok(Some(array(counts)?.reshape([*size, *size])?.into_any()))
        }
        ("composition" | "targets" | "first row" | "kernel" | "steps" | "swap" | "counts", _) => {
            Ok(None)
        }
        _ => Err(Error::value("what", "be a part of a structure", what).into()),
    }
}

/// Whether every code has one report.
#[pyfunction]
pub fn is_certain(matrix: &Matrix) -> bool {
    matrix.inner().law().is_certain()
}

/// Whether the matrix is kept row by row.
#[pyfunction]
pub fn has_rows(matrix: &Matrix) -> bool {
    matches!(matrix.inner().law(), Law::Dense { .. })
}

/// Whether the rank is read off integers, not off numbers that were rounded.
#[pyfunction]
pub fn counts_rank(matrix: &Matrix) -> bool {
    matrix.inner().law().counts_rank()
}
