//! Tables in C order times `own I + all J` along each axis: a joint domain of independent randomized responses.
//!
//! A part of the table that fits in a core's own cache goes through all of its axes at once, so that the table travels
//! through memory once for them, not once per axis.

use crate::system::pool;
use crate::system::processor::for_avx2;
use crate::system::stop::Paced;

/// An axis whose lines keep their sums: what sums to 0 is multiplied by `own`.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    /// Cells of a line.
    pub size: usize,
    /// What is left of the difference of two cells.
    pub own: f64,
}

/// Cells that go through several axes at once.
const PART: usize = 1 << 14;

/// Columns whose sums are added up at once.
const STRIP: usize = 64;

/// Write `tables` to `out`, multiplied along every axis. Each table has as many cells as the sizes of the axes multiply to.
pub fn multiply(tables: &[f64], axes: &[Axis], out: &mut [f64]) {
    let (mut outer, mut cells) = (axes.len(), 1);
    while outer > 0 && cells * axes[outer - 1].size <= PART {
        outer -= 1;
        cells *= axes[outer].size;
    }
    let small = out.len() < 2 * PART;
    let part = cells * (PART / cells);
    pool::for_each_chunk(out, part, small, |i, out| {
        out.copy_from_slice(&tables[i * part..][..out.len()]);
        let mut after = 1;
        for axis in axes[outer..].iter().rev() {
            along(out, *axis, after);
            after *= axis.size;
        }
    });
    for axis in axes[..outer].iter().rev() {
        let lines = axis.size * cells;
        pool::for_each_chunk(out, lines, small, |_, out| along(out, *axis, cells));
        cells *= axis.size;
    }
}

/// Multiply along one axis, whose next cell is `after` cells on.
fn along(table: &mut [f64], axis: Axis, after: usize) {
    match after {
        1 => near::<1>(table, axis),
        2 => near::<2>(table, axis),
        4 => near::<4>(table, axis),
        _ => far(table, axis, after),
    }
}

/// `(1 - own) / size`, so that lines keep their sums.
fn all(axis: Axis) -> f64 {
    (1.0 - axis.own) / axis.size as f64
}

fn near<const AFTER: usize>(table: &mut [f64], axis: Axis) {
    let all = all(axis);
    for block in table.chunks_exact_mut(axis.size * AFTER).paced() {
        let mut sums = [0.0; AFTER];
        for row in block.chunks_exact(AFTER) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        for row in block.chunks_exact_mut(AFTER) {
            let both = row.iter_mut().zip(&sums);
            both.for_each(|(x, sum)| *x = axis.own * *x + all * sum);
        }
    }
}

for_avx2! {
    fn far(table: &mut [f64], axis: Axis, after: usize) {
        let all = all(axis);
        for block in table.chunks_exact_mut(axis.size * after) {
            for start in (0..after).step_by(STRIP).paced() {
                let width = STRIP.min(after - start);
                let mut sums = [0.0; STRIP];
                for row in block.chunks_exact(after) {
                    let both = sums.iter_mut().zip(&row[start..start + width]);
                    both.for_each(|(sum, x)| *sum += x);
                }
                for row in block.chunks_exact_mut(after) {
                    let both = row[start..start + width].iter_mut().zip(&sums);
                    both.for_each(|(x, sum)| *x = axis.own * *x + all * sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with one cell spreads over the product of the rows, whatever fits in a part.
    #[test]
    fn each_axis_is_multiplied() {
        for sizes in [
            &[3, 4, 2, 7][..],
            &[5],
            &[7, 1, 5, 4, 3, 2],
            &[2, 20_000],
            &[3; 10],
        ] {
            let own = |size: usize| 1.5 / size as f64;
            let axes = sizes.iter().map(|&size| Axis {
                size,
                own: own(size),
            });
            let axes: Vec<Axis> = axes.collect();
            let cells: usize = sizes.iter().product();
            let (true_cell, mut table, mut out) = (cells / 3, vec![0.0; cells], vec![1.0; cells]);
            table[true_cell] = 1.0;
            multiply(&table, &axes, &mut out);
            for (cell, found) in out.iter().enumerate() {
                let (mut after, mut wanted) = (cells, 1.0);
                for axis in &axes {
                    after /= axis.size;
                    let stays = cell / after % axis.size == true_cell / after % axis.size;
                    wanted *= all(*axis) + if stays { axis.own } else { 0.0 };
                }
                assert!((found - wanted).abs() < 1e-12 * wanted.abs(), "{sizes:?}");
            }
        }
    }
}
