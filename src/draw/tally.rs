//! How many rows each id has, in bounded memory (Misra and Gries).
//!
//! An id is 16 bytes. Some of its bits choose one of `SHARDS` tables, which count at most `COUNTERS` ids each. If an id
//! has no counter and none is free, its row is left out, and one row of every id in the table. That sets free the
//! counters that come to 0. So a count is never above the truth, and below it by at most the number of times that this
//! happened in the table. Each time takes one row more than there are counters.
//!
//! A table sees its rows in their order, so the answers depend neither on threads nor on batches.
//!
//! # Cost
//! At most 52 MiB, and less for fewer ids. Every thread reads all ids and counts those of its own tables.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::system::stop::Paced;
use crate::system::{memory, pool};

/// Tables.
const SHARDS: usize = 16;

/// Ids that a table counts: a quarter more than its part of 2^20, so that chance leaves no id of 2^20 out. Fewer in
/// tests, which fill all tables and are not optimized.
const COUNTERS: usize = (if cfg!(test) { 1 << 13 } else { 1 << 16 }) / 4 * 5;

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

/// One table. Its hashes are random, so that no attacker can choose ids that collide.
#[derive(Default)]
struct Shard {
    counts: HashMap<Id, u64>,
    /// How often a row of every id was left out.
    forgotten: u64,
}

impl Shard {
    /// Count a row and return the number of rows of its id.
    fn count(&mut self, id: Id) -> u64 {
        if let Some(count) = self.counts.get_mut(&id) {
            *count += 1;
            return *count;
        }
        if self.counts.len() == COUNTERS {
            self.forgotten += 1;
            self.counts.retain(|_, count| {
                *count -= 1;
                *count > 0
            });
            return 0;
        }
        if self.counts.len() == self.counts.capacity() {
            // The table doubles, and cannot be refused memory itself.
            memory::probe(64 * self.counts.capacity());
        }
        self.counts.insert(id, 1);
        1
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
            shards: Default::default(),
        }
    }

    /// An id with more rows than this has been found. One with at most the limit never is.
    pub fn bound(&self) -> u64 {
        let forgotten = self.shards.iter().map(|shard| shard.forgotten).max();
        self.limit.saturating_add(forgotten.unwrap_or(0))
    }

    /// Count rows by their ids; the position of the first that is one too many, if any. Which of the rows behind that
    /// one are counted is left open.
    pub fn add(&mut self, ids: &[[u8; 16]], threads: usize) -> Option<usize> {
        let small = ids.len() < SMALL;
        let each = SHARDS.div_ceil(if small { 1 } else { threads.max(1) });
        let (first, limit) = (AtomicUsize::new(usize::MAX), self.limit);
        pool::for_each_chunk(&mut self.shards, each, small, |chunk, shards| {
            for (row, id) in ids.iter().enumerate().paced() {
                let id = words(id);
                let Some(shard) = shards.get_mut(shard_of(id).wrapping_sub(chunk * each)) else {
                    continue;
                };
                if shard.count(id) > limit {
                    first.fetch_min(row, Ordering::Relaxed);
                    return;
                }
            }
        });
        Some(first.into_inner()).filter(|&row| row < usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn id(number: u64) -> [u8; 16] {
        (u128::from(number) | u128::from(number >> 32) << 64).to_le_bytes()
    }

    /// Numbers below `size`, the same every time.
    fn numbers(n: usize, size: u64, seed: u64) -> Vec<u64> {
        (0..n as u64)
            .map(|i| {
                fold(
                    fold(i + 1, 0x9e37_79b9_7f4a_7c15) ^ seed,
                    0xd6e8_feb8_6659_fd93,
                ) % size
            })
            .collect()
    }

    /// The first row that is one too many.
    fn plain(ids: &[[u8; 16]], limit: u64) -> Option<usize> {
        let mut counts = HashMap::new();
        ids.iter().position(|id| {
            let count = counts.entry(id).or_insert(0);
            *count += 1;
            *count > limit
        })
    }

    /// In batches: the first row that is one too many, and the bound then.
    fn counted(ids: &[[u8; 16]], limit: u64, batch: usize, threads: usize) -> (Option<usize>, u64) {
        let mut tally = Tally::new(limit);
        let mut batches = ids.chunks(batch).enumerate();
        let found = batches.find_map(|(i, ids)| Some(i * batch + tally.add(ids, threads)?));
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
    fn the_same_as_a_plain_table_on_any_number_of_threads_in_any_batches() {
        let scale = if cfg!(miri) { 100 } else { 1 };
        for (n, size, limit) in [
            (0, 1, 1),
            (1, 1, 0),
            (1, 1, 1),
            (2, 1, 1),
            (50_000, 20, 3000),
            (50_000, 1 << 40, 1),
            (100_000, 1 << 30, 1),
            (100_000, 1000, 130),
            (300_000, 100_000, 9),
            (300_000, 100_000, 90),
        ] {
            let n = if n > 9 { n / scale } else { n };
            let ids: Vec<_> = numbers(n, size, limit).into_iter().map(id).collect();
            let want = plain(&ids, limit);
            for (batch, threads) in [(n.max(1), 1), (n.max(1), 2), (70_001, 7), (997, 2)] {
                assert_eq!(counted(&ids, limit, batch, threads), (want, limit));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore)]
    fn what_is_forgotten_is_within_the_bound() {
        // Ids with few rows in the way of some with more: twice as many as there are counters.
        let many = 2 * SHARDS * COUNTERS;
        let mut rows: Vec<u64> = (0..many as u64).collect();
        for often in 0..40_u64 {
            for i in 0..=often {
                let at = fold(i + 1, 0x9e37_79b9_7f4a_7c15 ^ often) as usize % rows.len();
                rows[at] = u64::MAX - often;
            }
        }
        let ids: Vec<_> = rows.into_iter().map(id).collect();
        let mut counts = HashMap::new();
        for id in &ids {
            *counts.entry(id).or_insert(0_u64) += 1;
        }
        let most = counts.values().copied().max().unwrap();
        assert!(most > 30);
        for limit in [20, most] {
            let answers = [(many, 1), (100_000, 7)]
                .map(|(batch, threads)| counted(&ids, limit, batch, threads));
            assert_eq!(answers[0].0, answers[1].0);
            let (found, bound) = answers[0];
            assert!(bound <= limit + 2, "{bound}");
            match found {
                Some(row) => assert!(counts[&ids[row]] > limit),
                None => assert!(most <= bound),
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore)]
    fn ids_of_one_shard_widen_the_bound_and_nothing_else() {
        let times = 4;
        let mut ids = of_one_shard(times * (COUNTERS + 1));
        let (found, bound) = counted(&ids, 1, ids.len(), 2);
        assert_eq!((found, bound), (None, 1 + times as u64));
        // One id with a row more than a limit of 2 and what is forgotten, another with as many as are allowed.
        let (often, allowed) = (ids[0], ids[1]);
        let step = ids.len() / (times + 3);
        for i in 1..=times + 2 {
            ids[i * step] = often;
        }
        let last = ids.len() - 1;
        ids[last] = allowed;
        for threads in [1, 2, 7] {
            let (found, _) = counted(&ids, 2, 100_000, threads);
            assert!(found.is_some_and(|row| ids[row] == often));
            // It has as many rows as are allowed here.
            let limit = times as u64 + 3;
            let (found, bound) = counted(&ids, limit, 100_000, threads);
            assert_eq!(found, None);
            assert!(bound > limit && bound <= limit + times as u64);
        }
    }

    #[test]
    fn shards_get_about_as_many_ids_each() {
        let mut sizes = [0_usize; SHARDS];
        for step in [1, 1 << 20, 1 << 40, 0x9e37_79b9_7f4a_7c15_u64] {
            for i in 0..64_000_u64 / 4 {
                let number = i.wrapping_mul(step);
                sizes[shard_of((number, number >> 32))] += 1;
            }
        }
        // Of 4000 each, ten standard deviations are 630.
        assert!(
            sizes.iter().all(|size| (3370..4630).contains(size)),
            "{sizes:?}"
        );
    }
}
