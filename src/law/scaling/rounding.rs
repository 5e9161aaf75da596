//! A square matrix of doubles onto the grid, with exact line sums and unchanged support.

use crate::error::Result;
use crate::law::scaling::support;
use crate::number::lattice::GRID;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop;

/// Round `diag(x) P diag(y)`, whose lines sum to nearly 1, to counts whose lines sum to [`GRID`].
/// `cells`, named `name` in errors, holds the doubles of P as bits, row by row, and the counts afterwards.
///
/// # Law
/// Every line sums to 2^53; zero stays zero; a positive entry is at least one unit.
///
/// # How
/// Each row is rounded by carrying its fractions along, so that an entry becomes its floor or its
/// ceiling, plus what raising tiny entries takes from the largest one. Column sums are then off by at
/// most `size`, mostly by its square root: units move inside a row from a column that has too many to
/// one that has too few, each time in another row. Where zeros are in the way, along an alternating
/// path over several rows. A flow with these bounds exists if and only if every positive entry lies on
/// a positive diagonal, so the search ends or names the entry that does not.
///
/// # Cost
/// One parallel pass over the matrix, then about `size^1.5` moves; no second copy.
///
/// # Errors
/// A positive entry on no positive diagonal.
pub fn round_matrix(
    name: &str,
    cells: &mut [u64],
    size: usize,
    x: &[f64],
    y: &[f64],
) -> Result<()> {
    pool::for_each_chunk(cells, size, cells.len() < 1 << 14, |u, row| {
        round_row(row, x[u], y);
    });
    let mut excess = column_excess(cells, size);
    if excess.iter().any(|&e| e != 0) {
        move_within_rows(cells, size, &mut excess);
    }
    if excess.iter().any(|&e| e != 0) {
        move_along_paths(name, cells, size, &mut excess)?;
    }
    Ok(())
}

/// Doubles as bits to counts that sum to the grid.
fn round_row(row: &mut [u64], x: f64, y: &[f64]) {
    let mut used: i128 = 0;
    let mut carried = 0.0;
    for (v, cell) in row.iter_mut().enumerate() {
        let p = f64::from_bits(*cell);
        // Scaling by x first keeps 2^53 out of the rounding: it only moves the exponent.
        let scaled = p * x * y[v] * GRID as f64;
        let whole = scaled as i64;
        carried += scaled - whole as f64;
        let up = carried >= 0.5;
        carried -= f64::from(u8::from(up));
        let mut count = whole as u64 + u64::from(up);
        if count == 0 && p > 0.0 {
            // Raised to a unit, which the following entries pay back if they can.
            count = 1;
            carried -= 1.0;
        } else if carried <= -1.0 && count > 1 {
            let back = ((-carried) as u64).min(count - 1);
            count -= back;
            carried += back as f64;
        }
        *cell = count;
        used += i128::from(count);
    }
    // What is left is what the scaled sum was off by, and debts that no entry could pay.
    let mut left = i128::from(GRID) - used;
    while left != 0 {
        let Some(largest) = (0..row.len()).max_by_key(|&v| (row[v], std::cmp::Reverse(v))) else {
            return;
        };
        // Halving at most keeps the entry positive, and the next largest shares the burden.
        let change = left.max(-i128::from(row[largest] / 2));
        row[largest] = (i128::from(row[largest]) + change) as u64;
        left -= change;
    }
}

/// By how much each column exceeds the grid.
fn column_excess(cells: &[u64], size: usize) -> Vec<i64> {
    const BAND: usize = 64;
    let rows = size.div_ceil(BAND);
    let mut bands = memory::zeros::<i64>(rows * size);
    pool::for_each_chunk(&mut bands, size, cells.len() < 1 << 14, |band, sums| {
        for row in cells[band * BAND * size..].chunks(size).take(BAND) {
            for (sum, &count) in sums.iter_mut().zip(row) {
                // Wrapping: only the difference to the grid is wanted, and that is small.
                *sum = sum.wrapping_add(count as i64);
            }
        }
    });
    let mut excess = memory::filled((GRID as i64).wrapping_neg(), size);
    for band in bands.chunks(size) {
        for (e, &sum) in excess.iter_mut().zip(band) {
            *e = e.wrapping_add(sum);
        }
    }
    excess
}

/// Move units inside rows, from columns with too many to columns with too few, each pair of columns
/// in the next row that allows it. Gives up on a pair after some rows without luck.
fn move_within_rows(cells: &mut [u64], size: usize, excess: &mut [i64]) {
    const PATIENCE: usize = 64;
    let mut row = 0;
    let mut takers: Vec<usize> = (0..size).filter(|&v| excess[v] < 0).collect();
    let givers: Vec<usize> = (0..size).filter(|&v| excess[v] > 0).collect();
    for giver in givers {
        stop::point();
        let mut failures = 0;
        while excess[giver] > 0 && failures < PATIENCE {
            let Some(&taker) = takers.last() else { return };
            let (from, to) = (row * size + giver, row * size + taker);
            if cells[from] > 1 && cells[to] > 0 {
                // One unit, unless the columns are off by more than there are rows.
                let share = (excess[giver].min(-excess[taker]) / size as i64).max(1);
                let amount = share.min(cells[from] as i64 - 1);
                cells[from] -= amount as u64;
                cells[to] += amount as u64;
                excess[giver] -= amount;
                excess[taker] += amount;
                failures = 0;
                if excess[taker] == 0 {
                    takers.pop();
                }
            } else {
                failures += 1;
            }
            row = (row + 1) % size;
        }
    }
}

/// The same along shortest alternating paths: out of a column where an entry exceeds one unit, into
/// another where the row has an entry, and on.
fn move_along_paths(name: &str, cells: &mut [u64], size: usize, excess: &mut [i64]) -> Result<()> {
    let lists = |transposed: bool| -> Vec<Vec<u32>> {
        let at = |i: usize, j: usize| {
            if transposed {
                j * size + i
            } else {
                i * size + j
            }
        };
        (0..size)
            .map(|i| {
                (0..size)
                    .filter(|&j| cells[at(i, j)] > 0)
                    .map(|j| j as u32)
                    .gather()
            })
            .gather()
    };
    let (in_row, in_column) = (lists(false), lists(true));
    const NONE: u32 = u32::MAX;
    while let Some(start) = (0..size).find(|&v| excess[v] > 0) {
        // Breadth first over columns; `via[v]` is the row through which v was reached.
        let mut via = memory::filled(NONE, size);
        let mut before = memory::filled(NONE, size);
        let mut seen_row = memory::filled(false, size);
        let mut queue = vec![start];
        let mut head = 0;
        let mut end = None;
        'search: while let Some(&v) = queue.get(head) {
            stop::point();
            head += 1;
            for &u in &in_column[v] {
                let u = u as usize;
                if seen_row[u] || cells[u * size + v] < 2 {
                    continue;
                }
                seen_row[u] = true;
                for &w in &in_row[u] {
                    let w = w as usize;
                    if w != start && via[w] == NONE {
                        via[w] = u as u32;
                        before[w] = v as u32;
                        if excess[w] < 0 {
                            end = Some(w);
                            break 'search;
                        }
                        queue.push(w);
                    }
                }
            }
        }
        let Some(end) = end else {
            support::check(name, size, |u, v| cells[u * size + v] > 0)?;
            return Err(support::unsupported(name, None));
        };
        let path = |mut w: usize| {
            std::iter::from_fn(move || {
                (w != start).then(|| {
                    let step = (via[w] as usize, before[w] as usize, w);
                    w = step.1;
                    step
                })
            })
        };
        let path: Vec<(usize, usize, usize)> = path(end).collect();
        let room = path.iter().map(|&(u, v, _)| cells[u * size + v] as i64 - 1);
        let amount = room.min().unwrap_or(0).min(excess[start]).min(-excess[end]);
        for (u, v, w) in path {
            cells[u * size + v] -= amount as u64;
            cells[u * size + w] += amount as u64;
        }
        excess[start] -= amount;
        excess[end] += amount;
    }
    Ok(())
}
