//! Matrices as sums of permutations: `decompose`, long work that can be watched and stopped, and `Decomposition`.

use std::cell::Cell;

use numpy::IntoPyArray;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::birkhoff::counts::MAX_SIZE;
use crate::birkhoff::random_term::Drawer;
use crate::birkhoff::{self, Options, Sum};
use crate::draw::derive::{Label, Purpose};
use crate::error::Error;
use crate::law::Law;
use crate::py::convert::{self, as_real, fraction, type_name, whole};
use crate::py::key::Secret;
use crate::py::work::{detached, watched};
use crate::py::{matrix, memory, package};
use crate::system::{self, pool, stop};

/// The terms of a :class:`bistochastic.Decomposition`, which is this class with what Python adds to it.
#[pyclass(frozen, subclass, module = "bistochastic")]
pub struct Decomposition {
    inner: birkhoff::Decomposition,
    /// What was asked for, as it enters the derivation of words.
    options: Vec<Label>,
}

thread_local! {
    static WAITING: Cell<Option<Decomposition>> = const { Cell::new(None) };
}

/// A decomposition on its way to Python, where it becomes one of the class that callers see.
pub struct Made(pub Decomposition);

impl<'py> IntoPyObject<'py> for Made {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        package::make(py, &package::DECOMPOSITION, &WAITING, self.0)
    }
}

impl Decomposition {
    fn size(&self) -> u64 {
        self.inner.matrix.size()
    }

    fn count(&self) -> u128 {
        self.inner.terms()
    }

    /// The number of terms, as rows of an array.
    fn rows(&self) -> u64 {
        u64::try_from(self.count()).unwrap_or(u64::MAX)
    }

    fn term<'py>(&self, py: Python<'py>, j: u128) -> PyResult<Bound<'py, PyAny>> {
        let size = self.size();
        memory::written(py, "permutation", &[size], size, |out| {
            self.inner.fill(j, out)
        })
    }

    /// All permutations as integers that hold their codes.
    fn written<'py, T: numpy::Element + Copy + Send>(
        &self,
        py: Python<'py>,
        narrow: impl Fn(i64) -> T + Send + Sync,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape = [self.rows(), self.size()];
        memory::written(py, "permutations", &shape, u64::MAX, |out| {
            let (small, size) = (out.len() < 1 << 16, self.size() as usize);
            // Short rows are written many at a time.
            let rows = if size <= 1 << 16 { 64 } else { 1 };
            pool::for_each_chunk(out, rows * size, small, |chunk, block| {
                let mut term = system::memory::zeros(size);
                for (j, row) in block.chunks_mut(size).enumerate() {
                    self.inner.fill((rows * chunk + j) as u128, &mut term);
                    for (x, &v) in row.iter_mut().zip(&term) {
                        *x = narrow(v);
                    }
                }
            });
        })
    }

    fn exact_weight<'py>(
        &self,
        fraction: &Bound<'py, PyAny>,
        j: u128,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut factors = self.inner.factors_of_weight(j).into_iter();
        let mut product = fraction.call1(factors.next().unwrap_or((1, 1)))?;
        for factor in factors {
            product = product.mul(fraction.call1(factor)?)?;
        }
        Ok(product)
    }
}

#[pymethods]
impl Decomposition {
    /// Decompositions come from matrices.
    #[new]
    #[pyo3(signature = (*_given, **_named))]
    fn new(_given: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        package::taken(&WAITING, &package::DECOMPOSITION)
    }

    /// Number of terms.
    ///
    /// >>> bs.uniform(7).decompose().terms
    /// 7
    #[getter]
    fn terms(&self) -> u128 {
        self.count()
    }

    /// The matrix that was decomposed.
    ///
    /// >>> m = bs.circulant([0.7, 0.2, 0.1])
    /// >>> m.decompose().matrix == m
    /// True
    #[getter]
    fn matrix(&self) -> matrix::Made {
        matrix::Made(self.inner.matrix.clone())
    }

    /// The weights as the nearest doubles.
    ///
    /// >>> bs.circulant([5, 2, 1]).decompose().weights
    /// array([0.625, 0.25 , 0.125])
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let terms = self.rows();
        let write = |out: &mut [f64]| match &self.inner.sum {
            Sum::Plain(form) => form.weights.fill(out),
            Sum::Kron(..) => {
                for (j, x) in (0..).zip(out) {
                    *x = self.inner.precise_weight(j).hi;
                }
            }
        };
        memory::written(py, "weights", &[terms], terms, write)
    }

    /// The weights as ``fractions.Fraction``. They sum to exactly 1 unless ``mass`` or ``max_terms`` stopped it.
    ///
    /// >>> bs.blocks([2, 3]).decompose().exact_weights
    /// [Fraction(1, 3), Fraction(1, 3), Fraction(1, 6), Fraction(1, 6)]
    #[getter]
    fn exact_weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        // A fraction and its two integers take more than a hundred bytes.
        memory::require("exact_weights", 1, self.rows(), 128)?;
        let fraction = fraction(py)?;
        let list = PyList::empty(py);
        for j in 0..self.count() {
            if j % 4096 == 0 {
                py.check_signals()?;
            }
            list.append(self.exact_weight(&fraction, j)?)?;
        }
        Ok(list)
    }

    /// The permutation of term ``j``: code ``u`` goes to ``permutation[u]``.
    ///
    /// >>> bs.uniform(5).decompose().permutation(2)
    /// array([2, 3, 4, 0, 1])
    fn permutation<'py>(&self, j: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let code = convert::code("j", j, self.rows())?;
        self.term(j.py(), code.into())
    }

    /// All permutations, one per row: uint16 up to 65,536 categories, uint32 beyond.
    ///
    /// Raises :class:`bistochastic.errors.OutOfMemoryError`, with the number of bytes, if they would not fit in
    /// memory.
    ///
    /// >>> bs.uniform(3).decompose().permutations
    /// array([[0, 1, 2],
    ///        [1, 2, 0],
    ///        [2, 0, 1]], dtype=uint16)
    #[getter]
    fn permutations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.size() {
            0..=0x1_0000 => self.written(py, |v| v as u16),
            0x1_0001..=0x1_0000_0000 => self.written(py, |v| v as u32),
            _ => self.written(py, |v| v as u64),
        }
    }

    /// What the terms add up to, as the doubles nearest to the exact sums.
    ///
    /// It equals ``matrix.to_dense()``, with ``==``, unless ``mass`` or ``max_terms`` stopped the work early.
    ///
    /// >>> m = bs.blocks([1, 2])
    /// >>> bool((m.decompose().reconstruct() == m.to_dense()).all())
    /// True
    fn reconstruct<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let size = self.size();
        // The exact sums are held beside the doubles, two long integers each.
        memory::require("reconstruct", size, size, 40)?;
        let n = size as usize;
        let doubles = detached(py, u64::MAX, || self.inner.doubles())??;
        doubles.into_pyarray(py).call_method1("reshape", (n, n))
    }

    /// What ``mass`` or ``max_terms`` left out, as a matrix; None if nothing was left out.
    ///
    /// The decomposed matrix is exactly the sum of the terms plus ``residual_weight`` times ``residual``.
    ///
    /// >>> d = bs.circulant([5, 2, 1]).decompose(mass=0.6)
    /// >>> d.terms, d.residual.exact_row(0)
    /// (1, [Fraction(0, 1), Fraction(2, 3), Fraction(1, 3)])
    /// >>> bs.circulant([5, 2, 1]).decompose().residual is None
    /// True
    #[getter]
    fn residual(&self, py: Python<'_>) -> PyResult<Option<matrix::Made>> {
        let size = self.size();
        if size > 4096 && size <= u64::from(MAX_SIZE as u32) {
            // Written out entry by entry, two long integers each.
            memory::require("residual", size, size, 40)?;
        }
        let rest = detached(py, u64::MAX, || self.inner.residual())??;
        Ok(rest.map(matrix::Made))
    }

    /// The weight of what was left out: 1 minus the sum of the weights, exactly.
    ///
    /// >>> bs.circulant([5, 2, 1]).decompose(mass=0.6).residual_weight
    /// Fraction(3, 8)
    #[getter]
    fn residual_weight<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let fraction = fraction(py)?;
        if self.inner.complete {
            return fraction.call1((0,));
        }
        let sum = py
            .import("builtins")?
            .call_method1("sum", (self.exact_weights(py)?,))?;
        fraction.call1((1,))?.sub(sum)
    }

    /// Bits that a whole column hides behind one permutation of this mixture: at most ``log2(terms)``.
    ///
    /// It is the entropy of the choice of a term. A residual counts as one more term. Compare it with records
    /// that are randomized one by one, which hide ``entropy_rate`` bits each.
    ///
    /// >>> bs.uniform(16).decompose().joint_entropy
    /// 4.0
    #[getter]
    fn joint_entropy(&self, py: Python<'_>) -> PyResult<f64> {
        detached(py, u64::MAX, || self.inner.joint_entropy())
    }

    /// ``n`` random permutations, one per row. Term ``j`` is drawn with exactly its weight.
    ///
    /// A permutation moves code ``u`` to ``row[u]``. With a ``key``, ``stream`` names what they are for. A
    /// decomposition with a residual is refused.
    ///
    /// >>> bs.permutation([1, 0]).decompose().sample(2)
    /// array([[1, 0],
    ///        [1, 0]])
    #[pyo3(signature = (n, *, key=None, stream=None))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n: &Bound<'py, PyAny>,
        key: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let n = whole("n", n, 0, 1 << 40)?;
        let size = self.size();
        let secret = Secret::new(key, stream)?;
        // The matrix and the options decide the terms, so that other terms have other words.
        let digest = self.inner.matrix.digest();
        let keystream = secret.keystream(Purpose::Terms, &self.options, digest);
        let drawer = Drawer::new(&self.inner)?;
        memory::written(py, "sample", &[n, size], u64::MAX, |out| {
            let mut words = keystream.words();
            for row in out.chunks_mut(size as usize) {
                stop::point();
                self.inner.fill(drawer.draw(&mut words), row);
            }
        })
    }

    fn __len__(&self) -> PyResult<usize> {
        usize::try_from(self.count())
            .ok()
            .filter(|&terms| terms <= isize::MAX as usize)
            .ok_or_else(|| PyOverflowError::new_err("`len` must be below 2^63; ask for `terms`"))
    }

    /// ``d[j]``: the exact weight of term ``j`` and its permutation.
    fn __getitem__<'py>(
        &self,
        j: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = j.py();
        let code: u128 = convert::code("j", j, self.rows())?.into();
        Ok((
            self.exact_weight(&fraction(py)?, code)?,
            self.term(py, code)?,
        ))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (family, size) = (self.inner.matrix.name(), self.size());
        let (terms, bits) = (self.count(), self.joint_entropy(py)?);
        let cut = if self.inner.complete {
            ""
        } else {
            ", cut short"
        };
        let plural = if terms == 1 { "" } else { "s" };
        // Six digits, rounded down as all bits are.
        let bits = (bits * 1e6).floor() / 1e6;
        Ok(format!(
            "<Decomposition {family} {size} x {size}: {terms} term{plural}, {bits} bits{cut}>"
        ))
    }
}

/// Mass, most terms and restarts, as `decompose` and `decompose_all` are given them.
pub type Given<'py> = (
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
);

/// Read the options of a decomposition.
fn read(given: &Given<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Options> {
    let (mass, max_terms, restarts) = given;
    let mut options = Options::default().mass(as_real("mass", "be a number", mass)?)?;
    if let Some(given) = max_terms {
        options = options.max_terms(whole("max_terms", given, 1, u64::MAX)?)?;
    }
    let options = options.restarts(whole("restarts", restarts, 1, 1 << 16)? as u32)?;
    if let Some(progress) = progress
        && !progress.is_callable()
    {
        let must = "be a function of the share that is done";
        return Err(Error::type_("progress", must, type_name(progress)).into());
    }
    Ok(options)
}

/// Refuse a matrix without zeros whose entries, copied and queued, would not fit in memory.
fn fits(matrix: &crate::law::Matrix) -> Result<(), Error> {
    let size = matrix.size();
    match matrix.law() {
        Law::Dense { .. } | Law::Reflected { .. } if size <= MAX_SIZE => {
            memory::require("decompose", size, size, 32)
        }
        _ => Ok(()),
    }
}

/// A decomposition for Python. The matrix and the options decide its terms.
fn made(inner: birkhoff::Decomposition, options: &Options) -> Made {
    // The first two are those of all decompositions.
    let mut labels = vec![Label::Text("bottleneck".into()), Label::Integer(-1)];
    labels.extend(options.numbers().map(Label::Integer));
    Made(Decomposition {
        inner,
        options: labels,
    })
}

/// See :meth:`Matrix.decompose`.
#[pyfunction(name = "decompose")]
pub fn decompose_one(
    py: Python<'_>,
    matrix: &matrix::Matrix,
    options: Given<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Made> {
    let options = read(&options, progress)?;
    fits(matrix.inner())?;
    let matrix = matrix.inner();
    let inner = watched(py, progress, |share| {
        birkhoff::decompose(matrix, &options, 1.0, share)
    })?;
    Ok(made(inner, &options))
}

/// See :func:`bistochastic.decompose_all`.
#[pyfunction]
pub fn decompose_all(
    py: Python<'_>,
    matrices: &Bound<'_, PyAny>,
    options: Given<'_>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Made>> {
    let options = read(&options, progress)?;
    let must = "be matrices, one after the other";
    let other = |item: &Bound<'_, PyAny>| Error::type_("matrices", must, type_name(item));
    // A matrix has an index, so Python would take it for a sequence.
    if matrices.cast::<matrix::Matrix>().is_ok() {
        return Err(other(matrices).into());
    }
    let mut given = Vec::new();
    let items = package::ITEMS
        .get(py)?
        .call1(("matrices", must, matrices))?;
    for item in items.try_iter()? {
        let item = item?;
        let matrix = item.cast::<matrix::Matrix>().map_err(|_| other(&item))?;
        fits(matrix.get().inner())?;
        given.push(matrix.get().inner().clone());
    }
    let all = watched(py, progress, |share| {
        birkhoff::decompose_all(&given, &options, share)
    })?;
    Ok(all.into_iter().map(|inner| made(inner, &options)).collect())
}
