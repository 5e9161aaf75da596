//! Reflected kernel: a step drawn from one even law, folded back at the ends of an ordinal scale.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::parameters::{Arguments, Value};
use crate::law::{Law, Matrix};
use crate::number::lattice;

/// An even law on the cycle of length `2 size`, folded.
pub fn build(arguments: &mut Arguments) -> Result<Matrix> {
    given(arguments).map(|law| made("reflected", law))
}

/// The matrix of a kernel, by its name.
pub fn made(name: &'static str, law: Law) -> Matrix {
    let mut parameters = Vec::new();
    if let Law::Reflected { kernel, total } = &law {
        parameters.push(("kernel", Value::Wholes(Arc::clone(kernel))));
        parameters.push(("total", Value::Whole((*total).into())));
    }
    Matrix::new(name, law, parameters)
}

/// From a kernel as a caller gives it, or as it stands in the parameters.
pub fn given(arguments: &mut Arguments) -> Result<Law> {
    let must = "hold c_0 to c_r for a size r of at least 1";
    let vector = arguments.required("kernel")?;
    let total = arguments.whole("total", 1, (1 << 63) - 1)?;
    let (kernel, total): (Arc<[i64]>, i128) = match vector {
        Value::Wholes(kernel) => {
            let total = total.map_or_else(|| mass(&kernel), i128::from);
            (kernel, total)
        }
        other if total.is_some() => {
            return Err(Error::type_("total", "go with integers", other.kind()));
        }
        Value::Ratios(ratios) => {
            let (counts, total) = lattice::common_total("kernel", &ratios)?;
            (counts, total.into())
        }
        Value::Reals(reals) if reals.len() >= 2 => {
            let rounded = lattice::round_even("kernel", &reals)?;
            arguments.note("sum", rounded.sum);
            arguments.note("moved", rounded.moved);
            return Ok(Law::Reflected {
                kernel: rounded.counts,
                total: lattice::GRID,
            });
        }
        Value::Reals(_) => (Arc::new([]), 1),
        _ => return Err(Error::type_("kernel", must, "no vector")),
    };
    if kernel.len() < 2 {
        return Err(Error::value(
            "kernel",
            must,
            format!("{} numbers", kernel.len()),
        ));
    }
    if let Some(i) = kernel.iter().position(|&k| k < 0) {
        let got = format!("{} at {i}", kernel[i]);
        return Err(Error::value("kernel", "hold non-negative numbers", got));
    }
    match u64::try_from(total) {
        Ok(total) if (1..1 << 63).contains(&total) && mass(&kernel) == i128::from(total) => {
            Ok(Law::Reflected { kernel, total })
        }
        _ => Err(Error::value(
            "kernel",
            format!("have c_0 + 2 (c_1 + ... + c_{{r-1}}) + c_r = {total}, from 1 to below 2^63"),
            mass(&kernel),
        )),
    }
}

/// `k_0 + 2 (k_1 + ... + k_{r-1}) + k_r`.
fn mass(kernel: &[i64]) -> i128 {
    let sum: i128 = kernel.iter().map(|&k| i128::from(k)).sum();
    let end = |k: Option<&i64>| i128::from(k.copied().unwrap_or(0));
    2 * sum - end(kernel.first()) - end(kernel.last())
}
