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

/// What the search before looked at, one number for each kind of search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The farthest from the mean.
    FromMean = 0,
    /// The farthest from a record.
    FromRecord = 1,
    /// The nearest to a record.
    Nearest = 2,
}

/// A record at a distance. The greater one is farther, or as far and a lower record: what a search for the
/// farthest looks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The sum over columns.
    pub distance: f64,
    /// Which record.
    pub record: u32,
}

impl Found {
    /// Whether it comes before `other` in a search for the nearest.
    fn is_nearer(self, other: Found) -> bool {
        self.distance < other.distance
            || (self.distance == other.distance && self.record < other.record)
    }

    /// Whether it comes before `other` in a search for the farthest.
    fn is_farther(self, other: Found) -> bool {
        self.distance > other.distance
            || (self.distance == other.distance && self.record < other.record)
    }
}

/// By nearness: a heap of them has the last of the nearest on top.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Near(Found);

impl Eq for Near {}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_distance = self.0.distance.total_cmp(&other.0.distance);
        by_distance.then(self.0.record.cmp(&other.0.record))
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
}

impl Place {
    /// A place from which all codes are 1 away, until a record is put here.
    pub fn new(levels: &[usize]) -> Self {
        Place {
            point: memory::filled(f64::NAN, levels.len()),
            tables: levels.iter().map(|&n| memory::filled(1.0, n)).gather(),
            ends: memory::filled((0.0, 1.0), levels.len()),
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
            let gap = to_side(low - here, high - here, farthest);
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
    /// The farthest so far, and what others have found already.
    farthest: Option<Found>,
    /// The nearest so far, the last of them on top.
    nearest: BinaryHeap<Near>,
    /// How many nearest are wanted.
    wanted: usize,
    /// What is not nearer than this is not wanted.
    limit: Option<Found>,
    /// Leaves that were looked at.
    leaves: usize,
}

impl Search {
    fn new(most: usize) -> Self {
        Search {
            farthest: None,
            nearest: BinaryHeap::from(memory::room(most)),
            wanted: 0,
            limit: None,
            leaves: 0,
        }
    }

    fn begin(&mut self, wanted: usize, farthest: Option<Found>, limit: Option<Found>) {
        self.nearest.clear();
        (self.wanted, self.farthest, self.limit, self.leaves) = (wanted, farthest, limit, 0);
    }

    /// Whether something at least so far and at least so high in the file would be taken.
    fn takes_farther(&self, found: Found) -> bool {
        self.farthest.is_none_or(|best| found.is_farther(best))
    }

    fn takes_nearer(&self, found: Found) -> bool {
        if self.limit.is_some_and(|limit| !found.is_nearer(limit)) {
            return false;
        }
        match self.nearest.peek() {
            Some(last) if self.nearest.len() >= self.wanted => found.is_nearer(last.0),
            _ => self.wanted > 0,
        }
    }

    fn take_nearer(&mut self, found: Found) {
        if self.takes_nearer(found) {
            if self.nearest.len() >= self.wanted {
                self.nearest.pop();
            }
            self.nearest.push(Near(found));
        }
    }

    /// What is nearer than this need not be looked at by a search for the farthest, what is farther not by one for the
    /// nearest.
    fn limit(&self, farthest: bool) -> f64 {
        if farthest {
            return self.farthest.map_or(0.0, |best| best.distance);
        }
        let given = self.limit.map_or(f64::INFINITY, |limit| limit.distance);
        self.last().map_or(given, |last| given.min(last.distance))
    }

    /// What others need not look beyond.
    fn last(&self) -> Option<Found> {
        let full = self.nearest.len() >= self.wanted;
        self.nearest.peek().filter(|_| full).map(|near| near.0)
    }
}

/// How far the nearest (or the farthest) side of a box is whose sides are `below` and `above` away; 0 inside.
#[inline]
fn to_side(below: f64, above: f64, farthest: bool) -> f64 {
    // One instruction each, unlike `f64::max`, which thinks of NaN.
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    if farthest {
        larger(below.abs(), above.abs())
    } else {
        larger(larger(below, -above), 0.0)
    }
}

for_avx2! {
    /// The distances of all points of a leaf, and whether any of them is within a limit: at least so far, or at most. Those
    /// beyond the count of a leaf are points that it had.
    fn distances_of(cells: &[f64], place: &Place, limit: f64, farthest: bool, sums: &mut [f64; LEAF]) -> bool {
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
        for &sum in sums.iter() {
            any |= if farthest { sum >= limit } else { sum <= limit };
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
    /// Whether all columns hold numbers.
    is_plain: bool,
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
    /// The box of a node that is being looked at again.
    edge: Vec<f64>,
    searches: Vec<Search>,
    main: Search,
    last: [usize; 3],
}

const GONE: u32 = u32::MAX;

impl<'a> Cloud<'a> {
    /// The points of all rows. At most `most` nearest will be asked for at once.
    pub fn new(rows: &'a [f64], levels: &'a [usize], most: usize) -> Self {
        let n = rows.len() / levels.len();
        let mut cloud = Cloud {
            rows,
            levels,
            is_plain: levels.iter().all(|&n| n == 0),
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
            edge: memory::zeros(2 * levels.len()),
            searches: (0..1 << SHARDS).map(|_| Search::new(most)).gather(),
            main: Search::new(most),
            last: [0; 3],
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
    fn split(&mut self, order: &mut [u32], middle: usize) {
        stop::point();
        let d = self.levels.len();
        let (low, high) = self.edge.split_at_mut(d);
        low.fill(f64::INFINITY);
        high.fill(f64::NEG_INFINITY);
        for &record in order.iter().paced() {
            let row = &self.rows[record as usize * d..][..d];
            for ((low, high), &x) in low.iter_mut().zip(high.iter_mut()).zip(row) {
                *low = low.min(x);
                *high = high.max(x);
            }
        }
        let mut widest = (0, f64::NEG_INFINITY);
        for j in 0..d {
            let mut width = high[j] - low[j];
            if self.levels[j] > 0 {
                width = width.min(1.0);
            }
            if width > widest.1 {
                widest = (j, width);
            }
        }
        if middle == 0 || middle >= order.len() {
            return;
        }
        let (rows, j, tick) = (self.rows, widest.0, stop::Tick::default());
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

    /// The box of a node from those of its children. An empty one is all wrong way round.
    fn fit_above(&mut self, node: usize) {
        let d = self.levels.len();
        let (a, b) = (2 * node + 1, 2 * node + 2);
        for j in 0..d {
            self.low[node * d + j] = self.low[a * d + j].min(self.low[b * d + j]);
            self.high[node * d + j] = self.high[a * d + j].max(self.high[b * d + j]);
        }
        self.first[node] = self.first[a].min(self.first[b]);
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
                let (first, boxes) = (self.first[node], node * d..(node + 1) * d);
                self.edge[..d].copy_from_slice(&self.low[boxes.clone()]);
                self.edge[d..].copy_from_slice(&self.high[boxes.clone()]);
                self.fit_above(node);
                changed = first != self.first[node]
                    || self.edge[..d] != self.low[boxes.clone()]
                    || self.edge[d..] != self.high[boxes];
            }
        }
        // Leaves with few points take as long as full ones.
        if 2 * self.len() < self.built && self.len() > LEAF {
            self.build(self.left());
        }
    }

    /// How far the nearest or farthest place in the box of a node is, and its lowest record.
    fn bound(&self, node: usize, place: &Place, farthest: bool) -> Found {
        let d = self.levels.len();
        let (low, high) = (&self.low[node * d..][..d], &self.high[node * d..][..d]);
        let mut distance = 0.0;
        if self.is_plain {
            // Without tables and branches, since many searches ask for most of the boxes.
            for ((&low, &high), &here) in low.iter().zip(high).zip(&place.point) {
                let gap = to_side(low - here, high - here, farthest);
                distance += gap * gap;
            }
        } else {
            for (j, (&low, &high)) in low.iter().zip(high).enumerate() {
                distance += place.to_box(j, low, high, farthest);
            }
        }
        Found {
            distance,
            record: self.first[node],
        }
    }

    /// Looks through the points below a node, which is not empty.
    fn look(&self, node: usize, place: &Place, farthest: bool, search: &mut Search) {
        let leaves = 1usize << self.height;
        if node >= leaves - 1 {
            let leaf = node + 1 - leaves;
            search.leaves += 1;
            let d = self.levels.len();
            let cells = &self.cells[leaf * d * LEAF..][..d * LEAF];
            let mut distances = [0.0; LEAF];
            let limit = search.limit(farthest);
            if !distances_of(cells, place, limit, farthest, &mut distances) {
                return;
            }
            let records = &self.records[leaf * LEAF..][..self.counts[node] as usize];
            for (&distance, &record) in distances.iter().zip(records) {
                let found = Found { distance, record };
                if !farthest {
                    search.take_nearer(found);
                } else if search.takes_farther(found) {
                    search.farthest = Some(found);
                }
            }
            return;
        }
        let children = [2 * node + 1, 2 * node + 2].map(|child| {
            let some = self.counts[child] > 0;
            some.then(|| (child, self.bound(child, place, farthest)))
        });
        let swap = match children {
            [Some(a), Some(b)] if farthest => b.1.is_farther(a.1),
            [Some(a), Some(b)] => b.1.is_nearer(a.1),
            _ => false,
        };
        let [a, b] = children;
        for (child, bound) in if swap { [b, a] } else { [a, b] }.into_iter().flatten() {
            let worth = if farthest {
                search.takes_farther(bound)
            } else {
                search.takes_nearer(bound)
            };
            if worth {
                self.look(child, place, farthest, search);
            }
        }
    }

    /// Search the whole tree, in parts on the pool if the search before was long.
    fn search(&mut self, place: &Place, kind: Kind, wanted: usize) {
        stop::point();
        let farthest = kind != Kind::Nearest;
        let mut main = std::mem::replace(&mut self.main, Search::new(0));
        main.begin(wanted, None, None);
        let d = self.levels.len();
        if self.height < SHARDS || self.last[kind as usize] * d * LEAF < self.many {
            if !self.is_empty() {
                self.look(0, place, farthest, &mut main);
            }
        } else {
            self.search_parts(place, farthest, &mut main);
        }
        self.last[kind as usize] = main.leaves;
        self.main = main;
    }

    fn search_parts(&mut self, place: &Place, farthest: bool, main: &mut Search) {
        let first = (1 << SHARDS) - 1;
        let better = |a: &(usize, Found), b: &(usize, Found)| {
            let ahead = if farthest {
                a.1.is_farther(b.1)
            } else {
                a.1.is_nearer(b.1)
            };
            if ahead {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        };
        let parts = (first..2 * first + 1).filter(|&node| self.counts[node] > 0);
        let parts = parts.map(|node| (node, self.bound(node, place, farthest)));
        // The most promising part alone, so that the others know what there is to beat.
        let Some((best, _)) = parts.min_by(better) else {
            return;
        };
        self.look(best, place, farthest, main);
        let (found, last, wanted) = (main.farthest, main.last(), main.wanted);
        let mut searches = std::mem::take(&mut self.searches);
        let cloud = &*self;
        pool::for_each_chunk(&mut searches, 1, false, |i, search| {
            let (node, search) = (first + i, &mut search[0]);
            search.begin(wanted, found, last);
            if node == best || cloud.counts[node] == 0 {
                return;
            }
            let bound = cloud.bound(node, place, farthest);
            if (farthest && search.takes_farther(bound)) || search.takes_nearer(bound) {
                cloud.look(node, place, farthest, search);
            }
        });
        for search in &mut searches {
            main.leaves += search.leaves;
            if let Some(found) = search.farthest
                && main.takes_farther(found)
            {
                main.farthest = Some(found);
            }
            for near in search.nearest.drain() {
                main.take_nearer(near.0);
            }
        }
        self.searches = searches;
    }

    /// The record that is farthest from a place; `None` if no record is left.
    pub fn farthest(&mut self, place: &Place, kind: Kind) -> Option<Found> {
        self.search(place, kind, 0);
        self.main.farthest
    }

    /// The `wanted` records nearest to a place are put into `out`, in no order.
    pub fn nearest(&mut self, place: &Place, wanted: usize, out: &mut Vec<u32>) {
        out.clear();
        self.search(place, Kind::Nearest, wanted);
        memory::extend(out, self.main.nearest.drain().map(|near| near.0.record));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, the same every time.
    fn numbers(n: usize, seed: u64) -> Vec<u64> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        (0..n).map(|_| next()).collect()
    }

    /// Three columns of few values, so that many distances are equal, and one of codes.
    fn rows(n: usize, values: u64) -> Vec<f64> {
        let drawn = numbers(4 * n, 7);
        let cell = |(i, x): (usize, u64)| (x % if i % 4 == 3 { 5 } else { values }) as f64;
        drawn.into_iter().enumerate().map(cell).collect()
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
        let mut cloud = Cloud::new(&rows, &levels, 9);
        cloud.many = many;
        let mut place = Place::new(&levels);
        let mut left: Vec<u32> = (0..n as u32).collect();
        let mut near = Vec::new();
        for step in numbers(n.min(300), 3) {
            let at = left[step as usize % left.len()];
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
            let found = cloud.farthest(&place, Kind::FromRecord).unwrap();
            assert_eq!((found.distance, found.record), far);
            let mut sorted = all.clone();
            sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let mut want: Vec<u32> = sorted.iter().take(9).map(|one| one.1).collect();
            cloud.nearest(&place, 9, &mut near);
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
    fn finds_what_comparing_with_every_point_finds() {
        for (n, values) in [(20, 3), (500, 4), (3000, 1000), (2500, 2)] {
            agrees_with_every_comparison(n, values, MANY, true);
            agrees_with_every_comparison(n, values, MANY, false);
        }
    }

    #[test]
    fn finds_the_same_in_parts_on_the_pool() {
        for (n, values) in [(3000, 1000), (2500, 2)] {
            agrees_with_every_comparison(n, values, 0, true);
            agrees_with_every_comparison(n, values, 0, false);
        }
    }

    #[test]
    fn no_point_is_farthest_from_anything_where_none_is_left() {
        let rows = [1.0, 2.0];
        let mut cloud = Cloud::new(&rows, &[0], 1);
        cloud.remove(0);
        cloud.remove(1);
        assert!(cloud.is_empty());
        assert_eq!(cloud.farthest(&Place::new(&[0]), Kind::FromMean), None);
    }
}
