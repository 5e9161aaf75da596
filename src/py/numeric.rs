//! Permutations and averages of individuals.

use numpy::{Element, IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use super::key::Secret;
use super::matrix::Matrix;
use super::memory;
use super::widths::array;
use super::work::detached;
use crate::draw::code::each;
use crate::draw::derive::Purpose;
use crate::error::Error;
use crate::law;
use crate::law::Run;
use crate::numeric::bits;
use crate::numeric::{self, Item, Streams, shared, shuffle};

/// Run `work` with the words of all parts of a matrix, without the GIL.
fn with_streams<T: Send>(
    py: Python<'_>,
    matrix: &Matrix,
    secret: &Secret<'_>,
    work: impl FnOnce(&law::Matrix, &mut Streams<'_>) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let matrix = matrix.inner();
    let of = |path: &[u64]| secret.keystream_at(Purpose::Permutation, path, matrix.digest());
    Ok(detached(py, u64::MAX, || {
        work(matrix, &mut Streams::new(&of))
    })??)
}

#[pymethods]
impl Matrix {
    /// A permutation ``s`` with ``Pr(s[u] = v) = p_uv`` exactly, without decomposing.
    ///
    /// It moves a whole column at once. It does not replace :meth:`randomize`, which draws for every record on its
    /// own. To move the values of individuals, use :meth:`permute`, which refuses what the whole column would
    /// share. With a ``key``, ``stream`` names what it is for.
    ///
    /// * Blocks and the like, tridiagonal, and randomized response from ``keep = 1/size`` on: any size, in one pass.
    /// * A :func:`kron` is drawn axis by axis, ``a @ b`` one after the other, a :func:`mix` by one of its parts.
    /// * A :func:`circulant` beyond 4096 categories is drawn as one shift.
    /// * All other matrices may have at most 4096 categories.
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
        let secret = Secret::new(key, stream)?;
        Ok(with_streams(py, self, &secret, numeric::targets)?.into_pyarray(py))
    }

    /// Bits of the permutation that :meth:`sample_permutation` draws, as a whole. Never above the true number.
    ///
    /// This is all that a column hides behind one permutation, however long the column is. Compare it with ``n``
    /// records that are randomized one by one, which hide ``n * entropy_rate`` bits. It is known for blocks,
    /// k-anonymity and the uniform matrix, whose classes are shuffled in themselves: log2 of the product of the
    /// factorials of the class sizes. None for all others.
    ///
    /// >>> bs.blocks([2, 2]).joint_entropy, bs.identity(9).joint_entropy
    /// (2.0, 0.0)
    /// >>> bs.tridiagonal(0.3, size=4).joint_entropy is None
    /// True
    #[getter]
    fn joint_entropy(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        detached(py, u64::MAX, || bits::entropy(self.inner()))
    }
}

/// Refuse what the whole column would share, unless it is allowed.
fn check(py: Python<'_>, matrix: &Matrix, allow_shift: bool) -> PyResult<()> {
    let check = || match allow_shift {
        true => Ok(()),
        false => shared::check(matrix.inner()),
    };
    Ok(detached(py, u64::MAX, check)??)
}

fn moved<'py, T: Item + Element>(
    py: Python<'py>,
    matrix: &Matrix,
    values: &Bound<'py, PyArray1<T>>,
    out: &Bound<'py, PyArray1<T>>,
    secret: &Secret<'_>,
) -> PyResult<()> {
    let (values, mut out) = (values.readonly(), out.readwrite());
    let (x, out) = (values.as_slice()?, out.as_slice_mut()?);
    with_streams(py, matrix, secret, |matrix, streams| {
        numeric::permute(matrix, streams, x, out)
    })
}

/// The values, unsigned integers of any width without gaps, each moved to its place into ``out``.
#[pyfunction]
#[pyo3(signature = (matrix, values, out, allow_shift, key, stream))]
pub fn permute_into<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    values: &Bound<'py, PyAny>,
    out: &Bound<'py, PyAny>,
    allow_shift: bool,
    key: Option<&Bound<'py, PyAny>>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<()> {
    check(py, matrix, allow_shift)?;
    let secret = Secret::new(key, stream)?;
    let values = array("values", "be an array of unsigned integers", values)?;
    each!(values, values => moved(py, matrix, &values, out.cast()?, &secret))
}

/// Whose value comes to each place.
#[pyfunction]
#[pyo3(signature = (matrix, allow_shift, key, stream))]
pub fn origins<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    allow_shift: bool,
    key: Option<&Bound<'py, PyAny>>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    check(py, matrix, allow_shift)?;
    let secret = Secret::new(key, stream)?;
    Ok(with_streams(py, matrix, &secret, numeric::origins)?.into_pyarray(py))
}

/// ``order`` with each of the runs of equal values, from ``starts`` on and of ``lengths``, shuffled in itself.
#[pyfunction]
#[pyo3(signature = (matrix, order, starts, lengths, key, stream))]
pub fn shuffle_ties<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    order: PyReadonlyArray1<'py, i64>,
    starts: PyReadonlyArray1<'py, i64>,
    lengths: PyReadonlyArray1<'py, i64>,
    key: Option<&Bound<'py, PyAny>>,
    stream: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let secret = Secret::new(key, stream)?;
    let (x, starts, lengths) = (order.as_slice()?, starts.as_slice()?, lengths.as_slice()?);
    let digest = matrix.inner().digest();
    memory::written(py, "order", &[x.len() as u64], u64::MAX, |out| {
        let runs: Vec<Run> = starts
            .iter()
            .zip(lengths)
            .map(|(&start, &length)| Run {
                start: start as u64,
                class_size: length as u64,
                classes: 1,
            })
            .collect();
        out.copy_from_slice(x);
        let words = secret.keystream_at(Purpose::Ties, &[], digest);
        shuffle::some(&words, &runs, out);
    })
}
