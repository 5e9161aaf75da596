//! Vectors times a matrix that is written out: what conjugate gradients take if no structure helps.

use super::map::Way;
use crate::system::pool;

/// Numbers of a stripe of columns: their sums stay in a core's first cache.
const STRIPE: usize = 512;
/// Vectors of a task, if there are many vectors.
const BAND: usize = 64;

/// Each row of `rows` through `table`, in C order with as many columns as `rows` has; sums are taken in an
/// order that does not depend on the number of threads.
pub fn product(table: &[f64], way: Way, size: usize, rows: &[f64], out: &mut [f64]) {
    let small = rows.len().saturating_mul(size) < 1 << 16;
    if rows.len() > size {
        return many(table, way, size, rows, out, small);
    }
    match way {
        Way::Forth => pool::for_each_chunk(out, STRIPE, small, |stripe, out| {
            out.fill(0.0);
            let start = stripe * STRIPE;
            for (x, row) in rows.iter().zip(table.chunks(size)) {
                let row = &row[start..start + out.len()];
                out.iter_mut().zip(row).for_each(|(sum, p)| *sum += x * p);
            }
        }),
        Way::Back => pool::for_each_chunk(out, BAND, small, |band, out| {
            let table = table[band * BAND * size..].chunks(size);
            for (out, row) in out.iter_mut().zip(table) {
                *out = dot(row, rows);
            }
        }),
    }
}

/// Eight sums side by side, so that they do not wait for each other.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, b) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.0.iter().zip(b.0) {
        sums = std::array::from_fn(|i| sums[i] + a[i] * b[i]);
    }
    let rest: f64 = a.1.iter().zip(b.1).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

fn many(table: &[f64], way: Way, size: usize, rows: &[f64], out: &mut [f64], small: bool) {
    assert!(rows.len() == out.len() && rows.len().is_multiple_of(size));
    assert!(table.len() == size * size);
    let (down, across) = match way {
        Way::Forth => (size as isize, 1),
        Way::Back => (1, size as isize),
    };
    pool::for_each_chunk(out, BAND * size, small, |band, out| {
        let start = band * BAND * size;
        let rows = &rows[start..start + out.len()];
        let height = out.len() / size;
        // SAFETY: `rows` and `out` are `height` rows of `size` numbers in C order, `table` is `size` by `size`,
        // as was just asserted, and `out` is borrowed alone.
        unsafe {
            matrixmultiply::dgemm(
                height,
                size,
                size,
                1.0,
                rows.as_ptr(),
                size as isize,
                1,
                table.as_ptr(),
                down,
                across,
                0.0,
                out.as_mut_ptr(),
                size as isize,
                1,
            );
        }
    });
}
