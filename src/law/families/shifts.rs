//! Circulant matrices, Expression (6), and permutations.

use crate::error::{Error, Result};
use crate::law::parameters::Arguments;
use crate::law::{Law, Matrix};
use crate::number::lattice;
use crate::system::memory;
use crate::system::stop::Paced;

/// Row `u` is the first row shifted right by `u`. Column `v` holds the same numbers as row 0 in another order, so rows
/// and columns both sum to one.
pub fn circulant(arguments: &mut Arguments) -> Result<Matrix> {
    let must = "hold non-negative numbers that sum to 1";
    let sum = |counts: &[i64]| counts.iter().map(|&c| i128::from(c)).sum();
    let (first_row, total) =
        arguments.distribution("first_row", must, sum, lattice::round_vector)?;
    let parameters = vec![("first_row", (&first_row).into()), ("total", total.into())];
    let law = Law::Circulant { first_row, total };
    Ok(Matrix::new("circulant", law, parameters))
}

/// Code `u` is always reported as `targets[u]`. No bits, whatever it looks like.
pub fn permutation(arguments: &mut Arguments) -> Result<Matrix> {
    let must = "hold each code from 0 to size - 1 once";
    let targets = arguments.wholes("targets", must)?;
    let mut seen = memory::filled(false, targets.len());
    for (u, &v) in targets.iter().enumerate().paced() {
        match usize::try_from(v).ok().and_then(|v| seen.get_mut(v)) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(Error::value("targets", must, format!("{v} again at {u}"))),
            None => return Err(Error::value("targets", must, format!("{v} at {u}"))),
        }
    }
    let parameters = vec![("targets", (&targets).into())];
    let law = Law::Permutation(targets);
    Ok(Matrix::new("permutation", law, parameters))
}
