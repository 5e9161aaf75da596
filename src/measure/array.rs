//! The entropy rate of a plain array of probabilities.

use crate::error::{Error, Result};
use crate::number::bits::max_bits;
use crate::number::dd::Dd;
use crate::number::entropy;
use crate::number::lattice::TOLERANCE;

/// `-sum of p log2 p / size` of a plain array in row-major order.
///
/// # Errors
/// An entry that is not a non-negative number; a row or column whose sum is off by more than 1e-9.
pub fn array_entropy_rate(array: &[f64], size: usize) -> Result<f64> {
    let must = "hold non-negative numbers whose rows and columns sum to 1";
    let (rows, columns) = entropy::scan_matrix(array, size);
    if rows.iter().any(|r| r.signed || !r.sum.is_finite())
        && let Some(i) = array.iter().position(|x| !(*x >= 0.0 && x.is_finite()))
    {
        let (u, v) = (i / size, i % size);
        return Err(Error::value(
            "array",
            must,
            format!("{} at ({u}, {v})", array[i]),
        ));
    }
    let off = |sum: f64| (sum - 1.0).abs() > TOLERANCE;
    let complaint = |line: &str, i: usize, sum: f64| {
        Error::value(
            "array",
            must,
            format!("a sum of {sum} in {line} {i}, off by {:.1e}", sum - 1.0),
        )
    };
    if let Some(u) = rows.iter().position(|r| off(r.sum)) {
        return Err(complaint("row", u, rows[u].sum));
    }
    if let Some(v) = columns.iter().position(|&s| off(s)) {
        return Err(complaint("column", v, columns[v]));
    }
    let total = rows
        .iter()
        .fold(Dd::ZERO, |sum, r| sum + Dd::from(r.entropy));
    // The vectorised sum may leave a hair of the wrong sign or above the maximum.
    Ok((total / Dd::from(size as f64))
        .hi
        .clamp(0.0, max_bits(size as u64)))
}
