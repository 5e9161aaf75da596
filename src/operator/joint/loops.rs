//! The inner loops along one axis of a table.

use super::{Room, WIDTH};
use crate::system::processor::for_avx2;

for_avx2! {
    /// The transpose of a table with `columns` columns.
    pub fn turn(from: &[f64], columns: usize, to: &mut [f64]) {
        let rows = from.len() / columns;
        if columns == 1 || rows == 1 {
            return to.copy_from_slice(from);
        }
        // Eight rows at a time, so that whole lines of cache are written.
        for start in (0..rows).step_by(8) {
            let height = 8.min(rows - start);
            let from = &from[start * columns..(start + height) * columns];
            for (column, to) in to.chunks_mut(rows).enumerate() {
                for (to, from) in to[start..start + height]
                    .iter_mut()
                    .zip(from[column..].iter().step_by(columns))
                {
                    *to = *from;
                }
            }
        }
    }

    /// `own x + all sum(x)` along an axis of `size` that holds `inner` columns.
    pub fn shift(part: &mut [f64], size: usize, inner: usize, own: f64, all: f64, sums: &mut [f64]) {
        match (size, inner) {
            (2, 1) if part.len().is_multiple_of(4) => {
                for four in part.as_chunks_mut::<4>().0 {
                    let [w, x, y, z] = *four;
                    let sums = [w + x, w + x, y + z, y + z];
                    *four = std::array::from_fn(|i| own * four[i] + all * sums[i]);
                }
            }
            (2, 2) => {
                for four in part.as_chunks_mut::<4>().0 {
                    let [w, x, y, z] = *four;
                    let sums = [w + y, x + z, w + y, x + z];
                    *four = std::array::from_fn(|i| own * four[i] + all * sums[i]);
                }
            }
            (_, 2) => shift_rows(part.as_chunks_mut::<2>().0, size, own, all),
            (_, 4) => shift_rows(part.as_chunks_mut::<4>().0, size, own, all),
            (_, 1) => {
                for row in part.chunks_mut(size) {
                    let lies = all * row.iter().sum::<f64>();
                    row.iter_mut().for_each(|x| *x = own * *x + lies);
                }
            }
            _ => {
                let sums = &mut sums[..inner];
                for rows in part.chunks_mut(size * inner) {
                    sums.fill(0.0);
                    for row in rows.chunks(inner) {
                        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
                    }
                    sums.iter_mut().for_each(|sum| *sum *= all);
                    for row in rows.chunks_mut(inner) {
                        row.iter_mut()
                            .zip(&*sums)
                            .for_each(|(x, lies)| *x = own * *x + lies);
                    }
                }
            }
        }
    }

    /// Each column of `size` numbers as a row vector times `table`.
    pub fn multiply(part: &mut [f64], size: usize, inner: usize, table: &[f64], room: &mut Room) {
        if inner == 1 {
            let sums = &mut room.other[..size];
            for row in part.chunks_mut(size) {
                sums.fill(0.0);
                for (x, entries) in row.iter().zip(table.chunks(size)) {
                    sums.iter_mut().zip(entries).for_each(|(s, p)| *s += x * p);
                }
                row.copy_from_slice(sums);
            }
            return;
        }
        for rows in part.chunks_mut(size * inner) {
            for start in (0..inner).step_by(WIDTH) {
                let width = WIDTH.min(inner - start);
                let strip = &mut room.one[..size * width];
                for (copy, row) in strip.chunks_mut(width).zip(rows.chunks(inner)) {
                    copy.copy_from_slice(&row[start..start + width]);
                }
                let sums = &mut room.other[..width];
                for (v, row) in rows.chunks_mut(inner).enumerate() {
                    sums.fill(0.0);
                    for (copy, entries) in strip.chunks(width).zip(table.chunks(size)) {
                        let p = entries[v];
                        sums.iter_mut().zip(copy).for_each(|(s, x)| *s += x * p);
                    }
                    row[start..start + width].copy_from_slice(sums);
                }
            }
        }
    }
}

/// The same if a row is a few numbers that a core holds at once.
#[inline(always)]
fn shift_rows<const W: usize>(part: &mut [[f64; W]], size: usize, own: f64, all: f64) {
    for rows in part.chunks_mut(size) {
        let mut sums = [0.0; W];
        for row in &*rows {
            sums = std::array::from_fn(|i| sums[i] + row[i]);
        }
        for row in rows {
            *row = std::array::from_fn(|i| own * row[i] + all * sums[i]);
        }
    }
}
