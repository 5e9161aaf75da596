//! One draw per record, from a first word of the width that the number of outcomes asks for.

use super::Kind;
use crate::draw::alias::More;
use crate::draw::word::{Width, Word};

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

/// The leaf that a constructor of [`Kind`] makes for a first word of this width.
macro_rules! leaf {
    ($width:expr, $kind:expr) => {
        match $width {
            Width::Two => Leaf::Two($kind),
            Width::Four => Leaf::Four($kind),
            Width::Eight => Leaf::Eight($kind),
        }
    };
}

pub(super) use leaf;

impl Leaf {
    /// Of its first word.
    pub fn width(&self) -> Width {
        match self {
            Leaf::Two(_) => Width::Two,
            Leaf::Four(_) => Width::Four,
            Leaf::Eight(_) => Width::Eight,
        }
    }

    /// The report for a first word, and whether it is undecided; then the report means nothing.
    pub fn decide(&self, word: &[u8], u: u64) -> (u64, bool) {
        match self {
            Leaf::Two(kind) => kind.decide(u16::read(word).into(), u),
            Leaf::Four(kind) => kind.decide(u32::read(word).into(), u),
            Leaf::Eight(kind) => kind.decide(u64::read(word), u),
        }
    }

    /// The report, if the first word did not decide it.
    pub fn resolve(&self, word: &[u8], u: u64, more: &mut impl More) -> u64 {
        match self {
            Leaf::Two(kind) => kind.resolve(u16::read(word).into(), u, more),
            Leaf::Four(kind) => kind.resolve(u32::read(word).into(), u, more),
            Leaf::Eight(kind) => kind.resolve(u64::read(word), u, more),
        }
    }

    pub(super) fn respond(&self, u: u64, source: &mut impl More) -> u64 {
        match self {
            Leaf::Two(kind) => kind.respond(u, source),
            Leaf::Four(kind) => kind.respond(u, source),
            Leaf::Eight(kind) => kind.respond(u, source),
        }
    }
}
