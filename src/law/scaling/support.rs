//! Where a matrix is positive: does every positive entry lie on a positive diagonal?
//!
//! Only then (total support) can a matrix be scaled to a bistochastic one of the same pattern.

use crate::law::scaling::matching::Matching;
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

/// What stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// No diagonal is positive throughout.
    NoDiagonal,
    /// This entry, the first of its kind, is positive and lies on no positive diagonal.
    Entry(usize, usize),
}

/// Check total support: one perfect matching, then the strongly connected components of the rows, where
/// row `u` leads to the row matched with `v` for every positive `(u, v)`. An entry lies on a positive diagonal
/// just when both rows are in one component (Dulmage and Mendelsohn), whichever matching was found.
///
/// # Errors
/// [`Unsupported`], the first entry in row-major order.
pub fn check(size: usize, positive: impl Fn(usize, usize) -> bool) -> Result<(), Unsupported> {
    let mut graph = Matching::of(size, positive);
    if !graph.complete() {
        return Err(Unsupported::NoDiagonal);
    }
    let component = components(&graph, size);
    for u in (0..size).paced() {
        let apart = |&v: &usize| component[graph.row_of[v] as usize] != component[u];
        if let Some(v) = graph.columns(u).find(apart) {
            return Err(Unsupported::Entry(u, v));
        }
    }
    Ok(())
}

/// Whether some diagonal is positive throughout.
pub fn has_diagonal(size: usize, positive: impl Fn(usize, usize) -> bool) -> bool {
    Matching::of(size, positive).complete()
}

const NONE: usize = usize::MAX;

/// Strongly connected components of the rows (Tarjan, without recursion).
fn components(graph: &Matching, size: usize) -> Vec<usize> {
    let mut index = memory::filled(NONE, size);
    let mut low = memory::zeros(size);
    let mut component = memory::filled(NONE, size);
    let mut left: Vec<_> = (0..size).map(|u| graph.columns(u)).gather();
    let (mut stack, mut calls) = (Vec::new(), Vec::new());
    let (mut counter, mut found) = (0, 0);
    for start in (0..size).paced() {
        if index[start] != NONE {
            continue;
        }
        calls.push(start);
        while let Some(&u) = calls.last() {
            if index[u] == NONE {
                (index[u], low[u]) = (counter, counter);
                counter += 1;
                stack.push(u);
            }
            if let Some(v) = left[u].next() {
                let w = graph.row_of[v] as usize;
                if index[w] == NONE {
                    calls.push(w);
                } else if component[w] == NONE {
                    low[u] = low[u].min(index[w]);
                }
                continue;
            }
            calls.pop();
            if let Some(&parent) = calls.last() {
                low[parent] = low[parent].min(low[u]);
            }
            if low[u] == index[u] {
                while let Some(w) = stack.pop() {
                    component[w] = found;
                    if w == u {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By definition: an entry is on a positive diagonal if the rest has a perfect matching.
    #[test]
    fn agrees_with_every_permutation_on_random_patterns() {
        fn diagonals(pattern: &[Vec<bool>], u: usize, used: &mut Vec<usize>, on: &mut [Vec<bool>]) {
            if u == pattern.len() {
                used.iter().enumerate().for_each(|(u, &v)| on[u][v] = true);
                return;
            }
            for v in 0..pattern.len() {
                if pattern[u][v] && !used.contains(&v) {
                    used.push(v);
                    diagonals(pattern, u + 1, used, on);
                    used.pop();
                }
            }
        }
        let mut seed = 7u64;
        for case in 0..2000 {
            let size = 1 + case % 5;
            let pattern: Vec<Vec<bool>> = (0..size)
                .map(|_| {
                    (0..size)
                        .map(|_| {
                            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            (seed >> 33) % 5 < 3
                        })
                        .collect()
                })
                .collect();
            let mut on = vec![vec![false; size]; size];
            diagonals(&pattern, 0, &mut Vec::new(), &mut on);
            let want = if on.iter().flatten().all(|&x| !x) {
                Err(Unsupported::NoDiagonal)
            } else {
                (0..size * size)
                    .map(|i| (i / size, i % size))
                    .find(|&(u, v)| pattern[u][v] && !on[u][v])
                    .map_or(Ok(()), |(u, v)| Err(Unsupported::Entry(u, v)))
            };
            assert_eq!(check(size, |u, v| pattern[u][v]), want, "{pattern:?}");
        }
    }
}
