//! One draw from a first word: which structure it is, and its two steps. What has few lines is here: one law for all
//! codes (a table of `j`, and what becomes of a code `u` and `j`), and randomized response without a table.

use std::hint::select_unpredictable;

use super::classes::Classes;
use super::dense::Dense;
use super::tridiagonal::Tridiagonal;
use crate::draw::alias::{Outcomes, Rest, Slots, left_over, share};
use crate::draw::code::{ByWord, Word, each_word};
use crate::draw::uniform::{More, by_digits as below};

/// One draw from a first word `W`.
#[derive(Debug)]
pub enum Kind<W> {
    /// One law for all codes.
    One(One<W>),
    /// Randomized response without a table.
    RandomizedResponse(RandomizedResponse),
    /// Any code of the class.
    Classes(Classes),
    /// One step down or up.
    Tridiagonal(Tridiagonal<W>),
    /// A law a row.
    Dense(Dense<W>),
}

impl<W: Word> Kind<W> {
    /// The truth, or any other code.
    pub(super) fn lies(size: u64, keep: (u64, u64)) -> Self {
        if size <= TABLE {
            Kind::One(One::lies(size, keep))
        } else {
            Kind::RandomizedResponse(RandomizedResponse::new::<W>(size, keep))
        }
    }

    /// The report for a first word, and whether it is undecided; then the report means nothing.
    #[inline(always)]
    pub fn decide(&self, x: u64, u: u64) -> (u64, bool) {
        match self {
            Kind::One(one) => one.decide(x, u),
            Kind::RandomizedResponse(lies) => lies.decide(x, u),
            Kind::Classes(classes) => classes.decide::<W>(x, u),
            Kind::Tridiagonal(neighbours) => neighbours.decide(x, u),
            Kind::Dense(rows) => rows.decide(x, u),
        }
    }

    /// The report, if the first word did not decide it.
    pub fn resolve(&self, x: u64, u: u64, more: &mut impl More) -> u64 {
        match self {
            Kind::One(one) => one.resolve(x, u, more),
            Kind::RandomizedResponse(lies) => lies.resolve(x, u, more),
            Kind::Classes(classes) => classes.resolve::<W>(x, u, more),
            Kind::Tridiagonal(neighbours) => neighbours.resolve(x, u, more),
            Kind::Dense(rows) => rows.resolve(x, u, more),
        }
    }

    /// A first word, from its bytes.
    fn word(&self, bytes: &[u8]) -> u64 {
        W::read(bytes).get()
    }
}

/// One draw per record, from a first word of its width.
pub type Leaf = ByWord<Kind<u16>, Kind<u32>, Kind<u64>>;

impl Leaf {
    /// The report for a first word, and whether it is undecided; then the report means nothing.
    pub fn decide(&self, word: &[u8], u: u64) -> (u64, bool) {
        each_word!(self, kind => kind.decide(kind.word(word), u))
    }

    /// The report from words that are never used again: no draw needs words of its own.
    pub fn draw(&self, u: u64, words: &mut impl More) -> u64 {
        let word = &words.next().to_le_bytes()[..self.bytes()];
        match self.decide(word, u) {
            (v, false) => v,
            (_, true) => self.resolve(word, u, words),
        }
    }

    /// The report, if the first word did not decide it.
    pub fn resolve(&self, word: &[u8], u: u64, more: &mut impl More) -> u64 {
        each_word!(self, kind => kind.resolve(kind.word(word), u, more))
    }
}

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
        let (stay, each, rest) = slots::<W>(size, keep);
        let slots = |v| if v == 0 { stay } else { each };
        One {
            slots: Slots::new(size as usize, slots),
            rest: Undecided::RandomizedResponse(rest),
            then: Then::Shift(size),
        }
    }

    /// As [`Kind::decide`].
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
