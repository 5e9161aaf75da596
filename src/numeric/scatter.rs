//! A class that no cache holds, shuffled in passes that one holds: Rao (1961) and Sandelius (1962).
//!
//! # Law
//! Every value draws a bucket out of `2^k`, independently; buckets follow each other, and each is shuffled in
//! itself. Every order is as likely. Take any two orders of the values and the renaming that turns one into the
//! other: it turns every way to deal values out to buckets into one as likely, since all are, and every order
//! inside of the buckets into one as likely, since all are. So it turns the ways to the one order into the ways
//! to the other, chance by chance, and both have the same.
//!
//! # Cost
//! Two passes. The first one sorts fixed blocks of values by their buckets, each inside the cache; the second one
//! collects a bucket from all blocks, shuffles it in the cache and writes it. Nothing is read or written at
//! random in memory, which is what costs a plain shuffle its time. Besides the result it takes room for the values
//! once, two bytes for each value of a block, and a number for each block and bucket.

use zeroize::Zeroize;

use super::Item;
use super::decisions::{Buffer, Draw, Source, kind};
use super::flagged::Flags;
use super::shuffle::{self, share};
use crate::system::memory;

/// How many values go together. The same on every machine, as words depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Values in a bucket, about.
    pub bucket: usize,
    /// Places in a block.
    pub block: usize,
}

/// A bucket of doubles fits into the first cache, or nearly, and a block into the second.
pub const SIZES: Sizes = Sizes {
    bucket: 1 << 12,
    block: 1 << 17,
};

/// Most buckets: as many as 16 bits tell apart.
const BUCKETS: usize = 1 << 16;

/// What one thread needs to deal out a block.
struct Dealer {
    buffer: Buffer,
    buckets: Vec<u16>,
    next: Vec<u32>,
}

impl Drop for Dealer {
    fn drop(&mut self) {
        self.buckets.zeroize();
        self.next.zeroize();
    }
}

/// The values of `x`, or the flagged ones among them, in any order, all as likely; those that are not flagged stay.
/// Classes that are shuffled from one source have numbers.
pub fn shuffle<T: Item, S: Source>(
    source: &S,
    class: u64,
    sizes: Sizes,
    flags: Option<&Flags>,
    x: &[T],
    out: &mut [T],
) {
    let n = flags.map_or(x.len(), Flags::count);
    let buckets = (n / sizes.bucket).next_power_of_two().clamp(1, BUCKETS);
    let nonce = |kind: u64, i: usize| kind | class << kind::CLASS | i as u64;
    let blocks = x.len().div_ceil(sizes.block);
    // Where each bucket begins in a block, and where the last one ends.
    let width = buckets + 1;
    let mut starts: Vec<u32> = memory::zeros(blocks * width);
    let mut dealt: Vec<T> = memory::zeros(n);
    let before = |block: usize| match flags {
        Some(flags) => flags.before((block * sizes.block).min(x.len())),
        None => (block * sizes.block).min(n),
    };
    {
        let state = || Dealer {
            buffer: Buffer::default(),
            buckets: memory::zeros(sizes.block.min(x.len())),
            next: memory::zeros(width),
        };
        let mut rest = &mut dealt[..];
        let parts = starts.chunks_mut(width).enumerate().map(|(block, starts)| {
            let here = before(block + 1) - before(block);
            let (dealt, later) = std::mem::take(&mut rest).split_at_mut(here);
            rest = later;
            (block, starts, dealt)
        });
        share(
            x.len(),
            blocks,
            state,
            parts,
            |state, (block, starts, dealt)| {
                let chosen = &mut state.buckets[..dealt.len()];
                if buckets > 1 {
                    let mut draw = source.open(&mut state.buffer, nonce(kind::DEAL, block));
                    draw.fill(buckets.trailing_zeros(), chosen);
                }
                for &bucket in &*chosen {
                    starts[usize::from(bucket) + 1] += 1;
                }
                for bucket in 0..buckets {
                    starts[bucket + 1] += starts[bucket];
                }
                state.next.copy_from_slice(starts);
                let from = block * sizes.block;
                let x = &x[from..x.len().min(from + sizes.block)];
                let place = |(bucket, value): (&u16, T)| {
                    let next = &mut state.next[usize::from(*bucket)];
                    dealt[*next as usize] = value;
                    *next += 1;
                };
                match flags {
                    None => chosen.iter().zip(x.iter().copied()).for_each(place),
                    Some(flags) => {
                        let mut chosen = chosen.iter();
                        let mut place = place;
                        flags.each(from, from + x.len(), |u| {
                            if let Some(bucket) = chosen.next() {
                                place((bucket, x[u - from]));
                            }
                        });
                    }
                }
            },
        );
    }
    let mut ends: Vec<usize> = memory::zeros(width);
    for starts in starts.chunks(width) {
        for (end, &start) in ends.iter_mut().zip(starts) {
            *end += start as usize;
        }
    }
    let longest = ends.windows(2).map(|pair| pair[1] - pair[0]).max();
    let state = || (Buffer::default(), memory::zeros(longest.unwrap_or(0)));
    // The places of a bucket: where its first value goes, up to where the next one's does.
    let place = |bucket: usize| match flags {
        _ if bucket == 0 => 0,
        _ if bucket == buckets => x.len(),
        Some(flags) => flags.place(ends[bucket]).unwrap_or(x.len()),
        None => ends[bucket],
    };
    let (mut rest, mut at) = (out, 0);
    let parts = (0..buckets).map(|bucket| {
        let end = place(bucket + 1);
        let (out, later) = std::mem::take(&mut rest).split_at_mut(end - at);
        let from = std::mem::replace(&mut at, end);
        rest = later;
        (bucket, from, out)
    });
    share(
        x.len(),
        buckets,
        state,
        parts,
        |(buffer, room), (bucket, from, out)| {
            let taken = &mut room[..ends[bucket + 1] - ends[bucket]];
            let mut filled = 0;
            for (block, starts) in starts.chunks(width).enumerate() {
                let run = starts[bucket] as usize..starts[bucket + 1] as usize;
                let first = before(block);
                let run = &dealt[first + run.start..first + run.end];
                taken[filled..filled + run.len()].copy_from_slice(run);
                filled += run.len();
            }
            let mut draw = source.open(buffer, nonce(kind::BUCKET, bucket));
            shuffle::one(taken, &mut draw);
            let Some(flags) = flags else {
                return out.copy_from_slice(taken);
            };
            // The values that were taken to the flagged places, all others where they are.
            let end = from + out.len();
            out.copy_from_slice(&x[from..end]);
            let mut taken = taken.iter();
            flags.each(from, end, |u| {
                if let Some(value) = taken.next() {
                    out[u - from] = *value;
                }
            });
        },
    );
    starts.zeroize();
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;
    use crate::birkhoff::terms;
    use std::collections::HashMap;

    const TINY: Sizes = Sizes {
        bucket: 2,
        block: 3,
    };

    #[test]
    fn every_order_is_as_likely() {
        for n in [4, 5] {
            let x: Vec<u32> = (0..n).collect();
            let mut law: HashMap<Vec<u32>, (u128, u128)> = HashMap::new();
            let mut tree = Tree::default();
            loop {
                let mut out = vec![0; x.len()];
                shuffle(&tree, 0, TINY, None, &x, &mut out);
                let sum = law.entry(out).or_insert((0, 1));
                *sum = terms::add(*sum, tree.leaf()).unwrap();
                if !tree.advance() {
                    break;
                }
            }
            let orders: u128 = (1..=u128::from(n)).product();
            assert_eq!(law.len() as u128, orders);
            assert!(law.values().all(|&sum| sum == (1, orders)));
        }
    }
}
