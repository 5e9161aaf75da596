//! Points that are taken away one after the other: the farthest from a place, the nearest to one.
//!
//! A column holds numbers, which differ by their squared difference, or codes of a nominal attribute, which
//! differ by what a table says (0 or 1 between two records). Distances are sums over columns, from the first to the
//! last.
//!
//! # Why no point is missed
//! The points stand in the leaves of a balanced tree, each node with the box around its points. The distance of a
//! box is computed by the same operations in the same order as that of a point, from coordinates that are not
//! nearer (or not farther). Every operation rounds monotonically, so the bound holds for the computed
//! distances without any slack, and a subtree is left out only if no point of it can be the answer. Of equal
//! distances the lower record is taken, in every search; nodes know their lowest record. So the answer is that
//! of a comparison with every point, whatever the tree looks like and on any number of threads.
//!
//! # Cost
//! Building O(n d log n). A search is O(d log n) where boxes tell points apart, O(n d) where they do not (many columns
//! without structure). Large searches go to the pool.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::processor::for_avx2;
use crate::system::stop::{self, Paced};

/// Points in a leaf, whose distances are computed at once.
const LEAF: usize = 128;

/// Subtrees that a large search is divided into, 2 to this power.
const SHARDS: u32 = 5;

/// Cells that the last search of its kind looked at, from which on the next one goes to the pool: below, waking
/// threads takes longer.
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
    /// The least and the most of each table.
    pub ends: Vec<(f64, f64)>,
    /// Leaves that the last search from here looked at, for the nearest and for the farthest.
    looked: [usize; 2],
}

impl Place {
    /// A place from which all codes are 1 away, until a record is put here.
    pub fn new(levels: &[usize]) -> Self {
        Place {
            point: memory::filled(f64::NAN, levels.len()),
            tables: levels.iter().map(|&n| memory::filled(1.0, n)).gather(),
            ends: memory::filled((0.0, 1.0), levels.len()),
            looked: [0; 2],
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

    /// How far the nearest (or the farthest) place of a box is in column `j`.
    #[inline]
    fn to_box(&self, j: usize, low: f64, high: f64, farthest: bool) -> f64 {
        let (here, table) = (self.point[j], &self.tables[j]);
        if table.is_empty() {
            // One instruction each, unlike `f64::max`, which thinks of NaN.
            let larger = |a: f64, b: f64| if a > b { a } else { b };
            let (below, above) = (low - here, high - here);
            let gap = if farthest {
                larger(below.abs(), above.abs())
            } else {
                larger(larger(below, -above), 0.0)
            };
            return gap * gap;
        }
        if low == high {
            table[low as usize]
        } else if farthest {
            self.ends[j].1
        } else if here < low || here > high {
            // A record's own code is not in the box.
            1.0
        } else {
            self.ends[j].0
        }
    }
}

/// A search in one part of the tree.
#[derive(Debug)]
struct Search {
    /// -1 in a search for the farthest, else 1.
    sign: f64,
    /// How many are wanted, one at least.
    wanted: usize,
    /// The best so far, the last of them on top.
    best: BinaryHeap<Found>,
    /// What is not less than this is not wanted.
    limit: Found,
    /// Leaves that were looked at.
    leaves: usize,
}

impl Search {
    fn new(sign: f64, wanted: usize, limit: Found) -> Self {
        Search {
            sign,
            wanted,
            best: BinaryHeap::from(memory::room(wanted)),
            limit,
            leaves: 0,
        }
    }

    fn take(&mut self, found: Found) {
        if found < self.limit {
            if self.best.len() >= self.wanted {
                self.best.pop();
            }
            self.best.push(found);
            if self.best.len() >= self.wanted {
                self.limit = *self.best.peek().unwrap_or(&found);
            }
        }
    }
}

for_avx2! {
    /// How far all points of a leaf are away, by [`Found`], and whether any is within a limit. Those beyond the count of a
    /// leaf are points that it had.
    fn distances_of(cells: &[f64], place: &Place, sign: f64, limit: f64, sums: &mut [f64; LEAF]) -> bool {
        sums.fill(0.0);
        for (j, column) in cells.chunks_exact(LEAF).enumerate() {
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
pub struct Cloud<'a> {
    /// All records, a row each.
    rows: &'a [f64],
    /// Codes of each column; 0 if it holds numbers.
    levels: &'a [usize],
    /// Cells from which on a search goes to the pool.
    many: usize,
    /// Levels of nodes above the leaves.
    height: u32,
    /// Points when the tree was built.
    built: usize,
    /// Points below each node, the root first; children of `i` are `2i + 1` and `2i + 2`.
    counts: Vec<u32>,
    /// The lowest record below each node.
    first: Vec<u32>,
    /// Boxes, a row of columns for each node.
    low: Vec<f64>,
    high: Vec<f64>,
    /// Coordinates, leaf by leaf and in it column by column.
    cells: Vec<f64>,
    /// Their records.
    records: Vec<u32>,
    /// Where each record stands among them; `GONE` if it does not.
    places: Vec<u32>,
}

const GONE: u32 = u32::MAX;

impl<'a> Cloud<'a> {
    /// The points of all rows.
    pub fn new(rows: &'a [f64], levels: &'a [usize]) -> Self {
        let n = rows.len() / levels.len();
        let mut cloud = Cloud {
            rows,
            levels,
            many: MANY,
            height: 0,
            built: 0,
            counts: Vec::new(),
            first: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            cells: Vec::new(),
            records: Vec::new(),
            places: memory::filled(GONE, n),
        };
        cloud.build((0..n as u32).gather());
        cloud
    }

    /// Points that are left.
    pub fn len(&self) -> usize {
        self.counts[0] as usize
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those that are left, in no order.
    pub fn left(&self) -> Vec<u32> {
        let n = self.places.len() as u32;
        (0..n).filter(|&r| self.places[r as usize] != GONE).gather()
    }

    fn row(&self, record: u32) -> &'a [f64] {
        let d = self.levels.len();
        &self.rows[record as usize * d..][..d]
    }

    /// A new tree of these records.
    fn build(&mut self, mut order: Vec<u32>) {
        let (d, n) = (self.levels.len(), order.len());
        let leaves = n.div_ceil(LEAF).max(1).next_power_of_two();
        (self.height, self.built) = (leaves.trailing_zeros(), n);
        let nodes = 2 * leaves - 1;
        self.counts = memory::zeros(nodes);
        self.first = memory::zeros(nodes);
        self.low = memory::zeros(nodes * d);
        self.high = memory::zeros(nodes * d);
        self.cells = memory::zeros(leaves * d * LEAF);
        self.records = memory::zeros(leaves * LEAF);
        for level in 0..self.height {
            for i in 0..1usize << level {
                let (start, end) = ((n * i) >> level, (n * (i + 1)) >> level);
                self.split(
                    &mut order[start..end],
                    ((n * (2 * i + 1)) >> (level + 1)) - start,
                );
            }
        }
        for leaf in 0..leaves {
            stop::point();
            let part = &order[n * leaf / leaves..n * (leaf + 1) / leaves];
            for (slot, &record) in part.iter().enumerate() {
                let row = self.row(record);
                for (j, &x) in row.iter().enumerate() {
                    self.cells[(leaf * d + j) * LEAF + slot] = x;
                }
                self.records[leaf * LEAF + slot] = record;
                self.places[record as usize] = (leaf * LEAF + slot) as u32;
            }
            self.counts[leaves - 1 + leaf] = part.len() as u32;
            self.fit_leaf(leaf);
        }
        for node in (0..leaves - 1).rev() {
            self.counts[node] = self.counts[2 * node + 1] + self.counts[2 * node + 2];
            self.fit_above(node);
        }
    }

    /// The first `middle` of these records on one side, in the column where they are farthest apart.
    fn split(&self, order: &mut [u32], middle: usize) {
        stop::point();
        if middle == 0 || middle >= order.len() {
            return;
        }
        let d = self.levels.len();
        let mut low = memory::filled(f64::INFINITY, d);
        let mut high = memory::filled(f64::NEG_INFINITY, d);
        for &record in order.iter().paced() {
            for ((low, high), &x) in low.iter_mut().zip(&mut high).zip(self.row(record)) {
                (*low, *high) = (low.min(x), high.max(x));
            }
        }
        let width = |j: usize| match self.levels[j] {
            0 => high[j] - low[j],
            _ => (high[j] - low[j]).min(1.0),
        };
        // Of equal widths the first.
        let columns = (0..d).rev();
        let widest = columns.max_by(|&a, &b| width(a).total_cmp(&width(b)));
        let (rows, j, tick) = (self.rows, widest.unwrap_or(0), stop::Tick::default());
        let at = |record: u32| rows[record as usize * d + j];
        order.select_nth_unstable_by(middle, |&a, &b| {
            tick.tick();
            at(a).total_cmp(&at(b)).then(a.cmp(&b))
        });
    }

    /// The box of a leaf, anew.
    fn fit_leaf(&mut self, leaf: usize) {
        let d = self.levels.len();
        let node = (1 << self.height) - 1 + leaf;
        let count = self.counts[node] as usize;
        for j in 0..d {
            let cells = &self.cells[(leaf * d + j) * LEAF..][..count];
            let ends = (f64::INFINITY, f64::NEG_INFINITY);
            let ends = cells.iter().fold(ends, |(a, b), &x| (a.min(x), b.max(x)));
            (self.low[node * d + j], self.high[node * d + j]) = ends;
        }
        let records = &self.records[leaf * LEAF..][..count];
        self.first[node] = records.iter().copied().min().unwrap_or(u32::MAX);
    }

    /// The box of a node from those of its children, and whether it changed. An empty one is all wrong way round.
    fn fit_above(&mut self, node: usize) -> bool {
        let d = self.levels.len();
        let (a, b) = (2 * node + 1, 2 * node + 2);
        let first = self.first[a].min(self.first[b]);
        let mut changed = first != std::mem::replace(&mut self.first[node], first);
        for j in 0..d {
            let low = self.low[a * d + j].min(self.low[b * d + j]);
            let high = self.high[a * d + j].max(self.high[b * d + j]);
            changed |= low != std::mem::replace(&mut self.low[node * d + j], low);
            changed |= high != std::mem::replace(&mut self.high[node * d + j], high);
        }
        changed
    }

    /// Takes a record away.
    pub fn remove(&mut self, record: u32) {
        let d = self.levels.len();
        let place = std::mem::replace(&mut self.places[record as usize], GONE) as usize;
        let (leaf, slot) = (place / LEAF, place % LEAF);
        let mut node = (1 << self.height) - 1 + leaf;
        let last = self.counts[node] as usize - 1;
        // Its box may be smaller without it.
        let row = self.row(record);
        let mut changed = self.first[node] == record
            || row
                .iter()
                .enumerate()
                .any(|(j, &x)| x == self.low[node * d + j] || x == self.high[node * d + j]);
        if slot < last {
            for j in 0..d {
                let cells = &mut self.cells[(leaf * d + j) * LEAF..][..LEAF];
                cells[slot] = cells[last];
            }
            let moved = self.records[leaf * LEAF + last];
            self.records[leaf * LEAF + slot] = moved;
            self.places[moved as usize] = place as u32;
        }
        self.counts[node] -= 1;
        if changed {
            self.fit_leaf(leaf);
        }
        while node > 0 {
            node = (node - 1) / 2;
            self.counts[node] -= 1;
            if changed {
                changed = self.fit_above(node);
            }
        }
        // Leaves with few points take as long as full ones.
        if 2 * self.len() < self.built && self.len() > LEAF {
            self.build(self.left());
        }
    }

    /// The best that may be in the box of a node.
    fn bound(&self, node: usize, place: &Place, sign: f64) -> Found {
        let d = self.levels.len();
        let (low, high) = (&self.low[node * d..][..d], &self.high[node * d..][..d]);
        let (mut distance, farthest) = (0.0, sign < 0.0);
        for (j, (&low, &high)) in low.iter().zip(high).enumerate() {
            distance += place.to_box(j, low, high, farthest);
        }
        Found {
            away: sign * distance,
            record: self.first[node],
        }
    }

    /// Looks through the points below a node, which is not empty.
    fn look(&self, node: usize, place: &Place, search: &mut Search) {
        let leaves = 1usize << self.height;
        if node >= leaves - 1 {
            let leaf = node + 1 - leaves;
            search.leaves += 1;
            let d = self.levels.len();
            let cells = &self.cells[leaf * d * LEAF..][..d * LEAF];
            let mut distances = [0.0; LEAF];
            if distances_of(cells, place, search.sign, search.limit.away, &mut distances) {
                let records = &self.records[leaf * LEAF..][..self.counts[node] as usize];
                for (&away, &record) in distances.iter().zip(records) {
                    search.take(Found { away, record });
                }
            }
            return;
        }
        let mut children = [2 * node + 1, 2 * node + 2]
            .map(|child| (self.bound(child, place, search.sign), child));
        if children[1] < children[0] {
            children.swap(0, 1);
        }
        for (bound, child) in children {
            if self.counts[child] > 0 && bound < search.limit {
                self.look(child, place, search);
            }
        }
    }

    /// The best `wanted` of the whole tree, in no order; in parts on the pool if the search before was long.
    fn search(&self, place: &mut Place, farthest: bool, wanted: usize) -> Vec<Found> {
        stop::point();
        let mut main = Search::new(if farthest { -1.0 } else { 1.0 }, wanted, NOWHERE);
        let cells = place.looked[usize::from(farthest)] * self.levels.len() * LEAF;
        if self.height >= SHARDS && cells >= self.many {
            self.search_parts(place, &mut main);
        } else if !self.is_empty() {
            self.look(0, place, &mut main);
        }
        place.looked[usize::from(farthest)] = main.leaves;
        main.best.into_vec()
    }

    fn search_parts(&self, place: &Place, main: &mut Search) {
        let first = (1 << SHARDS) - 1;
        let bound = |node: usize| self.bound(node, place, main.sign);
        let parts = (first..2 * first + 1).filter(|&node| self.counts[node] > 0);
        // The most promising part alone, so that the others know what there is to beat.
        let Some((_, best)) = parts.map(|node| (bound(node), node)).min() else {
            return;
        };
        self.look(best, place, main);
        let others = pool::map(1 << SHARDS, false, |i| {
            let node = first + i;
            let mut search = Search::new(main.sign, main.wanted, main.limit);
            let worth = self.bound(node, place, main.sign) < main.limit;
            if node != best && self.counts[node] > 0 && worth {
                self.look(node, place, &mut search);
            }
            search
        });
        for search in others {
            main.leaves += search.leaves;
            search.best.into_iter().for_each(|found| main.take(found));
        }
    }

    /// The record that is farthest from a place; `None` if no record is left.
    pub fn farthest(&self, place: &mut Place) -> Option<u32> {
        self.search(place, true, 1)
            .first()
            .map(|found| found.record)
    }

    /// The `wanted` records nearest to a place, one at least, in no order.
    pub fn nearest(&self, place: &mut Place, wanted: usize) -> Vec<u32> {
        let found = self.search(place, false, wanted);
        found.iter().map(|near| near.record).gather()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::birkhoff::random::Random;

    /// Three columns of few values, so that many distances are equal, and one of codes.
    fn rows(n: usize, values: u64) -> Vec<f64> {
        let mut random = Random::new(7);
        let cell = |(i, x): (usize, u64)| (x % if i % 4 == 3 { 5 } else { values }) as f64;
        let drawn = (0..4 * n).map(|i| (i, random.word() >> 33));
        drawn.map(cell).collect()
    }

    fn distance(a: &[f64], b: &[f64], codes: bool) -> f64 {
        let gaps = (0..3).map(|j| (a[j] - b[j]) * (a[j] - b[j]));
        let numbers = gaps.fold(0.0, |s, g| s + g);
        let gap = a[3] - b[3];
        numbers
            + if codes {
                f64::from(u8::from(gap != 0.0))
            } else {
                gap * gap
            }
    }

    fn agrees_with_every_comparison(n: usize, values: u64, many: usize, codes: bool) {
        let (rows, levels) = (rows(n, values), [0, 0, 0, if codes { 5 } else { 0 }]);
        let mut cloud = Cloud::new(&rows, &levels);
        cloud.many = many;
        let mut place = Place::new(&levels);
        let mut left: Vec<u32> = (0..n as u32).collect();
        let mut random = Random::new(3);
        for _ in 0..n.min(300) {
            let at = left[random.below(left.len() as u64) as usize];
            let row = |record: u32| &rows[4 * record as usize..][..4];
            place.put(row(at));
            let all: Vec<(f64, u32)> = left
                .iter()
                .map(|&record| (distance(row(record), row(at), codes), record))
                .collect();
            let far = all.iter().fold(all[0], |best, &one| {
                let ahead = one.0 > best.0 || (one.0 == best.0 && one.1 < best.1);
                if ahead { one } else { best }
            });
            assert_eq!(cloud.farthest(&mut place), Some(far.1));
            let mut sorted = all.clone();
            sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let mut want: Vec<u32> = sorted.iter().take(9).map(|one| one.1).collect();
            let mut near = cloud.nearest(&mut place, 9);
            want.sort_unstable();
            near.sort_unstable();
            assert_eq!(near, want);
            for &record in near.iter().take(left.len().saturating_sub(1)) {
                cloud.remove(record);
                left.retain(|&one| one != record);
            }
            assert_eq!(cloud.len(), left.len());
        }
    }

    #[test]
    fn finds_what_comparing_with_every_point_finds_also_in_parts_on_the_pool() {
        for (n, values) in [(20, 3), (500, 4), (3000, 1000), (2500, 2)] {
            for (many, codes) in [(MANY, true), (MANY, false), (0, true), (0, false)] {
                agrees_with_every_comparison(n, values, many, codes);
            }
        }
    }
}
