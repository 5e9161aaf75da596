//! `Matrix.same_law`.

use pyo3::prelude::*;

use super::convert::type_name;
use super::exact;
use super::matrix::Matrix;
use super::supervise::supervised;
use crate::error::Error;
use crate::law::same::{Found, same};

/// Up to this size a comparison is over before anybody could stop it.
const SMALL: u64 = 64;

#[pymethods]
impl Matrix {
    /// Whether two matrices have the same entries, as exact fractions, whatever their families.
    ///
    /// ``==`` asks for the same family and parameters too.
    ///
    /// Other pairs are compared row by row until they differ, up to size 4096: ``ValueError`` beyond that, unless a
    /// difference is seen at once. Ctrl-C stops it.
    ///
    /// >>> from fractions import Fraction
    /// >>> m = bs.randomized_response(2, keep=Fraction(3, 4))
    /// >>> m.same_law(bs.dense([[3, 1], [1, 3]])), m == bs.dense([[3, 1], [1, 3]])
    /// (True, False)
    /// >>> bs.uniform(6).same_law(bs.k_anonymous(6, k=6))
    /// True
    /// >>> bs.uniform(3).same_law(bs.circulant([0.33, 0.33, 0.34]))
    /// False
    fn same_law(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Matrix>() else {
            return Err(Error::type_("other", "be a Matrix", type_name(other)).into());
        };
        let (a, b) = (self.inner(), other.get().inner());
        let simple = a.family.composition().is_none() && b.family.composition().is_none();
        let small = simple && a.family.size() <= SMALL;
        let found = supervised(py, small, None, |control| same(a, b, control))?;
        if let Found::Same(found) = found {
            return Ok(found);
        }
        for u in 0..a.family.size() {
            py.check_signals()?;
            for (x, y) in exact::row(py, a, u)?.iter().zip(exact::row(py, b, u)?) {
                if !x.eq(y)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
