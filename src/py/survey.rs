//! What the single lines of a matrix say, for the profile.

use numpy::{IntoPyArray, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::convert::flag;
use super::matrix::Matrix;
use super::work::detached;
use crate::measure;
use crate::survey::{self, RowBits};

#[pymethods]
impl Matrix {
    /// Everything the matrix can tell, each number exact, a bound, or not computed and why.
    ///
    /// Beta beside the worst row and column, what an attacker can do (capacity, guessing, leakage,
    /// epsilon, deniability) and what an analyst can still learn (rank, condition). ``cost`` is an array of
    /// ``size x size`` numbers, or ``"ordinal"`` for ``|u - v|``, and adds the metric epsilon and the expected
    /// cost; ``prior`` is a distribution over the categories, and adds what an attacker with that prior
    /// is left with. At most about ten seconds, unless ``full``.
    ///
    /// >>> p = bs.blocks([10, 1, 1]).profile()
    /// >>> p.worst_row, round(p.capacity, 6), p["epsilon"].status
    /// (0.0, 1.584963, 'exact')
    #[pyo3(
        signature = (*, cost=None, prior=None, full=None),
        text_signature = "($self, *, cost=None, prior=None, full=False)"
    )]
    fn profile<'py>(
        slf: &Bound<'py, Self>,
        cost: Option<&Bound<'py, PyAny>>,
        prior: Option<&Bound<'py, PyAny>>,
        full: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let full = full.map_or(Ok(false), |full| flag("full", full))?;
        let given = PyDict::new(slf.py());
        given.set_item("cost", cost)?;
        given.set_item("prior", prior)?;
        given.set_item("full", full)?;
        let profile = slf.py().import("bistochastic.profile")?;
        profile.call_method("profile", (slf,), Some(&given))
    }

    /// The largest k such that every report has k truths within a factor ``gamma`` of the true one.
    ///
    /// (k, gamma)-plausible deniability: ``min over u, v with p_uv > 0`` of the number of ``w`` with
    /// ``1/gamma <= p_uv/p_wv <= gamma``, ``u`` itself included. At gamma 1 it is the k of k-anonymity, at
    /// ``e^epsilon`` the size; with gamma ``inf`` it counts the truths that a report leaves possible. Of
    /// very large matrices a smaller number that is certain; :meth:`profile` says which.
    ///
    /// >>> bs.k_anonymous(12, k=3).deniability(1), bs.randomized_response(12, epsilon=1).deniability(3)
    /// (3, 12)
    fn deniability<'py>(
        slf: &Bound<'py, Self>,
        gamma: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let measures = slf.py().import("bistochastic.measures")?;
        measures.call_method1("deniability", (slf, gamma))
    }

    /// What a report ``v`` says of the truth: ``Pr(u | v)`` for every ``u``.
    ///
    /// Under a uniform prior this is column ``v``; otherwise it is proportional to ``prior[u] * p_uv``.
    ///
    /// >>> bs.blocks([1, 2]).posterior(2, prior=[0.5, 0.3, 0.2])
    /// array([0. , 0.6, 0.4])
    #[pyo3(signature = (v, prior=None))]
    fn posterior<'py>(
        slf: &Bound<'py, Self>,
        v: &Bound<'py, PyAny>,
        prior: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let measures = slf.py().import("bistochastic.measures")?;
        measures.call_method1("posterior", (slf, v, prior))
    }
}

/// The survey of the lines as a dictionary; None where there are too many to look at.
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
        RowBits::Unknown => lines.set_item("row_bits", py.None())?,
    }
    lines.set_item("peaks", found.peaks)?;
    lines.set_item("peaks_exact", found.peaks_exact)?;
    lines.set_item("least_diagonal", found.least_diagonal)?;
    lines.set_item("deniability", found.deniability)?;
    let witness = match found.witness {
        Some(witness) => PyTuple::new(py, <[u64; 3]>::from(witness))?.into_any(),
        None => py.None().into_bound(py),
    };
    lines.set_item("witness", witness)?;
    Ok(Some(lines))
}

/// Lower bounds of bits and beta, where the true ones take a second or more and are not known yet.
#[pyfunction]
pub fn quick_rate(py: Python<'_>, matrix: &Matrix) -> PyResult<Option<(f64, f64)>> {
    detached(py, u64::MAX, || {
        measure::quick_rate(&*matrix.inner().family)
    })
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
    detached(py, u64::MAX, || survey::metric_epsilon(dense, cost, size))
}
