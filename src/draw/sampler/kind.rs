//! One draw from a first word: which structure it is, its two steps, and the width that the number of outcomes asks for.

use super::classes::Classes;
use super::dense::Dense;
use super::one::One;
use super::randomized_response::{RandomizedResponse, TABLE};
use super::tridiagonal::Tridiagonal;
use crate::draw::alias::More;
use crate::draw::word::Word;

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

    fn bytes(&self) -> usize {
        size_of::<W>()
    }
}

/// One draw per record, from a first word.
#[derive(Debug)]
pub enum Leaf {
    /// Of two bytes.
    Two(Kind<u16>),
    /// Of four.
    Four(Kind<u32>),
    /// Of eight.
    Eight(Kind<u64>),
}

/// The leaf of `$kind`, whose first word has this width.
macro_rules! leaf {
    ($width:expr, $kind:expr) => {
        match $width {
            Width::Two => Leaf::Two($kind),
            Width::Four => Leaf::Four($kind),
            Width::Eight => Leaf::Eight($kind),
        }
    };
}

/// `$run` for the kind of a leaf.
macro_rules! of_leaf {
    ($leaf:expr, $kind:ident => $run:expr) => {
        match $leaf {
            Leaf::Two($kind) => $run,
            Leaf::Four($kind) => $run,
            Leaf::Eight($kind) => $run,
        }
    };
}

pub(super) use leaf;
pub(in crate::draw) use of_leaf;

impl Leaf {
    /// Bytes of its first word.
    pub fn bytes(&self) -> usize {
        of_leaf!(self, kind => kind.bytes())
    }

    /// The report for a first word, and whether it is undecided; then the report means nothing.
    pub fn decide(&self, word: &[u8], u: u64) -> (u64, bool) {
        of_leaf!(self, kind => kind.decide(kind.word(word), u))
    }

    /// The report, if the first word did not decide it.
    pub fn resolve(&self, word: &[u8], u: u64, more: &mut impl More) -> u64 {
        of_leaf!(self, kind => kind.resolve(kind.word(word), u, more))
    }
}
