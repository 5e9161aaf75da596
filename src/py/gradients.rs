//! Newton's equations of the likelihood, from NumPy's vectors.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::law::{self, Matrix};
use super::work::detached;
use crate::error::Error;
use crate::operator::gradients;

type Given<'py> = PyReadonlyArray1<'py, f64>;

/// ``(B B^T + diag z) y = right`` with ``B = root P sqrt(weights)``, for many ``root``, ``weights`` and ``z``.
///
/// ``dense`` are the matrices whose entries are needed.
#[pyclass(frozen, module = "bistochastic._core")]
pub struct Equations {
    inner: gradients::Equations,
}

#[pymethods]
impl Equations {
    #[new]
    fn new(py: Python<'_>, matrix: &Matrix) -> PyResult<Self> {
        let matrix = matrix.inner();
        let inner = detached(py, u64::MAX, || gradients::Equations::new(matrix))??;
        Ok(Equations { inner })
    }

    #[getter]
    fn dense<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        law::list(py, self.inner.dense().iter().cloned())
    }

    /// ``y`` up to the share ``within`` of ``right``, by at most ``turns`` turns of conjugate gradients, and
    /// how many were taken. ``tables`` are the entries of ``dense``.
    #[allow(clippy::too_many_arguments)]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        tables: &Bound<'py, PyList>,
        weights: Given<'py>,
        root: Given<'py>,
        z: Given<'py>,
        right: Given<'py>,
        within: f64,
        turns: usize,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, usize)> {
        let tables: Vec<PyReadonlyArray2<'py, f64>> = tables.extract()?;
        let each = tables.iter().map(|table| table.as_slice());
        let each = each.collect::<Result<Vec<&[f64]>, _>>()?;
        let given = [weights.as_slice()?, root.as_slice()?, z.as_slice()?];
        let right = right.as_slice()?;
        let n = self.inner.size();
        let sizes = self.inner.dense().iter().map(|m| m.family.size() as usize);
        let fit = each.len() == self.inner.dense().len()
            && each
                .iter()
                .zip(sizes)
                .all(|(table, r)| table.len() == r * r)
            && given.iter().all(|vector| vector.len() == n)
            && right.len() == n;
        if !fit {
            let must = format!("be given vectors of {n} numbers and the tables of `dense`");
            return Err(Error::value("solve", must, "arrays of other lengths").into());
        }
        let (found, taken) = detached(py, u64::MAX, || {
            let mut rest = crate::system::memory::copied(right);
            self.inner.solve(&each, given, &mut rest, within, turns)
        })?;
        Ok((found.into_pyarray(py), taken))
    }
}
