//! Permutations and terms at random.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::Decomposition;
use crate::birkhoff::draw::Drawer;
use crate::birkhoff::sample::{self, Words};
use crate::draw::derive::Purpose;
use crate::error::Error;
use crate::py::convert::whole;
use crate::py::law::Matrix;
use crate::py::memory;
use crate::py::secret::Secret;
use crate::py::work::detached;
use crate::system::stop;

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

/// One permutation of a matrix, drawn entry by entry from the words of ``stream``: what tests count.
#[pyfunction]
pub fn _sample_permutation<'py>(
    py: Python<'py>,
    matrix: &Matrix,
    stream: &Bound<'py, PyBytes>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let drawn = with_words(stream, |words| sample::by_entries(matrix.inner(), words))??;
    let drawn: Vec<i64> = drawn.into_iter().map(i64::from).collect();
    Ok(drawn.into_pyarray(py))
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
