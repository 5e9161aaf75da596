//! `Matrix.same_law`.

use pyo3::prelude::*;

use super::convert::type_name;
use super::exact;
use super::matrix::Matrix;
use super::supervise::supervised;
use crate::error::Error;
use crate::law::same;

/// Up to this size a comparison is over before anybody could stop it.
const SMALL: u64 = 64;

#[pymethods]
impl Matrix {
    /// Whether two matrices have the same entries, as exact fractions, whatever their families.
    ///
    /// ``==`` asks for the same family and parameters too.
    ///
    /// * Two matrices of one family, permutations, uniform matrices and the like are compared by their parameters,
    ///   at any size. A :func:`kron` is compared factor by factor.
    /// * All others are compared row by row until they differ. This raises ``ValueError`` beyond 2^34 entries (two
    ///   of size 65536), or beyond 2^26 if fractions of composites need more than 128 bits. Ctrl-C stops it.
    ///
    /// >>> from fractions import Fraction
    /// >>> m = bs.randomized_response(2, keep=Fraction(3, 4))
    /// >>> m.same_law(bs.dense([[3, 1], [1, 3]])), m == bs.dense([[3, 1], [1, 3]])
    /// (True, False)
    /// >>> bs.uniform(10**9).same_law(bs.k_anonymous(10**9, k=10**9))
    /// True
    /// >>> bs.uniform(3).same_law(bs.circulant([0.33, 0.33, 0.34]))
    /// False
    fn same_law(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Matrix>() else {
            return Err(Error::type_("other", "be a Matrix", type_name(other)).into());
        };
        let (a, b) = (self.inner(), other.get().inner());
        let simple = a.family.composition().is_none() && b.family.composition().is_none();
        let mut left = Vec::new();
        let small = simple && a.family.size() <= SMALL;
        let same = supervised(py, small, None, |control| {
            same::same(a, b, &mut left, control)
        })?;
        if !same {
            return Ok(false);
        }
        for (a, b) in left {
            for u in 0..a.family.size() {
                py.check_signals()?;
                for (x, y) in exact::row(py, &a, u)?.iter().zip(exact::row(py, &b, u)?) {
                    if !x.eq(y)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}
