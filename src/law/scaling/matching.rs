//! Perfect matchings in a graph of rows and columns that gains and loses edges.
//!
//! Rows are bit sets over the columns, so that "a neighbour that is free" and "a neighbour not seen
//! yet" are one AND a word. Searches go breadth first with one look ahead, without recursion, and never
//! enter a column twice in a phase: dead ends stay marked, and a phase reads every row at most twice.

use crate::system::memory;
use crate::system::stop::{self, Paced};

/// No partner.
pub const NONE: u32 = u32::MAX;

/// A bipartite graph and a matching in it.
#[derive(Debug)]
pub struct Matching {
    words: usize,
    rows: Vec<u64>,
    /// The column of each row, or [`NONE`].
    pub column_of: Vec<u32>,
    /// The row of each column, or [`NONE`].
    pub row_of: Vec<u32>,
    free_columns: Vec<u64>,
    all: Vec<u64>,
    free_rows: Vec<u32>,
    /// Columns that no search of this phase entered.
    unseen: Vec<u64>,
    /// The row from which a search entered a column.
    via: Vec<u32>,
    /// Rows that the running search has reached.
    queue: Vec<u32>,
    /// Words of `free_columns` that are not zero, while a search runs.
    hopeful: Vec<u32>,
}

impl Matching {
    /// No edges, nothing matched.
    pub fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        let mut all = memory::filled(u64::MAX, words);
        if !size.is_multiple_of(64)
            && let Some(last) = all.last_mut()
        {
            *last = (1 << (size % 64)) - 1;
        }
        Matching {
            words,
            rows: memory::zeros(size * words),
            column_of: memory::filled(NONE, size),
            row_of: memory::filled(NONE, size),
            free_columns: all.clone(),
            all: all.clone(),
            free_rows: (0..size as u32).collect(),
            unseen: all,
            via: memory::filled(NONE, size),
            queue: Vec::with_capacity(size + 1),
            hopeful: Vec::with_capacity(words),
        }
    }

    /// All edges that are there, nothing matched.
    pub fn of(size: usize, edge: impl Fn(usize, usize) -> bool) -> Self {
        let mut graph = Matching::new(size);
        for u in (0..size).paced() {
            for v in (0..size).filter(|&v| edge(u, v)) {
                graph.insert(u, v);
            }
        }
        graph
    }

    /// The columns that row `u` has an edge to, in order.
    pub fn columns(&self, u: usize) -> impl Iterator<Item = usize> + '_ {
        let row = &self.rows[u * self.words..][..self.words];
        row.iter().enumerate().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(word * 64 + bit)
            })
        })
    }

    /// Add an edge.
    pub fn insert(&mut self, u: usize, v: usize) {
        self.rows[u * self.words + v / 64] |= 1 << (v % 64);
    }

    /// Take an edge out that is not matched, or will be left free.
    pub fn remove(&mut self, u: usize, v: usize) {
        self.rows[u * self.words + v / 64] &= !(1 << (v % 64));
    }

    /// Leave everything free.
    pub fn clear(&mut self) {
        self.column_of.fill(NONE);
        self.row_of.fill(NONE);
        self.free_columns.copy_from_slice(&self.all);
        self.free_rows.clear();
        self.free_rows.extend(0..self.column_of.len() as u32);
    }

    /// Match two ends of an edge if both are free.
    pub fn offer(&mut self, u: usize, v: usize) {
        if self.column_of[u] == NONE && self.row_of[v] == NONE {
            self.turn_over(u as u32, v as u32);
        }
    }

    /// Match free rows as far as possible; true if none is left. If some are left, no path leads
    /// from any of them to a free column, and [`Matching::extend`] may be asked.
    pub fn complete(&mut self) -> bool {
        // First whatever is free.
        let mut left = std::mem::take(&mut self.free_rows);
        left.retain(|&u| self.column_of[u as usize] == NONE && !self.take_free(u));
        while !left.is_empty() {
            self.unseen.fill(u64::MAX);
            let before = left.len();
            left.retain(|&root| !self.search(root));
            if left.len() == before {
                break;
            }
        }
        self.free_rows = left;
        self.free_rows.is_empty()
    }

    /// After [`Matching::complete`] gave up: the edge `(u, v)` was inserted since. True if a free row
    /// could be matched through it; then `complete` has to be asked again.
    pub fn extend(&mut self, u: usize, v: usize) -> bool {
        let own = self.column_of[u];
        let reached = own == NONE || !self.is_unseen(own as usize);
        if !reached || !self.is_unseen(v) {
            return false;
        }
        if self.row_of[v] == NONE {
            self.turn_over(u as u32, v as u32);
        } else {
            self.list_hopeful();
            self.queue.clear();
            if !self.enter(u as u32, v as u32) && !self.walk() {
                return false;
            }
        }
        let column_of = &self.column_of;
        self.free_rows.retain(|&u| column_of[u as usize] == NONE);
        true
    }

    fn is_unseen(&self, v: usize) -> bool {
        self.unseen[v / 64] >> (v % 64) & 1 == 1
    }

    fn take_free(&mut self, u: u32) -> bool {
        let row = &self.rows[u as usize * self.words..][..self.words];
        for (word, (&a, &b)) in row.iter().zip(&self.free_columns).enumerate() {
            if a & b != 0 {
                let v = word as u32 * 64 + (a & b).trailing_zeros();
                self.turn_over(u, v);
                return true;
            }
        }
        false
    }

    fn list_hopeful(&mut self) {
        self.hopeful.clear();
        let words = (0u32..).zip(&self.free_columns);
        self.hopeful
            .extend(words.filter(|(_, b)| **b != 0).map(|(word, _)| word));
    }

    /// Search from a free row; true if it is matched now.
    fn search(&mut self, root: u32) -> bool {
        stop::point();
        self.list_hopeful();
        if let Some(v) = self.look_ahead(root) {
            self.turn_over(root, v);
            return true;
        }
        self.queue.clear();
        self.queue.push(root);
        self.walk()
    }

    /// A free neighbour of a row.
    fn look_ahead(&self, u: u32) -> Option<u32> {
        let row = &self.rows[u as usize * self.words..][..self.words];
        self.hopeful.iter().find_map(|&word| {
            let both = row[word as usize] & self.free_columns[word as usize];
            (both != 0).then(|| word * 64 + both.trailing_zeros())
        })
    }

    /// Enter a matched column from row `u`: mark it, and look ahead from its row. True if that found a
    /// free column and the path was turned over.
    fn enter(&mut self, u: u32, v: u32) -> bool {
        self.unseen[v as usize / 64] &= !(1 << (v % 64));
        self.via[v as usize] = u;
        let w = self.row_of[v as usize];
        if let Some(free) = self.look_ahead(w) {
            self.turn_over(w, free);
            return true;
        }
        self.queue.push(w);
        false
    }

    /// Breadth first from the rows in the queue; true if a path was found and turned over.
    fn walk(&mut self) -> bool {
        let mut head = 0;
        while let Some(&u) = self.queue.get(head) {
            head += 1;
            for word in 0..self.words {
                let mut new = self.rows[u as usize * self.words + word] & self.unseen[word];
                while new != 0 {
                    let v = word as u32 * 64 + new.trailing_zeros();
                    new &= new - 1;
                    if self.enter(u, v) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Match `u` with the free column `v`, its former column with the row that led there, and so on.
    fn turn_over(&mut self, mut u: u32, mut v: u32) {
        self.free_columns[v as usize / 64] &= !(1 << (v % 64));
        loop {
            let before = std::mem::replace(&mut self.column_of[u as usize], v);
            self.row_of[v as usize] = u;
            if before == NONE {
                return;
            }
            (v, u) = (before, self.via[before as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(graph: &Matching, edge: impl Fn(usize, usize) -> bool) {
        let mut seen = vec![false; graph.column_of.len()];
        for (u, &v) in graph.column_of.iter().enumerate() {
            assert!(edge(u, v as usize));
            assert!(!std::mem::replace(&mut seen[v as usize], true));
        }
    }

    /// Layers of two, each joined to the next completely: the textbook recursion without marks tries
    /// all of the 2^layers ways to a dead end.
    #[test]
    fn ladders_are_walked_once() {
        for layers in [10, 100, 700] {
            let size = 2 * layers;
            // The last two layers of columns are reached by one row too many, so that the search fails.
            let edge = |u: usize, v: usize| v / 2 == u / 2 || v / 2 == u / 2 + 1;
            let mut found = Matching::of(size, edge);
            assert!(found.complete());
            check(&found, edge);
            let narrow = |u: usize, v: usize| edge(u, v) && v != size - 1;
            let mut found = Matching::of(size, narrow);
            assert!(!found.complete());
            found.insert(0, size - 1);
            assert!(found.extend(0, size - 1) || found.column_of[0] != NONE);
        }
    }
}
