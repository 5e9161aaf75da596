//! Reflected kernel: a step drawn from one even law, folded back at the ends of an ordinal scale.

use crate::error::{Error, Result};
use crate::law::parameters::Arguments;
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
        parameters.push(("kernel", kernel.into()));
        parameters.push(("total", (*total).into()));
    }
    Matrix::new(name, law, parameters)
}

/// From a kernel as a caller gives it, or as it stands in the parameters.
pub fn given(arguments: &mut Arguments) -> Result<Law> {
    let must =
        "hold c_0 to c_r for a size r of at least 1, with c_0 + 2 (c_1 + ... + c_{r-1}) + c_r = 1";
    let short = |n: usize| Error::value("kernel", must, format!("{n} numbers"));
    let round = |name: &str, reals: &[f64]| match reals.len() {
        n @ 0..2 => Err(short(n)),
        _ => lattice::round_even(name, reals),
    };
    match arguments.distribution("kernel", must, mass, round)? {
        (kernel, _) if kernel.len() < 2 => Err(short(kernel.len())),
        (kernel, total) => Ok(Law::Reflected { kernel, total }),
    }
}

/// `k_0 + 2 (k_1 + ... + k_{r-1}) + k_r`.
fn mass(kernel: &[i64]) -> i128 {
    let sum: i128 = kernel.iter().map(|&k| i128::from(k)).sum();
    let end = |k: Option<&i64>| i128::from(k.copied().unwrap_or(0));
    2 * sum - end(kernel.first()) - end(kernel.last())
}
