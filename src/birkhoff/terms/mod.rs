//! A sum of permutations, stored or described: its weights, its permutations, what it adds up to.

mod cells;
pub mod fractions;
mod moves;
mod permutations;
mod weights;

pub use cells::Cells;
pub use moves::Moves;
pub use permutations::{Pairs, Permutations, Times};
pub use weights::{Weights, units_for};

use crate::birkhoff::events::Events;
use crate::birkhoff::listed::Listed;
use crate::error::Result;
use crate::system::memory::{self, Gather};
use crate::system::stop::{self, Paced};

/// A sum of permutations.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Number of codes.
    pub size: u64,
    /// What each term weighs.
    pub weights: Weights,
    /// What each term is.
    pub permutations: Permutations,
}

impl Terms {
    /// From an engine's list.
    pub fn listed(listed: Listed, total: u64) -> Self {
        Terms {
            size: listed.size as u64,
            weights: Weights::Units(listed.weights, total),
            permutations: Permutations::Listed(listed.columns),
        }
    }

    /// From events along the axis of time, at most `terms` of them.
    pub fn of_events(events: Events, total: u64, terms: usize) -> Self {
        let size = events.first.len();
        let every = size.max(16);
        let mut now = events.first.clone();
        let mut moves = Moves {
            moves: memory::room(events.changes.len()),
            starts: vec![0],
            every,
            full: now.clone(),
        };
        let mut weights = Vec::new();
        let mut time = 0;
        for same in events.changes.chunk_by(|a, b| a.0 == b.0) {
            if weights.len() + 1 == terms {
                break;
            }
            memory::push(&mut weights, same[0].0 - time);
            time = same[0].0;
            memory::push(&mut moves.starts, moves.moves.len());
            for &(_, u, v) in same {
                memory::push(&mut moves.moves, (u, v));
                now[usize::from(u)] = v;
            }
            if weights.len().is_multiple_of(every) {
                memory::extend(&mut moves.full, now.iter().copied());
            }
        }
        // The last term lasts until the next event, or to the end.
        let after = events.changes.partition_point(|change| change.0 <= time);
        let end = events
            .changes
            .get(after)
            .map_or(events.end, |change| change.0);
        memory::push(&mut weights, end - time);
        memory::push(&mut moves.starts, moves.moves.len());
        Terms {
            size: size as u64,
            weights: Weights::Units(weights, total),
            permutations: Permutations::Moves(moves),
        }
    }

    /// Number of terms.
    pub fn terms(&self) -> u64 {
        self.weights.terms()
    }

    /// Whether every term is a shift of all codes.
    pub fn is_shifts(&self) -> bool {
        matches!(
            self.permutations,
            Permutations::Shifts(_) | Permutations::Ramp(_)
        )
    }

    /// Keep the first terms only.
    pub fn keep(&mut self, terms: u64) {
        self.weights.keep(terms);
        let terms = terms as usize;
        match &mut self.permutations {
            Permutations::Listed(columns) => columns.truncate(terms * self.size as usize),
            Permutations::Shifts(shifts) => shifts.truncate(terms),
            Permutations::Classes(_, Times::Listed(times)) => times.truncate(terms),
            Permutations::Pairs(_, times) => times.truncate(terms),
            _ => {}
        }
    }

    /// The permutation of term `j`: where each code goes.
    pub fn fill(&self, j: u64, out: &mut [i64]) {
        let size = self.size;
        let shift = |by: u64, out: &mut [i64]| {
            // Two runs, since nothing wraps twice.
            let wrap = (size - by) as usize;
            (by as i64..)
                .zip(&mut out[..wrap])
                .for_each(|(v, x)| *x = v);
            (0..).zip(&mut out[wrap..]).for_each(|(v, x)| *x = v);
        };
        match &self.permutations {
            Permutations::Listed(columns) => {
                let term = &columns[j as usize * size as usize..][..size as usize];
                for (x, &v) in out.iter_mut().zip(term) {
                    *x = v.into();
                }
            }
            Permutations::Moves(moves) => {
                let from = j as usize / moves.every;
                let full = &moves.full[from * size as usize..][..size as usize];
                for (x, &v) in out.iter_mut().zip(full) {
                    *x = v.into();
                }
                let (start, end) = (from * moves.every, j as usize);
                for &(u, v) in &moves.moves[moves.starts[start + 1]..moves.starts[end + 1]] {
                    out[usize::from(u)] = v.into();
                }
            }
            Permutations::Shifts(shifts) => shift(shifts[j as usize].into(), out),
            Permutations::Ramp(first) => shift((first + j) % size, out),
            Permutations::Given(targets) => out.copy_from_slice(targets),
            Permutations::Swap(i, k, first) => {
                (0..).zip(&mut *out).for_each(|(u, x)| *x = u);
                if *first == (j == 0) {
                    out.swap(*i as usize, *k as usize);
                }
            }
            Permutations::Classes(runs, times) => {
                let (p, q) = match times {
                    Times::Even(n) => (j, *n),
                    Times::Listed(times) => {
                        let (p, q) = times[j as usize];
                        (p.into(), q.into())
                    }
                };
                for &(start, n, classes) in runs {
                    let by = (u128::from(p) * u128::from(n) / u128::from(q)) as u64;
                    for class in 0..classes {
                        let base = start + class * n;
                        for u in 0..n {
                            out[(base + u) as usize] = (base + (u + by) % n) as i64;
                        }
                    }
                }
            }
            Permutations::Pairs(pairs, times) => {
                let time = times[j as usize];
                (0..).zip(&mut *out).for_each(|(u, x)| *x = u);
                for i in 0..size - 1 {
                    if pairs.swaps(i, time) {
                        out.swap(i as usize, i as usize + 1);
                    }
                }
            }
        }
    }

    /// What the terms add up to.
    ///
    /// # Errors
    /// Fractions that leave 127 bits.
    pub fn cells(&self) -> Result<Cells> {
        let size = self.size as usize;
        if let (Weights::Units(weights, total), Permutations::Listed(columns)) =
            (&self.weights, &self.permutations)
        {
            let mut units = memory::zeros(size * size);
            for (&weight, term) in weights.iter().zip(columns.chunks(size)).paced() {
                for (row, &v) in units.chunks_mut(size).zip(term) {
                    row[usize::from(v)] += weight;
                }
            }
            return Ok(Cells::Units(units, *total));
        }
        if let (Weights::Units(weights, total), Permutations::Moves(moves)) =
            (&self.weights, &self.permutations)
        {
            return Ok(Cells::Units(moves.cells(size, weights), *total));
        }
        let mut order: Vec<u64> = (0..self.terms()).gather();
        if let Permutations::Classes(_, Times::Listed(times)) = &self.permutations {
            // In the order of time neighbouring fractions add up to short ones.
            let key = |j: u64| times[j as usize];
            memory::probe(size_of_val(&*order));
            order.sort_by(|&a, &b| {
                let ((a, b), (c, d)) = (key(a), key(b));
                (u64::from(a) * u64::from(d)).cmp(&(u64::from(c) * u64::from(b)))
            });
        }
        let mut ratios = memory::filled((0, 1), size * size);
        let mut term = memory::zeros(size);
        for j in order {
            stop::point();
            self.fill(j, &mut term);
            let weight = self.weights.ratio(j);
            for (row, &v) in ratios.chunks_mut(size).zip(&term) {
                let cell = &mut row[v as usize];
                *cell = fractions::add(*cell, weight).ok_or_else(fractions::too_long)?;
            }
        }
        Ok(Cells::Ratios(ratios))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_followed_from_the_last_full_permutation() {
        let mut changes = Vec::new();
        let mut now: Vec<u16> = (0..5).collect();
        let mut every = vec![now.clone()];
        for t in 1..100u64 {
            let (a, b) = (t as usize % 5, (t as usize * 3 + 1) % 5);
            if a == b {
                continue;
            }
            now.swap(a, b);
            changes.push((t, a as u16, now[a]));
            changes.push((t, b as u16, now[b]));
            every.push(now.clone());
        }
        let events = Events {
            first: (0..5).collect(),
            changes,
            end: 100,
        };
        let form = Terms::of_events(events.clone(), 100, usize::MAX);
        assert_eq!(form.terms() as usize, every.len());
        let mut out = vec![0; 5];
        for (j, want) in every.iter().enumerate() {
            form.fill(j as u64, &mut out);
            assert!(out.iter().zip(want).all(|(a, b)| *a == i64::from(*b)));
        }
        let Weights::Units(weights, _) = &form.weights else {
            panic!("not units");
        };
        assert_eq!(weights.iter().sum::<u64>(), 100);
        let short = Terms::of_events(events, 100, 7);
        assert_eq!(short.terms(), 7);
        assert_eq!(short.weights.ratio(6), form.weights.ratio(6));
    }
}
