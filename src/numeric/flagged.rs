//! Randomized response over individuals: a set of fixed size, drawn at random and shuffled in itself.
//!
//! # Law
//! Of N people `m` are flagged, every set of `m` as likely, and shuffled among themselves. A value stays if its
//! owner is not flagged, or flagged and drawn back: `1 - m/N + m/N 1/m = 1 - (m - 1)/N`. All other places are alike,
//! so each has `(m - 1)/(N (N - 1))`. For the diagonal `p` the size `m` must be `1 + N (1 - p)` in the mean: it is
//! the integer below that or the one above, the upper one with a chance that is what the lower one lacks,
//! a ratio of integers. From `p = 1/N` (all move) to `p = 1` (all stay) there is such an `m`; below it
//! there is none.
//!
//! The set is drawn in one pass (Knuth, 3.4.2 S): with `k` still to be flagged among the `n` that are left, the
//! next one is flagged with probability `k/n`. Any set of `m` then has `m! (N - m)! / N!`.
//!
//! # Cost
//! A pass that flags, 16 bits of the keystream for each person, and a shuffle of those flagged.

use zeroize::Zeroize;

use super::Item;
use super::decisions::{Buffer, Draw, Source, kind};
use super::scatter::{self, Sizes};
use crate::system::memory;
use crate::system::stop::Paced;

/// Who is flagged.
#[derive(Debug)]
pub struct Flags {
    bits: Vec<u64>,
    /// How many are flagged before each group of words.
    before: Vec<u32>,
    count: usize,
}

impl Drop for Flags {
    fn drop(&mut self) {
        self.bits.zeroize();
        self.before.zeroize();
    }
}

/// Words of bits in a group.
const GROUP: usize = 64;

impl Flags {
    /// Those of whom `is` holds, asked in order.
    pub fn of(n: usize, mut is: impl FnMut(usize) -> bool) -> Self {
        let mut bits: Vec<u64> = memory::zeros(n.div_ceil(64));
        let mut before = memory::room(bits.len().div_ceil(GROUP));
        let mut count = 0;
        for (i, word) in bits.iter_mut().enumerate().paced() {
            if i % GROUP == 0 {
                before.push(count);
            }
            for bit in 0..64.min(n - 64 * i) {
                *word |= u64::from(is(64 * i + bit)) << bit;
            }
            count += word.count_ones();
        }
        Flags {
            bits,
            before,
            count: count as usize,
        }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many before place `u`.
    pub fn before(&self, u: usize) -> usize {
        let (word, bit) = (u / 64, u % 64);
        let Some(&before) = self.before.get(word / GROUP) else {
            return self.count;
        };
        let whole = &self.bits[word / GROUP * GROUP..word];
        let part = self
            .bits
            .get(word)
            .map_or(0, |word| word & ((1 << bit) - 1));
        let here: u32 = whole.iter().map(|word| word.count_ones()).sum();
        (before + here + part.count_ones()) as usize
    }

    /// Where the flagged one stands before whom there are `rank`.
    pub fn place(&self, rank: usize) -> Option<usize> {
        if rank >= self.count {
            return None;
        }
        let group = self
            .before
            .partition_point(|&before| before as usize <= rank)
            - 1;
        let mut left = rank - self.before[group] as usize;
        for (i, &word) in self.bits.iter().enumerate().skip(group * GROUP) {
            let here = word.count_ones() as usize;
            if left < here {
                let mut word = word;
                for _ in 0..left {
                    word &= word - 1;
                }
                return Some(64 * i + word.trailing_zeros() as usize);
            }
            left -= here;
        }
        None
    }

    /// `f` of each from place `from` up to `to`.
    #[inline]
    pub fn each(&self, from: usize, to: usize, mut f: impl FnMut(usize)) {
        for i in from / 64..to.div_ceil(64) {
            let mut word = self.bits[i];
            if 64 * i < from {
                word &= u64::MAX << (from - 64 * i);
            }
            if to < 64 * i + 64 {
                word &= (1 << (to - 64 * i)) - 1;
            }
            while word != 0 {
                f(64 * i + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }
}

/// Whether there is a size of the set that gives this diagonal: from 1/N on.
pub fn is_drawn(size: u64, (n, d): (u64, u64)) -> bool {
    u128::from(n) * u128::from(size) >= u128::from(d)
}

/// `1 + N (1 - n/d)` as an integer and what it lacks out of `d`.
pub fn flagged(size: u64, (n, d): (u64, u64)) -> (u64, u64) {
    let scaled = u128::from(size) * u128::from(d - n);
    let d = u128::from(d);
    (1 + (scaled / d) as u64, (scaled % d) as u64)
}

/// `x` with a random set of people shuffled among themselves.
pub fn shuffle<T: Item, S: Source>(
    source: &S,
    sizes: Sizes,
    keep: (u64, u64),
    x: &[T],
    out: &mut [T],
) {
    let size = x.len() as u64;
    let mut buffer = Buffer::default();
    let mut draw = source.open(&mut buffer, kind::ONCE);
    let (fewer, lacks) = flagged(size, keep);
    let more = draw.happens(lacks, keep.1);
    let m = fewer + u64::from(more);
    if m < 2 {
        return out.copy_from_slice(x);
    }
    if m == size {
        return scatter::shuffle(source, 0, sizes, None, x, out);
    }
    let mut open = m;
    let flags = Flags::of(x.len(), |u| {
        let chosen = draw.happens(open, size - u as u64);
        open -= u64::from(chosen);
        chosen
    });
    scatter::shuffle(source, 0, sizes, Some(&flags), x, out);
}

#[cfg(test)]
mod tests {
    use super::super::scatter::SIZES;
    use super::super::tree::{Tree, check_marginals};
    use super::*;

    #[test]
    fn marginals_are_randomized_response() {
        let tiny = Sizes {
            bucket: 2,
            block: 3,
        };
        for (sizes, most) in [(SIZES, 6), (tiny, 4)] {
            for size in 2..=most {
                for (n, d) in [
                    (1, 1),
                    (1, 2),
                    (1, size),
                    (2, 3),
                    (7, 10),
                    (3, 4),
                    (99, 100),
                ] {
                    if !is_drawn(size, (n, d)) {
                        continue;
                    }
                    let off = u128::from(d - n);
                    let entry = |u, v| {
                        if u == v {
                            (u128::from(n), u128::from(d))
                        } else {
                            (off, u128::from(d * (size - 1)))
                        }
                    };
                    check_marginals(size as usize, entry, |tree: &Tree, x, out| {
                        shuffle(tree, sizes, (n, d), x, out);
                    });
                }
            }
        }
    }
}
