//! Kron, mix and product: matrices made of others.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::composite::refuse_padding;
use crate::law::parameters::{Arguments, Value};
use crate::law::{Law, Matrix};
use crate::number::lattice::{self, MAX_SIZE, gcd};

/// Independent matrices on several attributes, as one on their joint domain.
pub fn kron(arguments: &mut Arguments) -> Result<Matrix> {
    let factors = arguments.matrices()?;
    let size = factors.iter().try_fold(1u64, |size, factor| {
        size.checked_mul(factor.size())
            .filter(|&size| size <= MAX_SIZE)
    });
    if size.is_none() {
        let must = "have a joint domain of at most 2^53 cells";
        let got = format!("{} factors with more cells", factors.len());
        return Err(Error::value("matrices", must, got));
    }
    let parameters = vec![("matrices", Value::Matrices(Arc::clone(&factors)))];
    Matrix::nested("kron", Law::Kron(factors), parameters)
}

/// One of several matrices, chosen at random for every record.
pub fn mix(arguments: &mut Arguments) -> Result<Matrix> {
    let parts = arguments.matrices()?;
    let (weights, sum) = weights(arguments)?;
    if weights.len() != parts.len() {
        let must = format!("be one for each of the {} matrices", parts.len());
        return Err(Error::value("weights", must, weights.len()));
    }
    let size = parts[0].size();
    if let Some(other) = parts.iter().find(|part| part.size() != size) {
        let must = format!("have one size, {size} as the first");
        return Err(Error::value("matrices", must, other.size()));
    }
    refuse_padding("mix", &parts)?;
    let shares = weights.iter().map(|&w| {
        let g = gcd(w as u128, sum.into()) as i128;
        (i128::from(w) / g, i128::from(sum) / g)
    });
    let parameters = vec![
        ("matrices", Value::Matrices(Arc::clone(&parts))),
        ("weights", Value::Ratios(shares.collect())),
    ];
    let law = Law::Mix {
        parts,
        weights,
        sum,
    };
    Matrix::nested("mix", law, parameters)
}

/// Weights in lowest terms. Integers and fractions must sum to exactly 1, floats within 1e-9.
fn weights(arguments: &mut Arguments) -> Result<(Arc<[i64]>, u64)> {
    let must = "be non-negative and sum to 1";
    let (counts, total) = match arguments.required("weights")? {
        Value::Reals(reals) => {
            let rounded = lattice::round_vector("weights", &reals)?;
            (rounded.counts, lattice::GRID)
        }
        Value::Ratios(ratios) => lattice::common_total("weights", &ratios)?,
        Value::Wholes(wholes) => {
            let ratios: Vec<(i128, i128)> = wholes.iter().map(|&n| (n.into(), 1)).collect();
            lattice::common_total("weights", &ratios)?
        }
        other => {
            let must = "be a vector of numbers";
            return Err(Error::type_("weights", must, other.kind()));
        }
    };
    let sum: u128 = counts.iter().map(|&c| u128::from(c as u64)).sum();
    if sum != u128::from(total) {
        let got = format!("a sum of {sum}/{total}");
        return Err(Error::value("weights", must, got));
    }
    let g = (counts.iter()).fold(u128::from(total), |g, &c| gcd(g, c as u128)) as i64;
    let lowest = counts.iter().map(|c| c / g).collect();
    Ok((lowest, total / g as u64))
}

/// A release that is randomized again, first by one matrix, then by another.
pub fn product(arguments: &mut Arguments) -> Result<Matrix> {
    let pair = arguments.matrices()?;
    let [first, second] = &*pair else {
        return Err(Error::value("matrices", "be two for a product", pair.len()));
    };
    let (size, other) = (first.size(), second.size());
    if size != other {
        let must = format!("have one size, {size} as the first");
        return Err(Error::value("matrices", must, other));
    }
    refuse_padding("product", &pair)?;
    let parameters = vec![("matrices", Value::Matrices(Arc::clone(&pair)))];
    Matrix::nested("product", Law::Product(pair), parameters)
}
