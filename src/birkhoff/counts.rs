//! A matrix as integers with one line sum, row by row without its zeros: what is decomposed.

use crate::system::memory;

/// Largest size of a matrix that is decomposed entry by entry: columns fit 16 bits.
pub const MAX_SIZE: u64 = 1 << 16;

/// # Law
/// `values[i]` at `(u, columns[i])` for `i` in `starts[u]..starts[u + 1]`, columns increasing, values
/// positive, every line summing to `total`, which is below 2^63.
#[derive(Debug, PartialEq, Eq)]
pub struct Counts {
    /// Number of rows.
    pub size: usize,
    /// The line sum.
    pub total: u64,
    /// Where each row starts, and the end.
    pub starts: Vec<usize>,
    /// The column of each entry.
    pub columns: Vec<u16>,
    /// Each entry.
    pub values: Vec<u64>,
}

impl Clone for Counts {
    fn clone(&self) -> Self {
        Counts {
            size: self.size,
            total: self.total,
            starts: memory::copied(&self.starts),
            columns: memory::copied(&self.columns),
            values: memory::copied(&self.values),
        }
    }
}

impl Counts {
    /// From rows of `(column, value)`; zeros are left out.
    pub fn from_rows(
        size: usize,
        total: u64,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = (u16, u64)>>,
    ) -> Self {
        let mut counts = Counts {
            size,
            total,
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        };
        for row in rows {
            for (v, value) in row {
                if value > 0 {
                    memory::push(&mut counts.columns, v);
                    memory::push(&mut counts.values, value);
                }
            }
            memory::push(&mut counts.starts, counts.values.len());
        }
        counts
    }

    /// From all numbers row by row, none of them negative.
    pub fn from_dense(size: usize, total: u64, cells: &[i64]) -> Self {
        let rows = cells.chunks(size.max(1));
        let row = |row| (0..).zip(<[i64]>::iter(row)).map(|(v, &c)| (v, c as u64));
        Counts::from_rows(size, total, rows.map(row))
    }

    /// The place of `(u, v)`, an entry that is there.
    pub fn place(&self, u: usize, v: usize) -> usize {
        let start = self.starts[u];
        let columns = &self.columns[start..self.starts[u + 1]];
        if columns.len() == self.size {
            return start + v;
        }
        start + columns.partition_point(|&c| usize::from(c) < v)
    }

    /// `(u, v, value)` of every entry.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, u64)> + Clone {
        (0..self.size).flat_map(move |u| {
            (self.starts[u]..self.starts[u + 1])
                .map(move |i| (u, usize::from(self.columns[i]), self.values[i]))
        })
    }

    /// All numbers row by row, zeros included.
    pub fn to_dense(&self) -> Vec<i64> {
        let mut cells = memory::zeros(self.size * self.size);
        for (u, v, value) in self.entries() {
            cells[u * self.size + v] = value as i64;
        }
        cells
    }

    /// Rows and columns renamed: row `u` becomes `rows[u]`, column `v` becomes `columns[v]`.
    pub fn relabelled(&self, rows: &[u16], columns: &[u16]) -> Self {
        let mut lists: Vec<Vec<(u16, u64)>> = memory::filled(Vec::new(), self.size);
        for (u, v, value) in self.entries() {
            lists[usize::from(rows[u])].push((columns[v], value));
        }
        for list in &mut lists {
            list.sort_unstable();
        }
        Counts::from_rows(self.size, self.total, lists)
    }

    /// Leave out entries that have become zero.
    pub fn drop_zeros(&mut self) {
        let mut kept = 0;
        let mut start = 0;
        for u in 0..self.size {
            let end = self.starts[u + 1];
            for i in start..end {
                if self.values[i] > 0 {
                    self.values[kept] = self.values[i];
                    self.columns[kept] = self.columns[i];
                    kept += 1;
                }
            }
            start = end;
            self.starts[u + 1] = kept;
        }
        self.values.truncate(kept);
        self.columns.truncate(kept);
    }
}
