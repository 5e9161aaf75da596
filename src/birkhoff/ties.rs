//! Which of several best matchings: the one that empties most entries, then the one of least sum.

use crate::system::memory;

/// A cell that may not be used.
pub const FORBIDDEN: i64 = 1 << 60;

/// The assignment of least cost (Hungarian method with potentials, O(size^3) at worst). Costs are
/// non-negative and a perfect matching of allowed cells exists.
#[derive(Debug)]
pub struct Assignment {
    size: usize,
    /// Costs row by row, to be filled before [`Assignment::solve`].
    pub costs: Vec<i64>,
    /// The column of each row.
    pub column_of: Vec<u32>,
    row_of: Vec<u32>,
    row_price: Vec<i64>,
    column_price: Vec<i64>,
    distance: Vec<i64>,
    before: Vec<u32>,
    done: Vec<bool>,
}

const NONE: u32 = u32::MAX;

impl Assignment {
    /// Room for `size` rows.
    pub fn new(size: usize) -> Self {
        Assignment {
            size,
            costs: memory::filled(FORBIDDEN, size * size),
            column_of: memory::filled(NONE, size),
            row_of: memory::filled(NONE, size),
            row_price: memory::zeros(size),
            column_price: memory::zeros(size),
            distance: memory::zeros(size),
            before: memory::filled(NONE, size),
            done: memory::filled(false, size),
        }
    }

    /// Find it.
    pub fn solve(&mut self) {
        let n = self.size;
        self.column_of.fill(NONE);
        self.row_of.fill(NONE);
        self.column_price.fill(0);
        for u in 0..n {
            let row = &self.costs[u * n..][..n];
            let least = row.iter().copied().min().unwrap_or(0);
            self.row_price[u] = least;
            let free = (0..n).find(|&v| row[v] == least && self.row_of[v] == NONE);
            if let Some(v) = free {
                self.column_of[u] = v as u32;
                self.row_of[v] = u as u32;
            }
        }
        for u in 0..n {
            if self.column_of[u] == NONE {
                self.augment(u);
            }
        }
    }

    /// Dijkstra over reduced costs from row `start` to the nearest free column.
    fn augment(&mut self, start: usize) {
        let n = self.size;
        self.done.fill(false);
        for v in 0..n {
            self.distance[v] =
                self.costs[start * n + v] - self.row_price[start] - self.column_price[v];
            self.before[v] = start as u32;
        }
        let (end, far) = loop {
            let mut nearest = NONE as usize;
            let mut far = i64::MAX;
            for v in 0..n {
                if !self.done[v] && self.distance[v] < far {
                    (nearest, far) = (v, self.distance[v]);
                }
            }
            if nearest == NONE as usize {
                return;
            }
            self.done[nearest] = true;
            let u = self.row_of[nearest];
            if u == NONE {
                break (nearest, far);
            }
            let u = u as usize;
            let row = &self.costs[u * n..][..n];
            let base = far - self.row_price[u];
            for (v, &cost) in row.iter().enumerate() {
                let through = base + cost - self.column_price[v];
                if !self.done[v] && through < self.distance[v] {
                    self.distance[v] = through;
                    self.before[v] = u as u32;
                }
            }
        };
        self.row_price[start] += far;
        for v in 0..n {
            if self.done[v] && v != end {
                let shift = far - self.distance[v];
                self.column_price[v] -= shift;
                self.row_price[self.row_of[v] as usize] += shift;
            }
        }
        let mut v = end as u32;
        loop {
            let u = self.before[v as usize] as usize;
            self.row_of[v as usize] = u as u32;
            let next = std::mem::replace(&mut self.column_of[u], v);
            if u == start {
                return;
            }
            v = next;
        }
    }
}
