//! A column drawn by position or by ids.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use super::column::Column;
use crate::draw::code::{Width, typed};
use crate::draw::randomize::{Addresses, randomize, refuse};
use crate::law::Matrix;
use crate::py::ids::HeldIds;
use crate::py::secret::Secret;
use crate::py::work::{DETACH_FROM, detached};

/// Records of a batch if their ids are Python objects, which are read batch by batch.
const OBJECTS: usize = 1 << 16;

/// A column under a matrix and a key.
pub struct Draws<'a, 'py> {
    pub matrix: &'a Matrix,
    pub secret: &'a Secret<'a>,
    pub column: Column<'py>,
    pub threads: usize,
}

impl<'py> Draws<'_, 'py> {
    /// Draw for consecutive rows from this one on.
    pub fn by_rows(self, py: Python<'py>, row: u64) -> PyResult<Bound<'py, PyAny>> {
        self.draw(py, 0, self.column.len, Addresses::Rows(row))?;
        self.column.finish()
    }

    /// Draw by ids, one per record.
    pub fn by_ids(self, py: Python<'py>, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let n = self.column.len;
        let held = HeldIds::new(ids)?.check(n)?;
        let batch = match held {
            HeldIds::Listed(_) => OBJECTS,
            _ => n.max(1),
        };
        // Once at least, as the matrix is looked at there.
        for start in (0..n.max(1)).step_by(batch) {
            let end = n.min(start + batch);
            let read = held.read(start, end)?;
            self.draw(py, start, end, Addresses::Ids(read.ids()))?;
        }
        self.column.finish()
    }

    /// Draw for the records `start..end`.
    fn draw(
        &self,
        py: Python<'_>,
        start: usize,
        end: usize,
        addresses: Addresses<'_>,
    ) -> PyResult<()> {
        // Tables are built and hashed once per matrix, which may take a while.
        let (matrix, size) = (self.matrix, self.matrix.family.size());
        let tables = size.saturating_mul(size).max(DETACH_FROM);
        let draws = detached(py, tables, || {
            matrix.digest();
            matrix.sampler().draws()
        })?;
        let numbers = ((end - start) as u64).saturating_mul(draws);
        let (key, labels, threads) = (self.secret.key(), &self.secret.labels, self.threads);
        let done = typed!(Width::of_bytes(self.column.bytes), T => {
            let codes = self.column.codes.as_ref().map(|codes| codes.cast::<PyArray1<T>>());
            let codes = codes.transpose()?.map(|codes| codes.readonly());
            let codes = codes.as_ref().map(|codes| codes.as_slice()).transpose()?;
            let codes = codes.map(|codes| &codes[start..end]);
            let mut out = self.column.out.cast::<PyArray1<T>>()?.readwrite();
            let out = &mut out.as_slice_mut()?[start..end];
            detached(py, numbers, || {
                randomize(matrix, key, labels, codes, out, addresses, threads)
            })?
        });
        Ok(done.map_err(|refused| refuse(refused, start, matrix.truths()))?)
    }
}
