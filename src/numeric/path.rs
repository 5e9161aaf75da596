//! Neighbours that change places: a random matching of the path.
//!
//! # Law
//! With `D` the total and counts `a_i` of a step between `i` and `i + 1`: the pair `(i, i + 1)` is swapped with
//! probability `a_i / (D - a_{i-1})` if the pair before was not, else not. If that one has probability
//! `a_{i-1} / D`, as the first one has with `a_{-1} = 0`, then this one has
//! `(1 - a_{i-1}/D) a_i / (D - a_{i-1}) = a_i / D`. No record is in two pairs, so `i` stays with what is left.
//! Where `a_{i-1} = D` the pair before is swapped for certain, `a_i` is 0, and nothing is drawn.
//!
//! # In parallel
//! Let `b_i` be coins with those chances, all independent. Then `s_i = b_i and not s_{i-1}` says who is swapped: in
//! every run of true coins each other one, beginning with the first. The coins are thrown in fixed blocks, the runs
//! resolved 64 at a time, the values moved in fixed blocks again.
//!
//! # Cost
//! 16 bits of the keystream and two bits of memory for each person, and a pass over the values.

use zeroize::{Zeroize, Zeroizing};

use super::Item;
use super::decisions::{Buffer, Draw, Source, kind};
use super::shuffle::share;
use crate::law::Alphas;
use crate::system::memory;
use crate::system::stop::Paced;

/// Pairs in a block: the same on every machine, as words depend on it.
const BLOCK: usize = 1 << 14;

/// `x` with a random matching of neighbours swapped.
pub fn swap<T: Item, S: Source>(source: &S, alphas: &Alphas, total: u64, x: &[T], out: &mut [T]) {
    let pairs = x.len().saturating_sub(1);
    if pairs == 0 {
        return out.copy_from_slice(x);
    }
    let mut swapped = Zeroizing::new(memory::zeros::<u64>(pairs.div_ceil(64)));
    let blocks = pairs.div_ceil(BLOCK);
    let parts = swapped.chunks_mut(BLOCK / 64).enumerate();
    share(
        pairs,
        blocks,
        Buffer::default,
        parts,
        |buffer, (block, words)| {
            let mut draw = source.open(buffer, kind::PATH | block as u64);
            throw(&mut draw, (alphas, total), block * BLOCK, pairs, words);
        },
    );
    resolve(&mut swapped);
    let swapped = &swapped[..];
    let is = |pair: usize| swapped[pair / 64] >> (pair % 64) & 1 == 1;
    let parts = out.chunks_mut(BLOCK).enumerate();
    share(
        pairs,
        blocks,
        || (),
        parts,
        |(), (block, out)| {
            let (start, end) = (block * BLOCK, block * BLOCK + out.len());
            out.copy_from_slice(&x[start..end]);
            if start > 0 && is(start - 1) {
                out[0] = x[start - 1];
            }
            for (i, &word) in swapped[start / 64..end.div_ceil(64).min(swapped.len())]
                .iter()
                .enumerate()
            {
                let mut left = word;
                while left != 0 {
                    let here = 64 * i + left.trailing_zeros() as usize;
                    left &= left - 1;
                    out[here] = x[start + here + 1];
                    // Unless it is the first of the next block, which looks for itself.
                    if let Some(next) = out.get_mut(here + 1) {
                        *next = x[start + here];
                    }
                }
            }
        },
    );
}

/// The coins from pair `start` on, as many as fit.
fn throw(
    draw: &mut impl Draw,
    (alphas, total): (&Alphas, u64),
    start: usize,
    pairs: usize,
    words: &mut [u64],
) {
    for (i, word) in words.iter_mut().enumerate().paced() {
        let first = start + 64 * i;
        for pair in first..pairs.min(first + 64) {
            let before = match pair {
                0 => 0,
                _ => alphas.at(pair as u64 - 1),
            };
            // Certainly not, if the one before certainly was.
            let thrown = draw.happens(alphas.at(pair as u64), (total - before).max(1));
            *word |= u64::from(thrown) << (pair - first);
        }
    }
}

/// From coins to pairs: of every run of ones each other one, the first included.
fn resolve(words: &mut [u64]) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let mut last = 0;
    for word in words.iter_mut().paced() {
        let coins = *word & !last;
        let starts = coins & !(coins << 1);
        // Adding one at its start clears a run and sets the bit after it, which is none of a run's.
        let from_even = coins & !coins.wrapping_add(starts & EVEN);
        *word = from_even & EVEN | coins & !from_even & !EVEN;
        last = *word >> 63;
    }
    last.zeroize();
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Tree, check_marginals};
    use super::*;

    #[test]
    fn marginals_are_the_tridiagonal() {
        let each = |alphas: &[i64]| Alphas::Vector(alphas.into());
        for (alphas, total, n) in [
            (Alphas::Constant(3), 10, 6),
            (Alphas::Constant(1), 2, 5),
            (Alphas::Constant(7), 10, 2),
            (Alphas::Constant(1), 1, 2),
            (each(&[1, 3, 2, 5]), 8, 5),
            (each(&[0, 8, 0, 8, 0]), 8, 6),
            (each(&[4, 4, 4]), 8, 4),
        ] {
            let alpha = |i: usize| alphas.at(i as u64);
            let entry = |u: usize, v: usize| {
                let beside = |u: usize| if u + 1 < n { alpha(u) } else { 0 };
                let count = match v.abs_diff(u) {
                    0 => total - beside(u) - if u > 0 { alpha(u - 1) } else { 0 },
                    1 => alpha(u.min(v)),
                    _ => 0,
                };
                (u128::from(count), u128::from(total))
            };
            check_marginals(n, entry, |tree: &Tree, x, out| {
                swap(tree, &alphas, total, x, out);
            });
        }
    }
}
