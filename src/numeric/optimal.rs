//! The classes of at least `k` of one column with the least squared distance to their means (Hansen and Mukherjee, 2003).
//!
//! # Law
//! Some best classes are stretches of the sorted column: where two classes overlap, exchanging records makes neither
//! worse. With `w(i, j)` the squared distances of the records `i..j` to their mean, the best of the first `j` records
//! is `f(j) = min over i <= j - k of f(i) + w(i, j)`.
//!
//! # Cost
//! O(n log n). `w(a, c) + w(b, d) <= w(a, d) + w(b, c)` for `a <= b <= c <= d` (and stays so where stretches below `k`
//! count as infinite). So of two starts `i < i'`, once the later one is better it stays better as `j` grows. A queue
//! holds the starts that are best somewhere, each with the first `j` where it is; a new start finds its own by bisection.
//!
//! A class of `2k` or more is divided evenly into classes of `k` or more, which never adds to the sum: it is that long only
//! where dividing it wins nothing.

use crate::number::dd::Dd;
use crate::system::memory::{self, Gather};
use crate::system::stop::{Paced, Tick};

/// Sums of the first records and of their squares.
struct Sums(Vec<(Dd, Dd)>);

impl Sums {
    fn new(sorted: impl Iterator<Item = f64>, n: usize) -> Self {
        let mut sums = memory::room(n + 1);
        let (mut one, mut two) = (Dd::ZERO, Dd::ZERO);
        sums.push((one, two));
        for x in sorted.paced() {
            one = one + x.into();
            two = two + Dd::product(x, x);
            sums.push((one, two));
        }
        Sums(sums)
    }

    /// Squared distances of the records `i..j` to their mean.
    fn spread(&self, i: usize, j: usize) -> f64 {
        let one = self.0[j].0 - self.0[i].0;
        let two = self.0[j].1 - self.0[i].1;
        (two - one * one / ((j - i) as f64).into()).hi.max(0.0)
    }
}

/// A start of the last class, and the first end from which on it is the best one.
#[derive(Clone, Copy)]
struct Start {
    at: usize,
    from: usize,
}

/// Where each class of the sorted records starts; the best for all ends is found on the way.
fn starts(sums: &Sums, n: usize, k: usize) -> Vec<usize> {
    let mut least: Vec<f64> = memory::filled(f64::INFINITY, n + 1);
    let mut before: Vec<u32> = memory::zeros(n + 1);
    least[0] = 0.0;
    let mut queue: Vec<Start> = memory::room(n + 1);
    let mut head = 0;
    for j in (k..=n).paced() {
        let at = j - k;
        // Fewer than k records before it would be no class.
        if at == 0 || at >= k {
            let cost = |start: usize, end: usize| least[start] + sums.spread(start, end);
            let better = |end: usize, than: usize| cost(at, end) <= cost(than, end);
            while queue.len() > head
                && queue
                    .last()
                    .is_some_and(|last| better(last.from.max(j), last.at))
            {
                queue.pop();
            }
            match queue[head..].last().copied() {
                None => queue.push(Start { at, from: j }),
                Some(last) => {
                    // Worse at `low`, better at `high`, where n + 1 stands for never.
                    let (mut low, mut high) = (last.from.max(j), n + 1);
                    while high - low > 1 {
                        let middle = low + (high - low) / 2;
                        if better(middle, last.at) {
                            high = middle;
                        } else {
                            low = middle;
                        }
                    }
                    if high <= n {
                        queue.push(Start { at, from: high });
                    }
                }
            }
        }
        while queue.len() > head + 1 && queue[head + 1].from <= j {
            head += 1;
        }
        let start = queue[head].at;
        least[j] = least[start] + sums.spread(start, j);
        before[j] = start as u32;
    }
    let mut cuts = memory::room(n / k + 1);
    let mut end = n;
    while end > 0 {
        let start = before[end] as usize;
        divide(start, end, k, &mut cuts);
        end = start;
    }
    cuts
}

/// The starts of the parts of a stretch, as many as `k` allows and so of fewer than `2k` records.
fn divide(start: usize, end: usize, k: usize, cuts: &mut Vec<usize>) {
    let parts = ((end - start) / k).max(1);
    for part in 0..parts {
        cuts.push(start + (end - start) * part / parts);
    }
}

/// The class of each record of one column of finite numbers on one scale. There are at least `k` records, below 2^32.
pub fn classes(column: &[f64], k: usize) -> Vec<u32> {
    let n = column.len();
    let mut order: Vec<u32> = (0..n as u32).gather();
    let tick = Tick::default();
    let at = |record: u32| column[record as usize];
    order.sort_unstable_by(|&a, &b| {
        tick.tick();
        at(a).total_cmp(&at(b)).then(a.cmp(&b))
    });
    let sums = Sums::new(order.iter().map(|&record| at(record)), n);
    let mut cuts = starts(&sums, n, k);
    cuts.sort_unstable();
    let mut classes = memory::zeros(n);
    for (class, &start) in cuts.iter().enumerate() {
        let end = cuts.get(class + 1).copied().unwrap_or(n);
        for &record in order[start..end].iter().paced() {
            classes[record as usize] = class as u32;
        }
    }
    classes
}
