//! Points that are taken away one after the other: the farthest from a place, the nearest to one.
//!
//! A column holds numbers, which differ by their squared difference, or codes of a nominal attribute, which
//! differ by what a table says (0 or 1 between two records). Distances are sums over columns, from the first to the
//! last.
//!
//! A search compares with every point, in blocks that one loop goes through. Of equal distances the lower record is
//! taken, so the answer is the same whatever the order of the points and on any number of threads.
//!
//! # Cost
//! O(n d) a search. Large ones go to the pool.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::processor::for_avx2;
use crate::system::stop::{self, Paced};

/// Points in a block, whose distances are computed at once.
const BLOCK: usize = 128;

/// Cells from which on a search goes to the pool: below, waking threads takes longer.
const MANY: usize = 1 << 18;

/// A record, and how far away it is: less than 0 in a search for the farthest, so that less is wanted more in every
/// search, and of equal distances the lower record.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Found {
    away: f64,
    record: u32,
}

/// Worse than any record.
const NOWHERE: Found = Found {
    away: f64::INFINITY,
    record: u32::MAX,
};

impl Eq for Found {}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn lt(&self, other: &Self) -> bool {
        self.away < other.away || (self.away == other.away && self.record < other.record)
    }
}

impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_distance = self.away.total_cmp(&other.away);
        by_distance.then(self.record.cmp(&other.record))
    }
}

/// Where distances are taken from.
#[derive(Debug)]
pub struct Place {
    /// A number, or the code of a record; NaN for the mean of codes.
    pub point: Vec<f64>,
    /// What each code of a nominal column is away; empty for numbers.
    pub tables: Vec<Vec<f64>>,
}

impl Place {
    /// A place from which all codes are 1 away, until a record is put here.
    pub fn new(levels: &[usize]) -> Self {
        Place {
            point: memory::filled(f64::NAN, levels.len()),
            tables: levels.iter().map(|&n| memory::filled(1.0, n)).collect(),
        }
    }

    /// At a record. Only for places that were never anything but a record.
    pub fn put(&mut self, row: &[f64]) {
        for (j, table) in self.tables.iter_mut().enumerate() {
            if table.is_empty() {
                continue;
            }
            if self.point[j] >= 0.0 {
                table[self.point[j] as usize] = 1.0;
            }
            table[row[j] as usize] = 0.0;
        }
        self.point.copy_from_slice(row);
    }
}

for_avx2! {
    /// How far all points of a block are away, by [`Found`], and whether any is within a limit. Those beyond the last
    /// point are points that were there.
    fn distances_of(cells: &[f64], place: &Place, sign: f64, limit: f64, sums: &mut [f64; BLOCK]) -> bool {
        sums.fill(0.0);
        for (j, column) in cells.chunks_exact(BLOCK).enumerate() {
            let table = &place.tables[j];
            if table.is_empty() {
                let here = place.point[j];
                for (sum, &x) in sums.iter_mut().zip(column) {
                    let gap = x - here;
                    *sum += gap * gap;
                }
            } else {
                for (sum, &code) in sums.iter_mut().zip(column) {
                    *sum += table[code as usize];
                }
            }
        }
        let mut any = false;
        for sum in sums.iter_mut() {
            *sum *= sign;
            any |= *sum <= limit;
        }
        any
    }
}

/// The points that are left.
#[derive(Debug)]
pub struct Cloud {
    /// Columns.
    width: usize,
    /// Coordinates, block by block and in it column by column.
    cells: Vec<f64>,
    /// Their records.
    records: Vec<u32>,
    /// Where each record stands among them.
    places: Vec<u32>,
}

impl Cloud {
    /// The points of all rows.
    pub fn new(rows: &[f64], width: usize) -> Self {
        let n = rows.len() / width;
        let mut cells = memory::zeros(n.div_ceil(BLOCK) * BLOCK * width);
        for (i, row) in rows.chunks_exact(width).enumerate().paced() {
            for (j, &x) in row.iter().enumerate() {
                cells[(i / BLOCK * width + j) * BLOCK + i % BLOCK] = x;
            }
        }
        Cloud {
            width,
            cells,
            records: (0..n as u32).gather(),
            places: (0..n as u32).gather(),
        }
    }

    /// Points that are left.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Those that are left, in no order.
    pub fn left(&self) -> &[u32] {
        &self.records
    }

    /// Takes a record away: the last one moves to its place.
    pub fn remove(&mut self, record: u32) {
        let place = self.places[record as usize] as usize;
        let last = self.len() - 1;
        let at = |i: usize, j: usize| (i / BLOCK * self.width + j) * BLOCK + i % BLOCK;
        for j in 0..self.width {
            self.cells[at(place, j)] = self.cells[at(last, j)];
        }
        self.places[self.records[last] as usize] = place as u32;
        self.records.swap_remove(place);
    }

    /// The best `wanted` of the blocks from `first` to `end`, in no order.
    fn look(
        &self,
        place: &Place,
        sign: f64,
        wanted: usize,
        first: usize,
        end: usize,
    ) -> Vec<Found> {
        let mut best = BinaryHeap::from(Vec::with_capacity(wanted));
        let mut limit = NOWHERE;
        let size = self.width * BLOCK;
        let cells = self.cells[first * size..end * size].chunks_exact(size);
        let mut distances = [0.0; BLOCK];
        for (cells, records) in cells.zip(self.records[first * BLOCK..].chunks(BLOCK)) {
            if !distances_of(cells, place, sign, limit.away, &mut distances) {
                continue;
            }
            for (&away, &record) in distances.iter().zip(records) {
                let found = Found { away, record };
                if found < limit {
                    if best.len() >= wanted {
                        best.pop();
                    }
                    best.push(found);
                    if best.len() >= wanted {
                        limit = *best.peek().unwrap_or(&found);
                    }
                }
            }
        }
        best.into_vec()
    }

    /// The best `wanted` of all, in no order; in parts on the pool if they are many.
    fn search(&self, place: &Place, sign: f64, wanted: usize) -> Vec<Found> {
        stop::point();
        let blocks = self.len().div_ceil(BLOCK);
        if blocks * BLOCK * self.width < MANY {
            return self.look(place, sign, wanted, 0, blocks);
        }
        let parts = pool::threads().min(blocks);
        let part = |i: usize| {
            let (first, end) = (blocks * i / parts, blocks * (i + 1) / parts);
            self.look(place, sign, wanted, first, end)
        };
        let mut found: Vec<Found> = pool::map(parts, false, part).concat();
        found.sort_unstable();
        found.truncate(wanted);
        found
    }

    /// The record that is farthest from a place; `None` if no record is left.
    pub fn farthest(&self, place: &Place) -> Option<u32> {
        let found = self.search(place, -1.0, 1);
        found.first().map(|found| found.record)
    }

    /// The `wanted` records nearest to a place, one at least, in no order.
    pub fn nearest(&self, place: &Place, wanted: usize) -> Vec<u32> {
        let found = self.search(place, 1.0, wanted);
        found.iter().map(|near| near.record).collect()
    }
}
