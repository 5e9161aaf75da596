//! A queue of entries that only goes down: pushes are never above the last one popped.

use std::ops::Range;
use std::slice::IterMut;

use super::counts::Counts;
use crate::system::{memory, pool};

/// An entry: its value, row and column.
pub type Item = (u64, u32, u32);

/// Buckets of up to this many items are sorted as they come up.
const SORTED: usize = 128;

/// Largest first. A radix heap: bucket `i` holds the values that differ from `last` in bit `i - 1` and in
/// none above. The bucket that comes next is spread over the ones below it until it is small; then it
/// is sorted and popped from its end.
#[derive(Debug)]
pub struct Queue {
    buckets: Vec<Vec<Item>>,
    /// Buckets that are not empty, as bits.
    filled: u64,
    /// Not below any value in the buckets.
    last: u64,
    /// The next items, smallest first: all there are from `floor` up.
    front: Vec<Item>,
    floor: u64,
    /// Room of buckets that were emptied, for the next ones: as values fall, every bucket has its turn
    /// at holding most of them.
    spare: Vec<Vec<Item>>,
}

impl Queue {
    /// A queue of all entries, each bucket with the room it needs and no more. In a bucket they stand row by row,
    /// whatever thread has put them there.
    pub fn new(counts: &Counts) -> Self {
        let bands = counts.bands();
        let values = |i: usize| {
            let rows: &Range<usize> = &bands[i];
            &counts.values[counts.starts[rows.start]..counts.starts[rows.end]]
        };
        let most = pool::map(bands.len(), false, |i| values(i).iter().copied().max());
        let mut queue = Queue {
            buckets: Vec::new(),
            filled: 0,
            last: most.into_iter().flatten().max().unwrap_or(0),
            front: Vec::with_capacity(2 * SORTED),
            floor: 0,
            spare: Vec::with_capacity(64),
        };
        let lengths = pool::map(bands.len(), false, |i| {
            let mut lengths = [0; 64];
            values(i)
                .iter()
                .for_each(|&value| lengths[queue.bucket(value)] += 1);
            lengths
        });
        let all = |bucket| lengths.iter().map(|lengths| lengths[bucket]).sum();
        let mut buckets: Vec<Vec<Item>> = (0..64).map(|i| memory::zeros(all(i))).collect();
        // The places of each band in every bucket.
        let mut left: Vec<&mut [Item]> = buckets.iter_mut().map(|bucket| &mut bucket[..]).collect();
        let cut = |lengths: &[usize; 64]| {
            std::array::from_fn(|i| {
                let (own, rest) = std::mem::take(&mut left[i]).split_at_mut(lengths[i]);
                left[i] = rest;
                own.iter_mut()
            })
        };
        let mut places: Vec<[IterMut<'_, Item>; 64]> = lengths.iter().map(cut).collect();
        pool::for_each_chunk(&mut places, 1, false, |i, places| {
            let places = &mut places[0];
            counts
                .entries_of(bands[i].clone())
                .for_each(|(u, v, value)| {
                    if let Some(place) = places[queue.bucket(value)].next() {
                        *place = (value, u as u32, v as u32);
                    }
                });
        });
        for (i, bucket) in buckets.iter().enumerate() {
            queue.filled |= u64::from(!bucket.is_empty()) << i;
        }
        queue.buckets = buckets;
        queue
    }

    fn bucket(&self, value: u64) -> usize {
        (64 - (value ^ self.last).leading_zeros()) as usize
    }

    /// Add an item not above the last one popped.
    pub fn push(&mut self, item: Item) {
        if !self.front.is_empty() && item.0 >= self.floor {
            let place = self.front.partition_point(|other| other.0 <= item.0);
            memory::push(&mut self.front, item);
            self.front[place..].rotate_right(1);
        } else {
            self.file(item);
        }
    }

    fn file(&mut self, item: Item) {
        let i = self.bucket(item.0);
        if self.buckets[i].capacity() == 0 {
            self.buckets[i] = self.spare.pop().unwrap_or_default();
        }
        memory::push(&mut self.buckets[i], item);
        self.filled |= 1 << i;
    }

    /// The value that comes next.
    pub fn peek(&self) -> Option<u64> {
        if let Some(item) = self.front.last() {
            return Some(item.0);
        }
        let bucket = self.buckets.get(self.filled.trailing_zeros() as usize)?;
        bucket.iter().map(|item| item.0).max()
    }

    /// The largest item.
    pub fn pop(&mut self) -> Option<Item> {
        while self.front.is_empty() {
            if self.filled == 0 {
                return None;
            }
            let i = self.filled.trailing_zeros();
            self.filled &= !(1 << i);
            let mut items = std::mem::take(&mut self.buckets[i as usize]);
            if items.len() <= SORTED || i <= 1 {
                // Bucket `i` spans the values from `floor` to `floor + 2^(i-1) - 1`, bucket 0 one.
                self.floor = self.last >> i << i;
                self.last = self.floor + ((1u64 << i) / 2).saturating_sub(1);
                std::mem::swap(&mut self.front, &mut items);
                self.front.sort_unstable_by_key(|item| item.0);
            } else {
                self.last = items.iter().map(|item| item.0).max().unwrap_or(0);
                for &item in &items {
                    self.file(item);
                }
                items.clear();
            }
            self.spare.push(items);
        }
        self.front.pop()
    }
}
