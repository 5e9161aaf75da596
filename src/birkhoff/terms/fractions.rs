//! Sums and products of fractions below 2^127.

use crate::error::Error;
use crate::number::lattice::gcd;

/// What is said of a decomposition whose terms have no such sum or product.
pub fn too_long() -> Error {
    let must = "add up to fractions with denominators below 2^127";
    Error::value("terms", must, "a longer denominator")
}

/// The sum of two fractions in lowest terms, below 2^127.
pub fn add((a, b): (u128, u128), (c, d): (u128, u128)) -> Option<(u128, u128)> {
    let g = gcd(b, d);
    let n = a.checked_mul(d / g)?.checked_add(c.checked_mul(b / g)?)?;
    let d = (b / g).checked_mul(d)?;
    let g = gcd(n, d);
    (d / g < 1 << 127).then_some((n / g, d / g))
}

/// The product of two fractions in lowest terms, below 2^127.
pub fn multiply((a, b): (u128, u128), (c, d): (u128, u128)) -> Option<(u128, u128)> {
    let (g, h) = (gcd(a, d).max(1), gcd(c, b).max(1));
    let product = ((a / g).checked_mul(c / h)?, (b / h).checked_mul(d / g)?);
    (product.1 < 1 << 127).then_some(product)
}
