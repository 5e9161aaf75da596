//! Tridiagonal family, Expression (7): an ordinal scale on which a report strays by one step.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::composite::beta;
use crate::law::parameters::{Arguments, Value};
use crate::law::{Alphas, Law, Matrix};
use crate::number::calibrate;
use crate::number::dd::Dd;
use crate::number::lattice::{self, GRID, TOLERANCE};
use crate::system::memory;
use crate::system::stop::Paced;

const MUST: &str = "be non-negative, each and with its neighbour at most 1";

/// One alpha for all.
fn repeated(size: u64, alpha: u64, total: u64) -> Law {
    let (alphas, total) = match size {
        1 => (Alphas::Vector([].into()), 1),
        _ => (Alphas::Constant(alpha), total),
    };
    Law::Tridiagonal {
        size,
        alphas,
        total,
    }
}

/// The smallest constant alpha whose reported beta reaches the one asked for.
///
/// `H(a) = (2/size) [h(a) + (size-2)/2 h(a, a, 1-2a)]` is concave, so it rises up to one peak,
/// where `d/da: log((1-a)/a) + (size-2) log((1-2a)/a) = 0`: 1/2 for size 2, towards 1/3 for many.
fn by_beta(size: u64, wanted: f64) -> Result<Law> {
    if size == 1 {
        return Ok(repeated(1, 0, 1));
    }
    let law = |alpha: u64| repeated(size, alpha, GRID);
    let reported = |alpha: u64| beta(&law(alpha).entropy(), size);
    let rises = |alpha: u64| {
        let (a, d) = (u128::from(alpha), u128::from(GRID));
        let inner = if size == 2 {
            Dd::ZERO
        } else {
            Dd::ln_ratio(d - 2 * a, a) * Dd::from(u128::from(size - 2))
        };
        (Dd::ln_ratio(d - a, a) + inner).hi >= 0.0
    };
    let end = if size == 2 { GRID / 2 } else { GRID / 2 - 1 };
    let peak = calibrate::largest(1, end, rises);
    let most = reported(peak);
    if !(wanted <= most) {
        let must = format!("be at most {most} for one alpha at size {size}");
        return Err(Error::reach("beta", must, wanted, Some(most)));
    }
    Ok(law(calibrate::smallest(0, peak, |a| reported(a) >= wanted)))
}

/// `probability(i, i+1) = probability(i+1, i) = alpha_i` for `size - 1` alphas (the paper's print has
/// one too many), the diagonal takes what is left of each row: symmetric, so columns sum to 1 as rows
/// do. Valid if no alpha exceeds 1 and no two neighbours together do.
pub fn build(arguments: &mut Arguments) -> Result<Matrix> {
    arguments.exactly_one(&["alphas", "beta"])?;
    let size = arguments.whole("size", 1, lattice::MAX_SIZE)?;
    let need_size = || Error::type_("size", "be given with one alpha or a beta", "nothing");
    let Some(alphas) = arguments.take("alphas") else {
        let wanted = arguments.beta()?.unwrap_or(0.0);
        return by_beta(size.ok_or_else(need_size)?, wanted).map(made);
    };
    let total = arguments.whole("total", 1, (1 << 63) - 1)?;
    let whole_total = total.unwrap_or(1);
    let whole = match &alphas {
        Value::Whole(_) | Value::Wholes(_) => true,
        Value::Reals(reals) => reals.is_empty(),
        _ => false,
    };
    if total.is_some() && !whole {
        return Err(Error::type_("total", "go with integers", alphas.kind()));
    }
    let law = match alphas {
        Value::Whole(n) => {
            let alpha = u64::try_from(n).map_err(|_| Error::value("alphas", MUST, n))?;
            constant(size.ok_or_else(need_size)?, alpha, whole_total)?
        }
        Value::Ratio(n, d) => {
            let (counts, total) = lattice::common_total("alphas", &[(n, d)])?;
            constant(size.ok_or_else(need_size)?, counts[0] as u64, total)?
        }
        Value::Real(x) => {
            let size = size.ok_or_else(need_size)?;
            let most = if size > 2 { 0.5 } else { 1.0 };
            if !(x >= 0.0 && x <= most + TOLERANCE / 2.0) {
                return Err(Error::value("alphas", MUST, x));
            }
            let mut alpha = lattice::round_number(x.min(most));
            // The diagonal between, 1 - 2 alpha, is not rounded away either.
            if size > 2 && x < 0.5 && 2 * alpha == GRID {
                alpha -= 1;
            }
            constant(size, alpha, GRID)?
        }
        Value::Wholes(counts) => vector(counts, whole_total)?,
        Value::Ratios(ratios) => {
            let (counts, total) = lattice::common_total("alphas", &ratios)?;
            vector(counts, total)?
        }
        // An empty list has no type; it is the matrix of size 1.
        Value::Reals(reals) => vector(round(&reals, arguments)?, GRID)?,
        Value::Table(..) | Value::Matrices(_) => {
            let must = "be one number or a vector";
            return Err(Error::type_("alphas", must, "a table"));
        }
    };
    match size {
        Some(size) if size != law.size() => {
            let must = format!("be one more than the {} alphas", law.size() - 1);
            Err(Error::value("size", must, size))
        }
        _ => Ok(made(law)),
    }
}

/// One alpha repeated is one integer, so that equal laws are equal.
fn made(law: Law) -> Matrix {
    let mut parameters = Vec::new();
    if let Law::Tridiagonal {
        size,
        alphas,
        total,
    } = &law
    {
        parameters = match alphas {
            Alphas::Constant(alpha) => vec![("alphas", (*alpha).into()), ("size", (*size).into())],
            Alphas::Vector(alphas) => vec![("alphas", alphas.into())],
        };
        parameters.push(("total", (*total).into()));
    }
    Matrix::new("tridiagonal", law, parameters)
}

fn constant(size: u64, alpha: u64, total: u64) -> Result<Law> {
    let most = if size > 2 { total / 2 } else { total };
    if alpha > most {
        return Err(Error::value("alphas", MUST, format!("{alpha}/{total}")));
    }
    Ok(repeated(size, alpha, total))
}

fn vector(alphas: Arc<[i64]>, total: u64) -> Result<Law> {
    let size = alphas.len() as u64 + 1;
    let mut previous = 0;
    for (i, &alpha) in alphas.iter().enumerate() {
        match u64::try_from(alpha) {
            Ok(alpha) if alpha <= total - previous => previous = alpha,
            _ => {
                let got = format!("{alpha}/{total} at {i} after {previous}/{total}");
                return Err(Error::value("alphas", MUST, got));
            }
        }
    }
    // All equal is one alpha repeated, so that equal laws are equal.
    if let Some(&first) = alphas.first()
        && alphas.iter().all(|&alpha| alpha == first)
    {
        return Ok(repeated(size, first as u64, total));
    }
    Ok(Law::Tridiagonal {
        size,
        total: if size == 1 { 1 } else { total },
        alphas: Alphas::Vector(alphas),
    })
}

/// Given floats as counts of the grid. Neighbours that exceed 1 by rounding alone are trimmed.
fn round(reals: &[f64], arguments: &mut Arguments) -> Result<Arc<[i64]>> {
    let mut counts: Vec<i64> = memory::room(reals.len());
    let mut moved = 0.0f64;
    for (i, &x) in reals.iter().enumerate().paced() {
        let before = if i == 0 { 0.0 } else { reals[i - 1] };
        if !(x >= 0.0 && x + before <= 1.0 + TOLERANCE) {
            let got = if i == 0 {
                format!("{x} at 0")
            } else {
                format!("{x} at {i} after {before}")
            };
            return Err(Error::value("alphas", MUST, got));
        }
        let room = GRID as i64 - counts.last().copied().unwrap_or(0);
        let mut count = (lattice::round_number(x) as i64).min(room);
        if let Some(last) = counts.last_mut() {
            // A positive alpha, and a positive diagonal between two, take a unit from the larger.
            count = count.max(i64::from(x > 0.0));
            let inside = (Dd::sum(x, before) - Dd::ONE).hi < 0.0;
            let over = *last + count + i64::from(inside) - GRID as i64;
            if over > 0 && *last >= count {
                *last -= over;
            } else if over > 0 {
                count -= over;
            }
        }
        moved = moved.max((count as f64 / GRID as f64 - x).abs());
        counts.push(count);
    }
    arguments.note("moved", moved);
    Ok(memory::shared(counts))
}
