//! One permutation with the matrix as its marginals, without decomposing: the bit-split sampler.

use super::counts::Counts;
use super::realise;
use super::split::Halver;
use crate::draw::uniform::{More, by_remainder};
use crate::error::Error;
use crate::law::Matrix;
use crate::law::scaling::matching::Matching;
use crate::system::memory::Gather;
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
    Ok(permutation(&realise::counts(matrix)?, one_in))
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
    left.columns.iter().map(|&v| u32::from(v)).gather()
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
