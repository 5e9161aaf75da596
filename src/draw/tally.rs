//! How many rows each id has, in bounded memory (Misra and Gries).
//!
//! An id is 16 bytes, a hash under a key. Some of its bits choose one of `SHARDS` tables, which count at most `COUNTERS` ids each. If an id
//! has no counter and none is free, its row is left out, and one row of every id in the table. That sets free the
//! counters that come to 0. So a count is never above the truth, and below it by at most the number of times that this
//! happened in the table. Each time takes one row more than there are counters.
//!
//! A table sees its rows in their order, so the answers depend neither on threads nor on batches.
//!
//! # Cost
//! At most 52 MiB, and less for fewer ids. Rows are put in the order of their tables first, so that a table is close to
//! the core while its rows are counted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::system::stop::Paced;
use crate::system::{memory, pool};

/// Tables.
const SHARDS: usize = 64;

/// Ids that a table counts: a quarter more than its part of 2^20, so that chance leaves no id of 2^20 out. Fewer in
/// tests, which fill all tables and are not optimized.
const COUNTERS: usize = (if cfg!(test) { 1 << 11 } else { 1 << 14 }) / 4 * 5;

/// Rows that are put in order at a time.
const PIECE: usize = 1 << 20;

/// Below this many rows, threads take longer to start than to count.
const SMALL: usize = 1 << 13;

/// The two halves of an id.
type Id = (u64, u64);

fn words(id: &[u8; 16]) -> Id {
    let id = u128::from_le_bytes(*id);
    (id as u64, (id >> 64) as u64)
}

/// Both halves of a product in one word.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// A number below [`SHARDS`], from all bits of an id.
fn shard_of((a, b): Id) -> usize {
    let once = fold(a ^ 0x243f_6a88_85a3_08d3, 0x9e37_79b9_7f4a_7c15);
    (fold(once ^ b, 0xd6e8_feb8_6659_fd93) >> (64 - SHARDS.ilog2())) as usize
}

/// Ids are hashes under a key already, so that nobody can choose ids that collide.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = self.0.rotate_left(32) ^ word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// One table.
#[derive(Default)]
struct Shard {
    counts: HashMap<Id, u64, BuildHasherDefault<Hashed>>,
    /// How often a row of every id was left out.
    forgotten: u64,
}

impl Shard {
    /// Count a row and return the number of rows of its id.
    fn count(&mut self, id: Id) -> u64 {
        let ids = self.counts.len();
        if ids == self.counts.capacity() {
            // The table doubles, and cannot be refused memory itself.
            drop(memory::room::<u8>(64 * ids));
        }
        match self.counts.entry(id) {
            Entry::Occupied(mut count) => {
                *count.get_mut() += 1;
                *count.get()
            }
            Entry::Vacant(place) if ids < COUNTERS => *place.insert(1),
            Entry::Vacant(_) => {
                self.forgotten += 1;
                self.counts.retain(|_, count| {
                    *count -= 1;
                    *count > 0
                });
                0
            }
        }
    }
}

/// Rows of ids, in bounded memory. It has no `Debug`, which would show ids.
pub struct Tally {
    limit: u64,
    shards: [Shard; SHARDS],
}

impl Tally {
    /// No rows yet. No id should have more than `limit`.
    pub fn new(limit: u64) -> Self {
        Tally {
            limit,
            shards: std::array::from_fn(|_| Shard::default()),
        }
    }

    /// An id with more rows than this has been found. One with at most the limit never is.
    pub fn bound(&self) -> u64 {
        let forgotten = self.shards.iter().map(|shard| shard.forgotten).max();
        self.limit.saturating_add(forgotten.unwrap_or(0))
    }

    /// Count rows by their ids; the position of the first that is one too many, if any. Which of the rows behind that
    /// one are counted is left open.
    pub fn add(&mut self, ids: &[[u8; 16]]) -> Option<usize> {
        let mut pieces = ids.chunks(PIECE).enumerate();
        pieces.find_map(|(i, ids)| Some(i * PIECE + self.add_piece(ids)?))
    }

    fn add_piece(&mut self, ids: &[[u8; 16]]) -> Option<usize> {
        // After this, the rows of table `s` are `order[ends[s - 1]..ends[s]]`.
        let mut ends = [0; SHARDS + 1];
        for id in ids.iter().paced() {
            ends[shard_of(words(id)) + 1] += 1;
        }
        for s in 1..ends.len() {
            ends[s] += ends[s - 1];
        }
        let starts = ends;
        let mut order: Vec<u32> = memory::zeros(ids.len());
        for (row, id) in (0..).zip(ids).paced() {
            let end = &mut ends[shard_of(words(id))];
            order[*end] = row;
            *end += 1;
        }
        let (first, limit) = (AtomicUsize::new(usize::MAX), self.limit);
        pool::for_each_chunk(&mut self.shards, 1, ids.len() < SMALL, |s, shard| {
            let mut rows = order[starts[s]..starts[s + 1]].iter().paced();
            if let Some(&row) = rows.find(|&&row| shard[0].count(words(&ids[row as usize])) > limit)
            {
                first.fetch_min(row as usize, Ordering::Relaxed);
            }
        });
        Some(first.into_inner()).filter(|&row| row < usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> [u8; 16] {
        (u128::from(number) | u128::from(number >> 32) << 64).to_le_bytes()
    }

    /// In batches: the first row that is one too many, and the bound then.
    fn counted(ids: &[[u8; 16]], limit: u64, batch: usize) -> (Option<usize>, u64) {
        let mut tally = Tally::new(limit);
        let mut batches = ids.chunks(batch).enumerate();
        let found = batches.find_map(|(i, ids)| Some(i * batch + tally.add(ids)?));
        (found, tally.bound())
    }

    /// Different ids of one shard.
    fn of_one_shard(n: usize) -> Vec<[u8; 16]> {
        (0..)
            .map(id)
            .filter(|id| shard_of(words(id)) == 5)
            .take(n)
            .collect()
    }

    #[test]
    #[cfg_attr(miri, ignore)]
    fn ids_of_one_shard_widen_the_bound_and_nothing_else() {
        let times = 4;
        let mut ids = of_one_shard(times * (COUNTERS + 1));
        let (found, bound) = counted(&ids, 1, ids.len());
        assert_eq!((found, bound), (None, 1 + times as u64));
        // One id with a row more than a limit of 2 and what is forgotten, another with as many as are allowed.
        let (often, allowed) = (ids[0], ids[1]);
        let step = ids.len() / (times + 3);
        for i in 1..=times + 2 {
            ids[i * step] = often;
        }
        let last = ids.len() - 1;
        ids[last] = allowed;
        let (found, _) = counted(&ids, 2, 100_000);
        assert!(found.is_some_and(|row| ids[row] == often));
        // It has as many rows as are allowed here.
        let limit = times as u64 + 3;
        let (found, bound) = counted(&ids, limit, 100_000);
        assert_eq!(found, None);
        assert!(bound > limit && bound <= limit + times as u64);
    }
}
