//! The search: every term is a permutation whose smallest entry is as large as possible.

use super::Limits;
use super::counts::Counts;
use super::listed::Listed;
use super::queue::Queue;
use super::ties::{Assignment, FORBIDDEN};
use crate::law::scaling::matching::Matching;
use crate::system::progress::Progress;
use crate::system::{memory, stop};

/// Sizes up to which the matching that empties most entries is looked for at every step. It costs
/// O(size^3) and saves a fifth of the terms if the matrix is a sum of few permutations; beyond,
/// starting from the smallest entries comes near it for nothing.
const TIES: usize = 16;

/// # How
/// `tau` is the largest threshold at which the entries not below it hold a perfect matching, and the
/// weight of the next term. Entries only shrink, so `tau` only falls, and the entries below it wait in a
/// queue that only goes down. They are let in, largest first, until every row and column has an
/// entry: below that `tau` cannot stay. At sizes of 100 and more that is the answer in nearly all
/// steps, since the last obstruction is a line without an entry. If it is not, the search has marked
/// all rows that it can reach from the free ones, and only an entry from such a row to a column not
/// reached can help: entries are let in until one does, so that `tau` is exact without a binary search.
///
/// # Cost
/// A term reads and writes one entry a row, moves most of them through the queue, and matches on a graph
/// with few entries a row. Small matrices are worth more where `careful`.
pub fn decompose(
    mut counts: Counts,
    limits: &Limits,
    careful: bool,
    share: f64,
    progress: &Progress,
) -> Listed {
    let size = counts.size;
    let mut state = State {
        graph: Matching::new(size),
        queue: Queue::new(&counts),
        degrees: memory::zeros(2 * size),
        bare: 2 * size,
        size,
        threshold: counts.total,
        fresh: Vec::with_capacity(2 * size),
    };
    let mut ties = (careful && size <= TIES).then(|| Assignment::new(size));
    let mut rest = memory::zeros(size);
    let mut out = Listed::new(size);
    let mut left = counts.total;
    let stop_at = counts.total - limits.enough.min(counts.total);
    while left > stop_at && out.weights.len() < limits.terms {
        stop::point();
        // A matrix with equal line sums has a perfect matching among its positive entries (Birkhoff),
        // so the queue cannot run dry.
        let found = state.match_all();
        debug_assert!(found);
        if !found {
            break;
        }
        if let Some(ties) = &mut ties {
            while state.queue.peek() == Some(state.threshold) {
                state.admit();
            }
            state
                .graph
                .column_of
                .copy_from_slice(choose(ties, &counts, state.threshold));
        }
        let weight = state.threshold;
        out.push(weight, &state.graph.column_of);
        // Apart from what follows, so that the processor waits for many rows at once.
        for (u, (&v, rest)) in state.graph.column_of.iter().zip(&mut rest).enumerate() {
            let place = counts.place(u, v as usize);
            let value = &mut counts.values[place];
            *value -= weight;
            *rest = *value;
        }
        for (u, &rest) in rest.iter().enumerate() {
            if rest < weight {
                state.withdraw(rest, u, state.graph.column_of[u] as usize);
            }
        }
        state.graph.clear();
        left -= weight;
        progress.advance(share * weight as f64 / counts.total as f64);
    }
    out
}

/// Of the matchings with no entry below `weight`, the one with most entries equal to it, and among
/// those the one of least sum.
fn choose<'a>(ties: &'a mut Assignment, counts: &Counts, weight: u64) -> &'a [u32] {
    let top = counts.values.iter().copied().max().unwrap_or(0).max(weight) - weight;
    let shift = (64 - top.leading_zeros()).saturating_sub(40);
    for (u, v, value) in counts.entries() {
        ties.costs[u * counts.size + v] = match value.cmp(&weight) {
            std::cmp::Ordering::Less => FORBIDDEN,
            std::cmp::Ordering::Equal => 0,
            // More than all sums of what the shift leaves.
            std::cmp::Ordering::Greater => (1 << 50) + ((value - weight) >> shift) as i64,
        };
    }
    ties.solve();
    &ties.column_of
}

struct State {
    graph: Matching,
    queue: Queue,
    /// Entries let in, of each row and then of each column.
    degrees: Vec<u32>,
    /// Rows and columns without one.
    bare: usize,
    size: usize,
    /// The smallest entry let in so far.
    threshold: u64,
    /// What was let in for this term.
    fresh: Vec<(u32, u32)>,
}

impl State {
    /// Let in what is needed for a perfect matching, and find it.
    fn match_all(&mut self) -> bool {
        self.fresh.clear();
        while self.bare > 0 {
            if self.admit().is_none() {
                return false;
            }
        }
        // From the smallest up: what is used up should be small, so that large entries last. Shortest
        // paths then leave most of these alone. Together that saves a sixth of the terms at size 1000.
        for &(u, v) in self.fresh.iter().rev() {
            self.graph.offer(u as usize, v as usize);
        }
        while !self.graph.complete() {
            loop {
                let Some((u, v)) = self.admit() else {
                    return false;
                };
                if self.graph.extend(u, v) {
                    break;
                }
            }
        }
        true
    }

    fn admit(&mut self) -> Option<(usize, usize)> {
        let (value, u, v) = self.queue.pop()?;
        self.threshold = value;
        self.fresh.push((u, v));
        let (u, v) = (u as usize, v as usize);
        self.graph.insert(u, v);
        for line in [u, self.size + v] {
            self.bare -= usize::from(self.degrees[line] == 0);
            self.degrees[line] += 1;
        }
        Some((u, v))
    }

    fn withdraw(&mut self, value: u64, u: usize, v: usize) {
        self.graph.remove(u, v);
        for line in [u, self.size + v] {
            self.degrees[line] -= 1;
            self.bare += usize::from(self.degrees[line] == 0);
        }
        if value > 0 {
            self.queue.push((value, u as u32, v as u32));
        }
    }
}
