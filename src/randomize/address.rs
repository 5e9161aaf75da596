//! Where records are: by position, or by the id of a person.

/// The identifier of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id<'a> {
    /// A whole number from -2^63 to 2^64 - 1, by value.
    Integer(i128),
    /// A text, as UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// Where the records of a call are.
#[derive(Debug, Clone, Copy)]
pub enum Addresses<'a> {
    /// Consecutive rows from this one on.
    From(u64),
    /// One integer each.
    Signed(&'a [i64]),
    /// One integer each.
    Unsigned(&'a [u64]),
    /// One of any kind each.
    Ids(&'a [Id<'a>]),
}

impl<'a> Addresses<'a> {
    pub(super) fn part(self, start: usize, end: usize) -> Self {
        match self {
            Addresses::From(row) => Addresses::From(row + start as u64),
            Addresses::Signed(ids) => Addresses::Signed(&ids[start..end]),
            Addresses::Unsigned(ids) => Addresses::Unsigned(&ids[start..end]),
            Addresses::Ids(ids) => Addresses::Ids(&ids[start..end]),
        }
    }

    /// The id of record `i`; of a row its number.
    pub(super) fn id(self, i: usize) -> Id<'a> {
        match self {
            Addresses::From(row) => Id::Integer((row + i as u64).into()),
            Addresses::Signed(ids) => Id::Integer(ids[i].into()),
            Addresses::Unsigned(ids) => Id::Integer(ids[i].into()),
            Addresses::Ids(ids) => ids[i],
        }
    }
}

/// The negative ids' mark in a nonce; codes stay below 2^53.
pub(super) const NEGATIVE: u64 = 1 << 63;

/// How the records of a call are addressed, so that no key is derived in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By position.
    Position,
    /// By ids of any kind.
    Ids,
    /// By integers alone.
    Integers,
    /// By texts alone.
    Texts,
    /// By bytes alone.
    Bytes,
}

impl From<Id<'_>> for By {
    fn from(id: Id<'_>) -> Self {
        match id {
            Id::Integer(_) => By::Integers,
            Id::Text(_) => By::Texts,
            Id::Bytes(_) => By::Bytes,
        }
    }
}
