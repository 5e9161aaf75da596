//! What a matrix is made of, for the room `bistochastic.structure`, and what its single lines say, for the profile.

use numpy::{
    IntoPyArray, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::convert;
use super::matrix::{Matrix, list};
use super::work::{detached, guarded};
use crate::error::Error;
use crate::law::survey::RowBits;
use crate::law::{Alphas, Law};
use crate::number::lattice::nearest;
use crate::number::{entropy, metric};
use crate::system::memory;

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
                    ("mix", shares.collect())
                }
                _ => ("product", Vec::new()),
            };
            (kind, weights, list(py, parts.iter().cloned())?)
                .into_bound_py_any(py)
                .map(Some)
        }
        ("classes", _) => {
            let found = law.classes().map(|runs| {
                let sizes: Vec<i64> = runs.iter().map(|run| run.class_size as i64).collect();
                let many: Vec<i64> = runs.iter().map(|run| run.classes as i64).collect();
                (sizes.into_pyarray(py), many.into_pyarray(py)).into_bound_py_any(py)
            });
            found.transpose()
        }
        ("two values", _) => {
            let found = law.two_valued().map(|two| {
                let apart = (two.diag as i128 - two.off as i128) as f64 / two.total as f64;
                let [own, other] = [two.diag, two.off].map(|count| nearest(count, two.total));
                (own, other, apart).into_bound_py_any(py)
            });
            found.transpose()
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

/// The survey of the lines as a dictionary; `None` if there are too many to look at.
#[pyfunction(name = "survey")]
pub fn of_lines<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    gammas: Vec<f64>,
    full: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let found = detached(py, u64::MAX, || matrix.inner().survey(&gammas, full))?;
    let Some(found) = found else {
        return Ok(None);
    };
    let lines = PyDict::new(py);
    lines.set_item("worst_row", found.worst_row)?;
    lines.set_item("worst_column", found.worst_column)?;
    lines.set_item("worst_exact", found.worst_exact)?;
    match found.row_bits {
        RowBits::Same(bits) => lines.set_item("row_bits", bits)?,
        RowBits::Each(each) => lines.set_item("row_bits", each.into_pyarray(py))?,
        RowBits::Unknown => lines.set_item("row_bits", None::<f64>)?,
    }
    lines.set_item("peaks", found.peaks)?;
    lines.set_item("peaks_exact", found.peaks_exact)?;
    lines.set_item("least_diagonal", found.least_diagonal)?;
    lines.set_item("deniability", found.deniability)?;
    let witness = found
        .witness
        .map(|witness| PyTuple::new(py, <[u64; 3]>::from(witness)));
    lines.set_item("witness", witness.transpose()?)?;
    Ok(Some(lines))
}

/// The metric epsilon of a table of probabilities under a table of costs.
#[pyfunction]
pub fn metric_epsilon(
    py: Python<'_>,
    dense: PyReadonlyArray2<'_, f64>,
    cost: PyReadonlyArray2<'_, f64>,
) -> PyResult<f64> {
    let size = dense.shape()[0];
    let (dense, cost) = (dense.as_slice()?, cost.as_slice()?);
    detached(py, u64::MAX, || metric::metric_epsilon(dense, cost, size))
}

/// Entropy rate in bits of a plain bistochastic array, Expression (4), in one parallel pass.
///
/// ``-(1/r) * sum of p_uv log2 p_uv`` with ``0 log 0 = 0``. The rows and columns must sum to 1 within 1e-9. The
/// result is a plain double. For a number that is never above the truth, build a :class:`Matrix` with
/// :func:`dense`.
///
/// >>> import numpy as np
/// >>> bs.entropy_rate(np.full((4, 4), 0.25))
/// 2.0
/// >>> bs.entropy_rate([[1, 0], [1, 0]])
/// Traceback (most recent call last):
///     ...
/// bistochastic.errors.Refused: `array` must hold non-negative numbers whose rows and columns sum to 1; got a sum of 2 in column 0, off by 1.0e0
#[pyfunction]
pub fn entropy_rate(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<f64> {
    let must = "be a square array of numbers";
    let plain = convert::as_array("array", must, array, true)?;
    if !matches!(plain.dtype().kind(), b'f' | b'i' | b'u') {
        let dtype: String = plain.dtype().getattr("name")?.extract()?;
        return Err(Error::type_("array", must, format!("dtype {dtype}")).into());
    }
    let shape = plain.shape();
    if shape.len() != 2 || shape[0] != shape[1] || shape[0] == 0 {
        return Err(Error::value("array", must, format!("shape {shape:?}")).into());
    }
    let plain = convert::as_doubles("array", &plain)?;
    let plain: PyReadonlyArray2<'_, f64> = plain.extract()?;
    let size = plain.shape()[0];
    let numbers = plain.as_slice()?;
    Ok(detached(py, numbers.len() as u64, || {
        entropy::entropy_rate(numbers, size)
    })??)
}
