//! Texts of polars as codes, for tables of plans.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use super::widths::written;
use super::work::{detached, guarded};
use crate::draw::code::each;
use crate::draw::texts;
use crate::error::Error;
use crate::system::pool;

/// The strings of a column, in the order of their codes.
#[pyclass(frozen, module = "bistochastic._core")]
pub struct Texts {
    inner: texts::Texts,
}

#[pymethods]
impl Texts {
    #[new]
    fn new(texts: Vec<String>) -> PyResult<Self> {
        guarded(|| Texts {
            inner: texts::Texts::new(texts.into_iter().map(String::into_bytes).collect()),
        })
    }

    /// The codes of views, two words each, into ``buffers``, 0 where missing; `None` if one is none of these.
    ///
    /// >>> views = np.frombuffer(b"\3\0\0\0yes".ljust(16, b"\0"), "uint64")
    /// >>> bs._core.Texts(["no", "yes"]).codes_of_views(views, [], None, "uint8")
    /// array([1], dtype=uint8)
    fn codes_of_views<'py>(
        &self,
        py: Python<'py>,
        views: PyReadonlyArray1<'py, u64>,
        buffers: Vec<PyReadonlyArray1<'py, u8>>,
        missing: Option<PyReadonlyArray1<'py, bool>>,
        dtype: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let views = views.as_slice()?;
        let rows = views.len() / 2;
        let views = &views[..2 * rows];
        let buffers: Result<Vec<&[u8]>, _> = buffers.iter().map(|held| held.as_slice()).collect();
        let buffers = buffers?;
        let missing = missing.as_ref().map(|array| array.as_slice()).transpose()?;
        if let Some(told) = missing.map(<[bool]>::len).filter(|&told| told != rows) {
            let must = format!("say it of each of {rows} values");
            return Err(Error::value("missing", must, told).into());
        }
        let (out, room) = written(py, rows, dtype)?;
        let threads = pool::threads();
        let good = each!(room, mut room => {
            let room = room.as_slice_mut()?;
            detached(py, rows as u64, || {
                self.inner.read_views(views, &buffers, missing, room, threads)
            })?
        });
        Ok(good.then_some(out))
    }
}
