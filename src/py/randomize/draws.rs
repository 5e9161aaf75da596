//! A column drawn by position or by ids.

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use super::column::Column;
use crate::draw::code::{Width, typed};
use crate::draw::randomize::{Address, IdKeys, Keys, Randomizer, RowKeys, Rows, refuse};
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
        let randomizer = self.derive::<RowKeys>(py)?;
        self.draw(py, &randomizer, 0, self.column.len, Rows(row))?;
        self.column.finish()
    }

    /// Draw by ids, one per record.
    pub fn by_ids(self, py: Python<'py>, ids: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let n = self.column.len;
        let held = HeldIds::new(ids)?.check(n)?;
        let randomizer = self.derive::<IdKeys>(py)?;
        let batch = match held {
            HeldIds::Listed(_) => OBJECTS,
            _ => n.max(1),
        };
        for start in (0..n).step_by(batch) {
            let end = n.min(start + batch);
            let read = held.read(start, end)?;
            self.draw(py, &randomizer, start, end, read.ids())?;
        }
        self.column.finish()
    }

    /// The keys of all draws, for one kind of address.
    fn derive<K: Keys>(&self, py: Python<'_>) -> PyResult<Randomizer<'_, K>> {
        // Tables are built and hashed once per matrix, which may take a while.
        let size = self.matrix.family.size();
        let tables = size.saturating_mul(size).max(DETACH_FROM);
        let (key, labels) = (self.secret.key(), &self.secret.labels);
        Ok(detached(py, tables, || {
            Randomizer::new(self.matrix, key, labels)
        })??)
    }

    /// Draw for the records `start..end`.
    fn draw<A: Address>(
        &self,
        py: Python<'_>,
        randomizer: &Randomizer<'_, A::Keys>,
        start: usize,
        end: usize,
        addresses: A,
    ) -> PyResult<()> {
        let numbers = ((end - start) as u64).saturating_mul(self.matrix.sampler().draws());
        let done = typed!(Width::of_bytes(self.column.bytes), T => {
            let codes = self.column.codes.as_ref().map(|codes| codes.cast::<PyArray1<T>>());
            let codes = codes.transpose()?.map(|codes| codes.readonly());
            let codes = codes.as_ref().map(|codes| codes.as_slice()).transpose()?;
            let codes = codes.map(|codes| &codes[start..end]);
            let mut out = self.column.out.cast::<PyArray1<T>>()?.readwrite();
            let out = &mut out.as_slice_mut()?[start..end];
            let threads = self.threads;
            detached(py, numbers, || randomizer.run(codes, out, addresses, threads))?
        });
        let size = self.matrix.truths();
        Ok(done.map_err(|refused| refuse(refused, start, size))?)
    }
}
