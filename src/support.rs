//! Where a matrix is positive: does every positive entry lie on a positive diagonal?
//!
//! Only then (total support) can a matrix be scaled to a bistochastic one of the same pattern.

use crate::system::memory::{self, Gather};
use crate::system::stop::{self, Paced};

/// What stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// No diagonal is positive throughout.
    NoDiagonal,
    /// This entry, the first of its kind, is positive and lies on no positive diagonal.
    Entry(usize, usize),
}

/// Check total support: one perfect matching (Hopcroft and Karp), then the strongly connected
/// components of the rows, where row `u` leads to the row matched with `v` for every positive `(u, v)`.
/// An entry lies on a positive diagonal just when both rows are in one component (Dulmage and
/// Mendelsohn). O(size^2.5) at worst.
///
/// # Errors
/// [`Unsupported`], the first entry in row-major order.
pub fn check(size: usize, positive: impl Fn(usize, usize) -> bool) -> Result<(), Unsupported> {
    let lists: Vec<Vec<usize>> = (0..size)
        .map(|u| (0..size).filter(|&v| positive(u, v)).gather())
        .gather();
    let row_of = perfect_matching(&lists).ok_or(Unsupported::NoDiagonal)?;
    let component = components(&lists, &row_of);
    for (u, list) in lists.iter().enumerate() {
        if let Some(&v) = list.iter().find(|&&v| component[row_of[v]] != component[u]) {
            return Err(Unsupported::Entry(u, v));
        }
    }
    Ok(())
}

/// Whether some diagonal is positive throughout.
pub fn has_diagonal(size: usize, positive: impl Fn(usize, usize) -> bool) -> bool {
    let lists: Vec<Vec<usize>> = (0..size)
        .map(|u| (0..size).filter(|&v| positive(u, v)).gather())
        .gather();
    perfect_matching(&lists).is_some()
}

const NONE: usize = usize::MAX;

/// The row matched with each column, if all can be matched.
fn perfect_matching(lists: &[Vec<usize>]) -> Option<Vec<usize>> {
    let size = lists.len();
    let mut row_of = memory::filled(NONE, size);
    let mut column_of = memory::filled(NONE, size);
    for (u, list) in lists.iter().enumerate() {
        if let Some(&v) = list.iter().find(|&&v| row_of[v] == NONE) {
            (row_of[v], column_of[u]) = (u, v);
        }
    }
    loop {
        // Layers of rows, breadth first from the free ones.
        let mut layer = memory::filled(NONE, size);
        let mut queue: Vec<usize> = (0..size).filter(|&u| column_of[u] == NONE).gather();
        if queue.is_empty() {
            return Some(row_of);
        }
        queue.iter().for_each(|&u| layer[u] = 0);
        let free = queue.clone();
        let mut head = 0;
        while let Some(&u) = queue.get(head) {
            stop::point();
            head += 1;
            for &v in &lists[u] {
                let w = row_of[v];
                if w != NONE && layer[w] == NONE {
                    layer[w] = layer[u] + 1;
                    queue.push(w);
                }
            }
        }
        // Disjoint augmenting paths along the layers. `next[u]` only grows, so dead ends are left
        // for good and a phase reads each entry once.
        let mut next = memory::zeros::<usize>(size);
        let mut grown = false;
        for start in free {
            let mut path = vec![start];
            stop::point();
            while let Some(&u) = path.last() {
                let Some(&v) = lists[u].get(next[u]) else {
                    path.pop();
                    continue;
                };
                next[u] += 1;
                let w = row_of[v];
                if w == NONE {
                    // Turn the path over: each row takes the column it looked at last.
                    for &u in &path {
                        let v = lists[u][next[u] - 1];
                        (row_of[v], column_of[u]) = (u, v);
                    }
                    grown = true;
                    break;
                }
                if layer[w] == layer[u] + 1 {
                    path.push(w);
                }
            }
        }
        if !grown {
            return None;
        }
    }
}

/// Strongly connected components of the rows (Tarjan, without recursion).
fn components(lists: &[Vec<usize>], row_of: &[usize]) -> Vec<usize> {
    let size = lists.len();
    let mut index = memory::filled(NONE, size);
    let mut low = memory::zeros(size);
    let mut component = memory::filled(NONE, size);
    let mut next = memory::zeros::<usize>(size);
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
            if let Some(&v) = lists[u].get(next[u]) {
                next[u] += 1;
                let w = row_of[v];
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

    fn check_rows(rows: &[&str]) -> Result<(), Unsupported> {
        check(rows.len(), |u, v| rows[u].as_bytes()[v] == b'x')
    }

    #[test]
    fn patterns_are_told_apart() {
        assert_eq!(check_rows(&["x"]), Ok(()));
        assert_eq!(check_rows(&["xx", "xx"]), Ok(()));
        assert_eq!(check_rows(&["xx.", "x.x", ".xx"]), Ok(()));
        assert_eq!(check_rows(&["xx", ".x"]), Err(Unsupported::Entry(0, 1)));
        assert_eq!(check_rows(&["xx", ".."]), Err(Unsupported::NoDiagonal));
        assert_eq!(
            check_rows(&["x..", "x..", "xxx"]),
            Err(Unsupported::NoDiagonal)
        );
        assert_eq!(
            check_rows(&["xx..", "xx..", "..xx", "x.xx"]),
            Err(Unsupported::Entry(3, 0))
        );
    }

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

    /// A ladder that makes the textbook recursion exponential.
    #[test]
    fn chains_are_matched_in_linear_phases() {
        let n = 2000;
        assert_eq!(check(n, |u, v| u.abs_diff(v) <= 1), Ok(()));
        assert_eq!(
            check(n, |u, v| v == u || v == u + 1),
            Err(Unsupported::Entry(0, 1))
        );
    }
}
