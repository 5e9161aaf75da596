//! A matrix as integers with one line sum, row by row without its zeros: what is decomposed.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::parameters::Value;
use crate::law::{self, Law, Matrix};
use crate::number::lattice;
use crate::system::memory::{self, Gather};
use crate::system::pool;

/// Largest size of a matrix that is decomposed entry by entry: columns fit 16 bits.
pub const MAX_SIZE: u64 = 1 << 16;

/// Numbers below which one thread is as fast.
const SMALL: usize = 1 << 16;

/// Most bands of rows.
const BANDS: usize = 64;

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
        let (mut starts, small) = (memory::zeros(size + 1), cells.len() < SMALL);
        pool::for_each_chunk(&mut starts[1..], 1, small, |u, end| {
            let row = &cells[u * size..][..size];
            end[0] = row.iter().filter(|&&c| c > 0).count();
        });
        for u in 0..size {
            starts[u + 1] += starts[u];
        }
        let (mut columns, mut values) = (memory::zeros(starts[size]), memory::zeros(starts[size]));
        let (mut left, mut rows) = (
            (&mut columns[..], &mut values[..]),
            Vec::with_capacity(size),
        );
        for ends in starts.windows(2) {
            let (columns, further) = left.0.split_at_mut(ends[1] - ends[0]);
            let (values, more) = left.1.split_at_mut(ends[1] - ends[0]);
            rows.push((columns, values));
            left = (further, more);
        }
        type Place<'a> = (&'a mut u16, &'a mut u64);
        let set = |(to, (v, &c)): (Place<'_>, (u16, &i64))| (*to.0, *to.1) = (v, c as u64);
        pool::for_each_chunk(&mut rows, 1, small, |u, row| {
            let (columns, values) = &mut row[0];
            let cells = (0..).zip(&cells[u * size..][..size]);
            let places = columns.iter_mut().zip(&mut **values);
            // Rows without a zero are most of them, and need no question.
            match places.len() == size {
                true => places.zip(cells).for_each(set),
                false => places.zip(cells.filter(|(_, c)| **c > 0)).for_each(set),
            }
        });
        Counts {
            size,
            total,
            starts,
            columns,
            values,
        }
    }

    /// Rows that a thread takes at a time.
    pub fn bands(&self) -> Vec<Range<usize>> {
        let rows = self.size.div_ceil(BANDS).max(SMALL / self.size.max(1));
        let starts = (0..self.size).step_by(rows);
        starts.map(|u| u..self.size.min(u + rows)).collect()
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
        self.entries_of(0..self.size)
    }

    /// Those of some rows.
    pub fn entries_of(
        &self,
        rows: Range<usize>,
    ) -> impl Iterator<Item = (usize, usize, u64)> + Clone {
        rows.flat_map(move |u| {
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

/// The counts of a matrix.
///
/// # Errors
/// A size or a total that is too large.
pub fn of(matrix: &Matrix) -> Result<Counts> {
    let (size, name) = (matrix.size(), matrix.name());
    if size > MAX_SIZE {
        let must = format!("be at most {MAX_SIZE} to decompose a {name} entry by entry");
        return Err(Error::value("size", must, size));
    }
    let size = size as usize;
    if let Law::Dense { counts, total, .. } = matrix.law() {
        return Ok(Counts::from_dense(size, *total, counts));
    }
    let needed = || {
        let must = "have a common denominator below 2^63";
        Error::value("matrix", must, format!("a {name} without one"))
    };
    let total = matrix.total().ok_or_else(needed)?;
    if total < 1 << 63 {
        let rows = rows(matrix, size, |c| c as u64).ok_or_else(needed)?;
        return Ok(Counts::from_rows(size, total as u64, rows));
    }
    let rows = rows(matrix, size, |c| c).ok_or_else(needed)?;
    let all = rows.iter().flatten();
    let shared = all.fold(
        total,
        |g, &(_, c)| {
            if g == 1 { 1 } else { lattice::gcd(g, c) }
        },
    );
    if total / shared >= 1 << 63 {
        return Err(needed());
    }
    let row = |row: Vec<(u16, u128)>| row.into_iter().map(|(v, c)| (v, (c / shared) as u64));
    let rows = rows.into_iter().map(row);
    Ok(Counts::from_rows(size, (total / shared) as u64, rows))
}

/// The dense matrix of some counts.
pub fn dense(counts: &Counts) -> Result<Matrix> {
    let cells: Arc<[i64]> = memory::shared(counts.to_dense());
    let table = Value::Table(counts.size, counts.size, Box::new(Value::Wholes(cells)));
    let given = [("counts", table), ("total", counts.total.into())];
    law::build("dense", given.map(|(n, v)| (n.to_owned(), v)).into())
}

/// The positive entries of every row, as counts out of `total`.
fn rows<T: Send>(
    matrix: &Matrix,
    size: usize,
    number: impl Fn(u128) -> T + Sync + Send,
) -> Option<Vec<Vec<(u16, T)>>> {
    pool::map(size, size < 128, |u| {
        let row = matrix.row::<u128>(u as u64)?;
        let entries = row.into_iter().enumerate().filter(|(_, c)| *c > 0);
        Some(entries.map(|(v, c)| (v as u16, number(c))).gather())
    })
    .into_iter()
    .collect::<Option<Vec<_>>>()
}
