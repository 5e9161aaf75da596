//! Further words of a record, whose first word did not decide.

use zeroize::Zeroize;

use crate::draw::alias::More;
use crate::draw::keystream::{BLOCK, Keystream};

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
    /// The words of a row, of which the first may be known.
    pub(super) fn of_row(stream: &'a Keystream, row: u64, first: Option<u64>) -> Self {
        Further {
            source: Source::Row(stream, row),
            drawn: 0,
            block: [0; 16],
            first,
        }
    }

    /// The words of an id and a code: the last 32 bytes of their block are a key.
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
        // The block of word 0 is not known, if only its word was given.
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
