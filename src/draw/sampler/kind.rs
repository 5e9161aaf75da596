//! One draw from a first word: which structure it is, and its two steps.

use std::sync::Arc;

use super::classes::Classes;
use super::lies::{Lies, TABLE_OF_LIES};
use super::neighbours::Neighbours;
use super::one::{One, Then};
use super::rows::Rows;
use crate::draw::alias::{Law, More};
use crate::draw::word::Word;

/// One draw from a first word `W`.
#[derive(Debug)]
pub enum Kind<W> {
    /// One law for all codes.
    One(One<W>),
    /// Randomized response without a table.
    Lies(Lies),
    /// Any code of the class.
    Classes(Classes),
    /// One step down or up.
    Neighbours(Neighbours<W>),
    /// A law a row.
    Rows(Rows<W>),
}

impl<W: Word> Kind<W> {
    /// The choice of a part of a mixture.
    pub(super) fn pick(weights: Arc<[i64]>, sum: u64) -> Self {
        Kind::One(One::new(Law::Row(weights), sum, Then::Pick))
    }

    /// `u + j mod size`, `j` from one row.
    pub(super) fn circulant(first_row: Arc<[i64]>, total: u64) -> Self {
        let then = Then::Shift(first_row.len() as u64);
        Kind::One(One::new(Law::Row(first_row), total, then))
    }

    /// `u + j` on the cycle of `2 size`, folded.
    pub(super) fn even(kernel: Arc<[i64]>, total: u64) -> Self {
        let then = Then::Fold(kernel.len() as u64 - 1);
        Kind::One(One::new(Law::Even(kernel), total, then))
    }

    /// Two codes that are swapped unless they stay.
    pub(super) fn swap((i, j): (u64, u64), stay: u64, sum: u64) -> Self {
        let law = Law::Row([stay as i64, (sum - stay) as i64].into());
        Kind::One(One::new(law, sum, Then::Swap(i, j)))
    }

    /// The truth, or any other code.
    pub(super) fn lies(size: u64, keep: (u64, u64)) -> Self {
        if size <= TABLE_OF_LIES {
            Kind::One(One::lies(size, keep))
        } else {
            Kind::Lies(Lies::new::<W>(size, keep))
        }
    }

    /// The report for a first word, and whether it is undecided; then the report means nothing.
    #[inline(always)]
    pub fn decide(&self, x: u64, u: u64) -> (u64, bool) {
        match self {
            Kind::One(one) => one.decide(x, u),
            Kind::Lies(lies) => lies.decide(x, u),
            Kind::Classes(classes) => classes.decide::<W>(x, u),
            Kind::Neighbours(neighbours) => neighbours.decide(x, u),
            Kind::Rows(rows) => rows.decide(x, u),
        }
    }

    /// The report, if the first word did not decide it.
    pub fn resolve(&self, x: u64, u: u64, more: &mut impl More) -> u64 {
        match self {
            Kind::One(one) => one.resolve(x, u, more),
            Kind::Lies(lies) => lies.resolve(x, u, more),
            Kind::Classes(classes) => classes.resolve::<W>(x, u, more),
            Kind::Neighbours(neighbours) => neighbours.resolve(x, u, more),
            Kind::Rows(rows) => rows.resolve(x, u, more),
        }
    }

    pub(super) fn respond(&self, u: u64, source: &mut impl More) -> u64 {
        let x = W::low(source.next()).get();
        match self.decide(x, u) {
            (v, false) => v,
            (_, true) => self.resolve(x, u, source),
        }
    }
}
