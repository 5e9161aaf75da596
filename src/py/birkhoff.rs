//! `Matrix.decompose`, `decompose_all` and `Decomposition`: long work that can be watched and stopped.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use super::convert::{self, fraction};
use super::detached;
use super::matrix::{Matrix, doubles};
use super::randomize::Secret;
use crate::birkhoff::control::Control;
use crate::birkhoff::counts::MAX_SIZE;
use crate::birkhoff::draw::Drawer;
use crate::birkhoff::sample::{self, Words};
use crate::birkhoff::{self, Failure, Options, Policy, Sum, realise};
use crate::derive::{Label, Purpose};
use crate::error::Error;
use crate::family;
use crate::pool;

/// How often Python is asked whether to go on.
const PULSE: Duration = Duration::from_millis(50);

/// Run `work` on a thread of its own, unless it is small, while this one asks Python a few times a second
/// whether someone pressed Ctrl-C, and tells `progress` the share that is done.
fn supervised<T: Send>(
    py: Python<'_>,
    small: bool,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Control) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let control = Control::default();
    let outcome = if small {
        work(&control)
    } else {
        let progress = progress.map(|progress| progress.clone().unbind());
        let pulse = || {
            Python::attach(|py| {
                py.check_signals()?;
                if let Some(progress) = &progress {
                    progress.call1(py, (control.share().min(1.0),))?;
                }
                PyResult::Ok(())
            })
        };
        py.detach(|| {
            std::thread::scope(|scope| {
                let (done, wait) = mpsc::channel();
                let control = &control;
                let worker = scope.spawn(move || {
                    let outcome = work(control);
                    // Who waits may have given up; then nobody reads this.
                    let _ = done.send(());
                    outcome
                });
                let mut raised = Ok(());
                while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(PULSE) {
                    if raised.is_ok() {
                        raised = pulse();
                        if raised.is_err() {
                            control.stop();
                        }
                    }
                }
                let outcome = match worker.join() {
                    Ok(outcome) => outcome,
                    Err(panic) => std::panic::resume_unwind(panic),
                };
                raised.map(|()| outcome)
            })
        })?
    };
    match outcome {
        Ok(value) => {
            if let Some(progress) = progress {
                progress.call1((1.0,))?;
            }
            Ok(value)
        }
        Err(Failure::Refused(error)) => Err(error.into()),
        Err(Failure::Stopped) => Err(PyKeyboardInterrupt::new_err(())),
    }
}

/// A whole number of at least `low` and at most `high`.
fn whole(name: &str, given: &Bound<'_, PyAny>, low: u64, high: u64) -> PyResult<u64> {
    use crate::parameters::Value;
    match convert::value(name, given)? {
        Value::Whole(n) => match u64::try_from(n) {
            Ok(n) if (low..=high).contains(&n) => Ok(n),
            _ if high == u64::MAX => {
                Err(Error::value(name, format!("be at least {low}"), n).into())
            }
            _ => Err(Error::value(name, format!("be from {low} to {high}"), n).into()),
        },
        _ => Err(Error::type_(name, "be a whole number", "another").into()),
    }
}

/// What `decompose` and `decompose_all` are given.
fn options(
    policy: &str,
    bits: Option<&Bound<'_, PyAny>>,
    mass: Option<&Bound<'_, PyAny>>,
    max_terms: Option<&Bound<'_, PyAny>>,
    restarts: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Options> {
    let policy = match policy {
        "bottleneck" => Policy::Bottleneck,
        "any" => Policy::Any,
        other => {
            let must = "be \"bottleneck\" or \"any\"";
            return Err(Error::value("policy", must, format!("{other:?}")).into());
        }
    };
    let bits = bits.map(|bits| whole("bits", bits, 1, realise::MAX_BITS.into()));
    let mass = convert::real("mass", mass)?.unwrap_or(1.0);
    if !(mass > 0.0 && mass <= 1.0) {
        return Err(Error::value("mass", "be above 0 and at most 1", mass).into());
    }
    let max_terms = max_terms.map(|terms| whole("max_terms", terms, 1, u64::MAX));
    let restarts = restarts.map_or(Ok(1), |given| whole("restarts", given, 1, 1 << 16))?;
    if let Some(progress) = progress
        && !progress.is_callable()
    {
        let must = "be a function of the share that is done";
        return Err(Error::type_("progress", must, progress.get_type().name()?).into());
    }
    Ok(Options {
        policy,
        bits: bits.transpose()?.map(|bits| bits as u32),
        mass,
        max_terms: max_terms.transpose()?,
        restarts: restarts as u32,
    })
}

/// Whether the work is over before anybody could stop it.
fn is_small(matrix: &Matrix, options: &Options) -> bool {
    let family = &matrix.inner().family;
    match family.name() {
        "identity" | "uniform" | "randomized_response" | "t_transform" => true,
        "permutation" | "circulant" | "tridiagonal" | "k_anonymous" if options.bits.is_none() => {
            family.size() <= 1 << 16
        }
        _ => family.composition().is_none() && family.size() <= 32 && options.restarts == 1,
    }
}

/// Refuse a matrix without zeros whose entries, copied and queued, would not fit in memory.
fn fits(matrix: &family::Matrix) -> Result<(), Error> {
    let family = &matrix.family;
    match family.name() {
        "balance" | "dense" | "geometric" | "gibbs" | "reflected" if family.size() <= MAX_SIZE => {
            doubles("decompose", family.size(), 4 * family.size()).map(|_| ())
        }
        _ => Ok(()),
    }
}

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
        signature = (*, policy="bottleneck", bits=None, mass=None, max_terms=None, restarts=None, progress=None),
        text_signature = "($self, *, policy='bottleneck', bits=None, mass=1.0, max_terms=None, restarts=1, progress=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn decompose(
        &self,
        py: Python<'_>,
        policy: &str,
        bits: Option<&Bound<'_, PyAny>>,
        mass: Option<&Bound<'_, PyAny>>,
        max_terms: Option<&Bound<'_, PyAny>>,
        restarts: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Decomposition> {
        let options = options(policy, bits, mass, max_terms, restarts, progress)?;
        fits(self.inner())?;
        let inner = supervised(py, is_small(self, &options), progress, |control| {
            birkhoff::decompose(self.inner(), &options, 1.0, control)
        })?;
        Ok(Decomposition {
            inner,
            options: labels(&options),
        })
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
    signature = (matrices, *, policy="bottleneck", bits=None, mass=None, max_terms=None, restarts=None, progress=None),
    text_signature = "(matrices, *, policy='bottleneck', bits=None, mass=1.0, max_terms=None, restarts=1, progress=None)"
)]
#[allow(clippy::too_many_arguments)]
pub fn decompose_all(
    py: Python<'_>,
    matrices: &Bound<'_, PyAny>,
    policy: &str,
    bits: Option<&Bound<'_, PyAny>>,
    mass: Option<&Bound<'_, PyAny>>,
    max_terms: Option<&Bound<'_, PyAny>>,
    restarts: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Decomposition>> {
    let options = options(policy, bits, mass, max_terms, restarts, progress)?;
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
    for item in matrices.try_iter().map_err(|_| other(matrices))? {
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
        .map(|inner| Decomposition {
            inner,
            options: labels(&options),
        })
        .collect())
}

/// A matrix as a weighted sum of permutations; see :meth:`Matrix.decompose`.
///
/// Iteration gives pairs of an exact weight and a permutation. Structured families describe their
/// permutations: of the million shifts of a circulant of size a million only the shifts are stored.
///
/// >>> d = bs.circulant([3, 0, 1]).decompose()
/// >>> d
/// <Decomposition circulant 3 x 3: 2 terms, 0.811278 bits>
/// >>> for weight, permutation in d:
/// ...     print(weight, permutation)
/// 3/4 [0 1 2]
/// 1/4 [2 0 1]
#[pyclass(frozen, module = "bistochastic", name = "Decomposition")]
pub struct Decomposition {
    inner: birkhoff::Decomposition,
    /// What was asked for, as it enters the derivation of words.
    options: Vec<Label>,
}

/// The options of a decomposition as labels; the matrix and they decide its terms.
fn labels(options: &Options) -> Vec<Label> {
    let policy = match options.policy {
        Policy::Bottleneck => "bottleneck",
        Policy::Any => "any",
    };
    // No option is negative, so -1 is one that was not given.
    vec![
        Label::Text(policy.into()),
        Label::Integer(options.bits.map_or(-1, i128::from)),
        Label::Integer(options.mass.to_bits().into()),
        Label::Integer(options.max_terms.map_or(-1, i128::from)),
        Label::Integer(options.restarts.into()),
    ]
}

impl Decomposition {
    fn size(&self) -> u64 {
        self.inner.matrix.family.size()
    }

    fn count(&self) -> u128 {
        self.inner.terms().unwrap_or(0)
    }

    /// The number of terms, as rows of an array.
    fn rows(&self) -> u64 {
        u64::try_from(self.count()).unwrap_or(u64::MAX)
    }

    fn term<'py>(&self, py: Python<'py>, j: u128) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (_, columns) = doubles("permutation", 1, self.size())?;
        let array = py
            .import("numpy")?
            .call_method1("empty", (columns, "int64"))?;
        let array = array.cast_into::<PyArray1<i64>>()?;
        {
            let mut out = array.readwrite();
            let out = out.as_slice_mut()?;
            detached(py, self.size(), || self.inner.fill(j, out));
        }
        Ok(array)
    }

    fn exact_weight<'py>(
        &self,
        fraction: &Bound<'py, PyAny>,
        j: u128,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut factors = self.inner.weight(j).into_iter();
        let mut product = fraction.call1(factors.next().unwrap_or((1, 1)))?;
        for factor in factors {
            product = product.mul(fraction.call1(factor)?)?;
        }
        Ok(product)
    }
}

#[pymethods]
impl Decomposition {
    /// Number of terms.
    ///
    /// >>> bs.uniform(7).decompose().terms
    /// 7
    #[getter]
    fn terms(&self) -> u128 {
        self.count()
    }

    /// The law that was decomposed: the matrix itself, or with ``bits`` the one on the coarser grid.
    ///
    /// >>> m = bs.circulant([0.7, 0.2, 0.1])
    /// >>> m.decompose().matrix == m
    /// True
    /// >>> m.decompose(bits=4).matrix.exact_row(0)
    /// [Fraction(11, 16), Fraction(3, 16), Fraction(1, 8)]
    #[getter]
    fn matrix(&self) -> Matrix {
        self.inner.matrix.clone().into()
    }

    /// The weights as the nearest doubles.
    ///
    /// >>> bs.circulant([5, 2, 1]).decompose().weights
    /// array([0.625, 0.25 , 0.125])
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (_, terms) = doubles("weights", 1, self.rows())?;
        let array = py.import("numpy")?.call_method1("empty", (terms,))?;
        let array = array.cast_into::<PyArray1<f64>>()?;
        {
            let mut out = array.readwrite();
            let out = out.as_slice_mut()?;
            detached(py, terms as u64, || match &self.inner.sum {
                Sum::Plain(form) => form.weights.fill(out),
                Sum::Kron(..) => {
                    for (j, x) in (0..).zip(out) {
                        *x = self.inner.precise_weight(j).hi;
                    }
                }
            });
        }
        Ok(array)
    }

    /// The weights as ``fractions.Fraction``; they sum to exactly 1 unless the sum was cut short.
    ///
    /// >>> bs.blocks([2, 3]).decompose().exact_weights
    /// [Fraction(1, 3), Fraction(1, 3), Fraction(1, 6), Fraction(1, 6)]
    #[getter]
    fn exact_weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        // A fraction and its two integers take more than a hundred bytes.
        doubles("exact_weights", 16, self.rows())?;
        let fraction = fraction(py)?;
        let list = PyList::empty(py);
        for j in 0..self.count() {
            list.append(self.exact_weight(&fraction, j)?)?;
        }
        Ok(list)
    }

    /// The permutation of term ``j``: code ``u`` goes to ``permutation[u]``.
    ///
    /// >>> bs.uniform(5).decompose().permutation(2)
    /// array([2, 3, 4, 0, 1])
    fn permutation<'py>(&self, j: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let code = convert::code("j", j, self.rows())?;
        self.term(j.py(), code.into())
    }

    /// All permutations, one a row, as the smallest unsigned integers that hold them.
    ///
    /// Raises ``ValueError``, with the number of bytes, where they would not fit in memory.
    ///
    /// >>> bs.uniform(3).decompose().permutations
    /// array([[0, 1, 2],
    ///        [1, 2, 0],
    ///        [2, 0, 1]], dtype=uint16)
    #[getter]
    fn permutations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (terms, size) = (self.rows(), self.size());
        let (terms, size) = doubles("permutations", terms.div_ceil(4), size)
            .and(doubles("permutations", 1, terms))
            .map(|_| (terms as usize, size as usize))?;
        let dtype = if size <= 1 << 16 { "uint16" } else { "uint32" };
        let array = py
            .import("numpy")?
            .call_method1("empty", ((terms, size), dtype))?;
        let fill = |j: usize, out: &mut Vec<i64>| {
            out.resize(size, 0);
            self.inner.fill(j as u128, out);
        };
        let small = terms * size < 1 << 16;
        if size <= 1 << 16 {
            let array = array.cast_into::<PyArray2<u16>>()?;
            {
                let mut out = array.readwrite();
                let out = out.as_slice_mut()?;
                py.detach(|| {
                    pool::for_each_chunk(out, 64 * size, small, |chunk, rows| {
                        let mut term = Vec::new();
                        for (j, row) in rows.chunks_mut(size).enumerate() {
                            fill(64 * chunk + j, &mut term);
                            for (x, &v) in row.iter_mut().zip(&term) {
                                *x = v as u16;
                            }
                        }
                    });
                });
            }
            return Ok(array.into_any());
        }
        let array = array.cast_into::<PyArray2<u32>>()?;
        {
            let mut out = array.readwrite();
            let out = out.as_slice_mut()?;
            py.detach(|| {
                pool::for_each_chunk(out, size, small, |j, row| {
                    let mut term = Vec::new();
                    fill(j, &mut term);
                    for (x, &v) in row.iter_mut().zip(&term) {
                        *x = v as u32;
                    }
                });
            });
        }
        Ok(array.into_any())
    }

    /// What the terms add up to, as the doubles nearest to the exact sums: ``matrix.to_dense()``, with
    /// ``==``, unless the sum was cut short.
    ///
    /// >>> m = bs.blocks([1, 2])
    /// >>> bool((m.decompose().reconstruct() == m.to_dense()).all())
    /// True
    fn reconstruct<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let size = self.size();
        // The exact sums are held beside the doubles, two long integers each.
        doubles("reconstruct", 5 * size, size)?;
        let n = size as usize;
        let doubles = py.detach(|| self.inner.doubles())?;
        doubles.into_pyarray(py).call_method1("reshape", (n, n))
    }

    /// What ``mass`` or ``max_terms`` left out, as a matrix of its own; None if nothing was.
    ///
    /// The matrix is the sum of the terms plus ``residual_weight`` times it, exactly.
    ///
    /// >>> d = bs.circulant([5, 2, 1]).decompose(mass=0.6)
    /// >>> d.terms, d.residual.exact_row(0)
    /// (1, [Fraction(0, 1), Fraction(2, 3), Fraction(1, 3)])
    /// >>> bs.circulant([5, 2, 1]).decompose().residual is None
    /// True
    #[getter]
    fn residual(&self, py: Python<'_>) -> PyResult<Option<Matrix>> {
        let (size, family) = (self.size(), self.inner.matrix.family.name());
        if size > 4096 && size <= u64::from(MAX_SIZE as u32) && family != "circulant" {
            // Written out entry by entry, two long integers each.
            doubles("residual", 5 * size, size)?;
        }
        let rest = py.detach(|| self.inner.residual())?;
        Ok(rest.map(Into::into))
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

    /// Entropy of the choice of a term in bits, at most ``log2(terms)``: all that a whole column hides
    /// behind one permutation of this mixture. Where the sum was cut short the rest counts as one more.
    ///
    /// Records randomized one by one hide ``entropy_rate`` bits each.
    ///
    /// >>> bs.uniform(16).decompose().joint_entropy
    /// 4.0
    #[getter]
    fn joint_entropy(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.inner.joint_entropy())
    }

    /// Write weights and permutations to a NumPy archive, the weights also as exact fractions.
    ///
    /// The arrays are ``weights``, ``numerators`` and ``denominators`` (as decimal text where 64 bits do
    /// not hold them), ``permutations`` and, if something was left out, ``residual``.
    ///
    /// >>> import numpy as np, pathlib, tempfile
    /// >>> path = pathlib.Path(tempfile.mkdtemp()) / "terms.npz"
    /// >>> bs.uniform(3).decompose().to_npz(path)
    /// >>> np.load(path)["numerators"]
    /// array([1, 1, 1], dtype=uint64)
    fn to_npz(slf: &Bound<'_, Self>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let module = slf.py().import("bistochastic.decomposition")?;
        module.call_method1("to_npz", (slf, path))?;
        Ok(())
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
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>)> {
        let py = j.py();
        let code: u128 = convert::code("j", j, self.rows())?.into();
        Ok((
            self.exact_weight(&fraction(py)?, code)?,
            self.term(py, code)?,
        ))
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let module = slf.py().import("bistochastic.decomposition")?;
        module.call_method1("walk", (slf,))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (family, size) = (self.inner.matrix.family.name(), self.size());
        let (terms, bits) = (self.count(), self.joint_entropy(py));
        let cut = if self.inner.complete {
            ""
        } else {
            ", cut short"
        };
        let plural = if terms == 1 { "" } else { "s" };
        // Six digits, rounded down as all bits are.
        let bits = (bits * 1e6).floor() / 1e6;
        format!("<Decomposition {family} {size} x {size}: {terms} term{plural}, {bits} bits{cut}>")
    }
}

/// Words of a byte string, little-endian, while there are any.
fn with_words<T>(
    stream: &Bound<'_, PyBytes>,
    work: impl FnOnce(&mut Words<&mut dyn FnMut() -> u64>) -> T,
) -> PyResult<T> {
    let mut words = stream.as_bytes().chunks_exact(8);
    let mut dry = false;
    let mut next = || match words.next() {
        Some(&[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => {
            dry = true;
            0
        }
    };
    let done = work(&mut Words::new(&mut next));
    if dry {
        return Err(Error::value("stream", "hold enough words", "fewer").into());
    }
    Ok(done)
}

/// One permutation of a matrix from the words of ``stream``: what tests count.
#[pyfunction]
pub fn _sample_permutation<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    stream: &Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let drawn = with_words(stream, |words| sample::of_matrix(matrix.inner(), words))??;
    let drawn: Vec<i64> = drawn.into_iter().map(i64::from).collect();
    Ok(drawn.into_pyarray(py))
}

#[pymethods]
impl Matrix {
    /// A permutation ``s`` with ``Pr(s[u] = v) = p_uv`` exactly, without decomposing.
    ///
    /// For at most 4096 categories by halving the matrix bit by bit; blocks and the like are shuffled class
    /// by class at any size, a :func:`kron` is drawn axis by axis,
    /// ``a @ b`` one after the other, a :func:`mix` by one of its parts. It moves a whole column at once
    /// and is no substitute for :meth:`randomize`, which draws for every record. With a ``key``, ``stream``
    /// names what it is for.
    ///
    /// >>> bs.permutation([2, 0, 1]).sample_permutation()
    /// array([2, 0, 1])
    /// >>> sorted(bs.randomized_response(4, epsilon=1).sample_permutation().tolist())
    /// [0, 1, 2, 3]
    #[pyo3(signature = (*, key=None, stream=None))]
    fn sample_permutation<'py>(
        &self,
        py: Python<'py>,
        key: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let secret = Secret::new(key, stream, true, "stream")?;
        let keystream = secret.keystream(Purpose::Permutation, &[], self.inner().digest());
        let drawn = py.detach(|| {
            let mut words = Words::new(keystream.words());
            sample::of_matrix(self.inner(), &mut words)
        })?;
        let drawn: Vec<i64> = drawn.into_iter().map(i64::from).collect();
        Ok(drawn.into_pyarray(py))
    }
}

#[pymethods]
impl Decomposition {
    /// ``n`` permutations, a row each, term ``j`` with exactly its weight; a permutation moves ``u`` to
    /// ``row[u]``.
    ///
    /// With a ``key``, ``stream`` names what they are for. A decomposition that was cut short is refused.
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
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let n = super::randomize::whole("n", n, 0, 1 << 40)?;
        let size = self.size();
        let secret = Secret::new(key, stream, true, "stream")?;
        let (rows, columns) = doubles("sample", n, size)?;
        // The matrix and the options decide the terms, so that other terms have other words.
        let digest = self.inner.matrix.digest();
        let keystream = secret.keystream(Purpose::Terms, &self.options, digest);
        let drawer = Drawer::new(&self.inner)?;
        let array = py
            .import("numpy")?
            .call_method1("empty", ((rows, columns), "int64"))?;
        let array = array.cast_into::<PyArray2<i64>>()?;
        {
            let mut out = array.readwrite();
            let out = out.as_slice_mut()?;
            py.detach(|| {
                let mut words = Words::new(keystream.words());
                for row in out.chunks_mut(columns) {
                    self.inner.fill(drawer.draw(&mut words), row);
                }
            });
        }
        Ok(array)
    }
}

/// ``n`` random terms of a decomposition from the words of ``stream``: what tests count.
#[pyfunction]
pub fn _draw_terms(
    decomposition: &Decomposition,
    n: usize,
    stream: &Bound<'_, PyBytes>,
) -> PyResult<Vec<u128>> {
    let drawer = Drawer::new(&decomposition.inner)?;
    with_words(stream, |words| (0..n).map(|_| drawer.draw(words)).collect())
}
