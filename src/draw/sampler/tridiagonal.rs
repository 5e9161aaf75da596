//! One step down or up: two thresholds.

use std::hint::select_unpredictable;

use crate::draw::alias::share;
use crate::draw::code::Word;
use crate::draw::uniform::{More, by_digits as below};
use crate::law::Alphas;
use crate::system::memory::Gather;

/// One step down or up.
#[derive(Debug)]
pub struct Tridiagonal<W> {
    /// The last code.
    pub end: u64,
    /// Slots of the step between `i` and `i + 1`.
    pub steps: Steps<W>,
    /// The exact ones.
    alphas: Alphas,
    /// What those are out of.
    total: u64,
}

/// Slots of the steps of a tridiagonal matrix.
#[derive(Debug)]
pub enum Steps<W> {
    /// The same everywhere.
    Constant(u64),
    /// One each, between a zero at either end: down and up of code `u` stand at `u` and `u + 1`. One
    /// more zero lets a vector of four bytes be read anywhere.
    Vector(Box<[W]>),
}

impl<W: Word> Tridiagonal<W> {
    pub(super) fn new(size: u64, alphas: Alphas, total: u64) -> Self {
        Tridiagonal {
            end: size - 1,
            steps: match &alphas {
                Alphas::Constant(alpha) => Steps::Constant(share::<W>(*alpha, total)),
                Alphas::Vector(alphas) => {
                    let slots = |&alpha: &i64| W::low(share::<W>(alpha as u64, total));
                    let zero = || std::iter::once(W::low(0));
                    let steps = zero().chain(alphas.iter().map(slots));
                    Steps::Vector(steps.chain(zero()).chain(zero()).gather().into())
                }
            },
            alphas,
            total,
        }
    }

    #[inline(always)]
    pub(super) fn decide(&self, x: u64, u: u64) -> (u64, bool) {
        let (down, up) = self.slots(u);
        // Not by their sum, which may be 2^64.
        let falls = x < down;
        let rises = !falls & (x.wrapping_sub(down) < up);
        let v = select_unpredictable(rises, u + 1, u);
        let v = select_unpredictable(falls, u.wrapping_sub(1), v);
        let stays = !falls & !rises;
        (v, stays & (x >= W::MOST - 1))
    }

    pub(super) fn resolve(&self, x: u64, u: u64, more: &mut impl More) -> u64 {
        let (down, up) = self.slots(u);
        let decided = (u128::from(down) + u128::from(up)).max(u128::from(W::MOST - 1));
        let i = u128::from(x) - decided;
        let t = i * u128::from(self.total) + u128::from(below(self.total, more));
        let (falls, rises) = self.left(u);
        if t < falls {
            u - 1
        } else if t < falls + rises {
            u + 1
        } else {
            u
        }
    }

    /// Slots of the steps down and up.
    #[inline(always)]
    fn slots(&self, u: u64) -> (u64, u64) {
        match &self.steps {
            Steps::Constant(step) => (
                if u == 0 { 0 } else { *step },
                if u == self.end { 0 } else { *step },
            ),
            Steps::Vector(steps) => (steps[u as usize].get(), steps[u as usize + 1].get()),
        }
    }

    /// Cases of the steps down and up that no slot decides.
    fn left(&self, u: u64) -> (u128, u128) {
        let alpha = |i: u64| match &self.alphas {
            _ if i >= self.end => 0,
            Alphas::Constant(alpha) => *alpha,
            Alphas::Vector(alphas) => alphas[i as usize] as u64,
        };
        let left = |count: u64, slots: u64| {
            (u128::from(count) << W::BITS) - u128::from(slots) * u128::from(self.total)
        };
        let (down, up) = self.slots(u);
        (left(alpha(u.wrapping_sub(1)), down), left(alpha(u), up))
    }
}
