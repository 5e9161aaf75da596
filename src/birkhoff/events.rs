//! Policy "any": one permutation after the other, each differing from the last in few rows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::counts::Counts;
use crate::law::scaling::matching::{Matching, NONE};
use crate::system::memory::{self, Gather};
use crate::system::progress::Progress;
use crate::system::{pool, stop};

/// Permutations along an axis of time from 0 to the total: the first, and then who goes where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Events {
    /// The column of each row at time 0.
    pub first: Vec<u16>,
    /// `(time, row, column)`: from then on the row goes to that column. Times do not fall.
    pub changes: Vec<(u64, u16, u16)>,
    /// When it ends.
    pub end: u64,
}

/// Permutations of `counts` up to time `end`, connected components side by side.
///
/// # How
/// A row that enters a column at time `t` with `x` units left there has to leave it at `t + x`. The
/// next such moment ends a term; then the rows that had to leave search for other columns (mostly two
/// rows are touched), and those that made room keep what is left of theirs. Nothing is subtracted term
/// by term. A component of the matrix knows nothing of the others, so each has an axis of its own and
/// the axes are merged.
pub fn simulate(counts: &Counts, end: u64, share: f64, progress: &Progress) -> Events {
    let parts = components(counts);
    if parts.len() == 1 {
        return simulate_one(counts, end, share, progress);
    }
    let done = pool::map(parts.len(), counts.values.len() < 1 << 12, |i| {
        let (rows, columns) = &parts[i];
        let local = counts.inside(rows, columns);
        let share = share * rows.len() as f64 / counts.size as f64;
        simulate_one(&local, end, share, progress)
    });
    let mut all = Events {
        first: memory::zeros(counts.size),
        changes: Vec::new(),
        end,
    };
    for ((rows, columns), part) in parts.iter().zip(done) {
        for (&u, &v) in rows.iter().zip(&part.first) {
            all.first[usize::from(u)] = columns[usize::from(v)];
        }
        memory::extend(
            &mut all.changes,
            (part.changes.iter())
                .map(|&(t, u, v)| (t, rows[usize::from(u)], columns[usize::from(v)])),
        );
    }
    all.changes.sort_unstable();
    all
}

fn simulate_one(counts: &Counts, end: u64, share: f64, progress: &Progress) -> Events {
    let size = counts.size;
    let mut left = memory::copied(&counts.values);
    let mut graph = Matching::new(size);
    for (u, v, _) in counts.entries() {
        graph.insert(u, v);
    }
    let found = graph.complete();
    debug_assert!(found);
    let mut out = Events {
        first: graph.column_of.iter().map(|&v| v as u16).gather(),
        changes: Vec::new(),
        end,
    };
    // When each row has to leave its column.
    let mut expiry: Vec<u64> = (0..size)
        .map(|u| left[counts.place(u, graph.column_of[u] as usize)])
        .gather();
    let leaving = (0u32..).zip(&expiry).map(|(u, &t)| Reverse((t, u)));
    let mut queue = BinaryHeap::from(leaving.gather());
    graph.changes = Some(Vec::new());
    // The column that a row had before the event, for rows that changed during it.
    let mut before = memory::filled(NONE, size);
    let mut touched: Vec<u32> = Vec::new();
    let (mut reported, mut told) = (0, 0);
    while let Some(&Reverse((time, _))) = queue.peek() {
        if time >= end {
            break;
        }
        touched.clear();
        while let Some(&Reverse((t, u))) = queue.peek()
            && t == time
        {
            queue.pop();
            let row = u as usize;
            // An entry of the queue whose row has left early says nothing.
            if expiry[row] == time && graph.column_of[row] != NONE && before[row] == NONE {
                let v = graph.column_of[row];
                left[counts.place(row, v as usize)] = 0;
                graph.remove(row, v as usize);
                graph.release(row, v as usize);
                before[row] = v;
                touched.push(u);
            }
        }
        if touched.is_empty() {
            continue;
        }
        let now = time;
        let found = graph.complete();
        debug_assert!(found);
        if let Some(changes) = &mut graph.changes {
            for (u, column) in changes.drain(..) {
                if before[u as usize] == NONE {
                    before[u as usize] = column;
                    touched.push(u);
                }
            }
        }
        for &u in &touched {
            let row = u as usize;
            let (old, new) = (before[row], graph.column_of[row]);
            before[row] = NONE;
            if old == new {
                continue;
            }
            // What is left where the row was; nothing if it had to leave.
            left[counts.place(row, old as usize)] = expiry[row] - now;
            expiry[row] = now + left[counts.place(row, new as usize)];
            queue.push(Reverse((expiry[row], u)));
            memory::push(&mut out.changes, (now, u as u16, new as u16));
        }
        if out.changes.len() - reported > 1 << 12 {
            stop::point();
            progress.advance(share * (now - told) as f64 / end as f64);
            (reported, told) = (out.changes.len(), now);
        }
    }
    progress.advance(share * (end - told) as f64 / end as f64);
    out
}

/// Rows and columns of each connected component, in order.
fn components(counts: &Counts) -> Vec<(Vec<u16>, Vec<u16>)> {
    let size = counts.size;
    // Union by smaller index, with halving of paths: rows first, then columns.
    let mut parent: Vec<u32> = (0..2 * size as u32).gather();
    fn root(parent: &mut [u32], mut x: u32) -> u32 {
        while parent[x as usize] != x {
            parent[x as usize] = parent[parent[x as usize] as usize];
            x = parent[x as usize];
        }
        x
    }
    for (u, v, _) in counts.entries() {
        let (a, b) = (
            root(&mut parent, u as u32),
            root(&mut parent, (size + v) as u32),
        );
        parent[a.max(b) as usize] = a.min(b);
    }
    let mut index = memory::filled(NONE, size);
    let mut parts: Vec<(Vec<u16>, Vec<u16>)> = Vec::new();
    for x in 0..2 * size {
        // The root of a component is its smallest row.
        let r = root(&mut parent, x as u32) as usize;
        if index[r] == NONE {
            index[r] = parts.len() as u32;
            parts.push((Vec::new(), Vec::new()));
        }
        let part = &mut parts[index[r] as usize];
        if x < size {
            memory::push(&mut part.0, x as u16);
        } else {
            memory::push(&mut part.1, (x - size) as u16);
        }
    }
    parts
}
