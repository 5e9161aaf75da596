//! `Matrix.decompose` and `decompose_all`.

use pyo3::prelude::*;

use super::Decomposition;
use super::options::{self, fits, is_small};
use crate::birkhoff;
use crate::error::Error;
use crate::py::matrix::Matrix;
use crate::py::supervise::supervised;

#[pymethods]
impl Matrix {
    /// Theorem 1 (Birkhoff): the matrix as a weighted sum of permutations, exactly.
    ///
    /// All is done in whole numbers: the weights sum to 1 and the terms to the matrix, with ``==``.
    ///
    /// ``policy="bottleneck"`` takes the permutation whose smallest entry is largest, again and again:
    /// few terms, largest first. ``"any"`` takes the next best one: up to ``r^2 - 2r + 2`` terms, each
    /// close to the one before, at a microsecond or so each. Identity, permutation, T-transform, uniform,
    /// randomized response, circulant, tridiagonal, blocks and k-anonymity have closed forms, and
    /// ``kron`` is decomposed by its factors, whatever the policy; their permutations are described, not
    /// stored.
    ///
    /// ``bits`` moves the matrix to the coarser grid ``2**-bits`` first, which makes fewer terms, or raises
    /// if an entry would vanish. A mixture or product whose common denominator reaches 2^63 needs it.
    /// ``mass`` and ``max_terms`` stop early; what is missing is the ``residual``. ``restarts`` tries
    /// other orders for the bottleneck, on small matrices shorter steps too, and keeps the fewest terms.
    /// The result does not depend on the number of threads. ``progress`` is called with the share that
    /// is done a few times a second; Ctrl-C stops the work.
    ///
    /// A mixture of J permutations hides at most log2 J bits of a whole column: compare
    /// ``joint_entropy`` with what records randomized one by one would have.
    ///
    /// >>> m = bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]])
    /// >>> d = m.decompose()
    /// >>> [(str(weight), permutation.tolist()) for weight, permutation in d]
    /// [('1/2', [0, 1, 2]), ('1/4', [1, 2, 0]), ('1/8', [0, 2, 1]), ('1/8', [2, 0, 1])]
    /// >>> sum(d.exact_weights) == 1 and bool((d.reconstruct() == m.to_dense()).all())
    /// True
    /// >>> bs.tridiagonal(0.3, size=1000).decompose().terms
    /// 3
    #[pyo3(
        signature = (*, policy=None, bits=None, mass=None, max_terms=None, restarts=None, progress=None),
        text_signature = "($self, *, policy='bottleneck', bits=None, mass=1.0, max_terms=None, restarts=1, progress=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn decompose(
        &self,
        py: Python<'_>,
        policy: Option<&Bound<'_, PyAny>>,
        bits: Option<&Bound<'_, PyAny>>,
        mass: Option<&Bound<'_, PyAny>>,
        max_terms: Option<&Bound<'_, PyAny>>,
        restarts: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decomposition> {
        let options = options::read(policy, bits, mass, max_terms, restarts, progress)?;
        fits(self.inner())?;
        let inner = supervised(py, is_small(self, &options), progress, |control| {
            birkhoff::decompose(self.inner(), &options, 1.0, control)
        })?;
        Ok(Decomposition::new(inner, &options))
    }
}

/// Several matrices decomposed side by side, on all threads.
///
/// The options are those of :meth:`Matrix.decompose`, and so are the results.
///
/// >>> import bistochastic as bs
/// >>> [d.terms for d in bs.decompose_all([bs.uniform(5), bs.identity(3)])]
/// [5, 1]
#[pyfunction]
#[pyo3(
    signature = (matrices, *, policy=None, bits=None, mass=None, max_terms=None, restarts=None, progress=None),
    text_signature = "(matrices, *, policy='bottleneck', bits=None, mass=1.0, max_terms=None, restarts=1, progress=None)"
)]
#[allow(clippy::too_many_arguments)]
pub fn decompose_all(
    py: Python<'_>,
    matrices: &Bound<'_, PyAny>,
    policy: Option<&Bound<'_, PyAny>>,
    bits: Option<&Bound<'_, PyAny>>,
    mass: Option<&Bound<'_, PyAny>>,
    max_terms: Option<&Bound<'_, PyAny>>,
    restarts: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Decomposition>> {
    let options = options::read(policy, bits, mass, max_terms, restarts, progress)?;
    let must = "be matrices, one after the other";
    let other = |item: &Bound<'_, PyAny>| match item.get_type().name() {
        Ok(name) => Error::type_("matrices", must, name).into(),
        Err(error) => error,
    };
    // A matrix has an index, so Python would take it for a sequence.
    if matrices.cast::<Matrix>().is_ok() {
        return Err(other(matrices));
    }
    let mut given = Vec::new();
    let items = py
        .import("bistochastic.vectors")?
        .call_method1("items", ("matrices", must, matrices))?;
    for item in items.try_iter()? {
        let item = item?;
        let matrix = item.cast::<Matrix>().map_err(|_| other(&item))?;
        fits(matrix.get().inner())?;
        given.push(matrix.get().inner().clone());
    }
    let all = supervised(py, false, progress, |control| {
        birkhoff::decompose_all(&given, &options, control)
    })?;
    Ok(all
        .into_iter()
        .map(|inner| Decomposition::new(inner, &options))
        .collect())
}
