//! Permutations and terms at random.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::Decomposition;
use crate::birkhoff::bits;
use crate::birkhoff::draw::Drawer;
use crate::birkhoff::sample::{self, Words};
use crate::draw::derive::Purpose;
use crate::error::Error;
use crate::py::convert::whole;
use crate::py::matrix::Matrix;
use crate::py::memory;
use crate::py::secret::Secret;
use crate::py::work::detached;
use crate::system::{self, stop};

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
        return Err(Error::value("stream", "hold enough words", "too few").into());
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
    /// It moves a whole column at once. It does not replace :meth:`randomize`, which draws for every record on its
    /// own. With a ``key``, ``stream`` names what it is for.
    ///
    /// * Blocks and the like are shuffled class by class, at any size.
    /// * A :func:`kron` is drawn axis by axis, ``a @ b`` one after the other, a :func:`mix` by one of its parts.
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
        let secret = Secret::new(key, stream, true, "stream")?;
        let keystream = secret.keystream(Purpose::Permutation, &[], self.inner().digest());
        let drawn = detached(py, u64::MAX, || {
            let mut words = Words::new(keystream.words());
            let drawn = sample::of_matrix(self.inner(), &mut words)?;
            Ok::<_, Error>(system::memory::collected(drawn.into_iter().map(i64::from)))
        })??;
        Ok(drawn.into_pyarray(py))
    }

    /// Bits of the permutation that :meth:`sample_permutation` draws, as a whole. Never above the true number.
    ///
    /// This is all that a column hides behind one permutation, however long the column is. Compare it with ``n``
    /// records that are randomized one by one, which hide ``n * entropy_rate`` bits. None if no permutation can
    /// be drawn.
    ///
    /// ==========================================  =================================================
    /// matrix                                      bits
    /// ==========================================  =================================================
    /// blocks, k-anonymity, uniform                exactly log2 of the product of the factorials of
    ///                                             the class sizes
    /// :func:`kron`                                the sum over its factors
    /// :func:`mix` of permutations                 exactly the entropy of its weights
    /// :func:`mix` of other matrices               at least the mean of its parts
    /// ``a @ b``                                   at least the larger of the two
    /// all others                                  at least the bits of the row with the most; exact
    ///                                             for T-transforms and two categories
    /// ==========================================  =================================================
    ///
    /// >>> bs.blocks([2, 2]).joint_entropy, bs.identity(9).joint_entropy
    /// (2.0, 0.0)
    /// >>> coin = bs.mix([bs.identity(4), bs.permutation([1, 2, 3, 0])], weights=[0.5, 0.5])
    /// >>> coin.joint_entropy
    /// 1.0
    /// >>> bs.kron(coin, bs.blocks([2, 2])).joint_entropy
    /// 3.0
    #[getter]
    fn joint_entropy(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        detached(py, u64::MAX, || bits::entropy(self.inner()))
    }
}

#[pymethods]
impl Decomposition {
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
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let n = whole("n", n, 0, 1 << 40)?;
        let size = self.size();
        let secret = Secret::new(key, stream, true, "stream")?;
        // The matrix and the options decide the terms, so that other terms have other words.
        let digest = self.inner.matrix.digest();
        let keystream = secret.keystream(Purpose::Terms, &self.options, digest);
        let drawer = Drawer::new(&self.inner)?;
        let array = memory::empty(py, "sample", &[n, size], "int64")?;
        let array = array.cast_into::<PyArray2<i64>>()?;
        {
            let mut out = array.readwrite();
            let out = out.as_slice_mut()?;
            detached(py, u64::MAX, || {
                let mut words = Words::new(keystream.words());
                for row in out.chunks_mut(size as usize) {
                    stop::point();
                    self.inner.fill(drawer.draw(&mut words), row);
                }
            })?;
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
