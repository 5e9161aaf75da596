//! A sum of permutations, stored or described: its weights, its permutations, what it adds up to.

use std::sync::Arc;

use super::events::Events;
use super::listed::Listed;
use crate::error::{Error, Result};
use crate::law::structure::Alphas;
use crate::number::dd::Dd;
use crate::number::lattice::{gcd, nearest};
use crate::system::memory::{self, Gather};
use crate::system::stop::{self, Paced};

/// The weights of the terms, as fractions of 1.
#[derive(Debug, Clone)]
pub enum Weights {
    /// Whole numbers out of a total.
    Units(Vec<u64>, u64),
    /// `(weight, how many terms)`, out of a total below 2^127.
    Runs(Vec<(u128, u64)>, u128),
    /// Fractions in lowest terms.
    Ratios(Vec<(u64, u64)>),
}

/// Which permutation each term is.
#[derive(Debug, Clone)]
pub enum Permutations {
    /// The column of each row, term by term.
    Listed(Vec<u16>),
    /// The first, and who moves from term to term.
    Moves(Moves),
    /// `v = u + shifts[j]`, modulo the size.
    Shifts(Vec<u32>),
    /// `v = u + first + j`, modulo the size.
    Ramp(u64),
    /// One permutation.
    Given(Arc<[i64]>),
    /// Nobody moves in one term, and these two change places in the other, which comes first or not.
    Swap(u64, u64, bool),
    /// Classes of consecutive codes, `(first code, class size, classes)`, each class shifted by
    /// `floor(time * class size)`; the time of each term.
    Classes(Vec<(u64, u64, u64)>, Times),
    /// Neighbours `i` and `i + 1` change places before time `alpha_i` for even `i`, from time
    /// `total - alpha_i` on for odd `i`; the time of each term.
    Pairs(Pairs, Vec<u64>),
}

/// Times from 0 to below 1.
#[derive(Debug, Clone)]
pub enum Times {
    /// `j/n` for term `j`.
    Even(u64),
    /// One by one.
    Listed(Vec<(u32, u32)>),
}

/// Pairs of neighbours that change places, out of a total.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// How often each pair does.
    pub alphas: Alphas,
    /// What that is out of.
    pub total: u64,
}

impl Pairs {
    /// Whether codes `i` and `i + 1` change places at `time`.
    fn swaps(&self, i: u64, time: u64) -> bool {
        let alpha = self.alphas.at(i);
        if i.is_multiple_of(2) {
            time < alpha
        } else {
            time >= self.total - alpha
        }
    }
}

/// Permutations that differ little from term to term, with one in full every so often.
#[derive(Debug, Clone)]
pub struct Moves {
    moves: Vec<(u16, u16)>,
    /// Where the moves of each term start, and the end.
    starts: Vec<usize>,
    every: usize,
    full: Vec<u16>,
}

/// A sum of permutations.
#[derive(Debug, Clone)]
pub struct Form {
    /// Number of codes.
    pub size: u64,
    /// What each term weighs.
    pub weights: Weights,
    /// What each term is.
    pub permutations: Permutations,
}

/// What a sum of permutations adds up to, row by row.
#[derive(Debug, Clone)]
pub enum Cells {
    /// Whole numbers out of a total.
    Units(Vec<u64>, u64),
    /// Fractions.
    Ratios(Vec<(u128, u128)>),
}

impl Cells {
    /// One cell as a fraction.
    pub fn ratio(&self, i: usize) -> (u128, u128) {
        match self {
            Cells::Units(units, total) => (units[i].into(), (*total).into()),
            Cells::Ratios(ratios) => ratios[i],
        }
    }
}

/// The sum of two fractions in lowest terms, below 2^127.
pub fn add((a, b): (u128, u128), (c, d): (u128, u128)) -> Option<(u128, u128)> {
    let g = gcd(b, d);
    let n = a.checked_mul(d / g)?.checked_add(c.checked_mul(b / g)?)?;
    let d = (b / g).checked_mul(d)?;
    let g = gcd(n, d);
    (d / g < 1 << 127).then_some((n / g, d / g))
}

/// The product of two fractions in lowest terms, below 2^127.
pub fn multiply((a, b): (u128, u128), (c, d): (u128, u128)) -> Option<(u128, u128)> {
    let (g, h) = (gcd(a, d).max(1), gcd(c, b).max(1));
    let product = ((a / g).checked_mul(c / h)?, (b / h).checked_mul(d / g)?);
    (product.1 < 1 << 127).then_some(product)
}

impl Weights {
    /// Number of terms.
    pub fn terms(&self) -> u64 {
        match self {
            Weights::Units(units, _) => units.len() as u64,
            Weights::Runs(runs, _) => runs.iter().map(|run| run.1).sum(),
            Weights::Ratios(ratios) => ratios.len() as u64,
        }
    }

    /// The weight of term `j`.
    pub fn ratio(&self, j: u64) -> (u128, u128) {
        match self {
            Weights::Units(units, total) => (units[j as usize].into(), (*total).into()),
            Weights::Runs(runs, total) => {
                let mut before = 0;
                for &(weight, terms) in runs {
                    before += terms;
                    if j < before {
                        return (weight, *total);
                    }
                }
                (0, *total)
            }
            Weights::Ratios(ratios) => {
                let (n, d) = ratios[j as usize];
                (n.into(), d.into())
            }
        }
    }

    /// The nearest doubles of all weights.
    pub fn fill(&self, out: &mut [f64]) {
        match self {
            Weights::Runs(runs, total) => {
                let mut rest = out;
                for &(weight, terms) in runs {
                    let (part, after) = rest.split_at_mut(terms as usize);
                    part.fill(nearest(weight, *total));
                    rest = after;
                }
            }
            _ => {
                for (j, x) in (0..).zip(out) {
                    let (n, d) = self.ratio(j);
                    *x = nearest(n, d);
                }
            }
        }
    }

    /// Entropy of the choice of a term in bits; the rest of a cut sum counts as one more term.
    pub fn entropy(&self) -> f64 {
        let bits = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
        // Compensated, so that a million terms lose no digit.
        let (mut sum, mut rest) = (Dd::ZERO, Dd::ONE);
        match self {
            Weights::Runs(runs, total) => {
                if let [(weight, terms)] = runs[..]
                    && weight * u128::from(terms) == *total
                {
                    return (terms as f64).log2();
                }
                for &(weight, terms) in runs {
                    let p = nearest(weight, *total);
                    sum = sum + Dd::product(bits(p), terms as f64);
                    rest = rest - Dd::product(p, terms as f64);
                }
            }
            _ => {
                for j in 0..self.terms() {
                    let (n, d) = self.ratio(j);
                    let p = nearest(n, d);
                    sum = sum + Dd::from(bits(p));
                    rest = rest - Dd::from(p);
                }
            }
        }
        let most = (self.terms() as f64 + 1.0).log2();
        let cut = rest.hi > 1e-12;
        let bits = sum.hi + if cut { bits(rest.hi) } else { 0.0 };
        bits.min(most).max(0.0)
    }

    /// How many terms to keep for a sum of at least `mass`, and at most `terms`.
    pub fn enough(&self, mass: f64, terms: u64) -> u64 {
        let all = self.terms();
        if mass >= 1.0 {
            return all.min(terms);
        }
        match self {
            Weights::Units(units, total) => {
                let enough = units_for(mass, *total);
                let mut sum = 0;
                let found = units.iter().position(|&weight| {
                    sum += weight;
                    sum >= enough
                });
                found.map_or(all, |j| j as u64 + 1).min(terms)
            }
            Weights::Runs(runs, total) => {
                if let Some(mut left) = share_of(mass, *total) {
                    let mut kept = 0;
                    for &(weight, count) in runs {
                        let need = left.div_ceil(weight.max(1));
                        if need <= u128::from(count) {
                            return (kept + need as u64).clamp(1, all).min(terms);
                        }
                        kept += count;
                        left -= weight * u128::from(count);
                    }
                    return all.min(terms);
                }
                // Totals that leave no room for the mass beside them: to 30 digits.
                let (mut left, mut kept) = (Dd::from(mass), 0);
                for &(weight, count) in runs {
                    let each = Dd::from(weight) / Dd::from(*total);
                    let need = (left / each).hi.ceil().max(0.0);
                    if need <= count as f64 {
                        return (kept + need as u64).clamp(1, all).min(terms);
                    }
                    kept += count;
                    left = left - each * Dd::from(u128::from(count));
                }
                all.min(terms)
            }
            Weights::Ratios(ratios) => {
                // Exactly as long as the sum is a fraction of 128 bits, then to 30 digits.
                let (mut exact, mut sum) = (Some((0, 1)), Dd::ZERO);
                let found = ratios.iter().position(|&(n, d)| {
                    let term = (u128::from(n), u128::from(d));
                    sum = sum + Dd::from(term.0) / Dd::from(term.1);
                    exact = exact.and_then(|sum| add(sum, term));
                    let reached = exact.and_then(|(n, d)| Some(n >= share_of(mass, d)?));
                    reached.unwrap_or((sum - Dd::from(mass)).hi >= 0.0)
                });
                found.map_or(all, |j| j as u64 + 1).min(terms)
            }
        }
    }

    fn keep(&mut self, terms: u64) {
        match self {
            Weights::Units(units, _) => units.truncate(terms as usize),
            Weights::Ratios(ratios) => ratios.truncate(terms as usize),
            Weights::Runs(runs, _) => {
                let mut left = terms;
                for run in runs.iter_mut() {
                    run.1 = run.1.min(left);
                    left -= run.1;
                }
                runs.retain(|run| run.1 > 0);
            }
        }
    }
}

/// The smallest whole number whose share of `total` is at least `mass`, which is below 1; none where 128
/// bits do not hold the product of the two.
fn share_of(mass: f64, total: u128) -> Option<u128> {
    // A double below 1 is `mantissa / 2^places`, so that nothing is rounded here.
    let bits = mass.to_bits();
    let exponent = (bits >> 52) as i64;
    let mantissa = u128::from(bits & ((1 << 52) - 1) | u64::from(exponent > 0) << 52);
    let places = 1075 - exponent.max(1);
    let product = mantissa.checked_mul(total)?;
    Some(if places >= 128 {
        1
    } else {
        product.div_ceil(1 << places)
    })
}

/// The smallest number of units whose share of `total` is at least `mass`, from above 0 to 1.
pub fn units_for(mass: f64, total: u64) -> u64 {
    if mass >= 1.0 {
        return total;
    }
    // A product of 53 and 64 bits has room.
    share_of(mass, total.into()).map_or(total, |units| (units as u64).clamp(1, total))
}

impl Form {
    /// From an engine's list.
    pub fn listed(listed: Listed, total: u64) -> Self {
        Form {
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
        Form {
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
                *cell = add(*cell, weight).ok_or_else(|| {
                    Error::value("terms", "add up to fractions below 2^127", "more")
                })?;
            }
        }
        Ok(Cells::Ratios(ratios))
    }
}

impl Moves {
    fn cells(&self, size: usize, weights: &[u64]) -> Vec<u64> {
        let mut units = memory::zeros(size * size);
        let mut now: Vec<u16> = memory::copied(&self.full[..size]);
        let mut since = memory::zeros::<u64>(size);
        let mut time = 0;
        for (j, &weight) in weights.iter().enumerate().paced() {
            for &(u, v) in &self.moves[self.starts[j]..self.starts[j + 1]] {
                let u = usize::from(u);
                units[u * size + usize::from(now[u])] += time - since[u];
                (now[u], since[u]) = (v, time);
            }
            time += weight;
        }
        for u in 0..size {
            units[u * size + usize::from(now[u])] += time - since[u];
        }
        units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_taken_exactly() {
        assert_eq!(units_for(1.0, 7), 7);
        assert_eq!(units_for(0.5, 7), 4);
        assert_eq!(units_for(0.5, 8), 4);
        assert_eq!(units_for(1e-300, 8), 1);
        assert_eq!(units_for(f64::MIN_POSITIVE / 4.0, 8), 1);
        // A third as a double is below 1/3, so that one of three is enough; 0.1 is above 1/10.
        assert_eq!(units_for(1.0 / 3.0, 3), 1);
        assert_eq!(units_for(0.1, 10), 2);
        assert_eq!(units_for(1.0 - f64::EPSILON / 2.0, 1 << 53), (1 << 53) - 1);
    }

    #[test]
    fn runs_are_cut_like_lists() {
        let runs = Weights::Runs(vec![(5, 1), (2, 3), (1, 1)], 12);
        let units = Weights::Units(vec![5, 2, 2, 2, 1], 12);
        for mass in [0.01, 0.4, 0.41666, 0.5, 0.75, 0.9, 0.99, 1.0] {
            for terms in [1, 3, 10] {
                assert_eq!(
                    runs.enough(mass, terms),
                    units.enough(mass, terms),
                    "{mass}"
                );
            }
        }
        assert!((runs.entropy() - units.entropy()).abs() < 1e-15);
        let all = |weights: &Weights| {
            let mut out = vec![0.0; 5];
            weights.fill(&mut out);
            out
        };
        assert_eq!(all(&runs), all(&units));
    }

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
        let form = Form::of_events(events.clone(), 100, usize::MAX);
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
        let short = Form::of_events(events, 100, 7);
        assert_eq!(short.terms(), 7);
        assert_eq!(short.weights.ratio(6), form.weights.ratio(6));
    }
}
