//! Structured families: sums of permutations that are known without a search.
//!
//! | family | terms | why |
//! |---|---|---|
//! | identity, permutation | 1 | it is one |
//! | t_transform | 2 | by definition |
//! | circulant, uniform, randomized response | one for each non-zero number of a row | shift `s` holds the entries `(u, u + s)`, which are all equal; a row with that many entries needs as many terms |
//! | tridiagonal | at most `size`, 3 for one alpha | see [`pairs`] |
//! | blocks, k_anonymous | at most the sum of the distinct class sizes | see [`classes`] |

use std::cmp::Reverse;
use std::sync::Arc;

use super::form::{Form, Pairs, Permutations, Times, Weights};
use super::realise::{on_grid, refuse_loss};
use super::{Decomposition, Options, Sum};
use crate::error::{Error, Result};
use crate::family::{self, Matrix};
use crate::lattice::gcd;
use crate::parameters::Value;
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

fn parameter(matrix: &Matrix, name: &str) -> Option<Value> {
    let parameters = matrix.family.parameters();
    parameters
        .into_iter()
        .find(|(n, _)| *n == name)
        .map(|p| p.1)
}

fn whole(matrix: &Matrix, name: &str) -> Option<u64> {
    match parameter(matrix, name)? {
        Value::Whole(n) => u64::try_from(n).ok(),
        _ => None,
    }
}

fn wholes(matrix: &Matrix, name: &str) -> Option<Arc<[i64]>> {
    match parameter(matrix, name)? {
        Value::Wholes(numbers) => Some(numbers),
        _ => None,
    }
}

fn build(family: &str, given: Vec<(&str, Value)>) -> Result<Matrix> {
    let given = given.into_iter().map(|(n, v)| (n.to_owned(), v)).gather();
    family::build(family, given)
}

fn form(matrix: &Matrix) -> Result<Option<Form>> {
    let size = matrix.family.size();
    let form = |weights, permutations| Form {
        size,
        weights,
        permutations,
    };
    Ok(match matrix.family.name() {
        "identity" => Some(form(Weights::Runs(vec![(1, 1)], 1), Permutations::Ramp(0))),
        "uniform" => Some(form(
            Weights::Runs(vec![(1, size)], size.into()),
            Permutations::Ramp(0),
        )),
        "permutation" => wholes(matrix, "targets")
            .map(|to| form(Weights::Runs(vec![(1, 1)], 1), Permutations::Given(to))),
        "randomized_response" => {
            let (diag, total) = matrix.family.entry(0, 0).unwrap_or((1, 1));
            let (off, _) = if size > 1 {
                matrix.family.entry(0, 1).unwrap_or((0, 1))
            } else {
                (0, 1)
            };
            let (stay, lies) = ((diag, u64::from(diag > 0)), (off, size - 1));
            let (runs, first) = if diag >= off {
                ([stay, lies], 0)
            } else {
                ([lies, stay], 1)
            };
            let runs = runs.into_iter().filter(|run| run.0 > 0 && run.1 > 0);
            Some(form(
                Weights::Runs(runs.gather(), total),
                Permutations::Ramp(first),
            ))
        }
        "circulant" => match (wholes(matrix, "first_row"), whole(matrix, "total")) {
            (Some(row), Some(total)) if size < 1 << 32 => {
                let shifts = (0u32..).zip(&*row).filter(|(_, c)| **c > 0);
                let mut terms: Vec<_> = shifts.map(|(s, &c)| (Reverse(c), s)).gather();
                terms.sort_unstable();
                let shifts = terms.iter().map(|term| term.1).gather();
                let weights = terms.iter().map(|term| term.0.0 as u64).gather();
                Some(form(
                    Weights::Units(weights, total),
                    Permutations::Shifts(shifts),
                ))
            }
            _ => None,
        },
        "t_transform" => match (
            whole(matrix, "i"),
            whole(matrix, "j"),
            parameter(matrix, "keep"),
        ) {
            (Some(i), Some(j), Some(Value::Ratio(stay, total))) => {
                let (stay, total) = (stay as u128, total as u128);
                let swap_first = 2 * stay < total;
                let mut runs = vec![(stay, 1), (total - stay, 1)];
                if swap_first {
                    runs.reverse();
                }
                runs.retain(|run| run.0 > 0);
                Some(form(
                    Weights::Runs(runs, total),
                    Permutations::Swap(i, j, swap_first),
                ))
            }
            _ => None,
        },
        "tridiagonal" => whole(matrix, "total").and_then(|total| {
            let alphas = match parameter(matrix, "alphas")? {
                Value::Whole(alpha) => Pairs::Constant(u64::try_from(alpha).ok()?, total),
                Value::Wholes(alphas) => Pairs::Each(alphas, total),
                // The matrix of one code.
                _ => Pairs::Each([].into(), total),
            };
            Some(pairs(size, alphas))
        }),
        "blocks" => match wholes(matrix, "sizes") {
            Some(sizes) => Some(classes(size, sizes.iter().map(|&n| (n as u64, 1)))?),
            None => None,
        },
        "k_anonymous" => match whole(matrix, "k") {
            Some(k) => {
                let number = size / k;
                let (n, larger) = (size / number, size % number);
                Some(classes(size, [(n + 1, larger), (n, number - larger)])?)
            }
            None => None,
        },
        _ => None,
    })
}

/// Symmetric tridiagonal: on an axis of time from 0 to the total, neighbours `i` and `i + 1` change
/// places during `[0, alpha_i)` for even `i` and during `[total - alpha_i, total)` for odd `i`. Two pairs
/// that share a code never do at once, since `alpha_i + alpha_{i+1} <= total`. A term ends where a pair
/// begins or ends: at most one moment a pair.
fn pairs(size: u64, alphas: Pairs) -> Form {
    let total = match alphas {
        Pairs::Constant(_, total) | Pairs::Each(_, total) => total,
    };
    let moment = |i: u64, alpha: u64| {
        if i.is_multiple_of(2) {
            alpha
        } else {
            total - alpha
        }
    };
    let mut times: Vec<u64> = match &alphas {
        Pairs::Constant(alpha, _) => (0..(size - 1).min(2)).map(|i| moment(i, *alpha)).gather(),
        Pairs::Each(alphas, _) => {
            let moments = (0..).zip(&**alphas);
            moments.map(|(i, &alpha)| moment(i, alpha as u64)).gather()
        }
    };
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
        permutations: Permutations::Pairs(alphas, terms.iter().map(|term| term.1).gather()),
    }
}

/// Classes of `n` codes, each uniform: at time `t` from 0 to 1 a class is shifted by `floor(t n)`, so
/// that each shift lasts `1/n`. A term ends at every `j/n` of every distinct class size, a fraction of
/// its own: no common denominator is needed.
fn classes(size: u64, lengths: impl IntoIterator<Item = (u64, u64)>) -> Result<Form> {
    let mut runs: Vec<(u64, u64, u64)> = Vec::new();
    let mut start = 0;
    for (n, number) in lengths.into_iter().filter(|run| run.1 > 0) {
        match runs.last_mut() {
            Some(last) if last.1 == n => last.2 += number,
            _ => memory::push(&mut runs, (start, n, number)),
        }
        start += n * number;
    }
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

/// The same family on the grid `2^-bits`; none where that leaves the family.
fn coarse(matrix: &Matrix, bits: u32) -> Result<Option<Matrix>> {
    let family = matrix.family.name();
    let size = matrix.family.size();
    let Some(total) = matrix.total() else {
        return Ok(None);
    };
    let structured = [
        "identity",
        "permutation",
        "uniform",
        "circulant",
        "randomized_response",
        "t_transform",
        "tridiagonal",
        "blocks",
        "k_anonymous",
    ];
    if on_grid(total, bits) {
        return Ok(structured.contains(&family).then(|| matrix.clone()));
    }
    let units = 1u128 << bits;
    // `count` out of `total` as a number of units, rounded down.
    let floor = |count: u128| scaled(count, total, bits);
    let keeps = |smallest: u128| refuse_loss(bits, smallest, total);
    Ok(match family {
        "uniform" => {
            keeps(1)?;
            if size > LISTED {
                return Ok(None);
            }
            Some(circulant(&memory::filled(1, size as usize), size, bits)?)
        }
        "circulant" => {
            let row = wholes(matrix, "first_row").unwrap_or_else(|| [].into());
            let smallest = row.iter().copied().filter(|&c| c > 0).min();
            keeps(smallest.unwrap_or(1) as u128)?;
            Some(circulant(&row, total as u64, bits)?)
        }
        "randomized_response" => {
            let (diag, _) = matrix.family.entry(0, 0).unwrap_or((1, 1));
            let (off, _) = matrix.family.entry(0, 1).unwrap_or((0, 1));
            keeps(
                [diag, off]
                    .into_iter()
                    .filter(|&c| c > 0)
                    .min()
                    .unwrap_or(1),
            )?;
            if diag == 0 {
                // A truth that is never told stays so, which the lies cannot in general share out.
                if size > LISTED {
                    return Ok(None);
                }
                let mut row = memory::filled(1, size as usize);
                row[0] = 0;
                return Ok(Some(circulant(&row, size - 1, bits)?));
            }
            // The lies are rounded up where there is room, which only adds to what they hide.
            let up = floor(off) + u128::from(off > 0);
            let lies = u128::from(size - 1);
            let fits = (up * lies).checked_add(u128::from(diag > 0));
            let off = if off > 0 && fits.is_some_and(|sum| sum <= units) {
                up
            } else {
                floor(off)
            };
            let diag = units - off * lies;
            let keep = Value::Ratio(diag as i128, units as i128);
            let given = vec![("size", Value::Whole(size.into())), ("keep", keep)];
            Some(build("randomized_response", given)?)
        }
        "t_transform" => {
            let Some(Value::Ratio(stay, of)) = parameter(matrix, "keep") else {
                return Ok(None);
            };
            let (stay, of) = (stay as u128, of as u128);
            keeps(
                [stay, of - stay]
                    .into_iter()
                    .filter(|&c| c > 0)
                    .min()
                    .unwrap_or(1),
            )?;
            let keep = Value::Ratio(floor(stay) as i128, units as i128);
            let code = |name| whole(matrix, name).unwrap_or(0).into();
            let given = vec![
                ("size", Value::Whole(size.into())),
                ("i", Value::Whole(code("i"))),
                ("j", Value::Whole(code("j"))),
                ("keep", keep),
            ];
            Some(build("t_transform", given)?)
        }
        "tridiagonal" => {
            let alphas = parameter(matrix, "alphas").unwrap_or(Value::Wholes([].into()));
            let mut given = vec![("total", Value::Whole(units as i128))];
            match alphas {
                Value::Whole(alpha) => {
                    keeps(if alpha > 0 { alpha as u128 } else { total })?;
                    given.push(("alphas", Value::Whole(floor(alpha as u128) as i128)));
                    given.push(("size", Value::Whole(size.into())));
                }
                Value::Wholes(alphas) => {
                    let smallest = alphas.iter().copied().filter(|&a| a > 0).min();
                    keeps(smallest.map_or(total, |a| a as u128))?;
                    let rounded = alphas
                        .iter()
                        .map(|&a| floor(a as u128) as i64)
                        .gather_shared();
                    given.push(("alphas", Value::Wholes(rounded)));
                }
                _ => return Ok(None),
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
