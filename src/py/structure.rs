//! What a matrix is made of, for the room `bistochastic.structure`: one question each, `None` if the
//! matrix is made of something else.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use super::law::{Matrix, list};
use super::work::guarded;
use crate::law::{Alphas, Law};
use crate::number::lattice::nearest;
use crate::system::memory::{self, Gather};

type Counts<'py> = Bound<'py, PyArray1<i64>>;

fn of(matrix: &Matrix) -> &Law {
    matrix.inner().law()
}

fn array<'py>(py: Python<'py>, counts: &[i64]) -> PyResult<Counts<'py>> {
    Ok(guarded(|| memory::copied(counts))?.into_pyarray(py))
}

/// The name of a composite, its weights and its components.
type Composition<'py> = (&'static str, Vec<f64>, Bound<'py, PyAny>);

/// How a composite is put together: "kron", "mix" or "product", the weights of a mixture as the nearest doubles, and the
/// parts.
#[pyfunction]
pub fn composition_of<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Option<Composition<'py>>> {
    let (kind, weights, parts) = match of(matrix) {
        Law::Kron(parts) => ("kron", Vec::new(), parts),
        Law::Product(parts) => ("product", Vec::new(), parts),
        Law::Mix {
            parts,
            weights,
            sum,
        } => {
            let shares = weights.iter().map(|&w| nearest(w as u128, (*sum).into()));
            ("mix", guarded(|| shares.gather())?, parts)
        }
        _ => return Ok(None),
    };
    Ok(Some((kind, weights, list(py, parts.iter().cloned())?)))
}

/// Classes of consecutive codes: the size of each run of equal ones, and how many there are.
#[pyfunction]
pub fn classes_of<'py>(
    py: Python<'py>,
    matrix: &Matrix,
) -> PyResult<Option<(Counts<'py>, Counts<'py>)>> {
    let found = guarded(|| {
        of(matrix).classes().map(|runs| {
            let sizes: Vec<i64> = runs.iter().map(|run| run.class_size as i64).gather();
            let many: Vec<i64> = runs.iter().map(|run| run.classes as i64).gather();
            (sizes, many)
        })
    })?;
    Ok(found.map(|(sizes, many)| (sizes.into_pyarray(py), many.into_pyarray(py))))
}

/// The entry on the diagonal and the one elsewhere, as the nearest doubles, and their difference: the eigenvalue of all
/// that sums to 0.
#[pyfunction]
pub fn two_values_of(matrix: &Matrix) -> PyResult<Option<(f64, f64, f64)>> {
    let found = of(matrix).two_valued();
    Ok(found.map(|law| {
        let apart = law.diag as i128 - law.off as i128;
        let entry = |count| nearest(count, law.total);
        (
            entry(law.diag),
            entry(law.off),
            apart as f64 / law.total as f64,
        )
    }))
}

/// Whether every code has one report.
#[pyfunction]
pub fn is_certain(matrix: &Matrix) -> PyResult<bool> {
    Ok(of(matrix).is_certain())
}

/// Where each code goes for certain; None, too, where each stays and nothing is written down.
#[pyfunction]
pub fn targets_of<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Option<Counts<'py>>> {
    match of(matrix) {
        Law::Permutation(targets) => array(py, targets).map(Some),
        _ => Ok(None),
    }
}

/// The counts that a matrix is made of, and their total: its "first_row", of which the others are shifts, the even
/// "kernel" of a folded step, or the "steps" between neighbours, one for all or one each.
#[pyfunction]
pub fn vector_of<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    kind: &str,
) -> PyResult<Option<(Counts<'py>, u64)>> {
    let (counts, total) = match (kind, of(matrix)) {
        ("first_row", Law::Circulant { first_row, total }) => (array(py, first_row)?, total),
        ("kernel", Law::Reflected { kernel, total }) => (array(py, kernel)?, total),
        ("steps", Law::Tridiagonal { alphas, total, .. }) => match alphas {
            Alphas::Constant(alpha) => (array(py, &[*alpha as i64])?, total),
            Alphas::Vector(alphas) => (array(py, alphas)?, total),
        },
        _ => return Ok(None),
    };
    Ok(Some((counts, *total)))
}

/// Two codes that may change places, and the chance that they stay as numerator and denominator.
#[pyfunction]
pub fn swap_of(matrix: &Matrix) -> PyResult<Option<(u64, u64, u64, u64)>> {
    Ok(match of(matrix) {
        Law::TTransform {
            i, j, stay, sum, ..
        } => Some((*i, *j, *stay, *sum)),
        _ => None,
    })
}

/// The counts of a matrix that is kept row by row.
#[pyfunction]
pub fn counts_of<'py>(
    py: Python<'py>,
    matrix: &Matrix,
) -> PyResult<Option<Bound<'py, PyArray2<i64>>>> {
    match of(matrix) {
        Law::Dense { counts, size, .. } => array(py, counts)?.reshape([*size, *size]).map(Some),
        _ => Ok(None),
    }
}

/// Whether the matrix is kept row by row.
#[pyfunction]
pub fn has_rows(matrix: &Matrix) -> PyResult<bool> {
    Ok(matches!(of(matrix), Law::Dense { .. }))
}

/// Whether the rank is read off integers, not off numbers that were rounded.
#[pyfunction]
pub fn counts_rank(matrix: &Matrix) -> PyResult<bool> {
    Ok(of(matrix).counts_rank())
}
