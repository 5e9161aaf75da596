//! The entropy rate of a plain array of probabilities.

use crate::error::Result;
use crate::number::bits::max_bits;
use crate::number::dd::Dd;
use crate::number::entropy;

/// `-sum of p log2 p / size` of a plain array in row-major order.
///
/// # Errors
/// An entry that is not a non-negative number; a row or column whose sum is off by more than 1e-9.
pub fn array_entropy_rate(array: &[f64], size: usize) -> Result<f64> {
    let (rows, _) = entropy::scan_bistochastic(array, size)?;
    let total = rows
        .iter()
        .fold(Dd::ZERO, |sum, r| sum + Dd::from(r.entropy));
    // The vectorised sum may leave a hair of the wrong sign or above the maximum.
    Ok((total / Dd::from(size as f64))
        .hi
        .clamp(0.0, max_bits(size as u64)))
}
