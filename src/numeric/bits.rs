//! Bits of a random permutation as a whole: the entropy of what [`numeric`](crate::numeric) really draws.
//!
//! # Law
//! Never above the truth.
//!
//! - Classes shuffled in themselves: `log2` of the product of their factorials, exactly.
//! - A kron is drawn axis by axis and shows the permutation of every axis: the sum of its factors.
//! - A mixture of certain permutations: the entropy of their weights, equal permutations taken together.
//!   Any other mixture has at least the mean of its parts, since to be told the part takes bits away.
//! - `a @ b` has at least the larger of the two: given one permutation, the other can be read off.
//! - Neighbours that change places: by the chain rule the sum over pairs of
//!   `(1 - a') h2(a / (1 - a')) = f(a) + f(1 - a' - a) - f(1 - a')` with `f(p) = -p log2 p` and `a'` the step before,
//!   exactly.
//! - Randomized response flags m of N and shuffles them: `log2(N! / (N - m)!)` bits of set and order, less what
//!   the permutation does not tell of the set. Of those flagged j stayed, one in the mean; they are any j of
//!   the N - m + j who stayed, at most `(N - m + 1)^j` sets, so at most `log2(N - m + 1)` bits are not told.
//! - A circulant beyond 4096 is one shift: its first row.
//! - Entry by entry: `s(u)` has the law of row `u`, so at least the bits of the richest row. That is all where
//!   one row shows the permutation: two categories, a T-transform.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::flagged;
use crate::birkhoff::counts::Counts;
use crate::birkhoff::realise;
use crate::birkhoff::sample::SIZE;
use crate::law::structure::{Alphas, Run, Structure};
use crate::law::{Composition, Matrix};
use crate::number::bits::{self, Entropy};
use crate::number::dd::{self, Dd};
use crate::number::logarithms::LogSum;
use crate::system::memory::Gather;

/// Bits of the permutation that is drawn for `matrix`; `None` if none can be drawn.
pub fn entropy(matrix: &Matrix) -> Option<f64> {
    of_matrix(matrix, &mut HashMap::new())
}

type Seen = HashMap<*const (), Option<f64>>;

/// As [`numeric`](crate::numeric) draws. A composite may hold one matrix many times.
fn of_matrix(matrix: &Matrix, seen: &mut Seen) -> Option<f64> {
    let place = Arc::as_ptr(&matrix.family).cast::<()>();
    if let Some(found) = seen.get(&place) {
        return *found;
    }
    let size = matrix.family.size();
    let short = size <= u64::from(u32::MAX);
    let found = match matrix.family.composition() {
        Some(Composition::Kron(factors)) if short => {
            let mut bits = factors.iter().map(|factor| of_matrix(factor, seen));
            bits.try_fold(0.0, |sum, bits| Some(add_down(sum, bits?)))
        }
        Some(Composition::Mix(parts)) => of_mixture(&parts, seen).map(|bits| bits.max(row(matrix))),
        Some(Composition::Product(first, second)) => {
            let (first, second) = (of_matrix(first, seen), of_matrix(second, seen));
            let parts = first.zip(second);
            parts.map(|(first, second)| first.max(second).max(row(matrix)))
        }
        _ if short => of_leaf(matrix, size),
        _ => None,
    };
    seen.insert(place, found);
    found
}

/// Of a matrix that is not a composite.
fn of_leaf(matrix: &Matrix, size: u64) -> Option<f64> {
    let structure = matrix.structure();
    if let Some(runs) = structure.classes(size) {
        return Some(of_classes(&runs));
    }
    match structure {
        Structure::Certain(_) => Some(0.0),
        Structure::Neighbours { alphas, total, .. } => Some(of_path(alphas, *total, size)),
        Structure::Lies { keep, .. } if flagged::is_drawn(size, *keep) => {
            Some(of_flagged(size, *keep).max(matrix.entropy_rate()))
        }
        Structure::Swap { stay, sum, .. } => {
            let coin = [*stay, sum - stay];
            Some(bits::of_counts(1, *sum, 1, 2, |i| coin[i]).bits_down())
        }
        Structure::Circulant { first_row, total } if size > SIZE => {
            let row = |j: usize| first_row[j] as u64;
            Some(bits::of_counts(1, *total, 1, first_row.len(), row).bits_down())
        }
        _ if size > SIZE => None,
        _ => realise::counts(matrix).ok().as_ref().map(richest_row),
    }
}

/// Largest number of pairs whose bits are a closed form.
const PAIRS: u64 = 1024;

/// A random matching of a path of `size` places.
fn of_path(alphas: &Alphas, total: u64, size: u64) -> f64 {
    let pairs = size.saturating_sub(1);
    if pairs == 0 {
        return 0.0;
    }
    let before = |i: u64| if i == 0 { 0 } else { alphas.at(i - 1) };
    // Pairs, and how many are like each of them.
    let few: Option<Vec<(u64, i128)>> = match alphas {
        Alphas::Constant(_) if pairs > 1 => Some(vec![(0, 1), (1, i128::from(pairs) - 1)]),
        _ => (pairs <= PAIRS).then(|| (0..pairs).map(|i| (i, 1)).gather()),
    };
    if let Some(few) = few {
        // What `f(count/total)` adds, `times` times: the logarithms of the total cancel but for one total.
        let term = |times: i128, count: u64| (-times * i128::from(count), u128::from(count));
        let terms = few.into_iter().flat_map(|(i, times)| {
            let (alpha, left) = (alphas.at(i), total - before(i));
            [
                term(times, alpha),
                term(times, left - alpha),
                term(-times, left),
            ]
        });
        let terms = terms.filter(|term| term.0 != 0).gather();
        let denominator = u128::from(total);
        return Entropy::Exact(LogSum { terms, denominator }).bits_down();
    }
    let n = pairs as usize;
    let more = bits::of_counts(1, total, 1, 2 * n, |i| {
        let pair = (i / 2) as u64;
        let alpha = alphas.at(pair);
        if i % 2 == 0 {
            alpha
        } else {
            total - before(pair) - alpha
        }
    });
    let less = bits::of_counts(1, total, 1, n - 1, |i| total - alphas.at(i as u64));
    let less = match less {
        Entropy::Within(bits) => bits.value.round_up(bits.error),
        exact @ Entropy::Exact(_) => exact.bits_down().next_up(),
    };
    Dd::sum(more.bits_down(), -less).round_down(0.0).max(0.0)
}

/// A flagged set, shuffled in itself.
fn of_flagged(size: u64, keep: (u64, u64)) -> f64 {
    let (fewer, lacks) = flagged::flagged(size, keep);
    let mut logs = Factorials::FIRST;
    let sets = [fewer + 1, fewer].map(|m| (m, logs.log2(size.saturating_sub(m))));
    let all = logs.log2(size);
    // As in `of_classes`, and what Stirling's series leaves out.
    let error = all.hi * dd::RELATIVE_ERROR * f64::from(1 << 19) + 1e-25;
    let bits = |(m, rest): (u64, Dd)| {
        // The one beyond all records is never drawn.
        if m < 2 || m > size {
            return 0.0;
        }
        let untold = Dd::from(u128::from(size - m + 1)).log2();
        (all - rest - untold).round_down(error).max(0.0)
    };
    let more = share_down(lacks, keep.1, bits(sets[0]));
    add_down(more, share_down(keep.1 - lacks, keep.1, bits(sets[1])))
}

/// The largest double not above the sum.
fn add_down(a: f64, b: f64) -> f64 {
    Dd::sum(a, b).round_down(0.0)
}

/// Bits of the mean row of a composite that is small enough to be looked at.
fn row(matrix: &Matrix) -> f64 {
    if matrix.family.size() <= SIZE {
        matrix.entropy_rate()
    } else {
        0.0
    }
}

/// Every class of n in one of n! orders, all as likely.
fn of_classes(runs: &[Run]) -> f64 {
    let mut classes: BTreeMap<u64, u64> = BTreeMap::new();
    for run in runs {
        *classes.entry(run.class_size).or_default() += run.classes;
    }
    let largest = classes.keys().next_back().copied().unwrap_or(1);
    if largest <= SHORT {
        // log2 k for every class of at least k codes.
        let weight = |k| classes.range(k..).map(|(_, &n)| i128::from(n)).sum();
        let sum = LogSum {
            terms: (2..=largest).map(|k| (weight(k), k.into())).gather(),
            denominator: 1,
        };
        return Entropy::Exact(sum).bits_down();
    }
    let mut logs = Factorials::FIRST;
    let mut sum = Dd::ZERO;
    for (n, classes) in classes {
        sum = sum + logs.log2(n) * Dd::from(u128::from(classes));
    }
    // Of every sum and logarithm an error below 2^-97 of the whole, and there are fewer than 2^17.
    sum.round_down(sum.hi * dd::RELATIVE_ERROR * f64::from(1 << 18))
}

/// Largest class whose bits are a closed form.
const SHORT: u64 = 256;

/// Largest number whose factorial is a product; beyond, Stirling's series is closer than doubles are.
const PRODUCT: u64 = 1 << 16;

/// `log2 n!` of growing `n`, not above it.
struct Factorials {
    n: u64,
    log2: Dd,
}

/// `ln(2 pi)`.
const LN_2_PI: Dd = Dd {
    hi: 1.837_877_066_409_345_6,
    lo: -7.756_588_316_134_483e-17,
};

impl Factorials {
    const FIRST: Factorials = Factorials {
        n: 1,
        log2: Dd::ZERO,
    };

    fn log2(&mut self, n: u64) -> Dd {
        if n <= PRODUCT {
            while self.n < n {
                self.n += 1;
                self.log2 = self.log2 + Dd::from(u128::from(self.n)).log2();
            }
            return self.log2;
        }
        // ln n! = n ln n - n + ln(2 pi n)/2 + 1/(12 n) - 1/(360 n^3) + less than 1/(1260 n^5).
        let x = Dd::from(u128::from(n));
        let whole = x * x.ln() - x;
        let half = (LN_2_PI + x.ln()) * Dd::from(0.5);
        let series = Dd::ONE / (x * Dd::from(12.0)) - Dd::ONE / (x * x * x * Dd::from(360.0));
        (whole + half + series) / Dd::from(2.0).ln()
    }
}

/// Bits of a mixture, from its parts.
fn of_mixture(parts: &[((i64, i64), &Matrix)], seen: &mut Seen) -> Option<f64> {
    let drawn: Vec<(u64, &Matrix)> = parts
        .iter()
        .filter(|((weight, _), _)| *weight > 0)
        .map(|((weight, _), part)| (*weight as u64, *part))
        .gather();
    let total = drawn.iter().map(|part| part.0).sum::<u64>();
    if let Some(weights) = certain(&drawn) {
        return Some(bits::of_counts(1, total, 1, weights.len(), |j| weights[j]).bits_down());
    }
    let mut sum = 0.0;
    for (weight, part) in drawn {
        let bits = of_matrix(part, seen)?;
        sum = add_down(sum, share_down(weight, total, bits));
    }
    Some(sum)
}

/// `bits * weight / total`, not above it.
fn share_down(weight: u64, total: u64, bits: f64) -> f64 {
    let share = Dd::from(bits) * Dd::from(u128::from(weight)) / Dd::from(u128::from(total));
    share.round_down(share.hi * 4.0 * dd::RELATIVE_ERROR)
}

/// The weights of certain permutations, those of equal ones together; `None` if a part is not certain.
fn certain(parts: &[(u64, &Matrix)]) -> Option<Vec<u64>> {
    // In the order of the permutations: sums of doubles depend on theirs.
    let mut weights: BTreeMap<Option<Arc<[i64]>>, u64> = BTreeMap::new();
    for (weight, part) in parts {
        let Structure::Certain(targets) = part.family.structure() else {
            return None;
        };
        // All stay: the same as without targets.
        let targets = targets.filter(|targets| (0..).zip(&**targets).any(|(u, &v)| u != v));
        *weights.entry(targets).or_default() += weight;
    }
    Some(weights.into_values().gather())
}

/// Bits of the row that has most.
fn richest_row(counts: &Counts) -> f64 {
    let line = |u: usize| &counts.values[counts.starts[u]..counts.starts[u + 1]];
    let total = counts.total as f64;
    let near = |u: usize| -> f64 {
        let terms = line(u).iter().map(|&count| {
            let p = count as f64 / total;
            -p * p.log2()
        });
        terms.sum()
    };
    let rows = (0..counts.size).map(|u| (near(u), u));
    let richest = rows.max_by(|a, b| a.0.total_cmp(&b.0));
    let line = line(richest.map_or(0, |(_, u)| u));
    bits::of_counts(1, counts.total, 1, line.len(), |i| line[i]).bits_down()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::birkhoff::sample;
    use crate::birkhoff::tree::Tree;
    use crate::law::battery::table;

    /// The entropy of what is drawn entry by entry, over every leaf of the tree of decisions.
    fn drawn(matrix: &Matrix) -> f64 {
        let counts = realise::counts(matrix).unwrap();
        let mut law: HashMap<Vec<u32>, f64> = HashMap::new();
        let mut tree = Tree::default();
        loop {
            let sample = sample::permutation(&counts, &mut &tree);
            let (n, d) = tree.leaf();
            *law.entry(sample).or_default() += n as f64 / d as f64;
            if !tree.advance() {
                break;
            }
        }
        law.values().map(|p| -p * p.log2()).sum()
    }

    #[test]
    fn never_above_what_is_drawn() {
        for (size, cells) in [
            (1, vec![7]),
            (2, vec![3, 5, 5, 3]),
            (3, vec![1; 9]),
            (3, vec![5, 2, 0, 1, 4, 2, 1, 1, 5]),
            (3, vec![6, 2, 1, 1, 5, 3, 2, 2, 5]),
            (4, vec![2, 1, 1, 0, 1, 2, 0, 1, 0, 1, 2, 1, 1, 0, 1, 2]),
        ] {
            let m = table(size, cells);
            let (bits, truth) = (entropy(&m).unwrap(), drawn(&m));
            assert!(bits <= truth + 1e-12, "{m:?}: {bits} of {truth}");
            assert!(bits >= m.entropy_rate());
            if size <= 2 {
                assert!((bits - truth).abs() < 1e-12, "{m:?}: {bits} of {truth}");
            }
        }
    }
}
