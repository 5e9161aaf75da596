//! `Matrix.estimate` and planning; the mathematics is Python's.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::matrix::Matrix;

#[pymethods]
impl Matrix {
    /// Frequencies of the original from reports: ``codes``, or ``counts`` of them.
    ///
    /// ``method`` is ``"inverse"`` (unbiased, may be negative), ``"mle"`` (maximum likelihood, a
    /// distribution), ``"simplex"`` (the distribution nearest to the inverse) or ``"shrunk"`` (likelihood
    /// drawn towards uniform, or of a :func:`kron` towards the product of its marginals, by a weight that is
    /// read off the reports: for few records or much noise). ``population`` is ``"sampled"`` where the records are a
    /// sample of those to be described, ``"fixed"`` where they are all of them (PRAM). Of a
    /// :func:`kron` counts may be a table with an axis a factor. Reports follow ``lambda = P.T @ pi``, so
    /// that the inverse is :meth:`solve` of their shares. Codes out of range, negative counts, another
    /// number of them and no records at all raise ``ValueError``. A singular matrix raises
    /// :class:`bistochastic.errors.SingularMatrixError`; ``classes=True`` estimates the totals of
    /// its classes, which blocks report as they are.
    ///
    /// >>> m = bs.randomized_response(3, epsilon=2)
    /// >>> m.estimate([0, 0, 1, 2, 0, 1, 0, 0]).counts.round(2)
    /// array([6.1 , 1.69, 0.22])
    #[pyo3(
        signature = (codes=None, *, counts=None, method=None, population=None, classes=None),
        text_signature = "($self, codes=None, *, counts=None, method='inverse', population='sampled', classes=False)"
    )]
    fn estimate<'py>(
        slf: &Bound<'py, Self>,
        codes: Option<&Bound<'py, PyAny>>,
        counts: Option<&Bound<'py, PyAny>>,
        method: Option<&Bound<'py, PyAny>>,
        population: Option<&Bound<'py, PyAny>>,
        classes: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = PyDict::new(slf.py());
        given.set_item("codes", codes)?;
        given.set_item("counts", counts)?;
        for (name, value) in [
            ("method", method),
            ("population", population),
            ("classes", classes),
        ] {
            if let Some(value) = value {
                given.set_item(name, value)?;
            }
        }
        let estimate = slf.py().import("bistochastic.estimate")?;
        estimate.call_method("estimate", (slf,), Some(&given))
    }

    /// How many records, a sample, bring the normal interval of every share within ``tolerance`` of it,
    /// whatever the shares.
    ///
    /// ``z^2 / tolerance^2`` times the largest variance that a pseudo-response can have, z the normal
    /// quantile of ``confidence``; a bound of it for structured matrices beyond 4096 categories, but for
    /// randomized response, circulant and :func:`kron`. What an estimate's intervals add for skewness is
    /// of the order of one over the records. Numbers outside (0, 1) raise ``ValueError``.
    ///
    /// >>> bs.identity(2).required_records(0.01)
    /// 9604
    /// >>> bs.randomized_response(2, keep=0.75).required_records(0.01)
    /// 38415
    #[pyo3(
        signature = (tolerance, *, confidence=None),
        text_signature = "($self, tolerance, *, confidence=0.95)"
    )]
    fn required_records<'py>(
        slf: &Bound<'py, Self>,
        tolerance: &Bound<'py, PyAny>,
        confidence: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = PyDict::new(slf.py());
        if let Some(confidence) = confidence {
            given.set_item("confidence", confidence)?;
        }
        let planning = slf.py().import("bistochastic.planning")?;
        planning.call_method("required_records", (slf, tolerance), Some(&given))
    }

    /// The standard error of each share under ``inverse`` if the true shares are ``pi`` and there are
    /// ``n`` records, a sample.
    ///
    /// The root of ``(sum over w of G_vw^2 lambda_w - pi_v^2) / n`` with ``G`` the inverse of ``P.T`` and
    /// ``lambda = P.T @ pi``. Raises ``ValueError`` where ``pi`` is no distribution or ``n`` is below 1.
    ///
    /// >>> bs.randomized_response(2, keep=0.75).standard_error([0.5, 0.5], 100)
    /// array([0.1, 0.1])
    fn standard_error<'py>(
        slf: &Bound<'py, Self>,
        pi: &Bound<'py, PyAny>,
        n: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let planning = slf.py().import("bistochastic.planning")?;
        planning.call_method1("standard_error", (slf, pi, n))
    }
}
