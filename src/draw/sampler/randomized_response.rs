//! Randomized response: slots of the truth, equally many of each lie, and what is left. No table.

use std::hint::select_unpredictable;

use super::one::Then;
use crate::draw::alias::{More, below, left_over, share};
use crate::draw::word::Word;

/// Randomized response up to this size has a table, which fits a cache that nothing else needs.
pub(super) const TABLE: u64 = 256;

/// Randomized response without a table.
#[derive(Debug)]
pub struct RandomizedResponse {
    /// Number of codes.
    pub size: u64,
    /// Slots of the truth.
    pub stay: u64,
    /// Slots of each lie.
    pub each: u64,
    /// To divide by `each`: `ceil(2^64 / each)`, or 0 if that is 2^64 or too short.
    inverse: u64,
    /// The undecided slots.
    rest: Lie,
}

impl RandomizedResponse {
    pub(super) fn new<W: Word>(size: u64, keep: (u64, u64)) -> Self {
        let (stay, each, rest) = slots::<W>(size, keep);
        RandomizedResponse {
            size,
            stay,
            each,
            inverse: match each {
                2.. if W::BITS <= 32 => (u64::MAX / each) + 1,
                _ => 0,
            },
            rest,
        }
    }

    #[inline(always)]
    pub(super) fn decide(&self, x: u64, u: u64) -> (u64, bool) {
        let beyond = x.wrapping_sub(self.stay);
        let lie = if self.inverse != 0 {
            ((u128::from(beyond) * u128::from(self.inverse)) >> 64) as u64
        } else {
            beyond.checked_div(self.each).unwrap_or(u64::MAX)
        };
        let truth = x < self.stay;
        // At most size - 2, or undecided.
        let j = select_unpredictable(truth, 0, lie.min(self.size - 2) + 1);
        let v = Then::Shift(self.size).apply(u, j);
        (v, !truth && lie >= self.size - 1)
    }

    pub(super) fn resolve(&self, x: u64, u: u64, more: &mut impl More) -> u64 {
        Then::Shift(self.size).apply(u, self.rest.draw(x, more))
    }
}

/// The undecided slots of randomized response. With `keep = n/d`, `r` codes and `a` slots of the truth, the
/// truth keeps `(r-1) (n 2^w - a d)` of the `R d (r-1)` cases that are left, the lies share the others equally:
/// so the truth with probability `(n 2^w - a d) / (R d)`, else any lie.
#[derive(Debug)]
pub struct Lie {
    /// `n 2^w - a d`.
    truth: u128,
    /// `d`.
    denominator: u64,
    /// `r - 1`.
    others: u64,
    /// The first undecided word.
    first: u64,
}

impl Lie {
    /// The shift for an undecided word.
    pub(super) fn draw(&self, x: u64, more: &mut impl More) -> u64 {
        let t = below(self.denominator, more);
        let t = u128::from(x - self.first) * u128::from(self.denominator) + u128::from(t);
        if t < self.truth {
            0
        } else {
            1 + below(self.others, more)
        }
    }
}

/// Slots of the truth, slots of each lie, and what is left.
pub(super) fn slots<W: Word>(size: u64, keep: (u64, u64)) -> (u64, u64, Lie) {
    let (n, d) = keep;
    let others = size - 1;
    let stay = share::<W>(n, d);
    // floor((d - n) 2^w / (d others)), as two floors are one.
    let lying = (u128::from(d - n) << W::BITS) / u128::from(d);
    let each = (lying / u128::from(others)).min(u128::from(W::MOST)) as u64;
    let decided = u128::from(stay) + u128::from(each) * u128::from(others);
    let rest = Lie {
        truth: left_over::<W>(n, d),
        denominator: d,
        others,
        first: decided as u64,
    };
    (stay, each, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 2^32 words those at the ends of every lie's slots, and the cases by their number.
    #[test]
    fn lies_without_a_table_own_equal_shares() {
        for (size, keep) in [
            (300u64, (5u64, 7u64)),
            (300, (0, 1)),
            (65_536, ((1 << 53) / 3, 1 << 53)),
            (1 << 24, (999_999, 1_000_000)),
            (1 << 24, (1, 1)),
        ] {
            let (stay, each, rest) = slots::<u32>(size, keep);
            let lies = RandomizedResponse::new::<u32>(size, keep);
            let (n, d) = (u128::from(keep.0), u128::from(keep.1));
            let others = u128::from(size - 1);
            let decided = u128::from(stay) + u128::from(each) * others;
            // The truth's and a lie's cases, of 2^32 d (size - 1).
            assert_eq!(
                (u128::from(stay) * d + rest.truth) * others,
                (n << 32) * others
            );
            let undecided = (1u128 << 32) - decided;
            let lying = undecided * d - rest.truth;
            assert_eq!(u128::from(each) * d * others + lying, (d - n) << 32);
            assert_eq!(u128::from(rest.first), decided);
            let u = size / 3;
            if stay > 0 {
                assert_eq!(lies.decide(0, u), (u, false));
                assert_eq!(lies.decide(stay - 1, u), (u, false));
            }
            if each > 0 {
                for lie in (0..size - 1).step_by(1 + size as usize / 1000) {
                    let v = (u + 1 + lie) % size;
                    assert_eq!(lies.decide(stay + lie * each, u), (v, false));
                    assert_eq!(lies.decide(stay + lie * each + each - 1, u), (v, false));
                }
            }
            if undecided > 0 {
                assert!(lies.decide(decided as u64, u).1);
                assert!(lies.decide(u64::from(u32::MAX), u).1);
            }
        }
    }
}
