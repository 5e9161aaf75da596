//! How many rows each id has, in bounded memory: Misra and Gries, in shards that are counted side by side.
//!
//! An id is 16 bytes. Some of its bits choose one of `SHARDS` tables, and each table has `COUNTERS` counters. An id
//! without a counter gets one. Where none is left, one row of this id and of each that is counted are left out, which
//! sets free the counters that come to 0. So a count is never above the truth, and below it by at most the times that
//! this happened in its shard; that takes a row more than there are counters each time.
//!
//! Which shard an id goes to is the same everywhere, and a shard sees its rows in their order. So answers depend
//! neither on threads nor on how rows come in batches. Where an id lies within its shard is random: nobody can choose
//! ids that get into each other's way. Ids that were chosen to be in one shard are counted by one thread, with the
//! counters of one shard, and the bound says so.
//!
//! # Cost
//! A batch is sorted by shards first, so that a table is close to the core while its rows are counted. Ids and counts
//! lie in the order in which they came; what is searched is an index of four bytes a place, small enough for a cache.
//! Memory: 44 MiB at most, and less where ids or rows are fewer.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::system::memory;
use crate::system::{pool, stop};

/// Tables.
const SHARDS: usize = 64;

/// Places of an index at most, as a power of two. In one that is as full as it gets a new id takes four looks.
/// Fewer in tests, which fill all of them and are not optimised.
const PLACES_LOG: u32 = if cfg!(test) { 12 } else { 15 };
const PLACES: usize = 1 << PLACES_LOG;

/// Ids that a shard counts at a time: a quarter more than its part of 2^20, so that chance leaves none of so many out.
const COUNTERS: usize = full(PLACES);

/// Places of an index at least.
const FEW: usize = 32;

/// Ids that so many places are good for.
const fn full(places: usize) -> usize {
    places / 8 * 5
}

/// Rows that are sorted at a time by a thread.
const PART: usize = 1 << 16;

/// Rows that are counted at a time.
const PIECE: usize = 1 << 18;

/// Rows below which threads take longer to start than to count.
const SMALL: usize = 1 << 13;

/// The two words of an id and its count.
type Counter = [u64; 3];

/// The two words of an id; then, above, its [`Homes`]; below, its row within a piece.
type Row = [u64; 3];

/// Both halves of a product in one word.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// A number below [`SHARDS`], from all bits of an id.
#[inline(always)]
fn shard_of(a: u64, b: u64) -> usize {
    let once = fold(a ^ 0x243f_6a88_85a3_08d3, 0x9e37_79b9_7f4a_7c15);
    (fold(once ^ b, 0xd6e8_feb8_6659_fd93) >> (64 - SHARDS.ilog2())) as usize
}

/// Where ids lie within their shard: random numbers, since what is chosen by others must not be able to collide.
#[derive(Debug, Clone, Copy)]
struct Homes([u64; 4]);

impl Homes {
    fn new() -> Self {
        let random = RandomState::new();
        Homes(std::array::from_fn(|i| random.hash_one(i) | 1))
    }

    /// 32 bits: the first say where an id is looked for first, the others stand there, to tell it from most others.
    #[inline(always)]
    fn of(&self, a: u64, b: u64) -> u32 {
        let Homes([k, l, m, n]) = self;
        (fold(fold(a ^ k, *l) ^ b ^ m, *n) >> 32) as u32
    }
}

/// The first place to look at among so many, a power of two.
#[inline(always)]
fn place(home: u32, places: usize) -> usize {
    (home >> (32 - places.ilog2())) as usize
}

/// What stands in an index for counter `i`: never 0, which is a free place.
#[inline(always)]
fn entry(home: u32, i: usize) -> u32 {
    const { assert!(COUNTERS < PLACES) };
    home << PLACES_LOG | (i as u32 + 1)
}

/// Enter counter `i`, of an id that is not in the index.
fn enter(index: &mut [u32], home: u32, i: usize) {
    let mask = index.len() - 1;
    let mut at = place(home, index.len());
    while index[at & mask] != 0 {
        at += 1;
    }
    index[at & mask] = entry(home, i);
}

/// What is known of a shard beside its table.
#[derive(Debug, Clone, Copy, Default)]
struct Shard {
    /// Ids that are counted.
    ids: usize,
    /// How often a row of every id was left out.
    forgotten: u64,
}

/// Rows of ids, in bounded memory. It has no `Debug`, which would show ids.
pub struct Tally {
    limit: u64,
    homes: Homes,
    /// The indices of all shards, one after the other, of the same length.
    indices: Vec<u32>,
    /// Their counters, as many as such an index is good for.
    counters: Vec<Counter>,
    shards: [Shard; SHARDS],
    /// Where the rows of a piece are sorted.
    rows: Vec<Row>,
}

/// A part of a piece, sorted by shards: where each begins, and where the last ends.
type Starts = [u32; SHARDS + 1];

impl Tally {
    /// No rows yet. No id should have more than `limit`.
    pub fn new(limit: u64) -> Self {
        Tally {
            limit,
            homes: Homes::new(),
            indices: Vec::new(),
            counters: Vec::new(),
            shards: [Shard::default(); SHARDS],
            rows: Vec::new(),
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
        if ids.is_empty() || self.limit == 0 {
            return (!ids.is_empty()).then_some(0);
        }
        let threads = if ids.len() < SMALL { 1 } else { threads };
        let most = ids.len().min(PIECE);
        let mut rows = std::mem::take(&mut self.rows);
        if rows.len() < most {
            rows = memory::zeros(most);
        }
        let mut starts: Vec<Starts> = memory::zeros(most.div_ceil(PART));
        let mut states = memory::filled((), threads.clamp(1, SHARDS));
        // As if all ids were new, and for the whole batch at once rather than a little more for each piece.
        let counted = self.shards.iter().map(|shard| shard.ids).max();
        self.make_room(counted.unwrap_or(0) + ids.len() / SHARDS, &mut states);
        let found = ids.chunks(PIECE).enumerate().find_map(|(i, piece)| {
            let row = self.add_piece(piece, &mut rows, &mut starts, &mut states)?;
            Some(i * PIECE + row)
        });
        self.rows = rows;
        found
    }

    /// The same of rows that are sorted and counted at a time.
    fn add_piece(
        &mut self,
        ids: &[[u8; 16]],
        rows: &mut [Row],
        starts: &mut [Starts],
        states: &mut [()],
    ) -> Option<usize> {
        let homes = self.homes;
        let rows = &mut rows[..ids.len()];
        let starts = &mut starts[..ids.len().div_ceil(PART)];
        let parts = ids.chunks(PART).zip(rows.chunks_mut(PART));
        let parts = parts.zip(&mut *starts).enumerate();
        pool::share_out(parts, states, |(), (i, ((ids, rows), starts))| {
            sort(ids, i * PART, &homes, rows, starts);
        });
        let (rows, starts) = (&*rows, &*starts);
        let most = (0..SHARDS).map(|s| {
            let more = starts.iter().map(|at| (at[s + 1] - at[s]) as usize);
            self.shards[s].ids + more.sum::<usize>()
        });
        self.make_room(most.max().unwrap_or(0), states);
        let places = self.indices.len() / SHARDS;
        let first = AtomicUsize::new(usize::MAX);
        let limit = self.limit;
        let tables = (self.indices.chunks_mut(places)).zip(self.counters.chunks_mut(full(places)));
        let shards = tables.zip(&mut self.shards).enumerate();
        pool::share_out(shards, states, |(), (s, ((index, counters), shard))| {
            let mut table = Table {
                index,
                counters,
                shard,
                homes: &homes,
                limit,
            };
            for (part, starts) in rows.chunks(PART).zip(starts) {
                stop::point();
                let part = &part[starts[s] as usize..starts[s + 1] as usize];
                if let Some(row) = table.add(part, first.load(Ordering::Relaxed)) {
                    first.fetch_min(row, Ordering::Relaxed);
                    break;
                }
            }
        });
        Some(first.into_inner()).filter(|&row| row < usize::MAX)
    }

    /// Tables that hold `ids` each, or as many as there are counters.
    fn make_room(&mut self, ids: usize, states: &mut [()]) {
        let mut places = FEW;
        while places < PLACES && full(places) < ids {
            // Entering all ids once more is felt, so it is done seldom.
            places *= 4;
        }
        let before = self.indices.len() / SHARDS;
        if places <= before {
            return;
        }
        let mut indices: Vec<u32> = memory::zeros(places * SHARDS);
        let mut counters: Vec<Counter> = memory::zeros(full(places) * SHARDS);
        if before > 0 {
            let homes = self.homes;
            let new = (indices.chunks_mut(places)).zip(counters.chunks_mut(full(places)));
            let old = (self.counters.chunks(full(before))).zip(&self.shards);
            pool::share_out(old.zip(new), states, |(), ((old, shard), (index, new))| {
                for (i, (&[a, b, count], new)) in old[..shard.ids].iter().zip(new).enumerate() {
                    *new = [a, b, count];
                    enter(index, homes.of(a, b), i);
                }
            });
        }
        (self.indices, self.counters) = (indices, counters);
    }
}

/// Sort rows by the shards of their ids. The first is row `first` of the piece.
fn sort(ids: &[[u8; 16]], first: usize, homes: &Homes, rows: &mut [Row], starts: &mut Starts) {
    let words = |id: &[u8; 16]| {
        let id = u128::from_le_bytes(*id);
        (id as u64, (id >> 64) as u64)
    };
    let mut ends = [0_u32; SHARDS];
    for id in ids {
        let (a, b) = words(id);
        ends[shard_of(a, b)] += 1;
    }
    let mut sum = 0;
    for (start, end) in starts.iter_mut().zip(&mut ends) {
        (*start, sum) = (sum, sum + *end);
        *end = *start;
    }
    starts[SHARDS] = sum;
    for (row, id) in (first as u64..).zip(ids) {
        let (a, b) = words(id);
        let end = &mut ends[shard_of(a, b)];
        rows[*end as usize] = [a, b, u64::from(homes.of(a, b)) << 32 | row];
        *end += 1;
    }
}

/// One shard while it counts.
struct Table<'a> {
    index: &'a mut [u32],
    counters: &'a mut [Counter],
    shard: &'a mut Shard,
    homes: &'a Homes,
    limit: u64,
}

impl Table<'_> {
    /// Count rows; the first below `before` that is one too many, if any.
    fn add(&mut self, rows: &[Row], before: usize) -> Option<usize> {
        for row in rows {
            let at = row[2] as u32 as usize;
            if at >= before {
                return None;
            }
            if self.count(row) > self.limit {
                return Some(at);
            }
        }
        None
    }

    /// Count a row; how many its id has now.
    #[inline(always)]
    fn count(&mut self, &[a, b, rest]: &Row) -> u64 {
        let home = (rest >> 32) as u32;
        let mask = self.index.len() - 1;
        let mut at = place(home, self.index.len());
        loop {
            let seen = self.index[at & mask];
            if seen == 0 {
                break;
            }
            if (seen ^ home << PLACES_LOG) < PLACES as u32 {
                let i = seen % PLACES as u32 - 1;
                let counter = &mut self.counters[i as usize];
                if (counter[0] ^ a) | (counter[1] ^ b) == 0 {
                    counter[2] += 1;
                    return counter[2];
                }
            }
            at += 1;
        }
        let i = self.shard.ids;
        if i == COUNTERS {
            self.forget();
            return 0;
        }
        self.counters[i] = [a, b, 1];
        self.index[at & mask] = entry(home, i);
        self.shard.ids += 1;
        1
    }

    /// Leave out one row of every id.
    #[cold]
    #[inline(never)]
    fn forget(&mut self) {
        self.shard.forgotten += 1;
        self.index.fill(0);
        let mut kept = 0;
        for i in 0..self.shard.ids {
            let [a, b, count] = self.counters[i];
            if count > 1 {
                self.counters[kept] = [a, b, count - 1];
                enter(self.index, self.homes.of(a, b), kept);
                kept += 1;
            }
        }
        self.shard.ids = kept;
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
            .filter(|id| {
                let id = u128::from_le_bytes(*id);
                shard_of(id as u64, (id >> 64) as u64) == 5
            })
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
                sizes[shard_of(number, number >> 32)] += 1;
            }
        }
        // Of 1000 each, ten standard deviations are 320.
        assert!(
            sizes.iter().all(|size| (700..1300).contains(size)),
            "{sizes:?}"
        );
    }
}
