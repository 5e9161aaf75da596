//! `Matrix.randomize` and `Matrix.respond`: check, detach, draw, hand back.

use pyo3::prelude::*;
use pyo3::types::PyInt;

use super::convert::{self, type_name, whole};
use super::ids::one_id;
use super::law::Matrix;
use super::scalar::{Scalar, scalar};
use super::secret::{Secret, missing};
use super::work::detached;
use crate::draw::randomize::Addresses;
use crate::draw::respond::{keyed, with_words};
use crate::error::Error;
use crate::system::pool;

mod draws;

pub use draws::{Column, Draws};

/// Rows are counted below this.
const ROWS: u64 = 1 << 62;

#[pymethods]
impl Matrix {
    /// Draw a report for every true code, from the exact law of its row.
    ///
    /// ``codes`` are integers of any width, or bool, from 0 to ``size - 1``. They may come as an array of any
    /// shape, a list, or anything that NumPy reads as one. Missing values are refused. The result is an array of
    /// the same dtype and shape.
    ///
    /// Without a ``key`` the random words come from the operating system and are forgotten. With a key the same
    /// call gives the same reports again, for any number of threads. **Anyone with the key can undo the
    /// release.** A key needs
    ///
    /// * ``stream``, a name for this use of the key: take the name of the column, and never one name for two
    ///   columns, and
    /// * either ``start``, the row number of the first record, so that a column may come in pieces,
    /// * or ``ids``, one integer, text or bytes per record. The same person with the same value then gets the
    ///   same report in every file and wave, and an independent one as soon as the value changes.
    ///
    /// Never randomize two versions of a column under the same key, stream and rows: comparing the two releases
    /// reveals how the originals differ. With ``start``, put the wave into the name of the stream. With ``ids``,
    /// never do: everyone would get new noise in every wave, which averages away.
    ///
    /// For circulant, randomized response, reflected, geometric, uniform and T-transform matrices neither branches
    /// nor memory addresses depend on the true value. For the others they do.
    ///
    /// ``out`` is an array to write to, of the shape and dtype of ``codes``; it is returned. ``threads`` is the most
    /// threads to use. The default is all of them, or ``BISTOCHASTIC_THREADS``. No other thread may change the
    /// arrays meanwhile.
    ///
    /// Text ids must not end in U+0000. NumPy drops zeros at the end of fixed-width items. So text (dtype ``U``)
    /// is read as NumPy shows it, and bytes (dtype ``S``) are refused if one is shorter than the width: pass a
    /// list or an object array.
    ///
    /// >>> import numpy as np
    /// >>> m = bs.randomized_response(4, beta=0.6)
    /// >>> codes = np.array([0, 1, 2, 3, 3, 3], dtype=np.uint8)
    /// >>> reports = m.randomize(codes)
    /// >>> reports.dtype, reports.shape
    /// (dtype('uint8'), (6,))
    /// >>> key = bs.Key.insecure(1)          # for examples; Key.generate() for releases
    /// >>> m.randomize(codes, key=key, stream="class", start=0)
    /// array([0, 1, 2, 3, 1, 2], dtype=uint8)
    /// >>> m.randomize(codes[4:], key=key, stream="class", start=4)
    /// array([1, 2], dtype=uint8)
    /// >>> m.randomize([0, 4])
    /// Traceback (most recent call last):
    ///     ...
    /// bistochastic.errors.Refused: `codes` must hold integers from 0 to 3; got one outside at position 1
    #[pyo3(signature = (codes, *, key=None, stream=None, start=None, ids=None, out=None, threads=None))]
    #[allow(clippy::too_many_arguments)]
    fn randomize<'py>(
        &self,
        py: Python<'py>,
        codes: &Bound<'py, PyAny>,
        key: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
        start: Option<&Bound<'py, PyAny>>,
        ids: Option<&Bound<'py, PyAny>>,
        out: Option<Bound<'py, PyAny>>,
        threads: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let matrix = self.inner();
        if ids.is_some() && start.is_some() {
            let must = "be left out where ids address the records";
            return Err(Error::value("start", must, "both").into());
        }
        if ids.is_some() && key.is_none() {
            return Err(Error::value("key", "be given with ids", "none").into());
        }
        let threads = match threads {
            Some(threads) => whole("threads", threads, 1, pool::MOST as u64)? as usize,
            None => pool::threads(),
        };
        let row = start
            .map(|start| whole("start", start, 0, ROWS))
            .transpose()?;
        let secret = Secret::new(key, stream)?;
        if key.is_some() && row.is_none() && ids.is_none() {
            let must = "be given with a key, for one release, whose stream names the column and the wave; or ids, for \
                        people who come again, whose stream names only the column";
            return Err(Error::value("start", must, "none of both").into());
        }
        let draws = Draws {
            matrix,
            secret: &secret,
            column: Column::new(codes, matrix.size(), out)?,
            threads,
        };
        match ids {
            Some(ids) => draws.by_ids(py, ids),
            None => draws.draw(py, Addresses::Rows(row.unwrap_or(0))),
        }
    }

    /// One report, for a client that has one value.
    ///
    /// With a key, ``stream`` and ``id`` it is the report of ``randomize([code], ids=[id])``: asked again, the same
    /// person gives the same report. Without a key it is a fresh draw. Its random words come from a buffer that
    /// threads can share safely, that a forked child does not inherit, and that erases what was used. An empty ``id`` is
    /// drawn like any other, and tools refuse it.
    ///
    /// >>> m = bs.randomized_response(4, beta=0.6)
    /// >>> m.respond(2) in range(4)
    /// True
    /// >>> key = bs.Key.insecure(1)
    /// >>> m.respond(2, key=key, stream="class", id="person 7")
    /// 2
    /// >>> int(m.randomize([2], key=key, stream="class", ids=["person 7"])[0])
    /// 2
    #[pyo3(signature = (code, *, key=None, stream=None, id=None))]
    fn respond(
        &self,
        code: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
        id: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let matrix = self.inner();
        let u = one_code(code, matrix.truths())?;
        if !matrix.has_sampler() {
            // Tables take long once, and others need not wait for them.
            detached(code.py(), u64::MAX, || {
                matrix.sampler();
            })?;
        }
        if key.is_none() {
            if id.is_some() {
                return Err(Error::value("key", "be given with an id", "none").into());
            }
            let sampler = matrix.sampler();
            return Ok(with_words(|words| sampler.respond(u, words))?);
        }
        let secret = Secret::new(key, stream)?;
        let Some(id) = id else {
            return Err(missing("id"));
        };
        let id = one_id("id", id, None)?;
        Ok(keyed(matrix, secret.key(), &secret.labels, u, id)?)
    }
}

/// A true code, never quoted.
fn one_code(code: &Bound<'_, PyAny>, size: u64) -> PyResult<u64> {
    if let Ok(plain) = code.cast_exact::<PyInt>()
        && let Ok(u) = plain.extract::<u64>()
        && u < size
    {
        return Ok(u);
    }
    let must = format!("be an integer from 0 to {}", size - 1);
    match scalar(code)? {
        Scalar::Whole(n) if (0..size.into()).contains(&n) => Ok(n as u64),
        Scalar::Whole(_) | Scalar::Beyond => {
            Err(Error::value("code", must, "a number outside").into())
        }
        _ => match convert::flag("code", code) {
            Ok(flag) if size == 2 => Ok(flag.into()),
            _ => Err(Error::type_("code", must, type_name(code)).into()),
        },
    }
}
