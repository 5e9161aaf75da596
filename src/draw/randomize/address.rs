//! Where records are: by position, or by the id of a person. Each kind of address says which keys it takes, so
//! that keys of one kind and addresses of another do not go together.

use zeroize::Zeroize;

use super::streams::{AnyKeys, ByteKeys, Further, IntegerKeys, Keys, RowKeys, TextKeys, prefix};
use super::work::Work;
use crate::draw::hashing::Hashing;
use crate::draw::keystream::{BLOCK, Keystream};
use crate::draw::spelled::{Part, Prefixed};
use crate::error::{Error, Result};

/// Consecutive rows from this one on.
#[derive(Debug, Clone, Copy)]
pub struct Rows(pub u64);

/// The identifier of a person, of any kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id<'a> {
    /// A whole number from -2^63 to 2^64 - 1, by value.
    Integer(i128),
    /// A text, as UTF-8.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// Those records of a block that are drawn now.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// So many: all of them.
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

/// Where the records of a call are: [`Rows`], or a slice of ids ([`Person`]), one each.
pub trait Address: Copy + Send + Sync {
    /// The keys of one draw that give such addresses their words.
    type Keys: Keys;
    /// Up to so many parts of a mixture it costs less to draw from each for all records than to draw from
    /// each for the records that take it.
    const FEW: usize;
    /// Records that a thread takes at a time.
    const CHUNK: usize;
    /// Whether words depend on the codes.
    const CODES: bool;

    /// Those of the records `start..end`.
    fn part(self, start: usize, end: usize) -> Self;

    /// Refuse addresses that are not those of `records` records, or of which two would have the same words.
    ///
    /// # Errors
    /// There are more or fewer, or one beyond the last address there is.
    fn check(self, records: usize) -> Result<()>;

    /// How many records there are up to the end of a block of rows, blocks having `block` of them. People have
    /// no order: a block of theirs is as long as any.
    fn room(self, block: usize) -> usize;

    /// What addresses the words of a block, where they depend on the codes, which stand in the nonces.
    fn enter(self, work: &mut Work);

    /// Put the first words, of so many `bytes`, of records into the buffer; where they start.
    fn first_words(
        self,
        keys: &Self::Keys,
        which: Which<'_>,
        bytes: usize,
        work: &mut Work,
    ) -> usize;

    /// Hand the undecided of the records their further words.
    fn further(self, keys: &Self::Keys, which: Which<'_>, work: &Work, answer: Answer<'_>);
}

/// What is done with the position of an undecided record and its further words.
pub type Answer<'a> = &'a mut dyn FnMut(usize, &mut Further<'_>);

/// Bytes of the keystream that are computed together.
const TOGETHER: usize = 8 * BLOCK;

/// Put the words of `some`, each of `N` bytes, one behind the other. `fill` makes the words of all records from a
/// place on; stretches in which nobody is drawn are left out.
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

impl Address for Rows {
    type Keys = RowKeys;
    const FEW: usize = 16;
    const CHUNK: usize = 1 << 16;
    const CODES: bool = false;

    fn part(self, start: usize, _end: usize) -> Self {
        Rows(self.0 + start as u64)
    }

    fn check(self, records: usize) -> Result<()> {
        match self.0.checked_add(records as u64) {
            Some(_) => Ok(()),
            None => Err(Error::value(
                "addresses",
                "end before row 2^64",
                format!("{records} from {}", self.0),
            )),
        }
    }

    fn room(self, block: usize) -> usize {
        block - (self.0 % block as u64) as usize
    }

    fn enter(self, _work: &mut Work) {}

    fn first_words(self, keys: &RowKeys, which: Which<'_>, bytes: usize, work: &mut Work) -> usize {
        let per_block = (BLOCK / bytes) as u64;
        let skip = (self.0 % per_block) as usize * bytes;
        let first = self.0 / per_block;
        let some = match which {
            Which::All(n) => {
                let end = (skip + n * bytes).next_multiple_of(BLOCK);
                keys.words.fill(0, first, &mut work.words[..end]);
                return skip;
            }
            Which::Some(some) => some,
        };
        let fill = |start: usize, words: &mut [u8]| {
            keys.words.fill(0, first + (start / BLOCK) as u64, words);
        };
        match bytes {
            2 => gather::<2>(some, skip, &mut work.words, fill),
            4 => gather::<4>(some, skip, &mut work.words, fill),
            _ => gather::<8>(some, skip, &mut work.words, fill),
        }
        0
    }

    fn further(self, keys: &RowKeys, which: Which<'_>, work: &Work, answer: Answer<'_>) {
        // The first further words of many at once; the next ones are rarer still.
        let (mut counters, mut first) = ([0; 16], [0; 16]);
        for some in work.undecided.positions().chunks(16) {
            for (counter, &i) in counters.iter_mut().zip(some) {
                *counter = self.0 + which.at(i.into()) as u64;
            }
            let n = some.len();
            keys.more
                .first_words(&counters[..n], &[0; 16][..n], &mut first[..n]);
            for ((&i, &counter), &first) in some.iter().zip(&counters).zip(&first) {
                answer(
                    i.into(),
                    &mut Further::of_row(&keys.more, counter, Some(first)),
                );
            }
        }
    }
}

/// The lowest `bytes` of each number, one behind the other.
fn shorten(numbers: &[u64], bytes: usize, words: &mut [u8]) {
    let pairs = words.chunks_exact_mut(bytes).zip(numbers);
    match bytes {
        2 => pairs.for_each(|(to, word)| to.copy_from_slice(&(*word as u16).to_le_bytes())),
        4 => pairs.for_each(|(to, word)| to.copy_from_slice(&(*word as u32).to_le_bytes())),
        _ => pairs.for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes())),
    }
}

/// The negative ids' mark in a nonce; codes stay below 2^53.
pub(super) const NEGATIVE: u64 = 1 << 63;

/// The identifier of a person: a whole number (`i64`, `u64`), a text, bytes, or an [`Id`], which is any of them.
pub trait Person: Copy + Send + Sync {
    /// The keys of one draw that give such ids their words.
    type Keys: Keys;

    /// The 64 bytes that an id and a code address.
    fn block(self, keys: &Self::Keys, code: u64) -> [u8; BLOCK];

    /// The stream of which these are blocks, where they are, so that many can be had at once: block
    /// [`counter`](Person::counter), nonce [`mark`](Person::mark) and the code.
    fn stream(_keys: &Self::Keys) -> Option<&Keystream> {
        None
    }

    /// See [`stream`](Person::stream).
    fn counter(self) -> u64 {
        0
    }

    /// See [`stream`](Person::stream).
    fn mark(self) -> u64 {
        0
    }

    /// Whether no other id has the same words.
    fn is_its_own(self) -> bool {
        true
    }
}

impl Person for i64 {
    type Keys = IntegerKeys;

    fn block(self, keys: &IntegerKeys, code: u64) -> [u8; BLOCK] {
        keys.block(self.into(), code)
    }

    fn stream(keys: &IntegerKeys) -> Option<&Keystream> {
        Some(&keys.0)
    }

    #[inline(always)]
    fn counter(self) -> u64 {
        self as u64
    }

    #[inline(always)]
    fn mark(self) -> u64 {
        self as u64 & NEGATIVE
    }
}

impl Person for u64 {
    type Keys = IntegerKeys;

    fn block(self, keys: &IntegerKeys, code: u64) -> [u8; BLOCK] {
        keys.block(self.into(), code)
    }

    fn stream(keys: &IntegerKeys) -> Option<&Keystream> {
        Some(&keys.0)
    }

    #[inline(always)]
    fn counter(self) -> u64 {
        self
    }
}

impl Person for &str {
    type Keys = TextKeys;

    fn block(self, keys: &TextKeys, code: u64) -> [u8; BLOCK] {
        keys.block(self, code)
    }
}

impl Person for &[u8] {
    type Keys = ByteKeys;

    fn block(self, keys: &ByteKeys, code: u64) -> [u8; BLOCK] {
        keys.block(self, code)
    }
}

impl Person for Id<'_> {
    type Keys = AnyKeys;

    fn block(self, keys: &AnyKeys, code: u64) -> [u8; BLOCK] {
        match self {
            Id::Integer(id) => keys.integer.block(id, code),
            Id::Text(id) => keys.text.block(id, code),
            Id::Bytes(id) => keys.bytes.block(id, code),
        }
    }

    fn is_its_own(self) -> bool {
        match self {
            Id::Integer(n) => (-(1 << 63)..1 << 64).contains(&n),
            Id::Text(_) | Id::Bytes(_) => true,
        }
    }
}

impl<P: Person> Address for &[P] {
    type Keys = P::Keys;
    const FEW: usize = 1;
    // Several times the work of a row each.
    const CHUNK: usize = 1 << 13;
    const CODES: bool = true;

    fn part(self, start: usize, end: usize) -> Self {
        &self[start..end]
    }

    fn check(self, records: usize) -> Result<()> {
        let refuse = |must: &str, got: String| Err(Error::value("addresses", must, got));
        if self.len() != records {
            let must = format!("be one for each of the {records} records");
            return refuse(&must, self.len().to_string());
        }
        match self.iter().position(|id| !id.is_its_own()) {
            None => Ok(()),
            Some(i) => {
                let must = "be whole numbers from -2^63 to 2^64 - 1";
                refuse(must, format!("one outside at position {i}"))
            }
        }
    }

    fn room(self, block: usize) -> usize {
        block
    }

    fn enter(self, work: &mut Work) {
        let to = work.counters.iter_mut().zip(&mut work.nonces);
        for ((counter, nonce), id) in to.zip(self) {
            *counter = id.counter();
            *nonce |= id.mark();
        }
    }

    fn first_words(self, keys: &P::Keys, which: Which<'_>, bytes: usize, work: &mut Work) -> usize {
        let n = which.count();
        let Some(stream) = P::stream(keys) else {
            let to = work.words.chunks_exact_mut(bytes);
            for (to, i) in to.zip((0..n).map(|i| which.at(i))) {
                let mut block = self[i].block(keys, work.nonces[i] & !NEGATIVE);
                to.copy_from_slice(&block[..bytes]);
                block.zeroize();
            }
            return 0;
        };
        let (counters, nonces) = match which {
            Which::All(_) => (&work.counters[..n], &work.nonces[..n]),
            Which::Some(some) => {
                let own = work.own_counters.iter_mut().zip(&mut work.own_nonces);
                for (&i, (counter, nonce)) in some.iter().zip(own) {
                    *counter = work.counters[usize::from(i)];
                    *nonce = work.nonces[usize::from(i)];
                }
                (&work.own_counters[..n], &work.own_nonces[..n])
            }
        };
        stream.first_words(counters, nonces, &mut work.first[..n]);
        shorten(&work.first[..n], bytes, &mut work.words);
        0
    }

    fn further(self, keys: &P::Keys, which: Which<'_>, work: &Work, answer: Answer<'_>) {
        for &i in work.undecided.positions() {
            let at = which.at(i.into());
            let block = self[at].block(keys, work.nonces[at] & !NEGATIVE);
            answer(i.into(), &mut Further::of_block(block));
        }
    }
}

/// Texts or bytes that lie in one piece of memory, hashed many at a time.
#[derive(Debug, Clone, Copy)]
pub struct Many<'a> {
    /// The ids.
    pub ids: Part<'a>,
    /// Whether they are texts, and no bytes.
    pub text: bool,
}

impl Many<'_> {
    fn hashing(self, keys: &AnyKeys) -> &Hashing {
        if self.text {
            &keys.text.0
        } else {
            &keys.bytes.0
        }
    }
}

impl Address for Many<'_> {
    type Keys = AnyKeys;
    const FEW: usize = 1;
    const CHUNK: usize = 1 << 13;
    const CODES: bool = true;

    fn part(self, start: usize, end: usize) -> Self {
        Many {
            ids: self.ids.part(start, end),
            ..self
        }
    }

    fn check(self, records: usize) -> Result<()> {
        if self.ids.len() == records {
            return Ok(());
        }
        let must = format!("be one for each of the {records} records");
        Err(Error::value("addresses", must, self.ids.len()))
    }

    fn room(self, block: usize) -> usize {
        block
    }

    fn enter(self, _work: &mut Work) {}

    fn first_words(self, keys: &AnyKeys, which: Which<'_>, bytes: usize, work: &mut Work) -> usize {
        let Work { first, nonces, .. } = work;
        let messages = Prefixed {
            ids: self.ids,
            at: |i| {
                let at = which.at(i);
                (at, prefix(nonces[at]))
            },
        };
        let hashing = self.hashing(keys);
        hashing.many(&messages, which.count(), |i, [a, b]| {
            first[i] = u64::from(a) | u64::from(b) << 32;
        });
        shorten(&work.first[..which.count()], bytes, &mut work.words);
        0
    }

    fn further(self, keys: &AnyKeys, which: Which<'_>, work: &Work, answer: Answer<'_>) {
        for &i in work.undecided.positions() {
            let at = which.at(i.into());
            let parts = [&prefix(work.nonces[at]), self.ids.id(at)];
            let block = self.hashing(keys).one(&parts);
            answer(i.into(), &mut Further::of_block(block));
        }
    }
}
