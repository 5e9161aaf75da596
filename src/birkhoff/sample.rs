//! One permutation with the matrix as its marginals, without decomposing: the bit-split sampler. It halves a matrix exactly:
//! even entries are halved, odd ones go up or down by a half so that every line sum stays right.

use super::counts::{self, Counts};
use crate::draw::uniform::{More, by_remainder};
use crate::error::Error;
use crate::law::Matrix;
use crate::law::scaling::matching::Matching;
use crate::system::memory;
use crate::system::stop;

/// Largest matrix from which a permutation is drawn entry by entry.
pub const SIZE: u64 = 4096;

/// A permutation `s` with `Pr(s(u) = v)` exactly the entry `(u, v)`, whatever the matrix is made of.
///
/// # Errors
/// More than 4096 categories, or no common total below 2^63.
pub fn by_entries(matrix: &Matrix, words: &mut impl More) -> crate::error::Result<Vec<u32>> {
    let size = matrix.size();
    if size > SIZE {
        let must = format!("be at most {SIZE} to draw a permutation entry by entry");
        return Err(Error::value("size", must, size));
    }
    let (mut bits, mut left) = (0, 0);
    let one_in = |n| {
        if n > 2 {
            return by_remainder(n, words) == 0;
        }
        // A word has 64 fair coins.
        if left == 0 {
            (bits, left) = (words.next(), 64);
        }
        let bit = bits & 1 == 1;
        bits >>= 1;
        left -= 1;
        bit
    };
    Ok(permutation(&counts::of(matrix)?, one_in))
}

/// A random permutation `s` with `Pr(s[u] = v) = p_uv`, exactly.
///
/// # Law
/// With `D` the total: an even matrix is halved with a fair coin for every closed trail of odd
/// entries, so that the half is `M/2` in the mean. From an odd one some permutation `Q` inside the
/// support is the answer with probability `1/D`, and otherwise taken out:
/// `1/D Q + (D-1)/D (M - Q)/(D-1) = M/D`. At `D = 1` the matrix is a permutation. Coins are independent
/// from trail to trail, which keeps the entries of one sample as loosely bound as this scheme can. `one_in(n)` is true
/// with probability exactly `1/n`.
///
/// # Cost
/// At each of `log2 D` levels a pass over the entries that are left, and a matching where `D` is odd.
pub fn permutation(counts: &Counts, mut one_in: impl FnMut(u64) -> bool) -> Vec<u32> {
    let mut left = counts.clone();
    let mut halver = Halver::new(counts.size);
    while left.total > 1 {
        stop::point();
        if left.total % 2 == 1 {
            let matched = some_permutation(&left);
            if one_in(left.total) {
                return matched;
            }
            for (u, &v) in matched.iter().enumerate() {
                let place = left.place(u, v as usize);
                left.values[place] -= 1;
            }
            left.total -= 1;
            left.drop_zeros();
        }
        halver.halve(&mut left, || one_in(2));
        left.drop_zeros();
    }
    left.columns.iter().map(|&v| u32::from(v)).collect()
}

/// A permutation inside the support. Equal line sums always leave one (Birkhoff).
fn some_permutation(counts: &Counts) -> Vec<u32> {
    let mut graph = Matching::new(counts.size);
    for (u, v, _) in counts.entries() {
        graph.insert(u, v);
    }
    let found = graph.complete();
    debug_assert!(found);
    graph.column_of
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::birkhoff::random::Random;
    use crate::birkhoff::tree::marginals;

    /// Every leaf of the tree of decisions, with its exact chance: the sum over leaves is the matrix.
    fn check_marginals(size: usize, cells: &[i64]) -> usize {
        let total = cells[..size].iter().sum::<i64>() as u64;
        let counts = Counts::from_dense(size, total, cells);
        let (sums, leaves) = marginals(size, |tree| permutation(&counts, |n| tree.happens(1, n)));
        for (sum, &cell) in sums.iter().zip(cells) {
            assert_eq!(sum.0 * u128::from(total), cell as u128 * sum.1);
        }
        leaves
    }

    #[test]
    fn leaves_add_up_for_even_and_odd_totals() {
        assert_eq!(check_marginals(1, &[7]), 3);
        assert!(check_marginals(3, &[5, 2, 0, 1, 4, 2, 1, 1, 5]) > 2);
        let mut random = Random::new(9);
        for total in 1..=16 {
            for size in [2usize, 4, 5] {
                let mut cells = vec![0; size * size];
                for _ in 0..total {
                    for (u, v) in random.order(size).into_iter().enumerate() {
                        cells[u * size + usize::from(v)] += 1;
                    }
                }
                check_marginals(size, &cells);
            }
        }
    }
}
