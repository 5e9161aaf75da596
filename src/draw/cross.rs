//! How often each combination of the codes of several columns occurs, as records or as sums of weights.
//!
//! The joint codes of a few thousand rows are put together in a buffer that stays close to the core, a column at a
//! time, and counted from there. The last column runs fastest. Rows are cut into bands by their number and by the
//! number of cells alone, and the bands are added up in order: sums of weights do not depend on threads.

use crate::draw::code::{Code, Given, each};
use crate::draw::word::Unsigned;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop;

/// Puts the codes behind those in `joint`; the largest of them.
fn join<C: Code>(codes: &[C], size: u32, joint: &mut [u32]) -> u64 {
    let mut most = C::default();
    for (joint, &code) in joint.iter_mut().zip(codes) {
        most = most.max(code);
        *joint = joint.wrapping_mul(size).wrapping_add(code.get() as u32);
    }
    most.get()
}

/// One column: its codes, and how many there are.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// The code of every row.
    pub codes: Given<'a>,
    /// They are below this.
    pub size: u32,
}

impl Column<'_> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        each!(self.codes, codes => codes.len())
    }
}

/// A table of records, and of the sums of weights and of their squares if there are weights.
#[derive(Debug, Default, PartialEq)]
pub struct Table {
    /// Records in each cell.
    pub records: Vec<u64>,
    /// The sums of their weights and of the squares of their weights; empty without weights.
    pub sums: [Vec<f64>; 2],
}

/// Rows whose joint codes are held at a time.
const HELD: usize = 1 << 11;

/// Least rows in a band, and most numbers in the tables of all bands.
const BAND: usize = 1 << 18;
const NUMBERS: usize = 1 << 24;

/// The table of all combinations, or the first column with a code out of range and the row.
///
/// All columns have as many rows, and as many as there are weights. The product of the sizes is `cells`, which is
/// below 2^32.
///
/// # Errors
/// The place of a column and of a row in it.
pub fn table(
    columns: &[Column<'_>],
    cells: usize,
    weights: Option<&[f64]>,
) -> Result<Table, (usize, usize)> {
    let rows = columns.first().map_or(0, |column| column.rows());
    // By the number of rows and cells alone.
    let each = cells.max(1) * if weights.is_some() { 3 } else { 1 };
    let most = (NUMBERS / each).clamp(1, 1 << 10);
    let height = rows.div_ceil(most).max(BAND).div_ceil(HELD) * HELD;
    let bands = rows.div_ceil(height).max(1);
    let weighed = if weights.is_some() { cells } else { 0 };
    let mut work: Vec<Band> = (0..bands)
        .map(|_| Band {
            table: Table {
                records: memory::zeros(cells),
                sums: [memory::zeros(weighed), memory::zeros(weighed)],
            },
            joint: memory::zeros(HELD),
            wrong: false,
        })
        .gather();
    pool::for_each_chunk(&mut work, 1, rows < 1 << 16, |i, band| {
        for band in band {
            let stop = rows.min((i + 1) * height);
            band.fill(columns, weights, i * height, stop);
        }
    });
    let mut bands = work.into_iter();
    let mut total = bands.next().unwrap_or_default();
    for band in bands {
        total.wrong |= band.wrong;
        for (a, b) in total.table.records.iter_mut().zip(&band.table.records) {
            *a += b;
        }
        for (sums, more) in total.table.sums.iter_mut().zip(&band.table.sums) {
            for (a, b) in sums.iter_mut().zip(more) {
                *a += b;
            }
        }
    }
    if total.wrong {
        return Err(first_wrong(columns, rows));
    }
    Ok(total.table)
}

#[derive(Debug, Default)]
struct Band {
    table: Table,
    joint: Vec<u32>,
    wrong: bool,
}

impl Band {
    fn fill(&mut self, columns: &[Column<'_>], weights: Option<&[f64]>, from: usize, to: usize) {
        let mut start = from;
        while start < to {
            if (start - from).is_multiple_of(BAND) {
                stop::point();
            }
            let n = HELD.min(to - start);
            let joint = &mut self.joint[..n];
            joint.fill(0);
            for column in columns {
                let most = each!(column.codes, codes => {
                    join(&codes[start..start + n], column.size, joint)
                });
                self.wrong |= most >= u64::from(column.size);
            }
            if self.wrong {
                return;
            }
            let Table {
                records,
                sums: [sums, squares],
            } = &mut self.table;
            let cells = joint.iter().map(|&cell| cell as usize);
            match weights {
                None => cells.for_each(|cell| records[cell] += 1),
                Some(weights) => {
                    for (cell, &w) in cells.zip(&weights[start..start + n]) {
                        records[cell] += 1;
                        sums[cell] += w;
                        squares[cell] += w * w;
                    }
                }
            }
            start += n;
        }
    }
}

fn first_wrong(columns: &[Column<'_>], rows: usize) -> (usize, usize) {
    for (k, column) in columns.iter().enumerate() {
        let wrong = each!(column.codes, codes => {
            codes[..rows].iter().position(|code| code.get() >= column.size.into())
        });
        if let Some(row) = wrong {
            return (k, row);
        }
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_is_counted_together() {
        let n = 3 * BAND + 17;
        let a: Vec<u8> = (0..n).map(|i| (i * i % 3) as u8).collect();
        let b: Vec<u16> = (0..n).map(|i| (i / 7 % 5) as u16).collect();
        let c: Vec<u32> = (0..n).map(|i| (i % 2) as u32).collect();
        let d: Vec<u64> = (0..n).map(|i| (i % 11) as u64).collect();
        let w: Vec<f64> = (0..n).map(|i| (i % 13) as f64 / 4.0).collect();
        let columns = [
            (Given::One(&a), 3),
            (Given::Two(&b), 5),
            (Given::Four(&c), 2),
            (Given::Eight(&d), 11),
        ]
        .map(|(codes, size)| Column { codes, size });
        let (mut records, mut sums, mut squares) = (vec![0; 330], vec![0.0; 330], vec![0.0; 330]);
        for i in 0..n {
            let cell =
                ((a[i] as usize * 5 + b[i] as usize) * 2 + c[i] as usize) * 11 + d[i] as usize;
            records[cell] += 1;
            // Quarters add up exactly.
            sums[cell] += w[i];
            squares[cell] += w[i] * w[i];
        }
        let plain = table(&columns, 330, None).unwrap();
        assert_eq!((plain.records, plain.sums[0].len()), (records.clone(), 0));
        let weighed = table(&columns, 330, Some(&w)).unwrap();
        assert_eq!(
            weighed,
            Table {
                records,
                sums: [sums, squares]
            }
        );
    }

    #[test]
    fn a_code_out_of_range_is_found() {
        let a = [0u8, 1, 2];
        let b = [0u64, 1 << 32, 1];
        let columns = [
            (Given::One(&a), 3),
            (Given::Eight(&b), 2),
            (Given::One(&a), 2),
        ];
        let columns = columns.map(|(codes, size)| Column { codes, size });
        assert_eq!(table(&columns[..2], 6, None), Err((1, 1)));
        assert_eq!(table(&columns[2..], 2, Some(&[1.0; 3])), Err((0, 2)));
    }
}
