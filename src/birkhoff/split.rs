//! Half a matrix, exactly: even entries are halved, odd ones go up or down by a half so that every
//! line sum stays right.

use super::counts::Counts;
use crate::system::memory;
use crate::system::stop;

/// Halves matrices of one size, level after level, in the same memory.
///
/// # Law
/// An odd line sum of an even total cannot be, so every line holds an even number of odd entries: as
/// edges between rows and columns they fall into closed trails. Along a trail they go up and down in
/// turn, so that a line loses what it gains. With a fair coin for each trail each entry is halved in the
/// mean, exactly.
///
/// # Cost
/// Two passes over the entries and a walk over the odd ones, which are bits by rows and by columns, so
/// that the walk stays in the cache.
#[derive(Debug)]
pub struct Halver {
    words: usize,
    /// Odd entries not walked yet.
    by_row: Vec<u64>,
    by_column: Vec<u64>,
    /// Odd entries that go up.
    up: Vec<u64>,
    /// The word from which on a row may have odd entries left, then the same for columns.
    cursors: Vec<u32>,
}

impl Halver {
    /// For matrices of `size` rows.
    pub fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        Halver {
            words,
            by_row: memory::zeros(size * words),
            by_column: memory::zeros(size * words),
            up: memory::zeros(size * words),
            cursors: memory::zeros(2 * size),
        }
    }

    /// Halve a matrix with an even line sum. `up` says for each trail whether it begins upwards. Entries
    /// that become zero stay in the list.
    pub fn halve(&mut self, counts: &mut Counts, mut up: impl FnMut() -> bool) {
        let (size, words) = (counts.size, self.words);
        self.up.fill(0);
        self.cursors.fill(0);
        for u in 0..size {
            let row = &mut self.by_row[u * words..][..words];
            for i in counts.starts[u]..counts.starts[u + 1] {
                let v = usize::from(counts.columns[i]);
                let odd = counts.values[i] & 1;
                row[v / 64] |= odd << (v % 64);
                self.by_column[v * words + u / 64] |= odd << (u % 64);
            }
        }
        for start in 0..size {
            stop::point();
            while let Some(first) = self.take_from_row(start) {
                let up = up();
                let (mut u, mut v) = (start, first);
                // In along one entry of the column, out along another; there is one, since the column has
                // an even number of them.
                while let Some(w) = self.take_from_column(v) {
                    let raised = if up { u } else { w };
                    self.up[raised * words + v / 64] |= 1 << (v % 64);
                    if w == start {
                        break;
                    }
                    let Some(next) = self.take_from_row(w) else {
                        break;
                    };
                    (u, v) = (w, next);
                }
            }
        }
        for u in 0..size {
            let up = &self.up[u * words..][..words];
            for i in counts.starts[u]..counts.starts[u + 1] {
                let v = usize::from(counts.columns[i]);
                counts.values[i] = counts.values[i] / 2 + (up[v / 64] >> (v % 64) & 1);
            }
        }
        counts.total /= 2;
    }

    /// The next odd entry of row `u`, which is walked now.
    fn take_from_row(&mut self, u: usize) -> Option<usize> {
        let v = next(
            &mut self.cursors[u],
            &self.by_row[u * self.words..][..self.words],
        )?;
        self.take(u, v);
        Some(v)
    }

    fn take_from_column(&mut self, v: usize) -> Option<usize> {
        let size = self.cursors.len() / 2;
        let column = &self.by_column[v * self.words..][..self.words];
        let u = next(&mut self.cursors[size + v], column)?;
        self.take(u, v);
        Some(u)
    }

    fn take(&mut self, u: usize, v: usize) {
        self.by_row[u * self.words + v / 64] &= !(1 << (v % 64));
        self.by_column[v * self.words + u / 64] &= !(1 << (u % 64));
    }
}

/// The first bit of a line from the word of its cursor on, which moves there.
fn next(cursor: &mut u32, line: &[u64]) -> Option<usize> {
    let from = *cursor as usize;
    let found = line[from..].iter().position(|&word| word != 0);
    *cursor = found.map_or(line.len(), |word| from + word) as u32;
    let word = *line.get(*cursor as usize)?;
    Some(*cursor as usize * 64 + word.trailing_zeros() as usize)
}
