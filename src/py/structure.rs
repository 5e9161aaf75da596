//! What a matrix is made of, for the room `bistochastic.structure`: one question each, None where the
//! matrix is made of something else.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use super::convert::{self, Vectors};
use super::law::Matrix;
use super::work::guarded;
use crate::law::parameters::Value;
use crate::law::{self, Alphas, Structure};
use crate::number::lattice::nearest;
use crate::system::memory::{self, Gather};

type Counts<'py> = Bound<'py, PyArray1<i64>>;

/// The structure, which may take memory to hand in.
fn of(matrix: &Matrix) -> PyResult<&Structure> {
    guarded(|| matrix.inner().structure())
}

/// Matrices as parameters hand them out.
fn listed<'py>(py: Python<'py>, parts: &Arc<[law::Matrix]>) -> PyResult<Bound<'py, PyAny>> {
    let value = Value::Matrices(Arc::clone(parts));
    let given = convert::dictionary(py, [("matrices", &value)], Vectors::Arrays)?;
    given.as_any().get_item("matrices")
}

fn array<'py>(py: Python<'py>, counts: &[i64]) -> PyResult<Counts<'py>> {
    Ok(guarded(|| memory::copied(counts))?.into_pyarray(py))
}

/// The factors of a joint domain, the last running fastest.
#[pyfunction]
pub fn factors_of<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Option<Bound<'py, PyAny>>> {
    match of(matrix)? {
        Structure::Kron(parts) => listed(py, parts).map(Some),
        _ => Ok(None),
    }
}

/// The weights of a mixture as the nearest doubles, and its parts.
#[pyfunction]
pub fn mixture_of<'py>(
    py: Python<'py>,
    matrix: &Matrix,
) -> PyResult<Option<(Vec<f64>, Bound<'py, PyAny>)>> {
    match of(matrix)? {
        Structure::Mix {
            parts,
            weights,
            sum,
        } => {
            let shares = weights.iter().map(|&w| nearest(w as u128, (*sum).into()));
            let shares = guarded(|| shares.gather())?;
            Ok(Some((shares, listed(py, parts)?)))
        }
        _ => Ok(None),
    }
}

/// The two matrices of a product, in the order in which they are drawn from.
#[pyfunction]
pub fn product_of<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Option<Bound<'py, PyAny>>> {
    match of(matrix)? {
        Structure::Product(parts) => listed(py, parts).map(Some),
        _ => Ok(None),
    }
}

/// Classes of consecutive codes: the size of each run of equal ones, and how many there are.
#[pyfunction]
pub fn classes_of<'py>(
    py: Python<'py>,
    matrix: &Matrix,
) -> PyResult<Option<(Counts<'py>, Counts<'py>)>> {
    let (size, structure) = (matrix.inner().family.size(), of(matrix)?);
    let found = guarded(|| {
        structure.classes(size).map(|runs| {
            let sizes: Vec<i64> = runs.iter().map(|run| run.class_size as i64).gather();
            let many: Vec<i64> = runs.iter().map(|run| run.classes as i64).gather();
            (sizes, many)
        })
    })?;
    Ok(found.map(|(sizes, many)| (sizes.into_pyarray(py), many.into_pyarray(py))))
}

/// The entry on the diagonal and the one elsewhere, as the nearest doubles.
#[pyfunction]
pub fn two_values_of(matrix: &Matrix) -> PyResult<Option<(f64, f64)>> {
    let found = of(matrix)?.two_valued(matrix.inner().family.size());
    Ok(found.map(|law| (nearest(law.diag, law.total), nearest(law.off, law.total))))
}

/// Whether every code has one report.
#[pyfunction]
pub fn is_certain(matrix: &Matrix) -> PyResult<bool> {
    Ok(matches!(of(matrix)?, Structure::Certain(_)))
}

/// Where each code goes for certain; None, too, where each stays and nothing is written down.
#[pyfunction]
pub fn targets_of<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Option<Counts<'py>>> {
    match of(matrix)? {
        Structure::Certain(Some(targets)) => array(py, targets).map(Some),
        _ => Ok(None),
    }
}

/// The first row, of which the others are shifts, and its sum.
#[pyfunction]
pub fn first_row_of<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Option<(Counts<'py>, u64)>> {
    match of(matrix)? {
        Structure::Circulant { first_row, total } => Ok(Some((array(py, first_row)?, *total))),
        _ => Ok(None),
    }
}

/// The even kernel of a folded step, and the mass of its cycle.
#[pyfunction]
pub fn kernel_of<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Option<(Counts<'py>, u64)>> {
    match of(matrix)? {
        Structure::Even { kernel, total } => Ok(Some((array(py, kernel)?, *total))),
        _ => Ok(None),
    }
}

/// The steps between neighbours, one for all or one each, and what they are out of.
#[pyfunction]
pub fn steps_of<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Option<(Counts<'py>, u64)>> {
    match of(matrix)? {
        Structure::Neighbours { alphas, total, .. } => {
            let alphas = match alphas {
                Alphas::Constant(alpha) => array(py, &[*alpha as i64])?,
                Alphas::Vector(alphas) => array(py, alphas)?,
            };
            Ok(Some((alphas, *total)))
        }
        _ => Ok(None),
    }
}

/// Two codes that may change places, and the chance that they stay as numerator and denominator.
#[pyfunction]
pub fn swap_of(matrix: &Matrix) -> PyResult<Option<(u64, u64, u64, u64)>> {
    Ok(match of(matrix)? {
        Structure::Swap {
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
    match of(matrix)? {
        Structure::Rows { counts, size, .. } => {
            array(py, counts)?.reshape([*size, *size]).map(Some)
        }
        _ => Ok(None),
    }
}

/// Whether the matrix is kept row by row.
#[pyfunction]
pub fn has_rows(matrix: &Matrix) -> PyResult<bool> {
    Ok(matches!(of(matrix)?, Structure::Rows { .. }))
}

/// Whether the rank is read off integers, not off numbers that were rounded.
#[pyfunction]
pub fn counts_rank(matrix: &Matrix) -> PyResult<bool> {
    Ok(of(matrix)?.counts_rank())
}
