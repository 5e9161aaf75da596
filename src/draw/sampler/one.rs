//! One law for all codes: a table of `j`, and what becomes of a code `u` and `j`.

use std::hint::select_unpredictable;

use super::randomized_response::{self, Lie};
use crate::draw::alias::{More, Outcomes, Rest, Slots, share};
use crate::draw::word::Word;

/// One law for all codes.
#[derive(Debug)]
pub struct One<W> {
    /// The decided slots of `j`.
    pub slots: Slots<W>,
    /// The others.
    rest: Undecided,
    /// How `j` enters.
    pub then: Then,
}

/// The undecided slots of one law.
#[derive(Debug)]
enum Undecided {
    /// From counts.
    Counts(Rest),
    /// From the truth and the lies.
    RandomizedResponse(Lie),
}

impl<W: Word> One<W> {
    pub(super) fn new(law: Outcomes, total: u64, then: Then) -> Self {
        let count = |v| share::<W>(law.count(v), total);
        One {
            slots: Slots::new(law.len(), count),
            rest: Undecided::Counts(Rest::new::<W>(law, total)),
            then,
        }
    }

    /// Randomized response with a table.
    pub(super) fn lies(size: u64, keep: (u64, u64)) -> Self {
        let (stay, each, rest) = randomized_response::slots::<W>(size, keep);
        let slots = |v| if v == 0 { stay } else { each };
        One {
            slots: Slots::new(size as usize, slots),
            rest: Undecided::RandomizedResponse(rest),
            then: Then::Shift(size),
        }
    }

    /// As [`Kind::decide`](super::Kind::decide).
    #[inline(always)]
    pub fn decide(&self, x: u64, u: u64) -> (u64, bool) {
        let (j, undecided) = self.slots.draw(x);
        (self.then.apply(u, j), undecided)
    }

    pub(super) fn resolve(&self, x: u64, u: u64, more: &mut impl More) -> u64 {
        let j = match &self.rest {
            Undecided::Counts(rest) => rest.draw::<W>(x - self.slots.last - 1, more),
            Undecided::RandomizedResponse(rest) => rest.draw(x, more),
        };
        self.then.apply(u, j)
    }
}

/// What a draw `j` from one law does to a code `u`.
#[derive(Debug, Clone, Copy)]
pub enum Then {
    /// `u + j mod size`.
    Shift(u64),
    /// `u + j` on the cycle of `2 size`, folded.
    Fold(u64),
    /// `u` and its partner are swapped where `j` is 1.
    Swap(u64, u64),
    /// `j` itself.
    Pick,
}

impl Then {
    /// The report.
    #[inline(always)]
    pub fn apply(self, u: u64, j: u64) -> u64 {
        match self {
            Then::Shift(size) => {
                let v = u + j;
                v.min(v.wrapping_sub(size))
            }
            Then::Fold(size) => {
                let v = u + j;
                let v = v.min(v.wrapping_sub(2 * size));
                v.min((2 * size - 1).wrapping_sub(v))
            }
            Then::Swap(a, b) => {
                // The partner is always computed, so that timing does not show who has one.
                let partner = select_unpredictable(u == a, b, u);
                let partner = select_unpredictable(u == b, a, partner);
                select_unpredictable(j == 1, partner, u)
            }
            Then::Pick => j,
        }
    }
}
