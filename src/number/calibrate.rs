//! The parameter that reaches a wanted beta or epsilon, by exact search on the reported number.
//!
//! What is searched is what will be reported, so a caller who asks for a number gets at least it. The
//! numbers searched over are the integers of the law themselves; nothing is rounded afterwards.

/// The smallest `n` from `low` to `high` for which `holds`, if it holds from some `n` on; `high`
/// if it holds for none below.
pub fn smallest(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// The largest `n` from `low` to `high` for which `holds`, if it holds up to some `n`; `low`
/// if it holds for none above.
pub fn largest(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = high - (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}
