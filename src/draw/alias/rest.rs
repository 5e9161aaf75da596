//! The slots that a first word leaves undecided, and who owns them.

use super::{More, below};
use crate::draw::word::Word;
use crate::system::memory;
use crate::system::stop::Paced;
use std::sync::Arc;

/// Counts of a finite law.
#[derive(Debug, Clone)]
pub enum Outcomes {
    /// As they stand.
    Row(Arc<[i64]>),
    /// `c_0..c_r` of an even law on the cycle of length `2r`.
    Even(Arc<[i64]>),
}

impl Outcomes {
    /// Number of outcomes.
    pub fn len(&self) -> usize {
        match self {
            Outcomes::Row(counts) => counts.len(),
            Outcomes::Even(counts) => 2 * (counts.len() - 1),
        }
    }

    /// The count of one.
    #[inline]
    pub fn count(&self, v: usize) -> u64 {
        match self {
            Outcomes::Row(counts) => counts[v] as u64,
            Outcomes::Even(counts) => counts[v.min(2 * (counts.len() - 1) - v)] as u64,
        }
    }
}

/// `n_v`, the slots of an outcome with this count out of `total`.
#[inline]
pub fn share<W: Word>(count: u64, total: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    let scaled = u128::from(count) << W::BITS;
    // Totals on the grid need no division.
    let slots = if total.is_power_of_two() {
        scaled >> total.trailing_zeros()
    } else {
        scaled / u128::from(total)
    };
    slots.min(u128::from(W::MOST)) as u64
}

/// `c_v 2^w - n_v D`, what the slots of an outcome leave over.
#[inline]
pub fn left_over<W: Word>(count: u64, total: u64) -> u128 {
    (u128::from(count) << W::BITS) - u128::from(share::<W>(count, total)) * u128::from(total)
}

/// Outcomes between two marks.
const STRIDE: usize = 64;

/// What the undecided slots of one law decide.
#[derive(Debug)]
pub struct Rest {
    law: Outcomes,
    total: u64,
    /// Mass before every [`STRIDE`]-th outcome.
    marks: Box<[u128]>,
}

impl Rest {
    /// Of the law `counts / total`.
    pub fn new<W: Word>(law: Outcomes, total: u64) -> Self {
        let n = law.len();
        let mut sum = 0;
        let mut marks = memory::room(n.div_ceil(STRIDE));
        for v in (0..n).paced() {
            if v % STRIDE == 0 {
                marks.push(sum);
            }
            sum += left_over::<W>(law.count(v), total);
        }
        Rest {
            law,
            total,
            marks: marks.into(),
        }
    }

    /// Of `2^w D` cases, those of `v` that no slot decides.
    #[cfg(test)]
    pub fn mass<W: Word>(&self, v: usize) -> u128 {
        left_over::<W>(self.law.count(v), self.total)
    }

    /// The outcome of the `i`-th undecided slot.
    pub fn draw<W: Word>(&self, i: u64, more: &mut impl More) -> u64 {
        let t = below(self.total, more);
        self.find::<W>(u128::from(i) * u128::from(self.total) + u128::from(t))
    }

    /// Whose interval holds `t`.
    pub fn find<W: Word>(&self, t: u128) -> u64 {
        let block = self.marks.partition_point(|&mark| mark <= t) - 1;
        let start = block * STRIDE;
        let end = self.law.len().min(start + STRIDE);
        let counts = (start..end).map(|v| self.law.count(v));
        (start as u64) + scan::<W>(counts, self.total, t - self.marks[block])
    }
}

/// The position in `counts` whose interval of left-over cases holds `t`.
///
/// # Panics
/// None holds it: `t` is not below their sum.
pub fn scan<W: Word>(counts: impl Iterator<Item = u64>, total: u64, t: u128) -> u64 {
    let mut left = t;
    for (v, count) in counts.enumerate() {
        let mass = left_over::<W>(count, total);
        if left < mass {
            return v as u64;
        }
        left -= mass;
    }
    unreachable!("an undecided case that no outcome owns")
}
