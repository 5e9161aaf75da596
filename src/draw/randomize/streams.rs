//! The keys of one draw, and the words that they give a record: its block, its further words.

use zeroize::Zeroize;

use super::address::NEGATIVE;
use crate::draw::alias::More;
use crate::draw::derive::Purpose;
use crate::draw::hashing::Hashing;
use crate::draw::keystream::{BLOCK, Keystream};
use crate::system::erase::Secret;

/// The keys of one draw, for one kind of address.
pub trait Keys: Send + Sync {
    /// Those of the draw for which `make` derives secrets.
    fn new(make: &dyn Fn(Purpose) -> Secret) -> Self;
}

/// For [`Rows`](super::Rows).
pub struct RowKeys {
    pub(super) words: Keystream,
    pub(super) more: Keystream,
}

/// For whole numbers.
pub struct IntegerKeys(pub(super) Keystream);

/// For texts.
pub struct TextKeys(pub(super) Hashing);

/// For bytes.
pub struct ByteKeys(pub(super) Hashing);

/// For an [`Id`](super::Id), of whichever kind it is.
pub struct AnyKeys {
    pub(super) integer: IntegerKeys,
    pub(super) text: TextKeys,
    pub(super) bytes: ByteKeys,
}

impl Keys for RowKeys {
    fn new(make: &dyn Fn(Purpose) -> Secret) -> Self {
        RowKeys {
            words: Keystream::new(&make(Purpose::Words)),
            more: Keystream::new(&make(Purpose::More)),
        }
    }
}

impl Keys for IntegerKeys {
    fn new(make: &dyn Fn(Purpose) -> Secret) -> Self {
        IntegerKeys(Keystream::new(&make(Purpose::IdInteger)))
    }
}

impl Keys for TextKeys {
    fn new(make: &dyn Fn(Purpose) -> Secret) -> Self {
        TextKeys(Hashing::new(make(Purpose::IdText)))
    }
}

impl Keys for ByteKeys {
    fn new(make: &dyn Fn(Purpose) -> Secret) -> Self {
        ByteKeys(Hashing::new(make(Purpose::IdBytes)))
    }
}

impl Keys for AnyKeys {
    fn new(make: &dyn Fn(Purpose) -> Secret) -> Self {
        AnyKeys {
            integer: Keys::new(make),
            text: Keys::new(make),
            bytes: Keys::new(make),
        }
    }
}

impl IntegerKeys {
    /// The 64 bytes that a whole number and a code address.
    pub(super) fn block(&self, id: i128, code: u64) -> [u8; BLOCK] {
        let negative = id < 0;
        let nonce = code | if negative { NEGATIVE } else { 0 };
        let mut block = [0; BLOCK];
        let words = self.0.block(id as u64, nonce);
        for (to, word) in block.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        block
    }
}

impl TextKeys {
    /// The 64 bytes that a text and a code address.
    pub(super) fn block(&self, id: &str, code: u64) -> [u8; BLOCK] {
        hashed(&self.0, id.as_bytes(), code)
    }
}

impl ByteKeys {
    /// The 64 bytes that bytes and a code address.
    pub(super) fn block(&self, id: &[u8], code: u64) -> [u8; BLOCK] {
        hashed(&self.0, id, code)
    }
}

fn hashed(hashing: &Hashing, id: &[u8], code: u64) -> [u8; BLOCK] {
    hashing.one(&[&prefix(code), id])
}

/// What stands before an id where it is hashed.
#[inline(always)]
pub(super) fn prefix(code: u64) -> [u8; 8] {
    code.to_le_bytes()
}

/// Where further words come from.
enum Source<'a> {
    /// The blocks of a row.
    Row(&'a Keystream, u64),
    /// A stream of the record's own.
    Own(Keystream),
}

/// A record's further words.
pub struct Further<'a> {
    source: Source<'a>,
    drawn: u64,
    block: [u32; 16],
    first: Option<u64>,
}

impl<'a> Further<'a> {
    /// Those of a row, whose first one may be known.
    pub(super) fn of_row(stream: &'a Keystream, row: u64, first: Option<u64>) -> Self {
        Further {
            source: Source::Row(stream, row),
            drawn: 0,
            block: [0; 16],
            first,
        }
    }

    /// Those that belong to an id and a code: the last 32 bytes of their block are a key.
    pub(in crate::draw) fn of_block(mut block: [u8; BLOCK]) -> Self {
        let mut secret = [0; 32];
        secret.copy_from_slice(&block[32..]);
        let source = Source::Own(Keystream::new(&secret));
        block.zeroize();
        secret.zeroize();
        Further {
            source,
            drawn: 0,
            block: [0; 16],
            first: None,
        }
    }
}

impl More for Further<'_> {
    fn next(&mut self) -> u64 {
        let n = self.drawn;
        self.drawn += 1;
        if let (0, Some(first)) = (n, self.first) {
            return first;
        }
        // The block of word 0 was not kept where its word was.
        if n.is_multiple_of(8) || (n == 1 && self.first.is_some()) {
            self.block = match &self.source {
                Source::Row(stream, row) => stream.block(*row, n / 8),
                Source::Own(stream) => stream.block(n / 8, 0),
            };
        }
        let at = 2 * (n % 8) as usize;
        u64::from(self.block[at]) | u64::from(self.block[at + 1]) << 32
    }
}

impl Drop for Further<'_> {
    fn drop(&mut self) {
        self.block.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::{Id, Person};
    use super::*;

    /// An id of any kind has the words that it has among its own.
    #[test]
    fn ids_of_any_kind_have_the_words_of_their_own() {
        let make = |purpose| -> Secret { Box::new(zeroize::Zeroizing::new([purpose as u8; 32])) };
        let any = AnyKeys::new(&make);
        let (integer, text, bytes) = (
            IntegerKeys::new(&make),
            TextKeys::new(&make),
            ByteKeys::new(&make),
        );
        assert_eq!(Id::Integer(-7).block(&any, 3), (-7i64).block(&integer, 3));
        assert_eq!(Id::Integer(7).block(&any, 3), 7u64.block(&integer, 3));
        assert_eq!(Id::Text("7").block(&any, 3), "7".block(&text, 3));
        assert_eq!(Id::Bytes(b"7").block(&any, 3), (&b"7"[..]).block(&bytes, 3));
        assert_ne!("7".block(&text, 3), (&b"7"[..]).block(&bytes, 3));
        // A changed code has other words.
        assert_ne!(7u64.block(&integer, 3), 7u64.block(&integer, 4));
        assert_ne!("7".block(&text, 3), "7".block(&text, 4));
        assert_ne!((&b"7"[..]).block(&bytes, 3), (&b"7"[..]).block(&bytes, 4));
    }

    /// What [`Further`] gives is what the law of addresses says.
    #[test]
    fn further_words_are_the_blocks_of_the_row() {
        let stream = Keystream::new(&[3; 32]);
        let words = |block: [u32; 16]| -> Vec<u64> {
            let pair = |p: &[u32]| u64::from(p[0]) | u64::from(p[1]) << 32;
            block.chunks(2).map(pair).collect()
        };
        let want: Vec<u64> = (0..3)
            .flat_map(|nonce| words(stream.block(9, nonce)))
            .collect();
        for first in [None, Some(want[0])] {
            let mut more = Further::of_row(&stream, 9, first);
            let got: Vec<u64> = (0..24).map(|_| more.next()).collect();
            assert_eq!(got, want);
        }
    }
}
