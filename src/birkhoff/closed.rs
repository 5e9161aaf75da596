//! Structures whose sums of permutations are known without a search.
//!
//! | structure | terms | why |
//! |---|---|---|
//! | certain | 1 | it is one |
//! | a swap of two codes | 2 | by definition |
//! | one diagonal and one other entry, circulant | one for each non-zero number of a row | shift `s` holds the entries `(u, u + s)`, which are all equal; a row with that many entries needs as many terms |
//! | steps between neighbours | at most `size`, 3 for one alpha | see [`pairs`] |
//! | classes | at most the sum of the distinct class sizes | see [`classes`] |

use std::cmp::Reverse;

use super::form::{Form, Pairs, Permutations, Times, Weights};
use super::realise::{on_grid, refuse_loss};
use super::{Decomposition, Options, Sum};
use crate::error::{Error, Result};
use crate::law::parameters::Value;
use crate::law::structure::{Alphas, Run, Structure, TwoValued};
use crate::law::{self, Matrix};
use crate::number::lattice::gcd;
use crate::system::memory::{self, Gather};

/// The decomposition, of a matrix on a coarser grid if asked; none where a search is needed.
///
/// # Errors
/// A grid on which an entry would vanish.
pub fn decompose(matrix: &Matrix, options: &Options) -> Result<Option<Decomposition>> {
    let law = match options.bits {
        None => matrix.clone(),
        Some(bits) => match coarse(matrix, bits)? {
            Some(law) => law,
            None => return Ok(None),
        },
    };
    let Some(mut form) = form(&law)? else {
        return Ok(None);
    };
    let terms = options.max_terms.unwrap_or(u64::MAX);
    let all = form.terms();
    let kept = form.weights.enough(options.mass, terms);
    form.keep(kept);
    Ok(Some(Decomposition {
        matrix: law,
        sum: Sum::Plain(form),
        complete: kept == all,
    }))
}

/// What a cut sum of shifts left of a matrix: the shifts that are missing, as a circulant.
pub fn rest_of_shifts(matrix: &Matrix, form: &Form) -> Result<Option<Matrix>> {
    let size = form.size;
    let shift = |j: u64| match &form.permutations {
        Permutations::Shifts(shifts) => Some(shifts[j as usize].into()),
        Permutations::Ramp(first) => Some((first + j) % size),
        _ => None,
    };
    let total = matrix.total().filter(|&total| total < 1 << 63);
    let (Some(total), Some(_), true) = (total, shift(0), size <= 1 << 26) else {
        return Ok(None);
    };
    let mut row: Vec<i64> = (0..size)
        .map(|v| {
            matrix
                .family
                .entry(0, v)
                .map_or(0, |(n, d)| (n * (total / d)) as i64)
        })
        .gather();
    for s in (0..form.terms()).filter_map(shift) {
        row[s as usize] = 0;
    }
    let rest = row.iter().sum::<i64>();
    let given = vec![
        ("first_row", Value::Wholes(memory::shared(row))),
        ("total", Value::Whole(rest.into())),
    ];
    build("circulant", given).map(Some)
}

fn build(family: &str, given: Vec<(&str, Value)>) -> Result<Matrix> {
    let given = given.into_iter().map(|(n, v)| (n.to_owned(), v)).gather();
    law::build(family, given)
}

fn form(matrix: &Matrix) -> Result<Option<Form>> {
    let size = matrix.family.size();
    let structure = matrix.structure();
    let form = |weights, permutations| {
        Some(Form {
            size,
            weights,
            permutations,
        })
    };
    if let Some(law) = structure.two_valued(size) {
        let TwoValued { diag, off, total } = law;
        let (stay, lies) = ((diag, u64::from(diag > 0)), (off, size - 1));
        let (runs, first) = match diag.cmp(&off) {
            // All shifts alike are one run.
            std::cmp::Ordering::Equal => (vec![(diag, size)], 0),
            std::cmp::Ordering::Greater => (vec![stay, lies], 0),
            std::cmp::Ordering::Less => (vec![lies, stay], 1),
        };
        let runs = runs.into_iter().filter(|run| run.0 > 0 && run.1 > 0);
        return Ok(form(
            Weights::Runs(runs.gather(), total),
            Permutations::Ramp(first),
        ));
    }
    Ok(match structure {
        Structure::Certain(Some(to)) => {
            let once = Weights::Runs(vec![(1, 1)], 1);
            form(once, Permutations::Given(to.clone()))
        }
        Structure::Circulant { first_row, total } if size < 1 << 32 => {
            let shifts = (0u32..).zip(&**first_row).filter(|(_, c)| **c > 0);
            let mut terms: Vec<_> = shifts.map(|(s, &c)| (Reverse(c), s)).gather();
            terms.sort_unstable();
            let shifts = terms.iter().map(|term| term.1).gather();
            let weights = terms.iter().map(|term| term.0.0 as u64).gather();
            form(
                Weights::Units(weights, *total),
                Permutations::Shifts(shifts),
            )
        }
        Structure::Swap {
            i, j, stay, sum, ..
        } => {
            let g = gcd((*stay).into(), (*sum).into());
            let (stay, total) = (u128::from(*stay) / g, u128::from(*sum) / g);
            let swap_first = 2 * stay < total;
            let mut runs = vec![(stay, 1), (total - stay, 1)];
            if swap_first {
                runs.reverse();
            }
            runs.retain(|run| run.0 > 0);
            form(
                Weights::Runs(runs, total),
                Permutations::Swap(*i, *j, swap_first),
            )
        }
        Structure::Neighbours { alphas, total, .. } => {
            let (alphas, total) = (alphas.clone(), *total);
            Some(pairs(size, Pairs { alphas, total }))
        }
        structure => match structure.classes(size) {
            Some(runs) => Some(classes(size, &runs)?),
            None => None,
        },
    })
}

/// Symmetric tridiagonal: on an axis of time from 0 to the total, neighbours `i` and `i + 1` change
/// places during `[0, alpha_i)` for even `i` and during `[total - alpha_i, total)` for odd `i`. Two pairs
/// that share a code never do at once, since `alpha_i + alpha_{i+1} <= total`. A term ends where a pair
/// begins or ends: at most one moment a pair.
fn pairs(size: u64, pairs: Pairs) -> Form {
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
        .gather();
    memory::push(&mut times, 0);
    times.retain(|&time| time < total);
    times.sort_unstable();
    times.dedup();
    let ends = times.iter().skip(1).copied().chain([total]);
    let mut terms: Vec<(u64, u64)> = ends.zip(&times).map(|(end, &t)| (end - t, t)).gather();
    terms.sort_unstable_by_key(|&(weight, time)| (Reverse(weight), time));
    Form {
        size,
        weights: Weights::Units(terms.iter().map(|term| term.0).gather(), total),
        permutations: Permutations::Pairs(pairs, terms.iter().map(|term| term.1).gather()),
    }
}

/// Classes of `n` codes, each uniform: at time `t` from 0 to 1 a class is shifted by `floor(t n)`, so
/// that each shift lasts `1/n`. A term ends at every `j/n` of every distinct class size, a fraction of
/// its own: no common denominator is needed.
fn classes(size: u64, runs: &[Run]) -> Result<Form> {
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
        return Ok(Form {
            size,
            weights: Weights::Runs(vec![(1, n)], n.into()),
            permutations: Permutations::Classes(runs, Times::Even(n)),
        });
    }
    const MOST: u64 = 1 << 26;
    let moments = sizes.iter().try_fold(0u64, |sum, &n| sum.checked_add(n));
    if moments.is_none_or(|sum| sum > MOST) {
        let must = format!("have distinct sizes that sum to at most {MOST} to be decomposed");
        return Err(Error::value("classes", must, "more"));
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
    memory::probe(size_of_val(&*terms));
    terms.sort_by(|(a, _), (b, _)| {
        (u128::from(b.0) * u128::from(a.1)).cmp(&(u128::from(a.0) * u128::from(b.1)))
    });
    Ok(Form {
        size,
        weights: Weights::Ratios(terms.iter().map(|term| term.0).gather()),
        permutations: Permutations::Classes(
            runs,
            Times::Listed(terms.iter().map(|term| term.1).gather()),
        ),
    })
}

/// Longest row that is written out to be rounded.
const LISTED: u64 = 1 << 26;

/// The same structure on the grid `2^-bits`; none where that leaves the structure.
fn coarse(matrix: &Matrix, bits: u32) -> Result<Option<Matrix>> {
    let size = matrix.family.size();
    let Some(total) = matrix.total() else {
        return Ok(None);
    };
    if on_grid(total, bits) {
        return Ok(Some(matrix.clone()));
    }
    let units = 1u128 << bits;
    let keeps = |counts: &mut dyn Iterator<Item = u128>, total: u128| {
        let smallest = counts.filter(|&c| c > 0).min();
        refuse_loss(bits, smallest.unwrap_or(total), total)
    };
    let structure = matrix.structure();
    if let Some(TwoValued { diag, off, total }) = structure.two_valued(size) {
        keeps(&mut [diag, off].into_iter(), total)?;
        if diag == 0 || structure.has_classes() {
            // A truth that is never told stays so, and one class stays as even as the grid allows, which
            // the lies cannot in general share out.
            if size > LISTED {
                return Ok(None);
            }
            let mut row = memory::filled(1, size as usize);
            row[0] = i64::from(diag > 0);
            let sum = size - u64::from(diag == 0);
            return Ok(Some(circulant(&row, sum, bits)?));
        }
        // The lies are rounded up where there is room, which only adds to what they hide.
        let down = scaled(off, total, bits);
        let up = down + u128::from(off > 0);
        let lies = u128::from(size - 1);
        let fits = (up * lies).checked_add(1);
        let off = if off > 0 && fits.is_some_and(|sum| sum <= units) {
            up
        } else {
            down
        };
        let diag = units - off * lies;
        let keep = Value::Ratio(diag as i128, units as i128);
        let given = vec![("size", Value::Whole(size.into())), ("keep", keep)];
        return Ok(Some(build("randomized_response", given)?));
    }
    Ok(match structure {
        Structure::Circulant { first_row, total } => {
            keeps(&mut first_row.iter().map(|&c| c as u128), (*total).into())?;
            Some(circulant(first_row, *total, bits)?)
        }
        Structure::Swap {
            i, j, stay, sum, ..
        } => {
            let (stay, sum) = (u128::from(*stay), u128::from(*sum));
            keeps(&mut [stay, sum - stay].into_iter(), sum)?;
            let keep = Value::Ratio(scaled(stay, sum, bits) as i128, units as i128);
            let given = vec![
                ("size", Value::Whole(size.into())),
                ("i", Value::Whole((*i).into())),
                ("j", Value::Whole((*j).into())),
                ("keep", keep),
            ];
            Some(build("t_transform", given)?)
        }
        Structure::Neighbours { alphas, total, .. } => {
            let total = u128::from(*total);
            keeps(&mut alphas.stored().map(u128::from), total)?;
            let mut given = vec![("total", Value::Whole(units as i128))];
            match alphas.map(|alpha| scaled(alpha.into(), total, bits) as u64) {
                Alphas::Constant(alpha) => {
                    given.push(("alphas", Value::Whole(alpha.into())));
                    given.push(("size", Value::Whole(size.into())));
                }
                Alphas::Vector(alphas) => given.push(("alphas", Value::Wholes(alphas))),
            }
            // What rounding down takes from the alphas goes to the diagonal, which so stays positive;
            // where it was zero it must stay zero, which only whole units do.
            let law = build("tridiagonal", given)?;
            let zero = |m: &Matrix, u: u64| m.family.entry(u, u).is_some_and(|e| e.0 == 0);
            let kept = (0..size.min(1 << 24)).all(|u| zero(matrix, u) == zero(&law, u));
            kept.then_some(law)
        }
        _ => None,
    })
}

/// `floor(count * 2^bits / total)` for a count up to a total below 2^127.
fn scaled(count: u128, total: u128, bits: u32) -> u128 {
    let (mut quotient, mut rest) = (count / total, count % total);
    for _ in 0..bits {
        rest <<= 1;
        quotient <<= 1;
        if rest >= total {
            rest -= total;
            quotient |= 1;
        }
    }
    quotient
}

/// A first row on the grid: every number its floor or its ceiling, the largest remainders going up.
fn circulant(row: &[i64], total: u64, bits: u32) -> Result<Matrix> {
    let product = |c: i64| (c as u128) << bits;
    let total = u128::from(total);
    let mut counts: Vec<i64> = row.iter().map(|&c| (product(c) / total) as i64).gather();
    let missing = (1i64 << bits) - counts.iter().sum::<i64>();
    let mut order: Vec<usize> = (0..row.len()).gather();
    order.sort_unstable_by_key(|&s| (Reverse(product(row[s]) % total), s));
    for &s in order.iter().take(missing as usize) {
        counts[s] += 1;
    }
    build(
        "circulant",
        vec![
            ("first_row", Value::Wholes(memory::shared(counts))),
            ("total", Value::Whole(1 << bits)),
        ],
    )
}
