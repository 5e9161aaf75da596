//! Bits and beta of any family, each rounded so that privacy is never overstated.

use crate::law::Family;

/// The entropy rate in bits, Expression (4): never above the true value.
pub fn entropy_rate(family: &dyn Family) -> f64 {
    family.entropy_rate().round_down(2)
}

/// Definition 1: the entropy rate over log2 of the size, never above the true value. With one
/// category there is nothing to hide, and beta is 1.
pub fn beta(family: &dyn Family) -> f64 {
    match family.true_size() {
        1 => 1.0,
        size => {
            let beta = family.entropy_rate().round_down(u128::from(size));
            beta.max(family.least_beta()).min(1.0)
        }
    }
}
