//! Dense: a matrix of one's own, as counts; what gibbs becomes, too. Balance: the bistochastic matrix nearest in relative
//! entropy to given non-negative numbers.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::parameters::{Arguments, Value};
use crate::law::scaling::potentials::Potentials;
use crate::law::scaling::rounding;
use crate::law::scaling::support;
use crate::law::scaling::{DONE, Scaling};
use crate::law::{Law, Matrix};
use crate::number::entropy;
use crate::number::lattice::{self, GRID, gcd, nearest};
use crate::system::memory::{self, Gather};

/// `probability(u, v) = counts[u][v] / total`, all lines of `counts` summing to `total`: 8 bytes an entry.
pub fn build(arguments: &mut Arguments) -> Result<Matrix> {
    let law = match realised(arguments)? {
        Some(law) => law,
        None => asked(arguments)?,
    };
    Ok(made("dense", law))
}

/// The matrix of counts, by its name.
pub fn made(name: &'static str, law: Law) -> Matrix {
    let mut parameters = Vec::new();
    if let Law::Dense {
        counts,
        total,
        size,
    } = &law
    {
        let cells = Box::new(Value::Wholes(Arc::clone(counts)));
        parameters.push(("counts", Value::Table(*size, *size, cells)));
        parameters.push(("total", (*total).into()));
    }
    Matrix::new(name, law, parameters)
}

fn asked(arguments: &mut Arguments) -> Result<Law> {
    let (size, cells) = arguments.square("array")?;
    match cells {
        Value::Wholes(counts) => {
            let total = counts[..size].iter().map(|&c| i128::from(c)).sum();
            of_counts("array", size, counts, total)
        }
        Value::Ratios(ratios) => {
            let (counts, total) = lattice::common_total("array", &ratios)?;
            of_counts("array", size, counts, total.into())
        }
        Value::Reals(reals) => of_reals(arguments, size, reals),
        other => Err(Error::type_("array", "be a table of numbers", other.kind())),
    }
}

/// Given floats, whose sums must be within 1e-9 of 1.
fn of_reals(arguments: &mut Arguments, size: usize, reals: Arc<[f64]>) -> Result<Law> {
    arguments.note("off", entropy::scan_bistochastic(&reals, size)?.1);
    if let Some(law) = on_grid(size, &reals) {
        arguments.note("moved", 0.0);
        return Ok(law);
    }
    if let Some((law, moved)) = of_fractions(size, &reals) {
        arguments.note("moved", moved);
        return Ok(law);
    }
    let mut scaling = Scaling::new(&reals, size);
    let left = scaling.run(DONE);
    let (law, moved) = if left > 16.0 * DONE {
        // Entries of very different magnitude need their logarithms; a pattern that cannot be
        // balanced needs an error.
        support::check("array", size, |u, v| reals[u * size + v] > 0.0)?;
        let cost: Vec<f64> = reals.iter().map(|p| (-p.ln()).max(0.0)).gather();
        let mut potentials = Potentials::new(size, &cost);
        potentials.settle(1.0, DONE);
        settled("array", &potentials)?
    } else {
        rounded("array", &reals, &scaling.x, &scaling.y)?
    };
    arguments.note("moved", moved);
    Ok(law)
}

/// The law as it is, if it is on the grid already.
fn on_grid(size: usize, reals: &[f64]) -> Option<Law> {
    let scaled = |x: &f64| x * GRID as f64;
    if reals.iter().any(|x| scaled(x) as u64 as f64 != scaled(x)) {
        return None;
    }
    let counts = reals.iter().map(|x| scaled(x) as i64).gather_shared();
    of_counts("array", size, counts, GRID.into()).ok()
}

/// Denominators up to here are taken for those that were meant. Their fractions are so far apart
/// that at most one is within [`NEAR`] of a double, and that it is a convergent.
const DENOMINATOR: u64 = 1_000_000;
/// Sums of a few decimals are a unit in the last place off, and so may be an entry.
const NEAR: f64 = 1.0 / (1u64 << 50) as f64;

/// The fractions with one small denominator that the doubles stand for, and how far one was moved.
fn of_fractions(size: usize, reals: &[f64]) -> Option<(Law, f64)> {
    let tens = (1..=6).map(|digits| 10u64.pow(digits));
    // A double that stands for nothing ends this at once, wherever it is.
    let first_row = std::iter::once_with(|| {
        reals[..size].iter().try_fold(1, |total, &x| {
            let more = denominator(x)?;
            let common = total / gcd(total.into(), more.into()) as u64 * more;
            (common <= DENOMINATOR).then_some(common)
        })
    });
    tens.map(Some).chain(first_row).flatten().find_map(|total| {
        if reals.iter().any(|&x| count_near(x, total).is_none()) {
            return None;
        }
        let count = |&x: &f64| count_near(x, total).unwrap_or(0);
        let counts = reals.iter().map(count).gather_shared();
        let moved = reals.iter().zip(&*counts).fold(0.0, |m: f64, (x, &c)| {
            m.max((nearest(c as u128, total.into()) - x).abs())
        });
        let law = of_counts("array", size, counts, total.into()).ok()?;
        Some((law, moved))
    })
}

/// The count out of `total` that is within [`NEAR`] of a double; what is possible stays possible.
fn count_near(x: f64, total: u64) -> Option<i64> {
    let count = (x * total as f64).round();
    let off = x.mul_add(total as f64, -count).abs();
    (off <= NEAR * total as f64 && (count > 0.0) == (x > 0.0)).then_some(count as i64)
}

/// The denominator of the fraction within [`NEAR`] of a double, by its continued fraction.
fn denominator(x: f64) -> Option<u64> {
    const ONE: u128 = 1 << 73;
    if x > 0.0 && x * (DENOMINATOR as f64) < 0.5 {
        return None;
    }
    // Whole, since a double from 2^-21 up is a multiple of 2^-73.
    let (mut over, mut under) = ((x * ONE as f64) as u128, ONE);
    let (mut before, mut last) = (1, 0);
    while under > 0 {
        (before, last) = (last, over / under * last + before);
        if last > DENOMINATOR.into() {
            return None;
        }
        if count_near(x, last as u64).is_some() {
            return Some(last as u64);
        }
        (over, under) = (under, over % under);
    }
    None
}

/// From `counts` and `total`, as they stand in the parameters, where they are given.
pub fn realised(arguments: &mut Arguments) -> Result<Option<Law>> {
    let Some(total) = arguments.whole("total", 1, (1 << 63) - 1)? else {
        if arguments.has("counts") {
            return Err(Error::type_("total", "be given with counts", "nothing"));
        }
        return Ok(None);
    };
    let (size, cells) = arguments.square("counts")?;
    match cells {
        Value::Wholes(counts) => of_counts("counts", size, counts, total.into()),
        other => Err(Error::type_("counts", "hold integers", other.kind())),
    }
    .map(Some)
}

/// Counts as they are, if all lines sum to `total`.
pub fn of_counts(parameter: &str, size: usize, counts: Arc<[i64]>, total: i128) -> Result<Law> {
    let must = "hold non-negative integers whose rows and columns all have one sum";
    if let Some(i) = counts.iter().position(|&c| c < 0) {
        let got = format!("{} at ({}, {})", counts[i], i / size, i % size);
        return Err(Error::value(parameter, must, got));
    }
    let mut columns = memory::zeros::<i128>(size);
    for (u, row) in counts.chunks(size).enumerate() {
        let mut sum = 0i128;
        for (column, &c) in columns.iter_mut().zip(row) {
            *column += i128::from(c);
            sum += i128::from(c);
        }
        if sum != total {
            let got = format!("{sum} in row {u}, off by {}", sum - total);
            return Err(Error::value(parameter, must, got));
        }
    }
    if let Some(v) = columns.iter().position(|&sum| sum != total) {
        let sum = columns[v];
        let got = format!("{sum} in column {v}, off by {}", sum - total);
        return Err(Error::value(parameter, must, got));
    }
    if !(1..1 << 63).contains(&total) {
        let must = "have a sum from 1 to below 2^63";
        return Err(Error::value(parameter, must, total));
    }
    Ok(Law::Dense {
        counts,
        total: total as u64,
        size,
    })
}

/// `diag(x) P diag(y)` on the grid, and how far that moved an entry of P.
fn rounded(parameter: &str, reals: &[f64], x: &[f64], y: &[f64]) -> Result<(Law, f64)> {
    let size = x.len();
    let mut cells: Vec<u64> = reals.iter().map(|p| p.to_bits()).gather();
    rounding::round_matrix(parameter, &mut cells, size, x, y)?;
    let moved = reals.iter().zip(&cells).fold(0.0, |m: f64, (p, &c)| {
        m.max((c as f64 / GRID as f64 - p).abs())
    });
    let law = Law::Dense {
        counts: cells.into_iter().map(|c| c as i64).gather_shared(),
        total: GRID,
        size,
    };
    Ok((law, moved))
}

/// What potentials settled to, on the grid, and how far that moved an entry.
pub fn settled(parameter: &str, potentials: &Potentials<'_>) -> Result<(Law, f64)> {
    potentials.check(parameter)?;
    let ones = memory::filled(1.0, potentials.size);
    rounded(parameter, &potentials.cells(), &ones, &ones)
}

/// `diag(x) A diag(y)` with all lines summing to 1, then on the grid: minimises
/// `sum p_uv ln(p_uv / a_uv)` over the bistochastic matrices. It exists, with the support of A, just
/// when every positive entry lies on a positive diagonal.
pub fn balance(arguments: &mut Arguments) -> Result<Matrix> {
    if let Some(law) = realised(arguments)? {
        return Ok(made("balance", law));
    }
    let (size, reals) = arguments.real_square("array")?;
    entropy::refuse_negative("hold non-negative numbers", &reals, size)?;
    support::check("array", size, |u, v| reals[u * size + v] > 0.0)?;
    // A table is the Gibbs kernel of the costs -ln a at temperature 1; a row's largest entry is free.
    let rows = reals.chunks(size).flat_map(|row| {
        let most = row.iter().fold(0.0, |m: f64, &p| m.max(p));
        row.iter().map(move |p| (most.ln() - p.ln()).max(0.0))
    });
    let cost: Vec<f64> = rows.gather();
    let mut potentials = Potentials::new(size, &cost);
    potentials.settle(1.0, DONE);
    arguments.note("off", potentials.off);
    arguments.note("passes", potentials.passes as f64);
    let (law, _) = settled("array", &potentials)?;
    Ok(made("balance", law))
}
