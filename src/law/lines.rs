//! The lines of a matrix one by one: worst row and column, peaks of the columns, deniability.
//!
//! Beta is an average. What an attacker can do to the worst category, and with the best guess, is read
//! off the single lines. A structured family knows them in closed form; [`measure::survey`](crate::measure::survey)
//! looks at every entry of the others.

use crate::system::memory::Gather;

/// Size up to which every entry is looked at without being asked to.
pub const SIZE: u64 = 4096;

/// Rows whose bits are written down one by one.
pub const ROWS: u64 = 1 << 27;

/// What the lines say.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The row with the fewest bits, and these, not above the true number.
    pub worst_row: (u64, f64),
    /// The same of the columns.
    pub worst_column: (u64, f64),
    /// Whether these two are the true ones, or bounds.
    pub worst_exact: bool,
    /// The bits of every row.
    pub row_bits: RowBits,
    /// `sum over v of max_u p_uv` as a fraction, not below the true number.
    pub peaks: (u128, u128),
    /// Whether it is the true number.
    pub peaks_exact: bool,
    /// The least `p_uu`, as a fraction.
    pub least_diagonal: (u128, u128),
    /// Of each gamma asked for: the largest k with (k, gamma)-deniability, and whether it is that or a
    /// smaller number.
    pub deniability: Vec<(u64, bool)>,
    /// `(u, w, v)` with the widest ratio `p_uv / p_wv`, if one was found.
    pub witness: Option<(u64, u64, u64)>,
}

/// Bits of rows, near the true number.
#[derive(Debug, Clone)]
pub enum RowBits {
    /// All the same.
    Same(f64),
    /// One a row.
    Each(Vec<f64>),
    /// Too many to look at.
    Unknown,
}

impl RowBits {
    /// One a row, unless there are more than [`ROWS`].
    pub fn each<I: Iterator<Item = f64>>(size: u64, bits: impl FnOnce() -> I) -> Self {
        if size <= ROWS {
            RowBits::Each(bits().gather())
        } else {
            RowBits::Unknown
        }
    }
}

/// `-p log2 p`, 0 for 0.
pub fn term(p: f64) -> f64 {
    if p > 0.0 { -p * p.log2() } else { 0.0 }
}

/// Whether `a <= gamma b`, exactly. `gamma` is at least 1.
fn at_most(a: u64, gamma: f64, b: u64) -> bool {
    if a <= b {
        return true;
    }
    if gamma == f64::INFINITY {
        return b > 0;
    }
    let bits = gamma.to_bits();
    let mantissa = u128::from((bits & ((1 << 52) - 1)) | (1 << 52));
    // gamma = mantissa 2^(exponent), exponent at least -52.
    let exponent = (bits >> 52) as i32 - 1075;
    let right = mantissa * u128::from(b);
    if exponent <= 0 {
        u128::from(a) << -exponent <= right
    } else {
        b > 0 && (exponent >= 12 || right >= u128::from(a).div_ceil(1 << exponent))
    }
}

/// The smallest number of neighbours within a factor `gamma` that a positive number of the column has,
/// itself included. The column is sorted.
pub fn neighbours(column: &[u64], gamma: f64) -> u64 {
    if gamma < 1.0 {
        return 1;
    }
    let positive = &column[column.partition_point(|&c| c == 0)..];
    let (mut low, mut high) = (0, 0);
    let mut fewest = usize::MAX;
    for &c in positive {
        while !at_most(c, gamma, positive[low]) {
            low += 1;
        }
        while high < positive.len() && at_most(positive[high], gamma, c) {
            high += 1;
        }
        fewest = fewest.min(high - low);
    }
    fewest as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_compared_exactly() {
        assert!(at_most(3, 3.0, 1) && !at_most(3, 3.0f64.next_down(), 1));
        assert!(at_most(u64::MAX, 1.0, u64::MAX) && !at_most(u64::MAX, 1.0, u64::MAX - 1));
        assert!(at_most(7, f64::INFINITY, 1) && !at_most(7, f64::INFINITY, 0));
        assert!(at_most(1 << 60, 2f64.powi(60), 1) && !at_most((1 << 60) + 1, 2f64.powi(60), 1));
        assert!(at_most(u64::MAX, 1e300, 1) && !at_most(1, 1e300, 0));
    }
}
