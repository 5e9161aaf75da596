//! `Matrix` as Python holds it, what it says of its law, and the functions that make one.

use super::convert::{self, Vectors, type_name};
use super::work::{detached, guarded};
use super::{memory, package};
use crate::error::Error;
use crate::law;
use crate::law::parameters::Value;
use crate::law::same::same;
use crate::number::bits;
use crate::system::pool;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The law of a :class:`bistochastic.Matrix`, which is this class with what Python adds to it.
#[pyclass(frozen, subclass, module = "bistochastic")]
pub struct Matrix {
    inner: law::Matrix,
}

thread_local! {
    static WAITING: Cell<Option<law::Matrix>> = const { Cell::new(None) };
}

/// A matrix on its way to Python, where it becomes one of the class that callers see.
pub struct Made(pub law::Matrix);

impl<'py> IntoPyObject<'py> for Made {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        package::make(py, &package::MATRIX, &WAITING, self.0)
    }
}

/// A list of matrices for Python.
pub fn list<'py>(
    py: Python<'py>,
    matrices: impl Iterator<Item = law::Matrix>,
) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for matrix in matrices {
        list.append(Made(matrix))?;
    }
    Ok(list.into_any())
}

impl Matrix {
    /// The core's matrix.
    pub fn inner(&self) -> &law::Matrix {
        &self.inner
    }

    /// A number of the matrix, without the GIL if it may take long.
    fn measured<T: Send>(
        &self,
        py: Python<'_>,
        measure: impl Fn(&law::Matrix) -> T + Send + Sync,
    ) -> PyResult<T> {
        // A composite of small parts may still be long work.
        let numbers = match self.inner().is_composite() {
            true => u64::MAX,
            false => self.inner().size(),
        };
        detached(py, numbers, || measure(self.inner()))
    }
}

#[pymethods]
impl Matrix {
    /// Matrices come from the functions of their families.
    #[new]
    #[pyo3(signature = (*_given, **_named))]
    fn new(_given: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let inner = package::taken(&WAITING, &package::MATRIX)?;
        Ok(Matrix { inner })
    }

    /// Number of categories, the paper's r.
    ///
    /// >>> bs.uniform(5).size
    /// 5
    #[getter]
    fn size(&self) -> u64 {
        self.inner().size()
    }

    /// ``(size, size)``.
    ///
    /// >>> bs.uniform(5).shape
    /// (5, 5)
    #[getter]
    fn shape(&self) -> (u64, u64) {
        (self.inner().size(), self.inner().size())
    }

    /// Name of the family.
    ///
    /// >>> bs.uniform(5).family
    /// 'uniform'
    #[getter(family)]
    fn family_name(&self) -> &'static str {
        self.inner().name()
    }

    /// The realised parameters, which are the law exactly: ``bs.build(m.family, **m.parameters) == m``.
    ///
    /// >>> bs.circulant([0.5, 0.25, 0.25]).parameters["first_row"]
    /// [4503599627370496, 2251799813685248, 2251799813685248]
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parameters = self.inner().parameters();
        convert::dictionary(py, parameters.iter().map(|(n, v)| (*n, v)), Vectors::Lists)
    }

    /// What was asked for. For a given vector or table it says how far rounding ``moved`` an entry.
    ///
    /// >>> bs.randomized_response(12, beta=0.6).requested
    /// {'size': 12, 'beta': 0.6}
    #[getter]
    pub fn requested<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let requested = self.inner().requested.iter().map(|(n, v)| (n.as_str(), v));
        convert::dictionary(py, requested, Vectors::Lists)
    }

    /// Whether beta and epsilon are reported exactly, up to rounding in the last digits.
    ///
    /// If it is False they are safe bounds: the true beta is at least, the true epsilon at most what is reported.
    ///
    /// >>> bs.uniform(5).is_exact
    /// True
    #[getter]
    fn is_exact(&self, py: Python<'_>) -> PyResult<bool> {
        self.measured(py, law::Matrix::is_exact)
    }

    /// Average entropy of a row in bits, Expression (4): ``-(1/r) * sum of p_uv log2 p_uv``.
    ///
    /// Rounded so that privacy is never overstated: never above the true value, and within 1e-12 of it. If
    /// :attr:`is_exact` is False it is a lower bound.
    ///
    /// >>> bs.blocks([4, 4]).entropy_rate
    /// 2.0
    #[getter]
    fn entropy_rate(&self, py: Python<'_>) -> PyResult<f64> {
        self.measured(py, law::Matrix::entropy_rate)
    }

    /// The most bits a row can hold: ``log2(size)``, of the categories that can be true.
    ///
    /// >>> bs.blocks([4, 4]).max_bits
    /// 3.0
    #[getter]
    fn max_bits(&self) -> f64 {
        bits::max_bits(self.inner().true_size())
    }

    /// How many codes are reported and never true: those from ``size - padding`` on. 0 except for
    /// :func:`bistochastic.difference_set`.
    ///
    /// >>> bs.difference_set(1000, epsilon=1).padding, bs.uniform(5).padding
    /// (365, 0)
    #[getter]
    fn padding(&self) -> u64 {
        self.inner().size() - self.inner().true_size()
    }

    /// Definition 1: ``entropy_rate / max_bits``. 0 hides nothing, 1 hides everything.
    ///
    /// Rounded so that privacy is never overstated: never above the true value, and within 1e-12 of it. If
    /// :attr:`is_exact` is False it is a lower bound. Beta is an average over the categories: it says nothing about
    /// the worst one. With one category there is nothing to hide: 0 bits, beta 1.
    ///
    /// >>> bs.blocks([4, 4]).beta == 2 / 3
    /// True
    /// >>> bs.uniform(7).beta
    /// 1.0
    #[getter]
    fn beta(&self, py: Python<'_>) -> PyResult<f64> {
        self.measured(py, law::Matrix::beta)
    }

    /// Local differential privacy: ``max over v of ln(max_u p_uv / min_u p_uv)``.
    ///
    /// A report is at most ``e^epsilon`` times as likely under one truth as under another. Infinite if some report
    /// rules out some truth, because its column has both zeros and positive entries. Rounded so that privacy is
    /// never overstated: never below the true value, and within 1e-12 of it relatively. If :attr:`is_exact` is
    /// False it is an upper bound.
    ///
    /// >>> bs.randomized_response(12, epsilon=3).epsilon <= 3
    /// True
    /// >>> bs.k_anonymous(12, k=3).epsilon
    /// inf
    #[getter]
    fn epsilon(&self, py: Python<'_>) -> PyResult<f64> {
        self.measured(py, law::Matrix::epsilon)
    }

    /// Mean of the diagonal: the share of true reports if all categories are equally frequent.
    ///
    /// None for a very large product, whose diagonal is not computed.
    ///
    /// >>> bs.k_anonymous(12, k=3).truthfulness == 1 / 3
    /// True
    #[getter]
    fn truthfulness(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.measured(py, |m| {
            Some(m.truthfulness()).filter(|share| !share.is_nan())
        })
    }

    /// Whether some power of the matrix has only positive entries (irreducible and aperiodic).
    ///
    /// The matrix itself may have zeros, as a tridiagonal one does. The paper asks for positive entries, which is
    /// more than necessary. None for a very large composite, which is not examined.
    ///
    /// >>> bs.tridiagonal(0.3, size=12).is_ergodic, bs.blocks([3, 3]).is_ergodic
    /// (True, False)
    #[getter]
    fn is_ergodic(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        self.measured(py, law::Matrix::is_ergodic)
    }

    /// The matrix as an array of doubles.
    ///
    /// If all entries are multiples of 2^-53, the array is exactly the matrix, and its sums along both axes equal
    /// 1.0 with ``==``, in any order of summation. Other entries, such as 1/3, become the nearest double.
    ///
    /// Raises :class:`bistochastic.errors.OutOfMemoryError`, with the number of bytes, if it would not fit in
    /// memory.
    ///
    /// >>> bs.blocks([1, 2]).to_dense()
    /// array([[1. , 0. , 0. ],
    ///        [0. , 0.5, 0.5],
    ///        [0. , 0.5, 0.5]])
    fn to_dense<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let family = self.inner();
        let size = family.size();
        memory::written(py, "to_dense", &[size, size], size * size, |out| {
            let (small, columns) = (out.len() < 1 << 16, size as usize);
            pool::for_each_chunk(out, columns, small, |u, row| family.fill_row(u as u64, row));
        })
    }

    /// Row ``u`` as doubles: how likely each report is if the truth is ``u``.
    ///
    /// >>> bs.circulant([0.5, 0.25, 0.25]).row(1)
    /// array([0.25, 0.5 , 0.25])
    fn row<'py>(&self, u: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (family, size) = (self.inner(), self.inner().size());
        let (py, u) = (u.py(), convert::code("u", u, size)?);
        memory::written(py, "row", &[size], size, |out| family.fill_row(u, out))
    }

    /// ``m[u, v]``: the probability that ``u`` is reported as ``v``, as the nearest double.
    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<f64> {
        let (u, v): (Bound<'_, PyAny>, Bound<'_, PyAny>) = index
            .extract()
            .map_err(|_| Error::type_("index", "be a pair of codes u, v", type_name(index)))?;
        let size = self.inner().size();
        let (u, v) = (convert::code("u", &u, size)?, convert::code("v", &v, size)?);
        let family = self.inner();
        // A product takes a whole row through its factors.
        let numbers = if family.is_composite() { size } else { 1 };
        detached(index.py(), numbers, || family.probability(u, v))
    }

    /// Whether two matrices have the same entries, as exact fractions, whatever their families.
    ///
    /// ``==`` asks for the same family and parameters too.
    ///
    /// Other pairs are compared row by row until they differ, up to size 4096: ``ValueError`` beyond that, unless a
    /// difference is seen at once. Ctrl-C stops it.
    ///
    /// >>> from fractions import Fraction
    /// >>> m = bs.randomized_response(2, keep=Fraction(3, 4))
    /// >>> m.same_probabilities(bs.dense([[3, 1], [1, 3]])), m == bs.dense([[3, 1], [1, 3]])
    /// (True, False)
    /// >>> bs.uniform(6).same_probabilities(bs.k_anonymous(6, k=6))
    /// True
    /// >>> bs.uniform(3).same_probabilities(bs.circulant([0.33, 0.33, 0.34]))
    /// False
    fn same_probabilities(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Matrix>() else {
            return Err(Error::type_("other", "be a Matrix", type_name(other)).into());
        };
        let (py, a, b) = (slf.py(), slf.get().inner(), other.get().inner());
        if let Some(found) = detached(py, u64::MAX, || same(a, b))?? {
            return Ok(found);
        }
        for u in 0..a.size() {
            py.check_signals()?;
            let row = slf.call_method1("exact_row", (u,))?;
            if !row.eq(other.call_method1("exact_row", (u,))?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn __eq__(&self, other: &Matrix) -> PyResult<bool> {
        guarded(|| self.inner() == other.inner())
    }

    fn __hash__(&self) -> PyResult<u64> {
        guarded(|| {
            let mut state = DefaultHasher::new();
            self.inner().hash(&mut state);
            state.finish()
        })
    }

    /// First this matrix, then ``other``: a release that is randomized again.
    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Made> {
        let other = other.cast::<Matrix>().map_err(|_| not_joined(other))?;
        let pair = Value::Matrices(vec![self.inner().clone(), other.get().inner().clone()].into());
        let given = vec![("matrices".to_owned(), pair)];
        Ok(Made(guarded(|| law::build("product", given))??))
    }

    fn __rmatmul__(&self, _other: &Bound<'_, PyAny>) -> PyResult<Made> {
        Err(not_joined(_other).into())
    }

    /// Arrays leave ``@`` to the matrix, which refuses them.
    #[classattr]
    fn __array_ufunc__() -> Option<u8> {
        None
    }

    /// Nothing changes, so that a copy is the matrix itself.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }
}

fn not_joined(other: &Bound<'_, PyAny>) -> Error {
    let must = "join two matrices; `to_dense()` gives arrays";
    Error::type_("@", must, type_name(other))
}

/// The matrix of ``family`` with ``parameters``; those that are None were not given.
#[pyfunction]
pub fn build(
    py: Python<'_>,
    family: &Bound<'_, PyAny>,
    parameters: &Bound<'_, PyDict>,
) -> PyResult<Made> {
    built(py, family, parameters).map(Made)
}

pub fn built(
    py: Python<'_>,
    family: &Bound<'_, PyAny>,
    parameters: &Bound<'_, PyDict>,
) -> PyResult<law::Matrix> {
    let family = convert::text("family", "be the name of a family", family)?;
    let given = convert::arguments(parameters)?;
    Ok(detached(py, u64::MAX, || law::build(family, given))??)
}

/// A number that two matrices share just where they are one and the same.
#[pyfunction]
pub fn identity_of(matrix: &Matrix) -> usize {
    matrix.inner().place()
}

/// Row ``u`` in fractions; None of a composite whose common denominator is too long for the core.
#[pyfunction]
pub fn short_row<'py>(
    matrix: &Matrix,
    u: &Bound<'py, PyAny>,
) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let (py, family) = (u.py(), matrix.inner());
    let size = family.size();
    let u = convert::code("u", u, size)?;
    // A fraction and its two integers take more than a hundred bytes.
    memory::require("exact_row", 1, size, 128)?;
    let entries: Option<Vec<(u128, u128)>> = guarded(|| match family.is_composite() {
        false => (0..size).map(|v| family.entry(u, v)).collect(),
        true => {
            let total = family.total()?;
            let counts = family.row::<u128>(u)?;
            Some(counts.into_iter().map(|n| (n, total)).collect())
        }
    })?;
    let fraction = convert::fraction(py)?;
    let made = |entries: Vec<_>| entries.into_iter().map(|entry| fraction.call1(entry));
    entries.map(|entries| made(entries).collect()).transpose()
}

/// How many matrices are in it, those that a composite holds several times so often, itself among them.
#[pyfunction]
pub fn parts_in(matrix: &Matrix) -> u64 {
    matrix.inner().parts()
}

/// All families by name: the realised parameters of each, with their forms in the JSON Schema.
#[pyfunction]
pub fn families() -> BTreeMap<&'static str, Vec<(&'static str, &'static str)>> {
    let of = |entry: &law::registry::Entry| (entry.name, entry.parameters.to_vec());
    law::registry::REGISTRY.iter().map(of).collect()
}
