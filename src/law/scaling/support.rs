//! Where a matrix is positive: does every positive entry lie on a positive diagonal?
//!
//! Only then (total support) can a matrix be scaled to a bistochastic one of the same pattern.

use crate::error::{Error, Result};
use crate::law::scaling::matching::Matching;
use crate::system::memory;
use crate::system::stop::Paced;

/// The sentence for a pattern that no bistochastic matrix has: an entry on no positive diagonal, or none at all.
pub fn unsupported(name: &str, entry: Option<(usize, usize)>) -> Error {
    let got = match entry {
        None => "no positive diagonal at all".to_owned(),
        Some((u, v)) => format!("an entry on none at ({u}, {v})"),
    };
    let must = "have every positive entry on a positive diagonal";
    Error::value(name, must, got)
}

/// Check total support, which a table without zeros has: one perfect matching, then the strongly connected components of the rows, where
/// row `u` leads to the row matched with `v` for every positive `(u, v)`. An entry lies on a positive diagonal
/// just when both rows are in one component (Dulmage and Mendelsohn), whichever matching was found.
///
/// # Errors
/// No positive diagonal, or the first entry in row-major order that is positive and lies on none.
pub fn check(name: &str, size: usize, positive: impl Fn(usize, usize) -> bool) -> Result<()> {
    if (0..size).all(|u| (0..size).all(|v| positive(u, v))) {
        return Ok(());
    }
    let mut graph = Matching::of(size, positive);
    if !graph.complete() {
        return Err(unsupported(name, None));
    }
    let component = components(&graph, size);
    for u in (0..size).paced() {
        let apart = |&v: &usize| component[graph.row_of[v] as usize] != component[u];
        if let Some(v) = graph.columns(u).find(apart) {
            return Err(unsupported(name, Some((u, v))));
        }
    }
    Ok(())
}

const NONE: usize = usize::MAX;

/// Strongly connected components of the rows (Tarjan, without recursion).
fn components(graph: &Matching, size: usize) -> Vec<usize> {
    let mut index = memory::filled(NONE, size);
    let mut low = memory::zeros(size);
    let mut component = memory::filled(NONE, size);
    let mut left: Vec<_> = (0..size).map(|u| graph.columns(u)).collect();
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
                Err(unsupported("p", None))
            } else {
                (0..size * size)
                    .map(|i| (i / size, i % size))
                    .find(|&(u, v)| pattern[u][v] && !on[u][v])
                    .map_or(Ok(()), |entry| Err(unsupported("p", Some(entry))))
            };
            assert_eq!(check("p", size, |u, v| pattern[u][v]), want, "{pattern:?}");
        }
    }
}
