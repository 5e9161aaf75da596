//! Permutations and terms at random.

use pyo3::prelude::*;

use super::Decomposition;
use crate::birkhoff::draw::Drawer;
use crate::birkhoff::sample::Words;
use crate::draw::derive::Purpose;
use crate::py::convert::whole;
use crate::py::memory;
use crate::py::secret::Secret;
use crate::system::stop;

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
    ) -> PyResult<Bound<'py, PyAny>> {
        let n = whole("n", n, 0, 1 << 40)?;
        let size = self.size();
        let secret = Secret::new(key, stream, true, "stream")?;
        // The matrix and the options decide the terms, so that other terms have other words.
        let digest = self.inner.matrix.digest();
        let keystream = secret.keystream(Purpose::Terms, &self.options, digest);
        let drawer = Drawer::new(&self.inner)?;
        memory::written(py, "sample", &[n, size], u64::MAX, |out| {
            let mut words = Words::new(keystream.words());
            for row in out.chunks_mut(size as usize) {
                stop::point();
                self.inner.fill(drawer.draw(&mut words), row);
            }
        })
    }
}
