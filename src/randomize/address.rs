//! Where records are: by position, or by the id of a person.

use crate::error::{Error, Result};

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

    /// Refuse addresses that are not those of `records` records, or that keys derived for `by` do not
    /// serve. Without this, words would be missing or would be used twice.
    pub(super) fn check(self, by: By, records: usize) -> Result<()> {
        let refuse = |must: &str, got: String| Err(Error::value("addresses", must, got));
        let (kind, given) = match self {
            Addresses::From(_) => (By::Position, records),
            Addresses::Signed(ids) => (By::Integers, ids.len()),
            Addresses::Unsigned(ids) => (By::Integers, ids.len()),
            Addresses::Ids(ids) => (By::Ids, ids.len()),
        };
        let must = || format!("be {}, as the keys were derived for", by.plural());
        // Ids of any kind say below, one by one, of which they are.
        if !by.serves(kind) && (kind != By::Ids || by == By::Position) {
            return refuse(&must(), kind.plural().into());
        }
        if given != records {
            let must = format!("be one for each of the {records} records");
            return refuse(&must, given.to_string());
        }
        match self {
            Addresses::From(row) if row.checked_add(records as u64).is_none() => {
                refuse("end before row 2^64", format!("{records} from {row}"))
            }
            Addresses::Ids(ids) => {
                for (i, &id) in ids.iter().enumerate() {
                    let kind = By::from(id);
                    if !by.serves(kind) {
                        return refuse(&must(), format!("{} at position {i}", kind.plural()));
                    }
                    if let Id::Integer(n) = id
                        && !(-(1 << 63)..1 << 64).contains(&n)
                    {
                        let must = "be whole numbers from -2^63 to 2^64 - 1";
                        return refuse(must, format!("another at position {i}"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
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

impl By {
    /// Whether keys that are derived for this serve addresses of that kind.
    pub(super) fn serves(self, kind: By) -> bool {
        self == kind || (self == By::Ids && kind != By::Position)
    }

    fn plural(self) -> &'static str {
        match self {
            By::Position => "positions",
            By::Ids => "ids",
            By::Integers => "whole numbers",
            By::Texts => "texts",
            By::Bytes => "bytes",
        }
    }
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
