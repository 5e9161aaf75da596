//! Structures whose sums of permutations are known without a search.
//!
//! | structure | terms | why |
//! |---|---|---|
//! | certain | 1 | it is one |
//! | a swap of two codes | 2 | by definition |
//! | one diagonal and one other entry, circulant | one for each non-zero number of a row | shift `s` holds the entries `(u, u + s)`, which are all equal; a row with that many entries needs as many terms |
//! | steps between neighbours | at most `size`, 3 for one alpha | see `pairs` |
//! | classes | at most the sum of the distinct class sizes | see `classes` |

use super::terms::{Pairs, Permutations, Terms, Times, Weights};
use super::{Decomposition, Options, Sum};
use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::law::{Alphas, Law, Run, TwoValued};
use crate::number::lattice::gcd;
use crate::system::memory::{self, Gather};
use std::cmp::Reverse;

/// The decomposition; `None` if a search is needed.
///
/// # Errors
/// Classes of too many sizes.
pub fn decompose(matrix: &Matrix, options: &Options) -> Result<Option<Decomposition>> {
    let Some(mut form) = terms_of(matrix)? else {
        return Ok(None);
    };
    let terms = options.max_terms.unwrap_or(u64::MAX);
    let all = form.terms();
    let kept = form.weights.enough(options.mass, terms);
    form.keep(kept);
    Ok(Some(Decomposition {
        matrix: matrix.clone(),
        sum: Sum::Plain(form),
        complete: kept == all,
    }))
}

fn terms_of(matrix: &Matrix) -> Result<Option<Terms>> {
    let size = matrix.size();
    let law = matrix.law();
    let with = |weights, permutations| {
        Some(Terms {
            size,
            weights,
            permutations,
        })
    };
    if let Some(TwoValued { diag, off, total }) = law.two_valued() {
        let (stay, lies) = ((diag, u64::from(diag > 0)), (off, size - 1));
        let (runs, first) = match diag.cmp(&off) {
            // All shifts alike are one run.
            std::cmp::Ordering::Equal => (vec![(diag, size)], 0),
            std::cmp::Ordering::Greater => (vec![stay, lies], 0),
            std::cmp::Ordering::Less => (vec![lies, stay], 1),
        };
        let runs = runs.into_iter().filter(|run| run.0 > 0 && run.1 > 0);
        return Ok(with(
            Weights::Runs(runs.gather(), total),
            Permutations::Ramp(first),
        ));
    }
    Ok(match law {
        Law::Permutation(to) => {
            let once = Weights::Runs(vec![(1, 1)], 1);
            with(once, Permutations::Given(to.clone()))
        }
        Law::Circulant { first_row, total } if size < 1 << 32 => {
            let shifts = (0u32..).zip(&**first_row).filter(|(_, c)| **c > 0);
            let mut terms: Vec<_> = shifts.map(|(s, &c)| (Reverse(c), s)).gather();
            terms.sort_unstable();
            let shifts = terms.iter().map(|term| term.1).gather();
            let weights = terms.iter().map(|term| term.0.0 as u64).gather();
            with(
                Weights::Units(weights, *total),
                Permutations::Shifts(shifts),
            )
        }
        Law::TTransform {
            i, j, stay, sum, ..
        } => {
            let (stay, total) = (u128::from(*stay), u128::from(*sum));
            let swap_first = 2 * stay < total;
            let mut runs = vec![(stay, 1), (total - stay, 1)];
            if swap_first {
                runs.reverse();
            }
            runs.retain(|run| run.0 > 0);
            with(
                Weights::Runs(runs, total),
                Permutations::Swap(*i, *j, swap_first),
            )
        }
        Law::Tridiagonal { alphas, total, .. } => {
            let (alphas, total) = (alphas.clone(), *total);
            Some(pairs(size, Pairs { alphas, total }))
        }
        Law::Classes { runs, .. } => Some(classes(size, runs)?),
        _ => None,
    })
}

/// Symmetric tridiagonal: on an axis of time from 0 to the total, neighbours `i` and `i + 1` change
/// places during `[0, alpha_i)` for even `i` and during `[total - alpha_i, total)` for odd `i`. Two pairs
/// that share a code never do at once, since `alpha_i + alpha_{i+1} <= total`. A term ends where a pair
/// begins or ends: at most one moment a pair.
fn pairs(size: u64, pairs: Pairs) -> Terms {
    let total = pairs.total;
    let moment = |i: u64, alpha: u64| {
        if i.is_multiple_of(2) {
            alpha
        } else {
            total - alpha
        }
    };
    // One alpha for all makes the moments of two pairs.
    let distinct = match &pairs.alphas {
        Alphas::Constant(_) => (size - 1).min(2),
        Alphas::Vector(_) => size - 1,
    };
    let mut times: Vec<u64> = (0..distinct)
        .map(|i| moment(i, pairs.alphas.at(i)))
        .chain([0])
        .gather();
    times.retain(|&time| time < total);
    times.sort_unstable();
    times.dedup();
    let ends = times.iter().skip(1).copied().chain([total]);
    let mut terms: Vec<(u64, u64)> = ends.zip(&times).map(|(end, &t)| (end - t, t)).gather();
    terms.sort_unstable_by_key(|&(weight, time)| (Reverse(weight), time));
    Terms {
        size,
        weights: Weights::Units(terms.iter().map(|term| term.0).gather(), total),
        permutations: Permutations::Pairs(pairs, terms.iter().map(|term| term.1).gather()),
    }
}

/// Classes of `n` codes, each uniform: at time `t` from 0 to 1 a class is shifted by `floor(t n)`, so
/// that each shift lasts `1/n`. A term ends at every `j/n` of every distinct class size, a fraction of
/// its own: no common denominator is needed.
fn classes(size: u64, runs: &[Run]) -> Result<Terms> {
    let runs: Vec<(u64, u64, u64)> = runs
        .chunk_by(|a, b| a.class_size == b.class_size)
        .map(|equal| {
            let classes = equal.iter().map(|run| run.classes).sum();
            (equal[0].start, equal[0].class_size, classes)
        })
        .gather();
    let mut sizes: Vec<u64> = runs.iter().map(|run| run.1).gather();
    sizes.sort_unstable();
    sizes.dedup();
    if let [n] = sizes[..] {
        return Ok(Terms {
            size,
            weights: Weights::Runs(vec![(1, n)], n.into()),
            permutations: Permutations::Classes(runs, Times::Even(n)),
        });
    }
    const MOST: u64 = 1 << 26;
    let moments = sizes.iter().try_fold(0u64, |sum, &n| sum.checked_add(n));
    if moments.is_none_or(|sum| sum > MOST) {
        let must = format!("have distinct sizes that sum to at most {MOST} to be decomposed");
        let got = moments.map_or_else(|| "a sum above 2^64".to_owned(), |sum| sum.to_string());
        return Err(Error::value("classes", must, got));
    }
    let mut times: Vec<(u32, u32)> = sizes
        .iter()
        .flat_map(|&n| (0..n as u32).map(move |j| (j, n as u32)))
        .gather();
    let cross = |a: u32, b: u32| u64::from(a) * u64::from(b);
    times.sort_unstable_by(|a, b| cross(a.0, b.1).cmp(&cross(b.0, a.1)));
    times.dedup_by(|a, b| cross(a.0, b.1) == cross(b.0, a.1));
    let ends = times.iter().skip(1).copied().chain([(1, 1)]);
    let mut terms: Vec<((u64, u64), (u32, u32))> = ends
        .zip(&times)
        .map(|(end, &time)| {
            let (n, d) = (
                cross(end.0, time.1) - cross(time.0, end.1),
                cross(end.1, time.1),
            );
            let g = gcd(n.into(), d.into()) as u64;
            ((n / g, d / g), time)
        })
        .gather();
    drop(memory::room::<u8>(size_of_val(&*terms)));
    terms.sort_by(|(a, _), (b, _)| {
        (u128::from(b.0) * u128::from(a.1)).cmp(&(u128::from(a.0) * u128::from(b.1)))
    });
    Ok(Terms {
        size,
        weights: Weights::Ratios(terms.iter().map(|term| term.0).gather()),
        permutations: Permutations::Classes(
            runs,
            Times::Listed(terms.iter().map(|term| term.1).gather()),
        ),
    })
}
