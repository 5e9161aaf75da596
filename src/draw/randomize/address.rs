//! Where records are: by position, or by the ids of people. The kind of an address is said here and nowhere else.
//!
//! Keys are derived for the addresses of a call ([`Records`]), so that keys of one kind never meet addresses of the
//! other. Among ids, [`Ids`] says of which kind they are, and [`IdKeys`] has a key for each kind.

use zeroize::Zeroize;

use super::draw::{Further, Scratch};
use crate::draw::code::{Code, CodeWidth, typed};
use crate::draw::derive::Purpose;
use crate::draw::hashing::Hashing;
use crate::draw::keystream::{BLOCK, Keystream};
use crate::draw::string_ids::{Part, Prefixed};
use crate::error::{Error, Result};
use crate::system::erase::Secret;

/// The identifier of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id<'a> {
    /// An integer from -2^63 to 2^64 - 1, by value.
    Integer(i128),
    /// A string, as UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// The ids of people, one per record.
#[derive(Debug, Clone, Copy)]
pub enum Ids<'a> {
    /// Integers.
    Signed(&'a [i64]),
    /// Integers without a sign.
    Unsigned(&'a [u64]),
    /// Strings in one piece of memory, hashed many at a time.
    Texts(Part<'a>),
    /// Bytes, likewise.
    Bytes(Part<'a>),
    /// Ids of any kind.
    Mixed(&'a [Id<'a>]),
}

/// Marks negative ids in a nonce. Codes stay below 2^53.
const NEGATIVE: u64 = 1 << 63;

impl<'a> Ids<'a> {
    /// How many there are.
    pub(crate) fn len(self) -> usize {
        match self {
            Ids::Signed(ids) => ids.len(),
            Ids::Unsigned(ids) => ids.len(),
            Ids::Texts(ids) | Ids::Bytes(ids) => ids.len(),
            Ids::Mixed(ids) => ids.len(),
        }
    }

    /// That of one record.
    pub fn at(self, i: usize) -> Id<'a> {
        match self {
            Ids::Signed(ids) => Id::Integer(ids[i].into()),
            Ids::Unsigned(ids) => Id::Integer(ids[i].into()),
            Ids::Texts(ids) => Id::Text(ids.id(i)),
            Ids::Bytes(ids) => Id::Bytes(ids.id(i)),
            Ids::Mixed(ids) => ids[i],
        }
    }

    /// Those of the records `start..end`.
    pub fn part(self, start: usize, end: usize) -> Self {
        match self {
            Ids::Signed(ids) => Ids::Signed(&ids[start..end]),
            Ids::Unsigned(ids) => Ids::Unsigned(&ids[start..end]),
            Ids::Texts(ids) => Ids::Texts(ids.part(start, end)),
            Ids::Bytes(ids) => Ids::Bytes(ids.part(start, end)),
            Ids::Mixed(ids) => Ids::Mixed(&ids[start..end]),
        }
    }
}

/// Derives the secret of a purpose, for one draw.
pub(super) type Make<'a> = &'a dyn Fn(Purpose) -> Secret;

/// The keys of one draw by position.
pub struct RowKeys {
    words: Keystream,
    more: Keystream,
}

impl RowKeys {
    pub(super) fn new(make: Make<'_>) -> Self {
        RowKeys {
            words: Keystream::new(&make(Purpose::Words)),
            more: Keystream::new(&make(Purpose::More)),
        }
    }
}

/// The keys of one draw by ids, one for each kind of id.
pub struct IdKeys {
    integer: Keystream,
    text: Hashing,
    bytes: Hashing,
}

/// The 64 bytes that an integer and a code address.
fn integer_block(stream: &Keystream, id: i128, code: u64) -> [u8; BLOCK] {
    let nonce = code | if id < 0 { NEGATIVE } else { 0 };
    let mut block = [0; BLOCK];
    let words = stream.block(id as u64, nonce);
    for (to, word) in block.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    block
}

/// The 64 bytes that a string or bytes and a code address.
fn hashed_block(hashing: &Hashing, id: &[u8], code: u64) -> [u8; BLOCK] {
    hashing.one(&[&code.to_le_bytes(), id])
}

impl IdKeys {
    pub(super) fn new(make: Make<'_>) -> Self {
        IdKeys {
            integer: Keystream::new(&make(Purpose::IdInteger)),
            text: Hashing::new(make(Purpose::IdText)),
            bytes: Hashing::new(make(Purpose::IdBytes)),
        }
    }

    /// The 64 bytes that an id and a code address.
    fn block(&self, id: Id<'_>, code: u64) -> [u8; BLOCK] {
        match id {
            Id::Integer(id) => integer_block(&self.integer, id, code),
            Id::Text(id) => hashed_block(&self.text, id, code),
            Id::Bytes(id) => hashed_block(&self.bytes, id, code),
        }
    }
}

impl Id<'_> {
    /// The 64 bytes that this id and a code address. Only the key of its own kind is derived.
    pub(in crate::draw) fn block(self, code: u64, make: impl Fn(Purpose) -> Secret) -> [u8; BLOCK] {
        match self {
            Id::Integer(id) => integer_block(&Keystream::new(&make(Purpose::IdInteger)), id, code),
            Id::Text(id) => hashed_block(&Hashing::new(make(Purpose::IdText)), id, code),
            Id::Bytes(id) => hashed_block(&Hashing::new(make(Purpose::IdBytes)), id, code),
        }
    }

    /// Whether no other id has the same words.
    pub fn is_its_own(self) -> bool {
        match self {
            Id::Integer(n) => (-(1 << 63)..1 << 64).contains(&n),
            Id::Text(_) | Id::Bytes(_) => true,
        }
    }
}

/// Where the records of a call are.
#[derive(Debug, Clone, Copy)]
pub enum Addresses<'a> {
    /// Consecutive rows from this one on.
    Rows(u64),
    /// People.
    Ids(Ids<'a>),
}

impl Addresses<'_> {
    /// Check that there are addresses for `records` records, and that no two of them have the same words.
    ///
    /// # Errors
    /// There are more or fewer, or one is beyond the last address.
    pub(super) fn check(self, records: usize) -> Result<()> {
        let refused = |must: &str, got| Err(Error::value("addresses", must, got));
        match self {
            Addresses::Rows(first) if first.checked_add(records as u64).is_none() => {
                refused("end before row 2^64", format!("{records} from {first}"))
            }
            Addresses::Ids(ids) if ids.len() != records => {
                let must = format!("be one for each of the {records} records");
                refused(&must, ids.len().to_string())
            }
            Addresses::Ids(Ids::Mixed(ids)) => match ids.iter().position(|id| !id.is_its_own()) {
                None => Ok(()),
                Some(i) => {
                    let must = "be integers from -2^63 to 2^64 - 1";
                    refused(must, format!("one outside at position {i}"))
                }
            },
            _ => Ok(()),
        }
    }
}

/// Those records of a block that are drawn now.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// All of them, and how many there are.
    All(usize),
    /// These, in order.
    Some(&'a [u16]),
}

impl Which<'_> {
    /// How many.
    pub fn count(self) -> usize {
        match self {
            Which::All(n) => n,
            Which::Some(which) => which.len(),
        }
    }

    /// Where in the block the `i`-th of them is.
    #[inline]
    pub fn at(self, i: usize) -> usize {
        match self {
            Which::All(_) => i,
            Which::Some(which) => which[i].into(),
        }
    }
}

/// Records as draws see them: addresses, and the keys of all draws by their numbers. Draws are compiled for each width
/// of codes, and not for each kind of address as well.
#[derive(Clone, Copy)]
pub enum Records<'a> {
    /// Consecutive rows from this one on.
    Rows(u64, &'a [RowKeys]),
    /// People.
    Ids(Ids<'a>, &'a [IdKeys]),
}

impl Records<'_> {
    /// Up to this number of parts of a mixture, all parts are drawn for all records. Beyond it, each part is drawn for
    /// the records that take it.
    pub(super) fn few(self) -> usize {
        match self {
            Records::Rows(..) => 16,
            Records::Ids(..) => 1,
        }
    }

    /// Records that a thread takes at a time. One by id takes several times the work of one by position.
    pub(super) fn chunk(self) -> usize {
        match self {
            Records::Rows(..) => 1 << 16,
            Records::Ids(..) => 1 << 13,
        }
    }

    /// Those of `start..end`.
    pub(super) fn part(self, start: usize, end: usize) -> Self {
        match self {
            Records::Rows(first, keys) => Records::Rows(first + start as u64, keys),
            Records::Ids(ids, keys) => Records::Ids(ids.part(start, end), keys),
        }
    }

    /// How many records there are up to the end of a block of rows, if blocks have `block` of them. People have no
    /// order, so a block of people is always whole.
    pub(super) fn room(self, block: usize) -> usize {
        match self {
            Records::Rows(first, _) => block - (first % block as u64) as usize,
            Records::Ids(..) => block,
        }
    }

    /// Prepare the addresses of a block with these codes: an id's words depend on its code.
    pub(super) fn enter<C: Code>(self, codes: &[C], scratch: &mut Scratch) {
        let Records::Ids(ids, _) = self else {
            return;
        };
        let Scratch {
            counters, nonces, ..
        } = scratch;
        for (nonce, code) in nonces.iter_mut().zip(codes) {
            *nonce = code.get();
        }
        match ids {
            Ids::Signed(ids) => {
                for ((counter, nonce), &id) in counters.iter_mut().zip(&mut **nonces).zip(ids) {
                    *counter = id as u64;
                    *nonce |= id as u64 & NEGATIVE;
                }
            }
            Ids::Unsigned(ids) => counters[..ids.len()].copy_from_slice(ids),
            Ids::Texts(_) | Ids::Bytes(_) | Ids::Mixed(_) => {}
        }
    }

    /// Put the first words of records, of this number of `bytes` each, into the buffer, for the draw with this
    /// `number`. Returns where they start.
    pub(super) fn first_words(
        self,
        number: usize,
        which: Which<'_>,
        bytes: usize,
        scratch: &mut Scratch,
    ) -> usize {
        match self {
            Records::Rows(first, keys) => {
                row_words(&keys[number].words, first, which, bytes, &mut scratch.words)
            }
            Records::Ids(ids, keys) => {
                let mut first = scratch.spare.take::<u64>();
                let n = which.count();
                id_words(ids, &keys[number], which, &mut first[..n], scratch);
                shorten(&first[..n], bytes, &mut scratch.words);
                scratch.spare.give(first);
                0
            }
        }
    }

    /// Hand the positions of undecided records to `answer`, with their further words, for the draw with this `number`.
    pub(super) fn further(
        self,
        number: usize,
        which: Which<'_>,
        scratch: &Scratch,
        answer: &mut dyn FnMut(usize, &mut Further<'_>),
    ) {
        let undecided = scratch.undecided.positions();
        match self {
            Records::Rows(row, keys) => {
                // The first further words of many rows at once; the next ones are rarer still.
                let more = &keys[number].more;
                let (mut counters, mut first) = ([0; 16], [0; 16]);
                for some in undecided.chunks(16) {
                    for (counter, &i) in counters.iter_mut().zip(some) {
                        *counter = row + which.at(i.into()) as u64;
                    }
                    let n = some.len();
                    more.first_words(&counters[..n], &[0; 16][..n], &mut first[..n]);
                    for ((&i, &counter), &first) in some.iter().zip(&counters).zip(&first) {
                        answer(i.into(), &mut Further::of_row(more, counter, Some(first)));
                    }
                }
            }
            Records::Ids(ids, keys) => {
                for &i in undecided {
                    let at = which.at(i.into());
                    let code = scratch.nonces[at] & !NEGATIVE;
                    let block = keys[number].block(ids.at(at), code);
                    answer(i.into(), &mut Further::of_block(block));
                }
            }
        }
    }
}

/// Bytes of the keystream that are computed together.
const TOGETHER: usize = 8 * BLOCK;

/// Put the words of `some`, each of `N` bytes, one behind the other. `fill` makes the words of all records from a
/// place on; stretches in which no record is drawn are left out.
///
/// # Panics
/// They are not in order: words would be overwritten before they are read.
fn gather<const N: usize>(
    some: &[u16],
    skip: usize,
    words: &mut [u8],
    fill: impl Fn(usize, &mut [u8]),
) {
    let (mut filled, mut least, mut to) = (0, 0, 0);
    for &i in some {
        assert!(usize::from(i) >= least, "records in order");
        least = usize::from(i) + 1;
        let from = skip + usize::from(i) * N;
        if from >= filled {
            // Beyond what was read, and so beyond what has been put together.
            let start = from / TOGETHER * TOGETHER;
            filled = (start + TOGETHER).min(words.len());
            fill(start, &mut words[start..filled]);
        }
        let mut word = [0; N];
        word.copy_from_slice(&words[from..from + N]);
        words[to..to + N].copy_from_slice(&word);
        to += N;
    }
}

/// First words of rows; where they start.
fn row_words(
    stream: &Keystream,
    row: u64,
    which: Which<'_>,
    bytes: usize,
    words: &mut [u8],
) -> usize {
    let per_block = (BLOCK / bytes) as u64;
    let skip = (row % per_block) as usize * bytes;
    let first = row / per_block;
    let some = match which {
        Which::All(n) => {
            let end = (skip + n * bytes).next_multiple_of(BLOCK);
            stream.fill(0, first, &mut words[..end]);
            return skip;
        }
        Which::Some(some) => some,
    };
    let fill = |start: usize, words: &mut [u8]| {
        stream.fill(0, first + (start / BLOCK) as u64, words);
    };
    typed!(CodeWidth::of_bytes(bytes), W => gather::<{ size_of::<W>() }>(some, skip, words, fill));
    0
}

/// The first eight bytes that ids and codes address, as numbers.
fn id_words(
    ids: Ids<'_>,
    keys: &IdKeys,
    which: Which<'_>,
    first: &mut [u64],
    scratch: &mut Scratch,
) {
    let Scratch {
        counters,
        nonces,
        spare,
        ..
    } = scratch;
    let n = first.len();
    let mut hash = |hashing: &Hashing, ids| {
        let at = |i| {
            let at = which.at(i);
            (at, nonces[at].to_le_bytes())
        };
        hashing.many(&Prefixed { ids, at }, n, |i, [a, b]| {
            first[i] = u64::from(a) | u64::from(b) << 32;
        });
    };
    match ids {
        Ids::Texts(ids) => hash(&keys.text, ids),
        Ids::Bytes(ids) => hash(&keys.bytes, ids),
        Ids::Mixed(ids) => {
            for (i, first) in first.iter_mut().enumerate() {
                let at = which.at(i);
                let mut block = keys.block(ids[at], nonces[at]);
                *first = block
                    .first_chunk()
                    .map_or(0, |word| u64::from_le_bytes(*word));
                block.zeroize();
            }
        }
        Ids::Signed(_) | Ids::Unsigned(_) => {
            let (mut own_counters, mut own_nonces) = (spare.take::<u64>(), spare.take::<u64>());
            for (i, (counter, nonce)) in own_counters
                .iter_mut()
                .zip(&mut *own_nonces)
                .enumerate()
                .take(n)
            {
                (*counter, *nonce) = (counters[which.at(i)], nonces[which.at(i)]);
            }
            keys.integer
                .first_words(&own_counters[..n], &own_nonces[..n], first);
            spare.give(own_counters);
            spare.give(own_nonces);
        }
    }
}

/// The lowest `bytes` of each number, one behind the other.
fn shorten(numbers: &[u64], bytes: usize, words: &mut [u8]) {
    let pairs = words.chunks_exact_mut(bytes).zip(numbers);
    typed!(CodeWidth::of_bytes(bytes), W => pairs.for_each(|(to, word)| {
        to.copy_from_slice(&(*word as W).to_le_bytes());
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither another kind of id, nor 2^64 more, nor another code has the same words.
    #[test]
    fn every_id_and_code_has_words_of_its_own() {
        let keys = IdKeys::new(&|purpose| Box::new([purpose as u8; 32].into()));
        let [most, below] = [u64::MAX.into(), -1].map(Id::Integer);
        let ids = [most, below, Id::Text(b"7"), Id::Bytes(b"7")];
        let both = |&id| [3, 4].map(|code| keys.block(id, code));
        let blocks: Vec<_> = ids.iter().flat_map(both).collect();
        assert!((0..8).all(|i| !blocks[..i].contains(&blocks[i])));
    }
}
