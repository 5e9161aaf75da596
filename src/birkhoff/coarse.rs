//! Structured matrices on a coarser grid, where they keep their structure.

use super::build;
use super::realise::{on_grid, refuse_loss};
use crate::error::Result;
use crate::law::Matrix;
use crate::law::parameters::Value;
use crate::law::structure::{Alphas, Structure, TwoValued};
use crate::system::memory::{self, Gather};
use std::cmp::Reverse;

/// Longest row that is written out to be rounded.
const LISTED: u64 = 1 << 26;

/// The same structure on the grid `2^-bits`; `None` if that leaves the structure.
pub(super) fn coarse(matrix: &Matrix, bits: u32) -> Result<Option<Matrix>> {
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
        // The lies are rounded up if there is room, which only adds to what they hide.
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
            // if it was zero it must stay zero, which only whole units do.
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
