//! One permutation with the matrix as its marginals, without decomposing: the bit-split sampler.

use super::counts::Counts;
use super::realise;
use super::split::Halver;
use crate::error::Error;
use crate::law::Matrix;
use crate::law::scaling::matching::Matching;
use crate::system::memory::Gather;
use crate::system::stop;

/// The random decisions that a sample takes. Where the words come from is not known here: the
/// keystream plugs in as a [`Words`] over the next word of a stream.
pub trait Coins {
    /// A fair coin.
    fn flip(&mut self) -> bool;
    /// True with probability exactly `1/n`.
    fn one_in(&mut self, n: u64) -> bool;
}

/// Largest matrix from which a permutation is drawn entry by entry.
pub const SIZE: u64 = 4096;

/// A permutation `s` with `Pr(s(u) = v)` exactly the entry `(u, v)`, whatever the matrix is made of.
///
/// # Errors
/// More than 4096 categories, or no common total below 2^63.
pub fn by_entries<F: FnMut() -> u64>(
    matrix: &Matrix,
    words: &mut Words<F>,
) -> crate::error::Result<Vec<u32>> {
    let size = matrix.family.size();
    if size > SIZE {
        let must = format!("be at most {SIZE} to draw a permutation entry by entry");
        return Err(Error::value("size", must, size));
    }
    Ok(permutation(&realise::counts(matrix)?, words))
}

/// Coins from 64-bit words.
#[derive(Debug)]
pub struct Words<F> {
    next: F,
    bits: u64,
    left: u32,
}

impl<F: FnMut() -> u64> Words<F> {
    /// Coins from what `next` gives.
    pub fn new(next: F) -> Self {
        Words {
            next,
            bits: 0,
            left: 0,
        }
    }

    /// The next word as it is.
    pub fn word(&mut self) -> u64 {
        (self.next)()
    }

    /// A number below `n`, each with the same probability, from two words if one is too short.
    pub fn below_long(&mut self, n: u128) -> u128 {
        if let Ok(n) = u64::try_from(n) {
            return self.below(n).into();
        }
        let beyond = (u128::MAX % n + 1) % n;
        loop {
            let number = u128::from(self.word()) << 64 | u128::from(self.word());
            if number <= u128::MAX - beyond {
                return number % n;
            }
        }
    }

    /// A number below `n`, each with the same probability: words beyond the last whole multiple of
    /// `n` are thrown away.
    pub fn below(&mut self, n: u64) -> u64 {
        let beyond = (u64::MAX % n + 1) % n;
        loop {
            let word = (self.next)();
            if word <= u64::MAX - beyond {
                return word % n;
            }
        }
    }
}

impl<F: FnMut() -> u64> Coins for Words<F> {
    fn flip(&mut self) -> bool {
        if self.left == 0 {
            (self.bits, self.left) = ((self.next)(), 64);
        }
        let bit = self.bits & 1 == 1;
        self.bits >>= 1;
        self.left -= 1;
        bit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A random permutation `s` with `Pr(s[u] = v) = p_uv`, exactly.
///
/// # Law
/// With `D` the total: an even matrix is halved with a fair coin for every closed trail of odd
/// entries, so that the half is `M/2` in the mean. From an odd one some permutation `Q` inside the
/// support is the answer with probability `1/D`, and otherwise taken out:
/// `1/D Q + (D-1)/D (M - Q)/(D-1) = M/D`. At `D = 1` the matrix is a permutation. Coins are independent
/// from trail to trail, which keeps the entries of one sample as loosely bound as this scheme can.
///
/// # Cost
/// At each of `log2 D` levels a pass over the entries that are left, and a matching where `D` is odd.
pub fn permutation(counts: &Counts, coins: &mut impl Coins) -> Vec<u32> {
    let mut left = counts.clone();
    let mut halver = Halver::new(counts.size);
    while left.total > 1 {
        stop::point();
        if left.total % 2 == 1 {
            let matched = some_permutation(&left);
            if coins.one_in(left.total) {
                return matched;
            }
            for (u, &v) in matched.iter().enumerate() {
                let place = left.place(u, v as usize);
                left.values[place] -= 1;
            }
            left.total -= 1;
            left.drop_zeros();
        }
        halver.halve(&mut left, || coins.flip());
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
        let (sums, leaves) = marginals(size, |mut tree| permutation(&counts, &mut tree));
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

    /// Coins from words that are written down.
    fn given(words: &[u64]) -> Words<impl FnMut() -> u64> {
        let mut next = words.iter().copied();
        Words::new(move || next.next().expect("enough words"))
    }

    #[test]
    fn one_in_n_holds_for_one_word_in_n() {
        // Of 2520 words in a row, every remainder of n up to 10 has as many.
        let all: Vec<u64> = (0..2520).collect();
        for n in 1..=10 {
            let mut words = given(&all);
            let held = (0..2520).filter(|_| words.one_in(n)).count() as u64;
            assert_eq!(held * n, 2520, "{n}");
        }
    }

    #[test]
    fn words_beyond_the_last_multiple_are_thrown_away() {
        // 2^64 is one more than a multiple of 3 and of 5, 2^128 than one of 2^64 + 1.
        for n in [3, 5, 15] {
            assert_eq!(given(&[u64::MAX, 1]).below(n), 1);
            assert_eq!(given(&[u64::MAX - 1]).below(n), n - 1);
        }
        let long = (1u128 << 64) + 1;
        let words = [u64::MAX, u64::MAX, 0, 7];
        assert_eq!(given(&words).below_long(long), 7);
    }
}
