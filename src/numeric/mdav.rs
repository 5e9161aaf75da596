//! Classes of `k` by maximum distance to the average vector (MDAV).
//!
//! # Law
//! While at least `3k` records are left: the one farthest from their mean and its `k - 1` nearest are a class, then the
//! one of the rest that is farthest from that first one and its `k - 1` nearest are another. Of at least `2k` that
//! are left, the farthest from the mean and its `k - 1` nearest are a class. What is left then is the last class, of
//! `k` to `2k - 1`. Of equal distances the lower record is taken.
//!
//! The second class starts from a record that the first one left over, so that it exists if all records are alike.
//! Elsewhere that is the record farthest from the first one among all.
//!
//! # Cost
//! `n/k` searches for the farthest and as many for the nearest, see [`cloud`](super::cloud): O(n^2/k).

use super::cloud::{Cloud, Place};
use crate::number::dd::Dd;
use crate::system::memory;
use crate::system::stop::Paced;

/// The mean of the records that are left: sums as double-doubles, so that what is taken away leaves nothing.
struct Mean {
    sums: Vec<Dd>,
    counts: Vec<Vec<u64>>,
    left: u64,
    place: Place,
}

impl Mean {
    fn new(rows: &[f64], levels: &[usize]) -> Self {
        let mut mean = Mean {
            sums: memory::filled(Dd::ZERO, levels.len()),
            counts: levels.iter().map(|&n| memory::zeros(n)).collect(),
            left: 0,
            place: Place::new(levels),
        };
        for row in rows.chunks_exact(levels.len()).paced() {
            mean.count(row, 1);
        }
        mean
    }

    /// Adds a row, or takes it away if `sign` is -1.
    fn count(&mut self, row: &[f64], sign: i64) {
        self.left = self.left.wrapping_add_signed(sign);
        for (j, &x) in row.iter().enumerate() {
            // Numbers have no counts.
            match self.counts[j].get_mut(x as usize) {
                Some(count) => *count = count.wrapping_add_signed(sign),
                None => self.sums[j] = self.sums[j] + (x * sign as f64).into(),
            }
        }
    }

    /// Where the mean is now. A code is `(1 - 2 p + sum p^2) / 2` away from the mean of corners that are 1 apart, in
    /// shares `p`.
    fn place(&mut self) -> &Place {
        let n = self.left as f64;
        for (j, counts) in self.counts.iter().enumerate() {
            if counts.is_empty() {
                self.place.point[j] = (self.sums[j] / n.into()).hi;
                continue;
            }
            let share = |&count: &u64| count as f64 / n;
            let squares = counts.iter().map(|c| share(c) * share(c)).sum::<f64>();
            for (away, count) in self.place.tables[j].iter_mut().zip(counts) {
                *away = ((1.0 - 2.0 * share(count) + squares) / 2.0).max(0.0);
            }
        }
        &self.place
    }
}

/// All that changes on the way.
struct Work<'a> {
    rows: &'a [f64],
    columns: usize,
    cloud: Cloud,
    mean: Mean,
    here: Place,
    classes: Vec<u32>,
    made: u32,
}

impl Work<'_> {
    fn take(&mut self, record: u32) {
        self.classes[record as usize] = self.made;
        self.cloud.remove(record);
        let row = &self.rows[record as usize * self.columns..][..self.columns];
        self.mean.count(row, -1);
    }

    /// A class of `record` and the `k - 1` nearest to it. Leaves `here` at the record.
    fn class_around(&mut self, record: u32, k: usize) {
        let row = &self.rows[record as usize * self.columns..][..self.columns];
        self.here.put(row);
        self.take(record);
        for near in self.cloud.nearest(&self.here, k - 1) {
            self.take(near);
        }
        self.made += 1;
    }

    fn class_far_from_the_mean(&mut self, k: usize) {
        if let Some(farthest) = self.cloud.farthest(self.mean.place()) {
            self.class_around(farthest, k);
        }
    }
}

/// The class of each record. `rows` are finite numbers on one scale, `levels` the number of codes of each column, 0 for
/// numbers; there are at least `k` rows, below 2^32, and `k` is at least 2.
pub fn classes(rows: &[f64], levels: &[usize], k: usize) -> Vec<u32> {
    let n = rows.len() / levels.len();
    let mut work = Work {
        rows,
        columns: levels.len(),
        cloud: Cloud::new(rows, levels.len()),
        mean: Mean::new(rows, levels),
        here: Place::new(levels),
        classes: memory::zeros(n),
        made: 0,
    };
    // Divided, since `3k` may be more than there are numbers.
    while work.cloud.len() / 3 >= k {
        work.class_far_from_the_mean(k);
        if let Some(farthest) = work.cloud.farthest(&work.here) {
            work.class_around(farthest, k);
        }
    }
    if work.cloud.len() / 2 >= k {
        work.class_far_from_the_mean(k);
    }
    for &record in work.cloud.left() {
        work.classes[record as usize] = work.made;
    }
    work.classes
}
