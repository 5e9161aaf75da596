//! The keys of one draw, and the words that they give a record: its block, its further words.

use zeroize::Zeroize;

use super::address::{By, Id, NEGATIVE};
use crate::alias::More;
use crate::derive::Purpose;
use crate::erase::Secret;
use crate::keystream::{BLOCK, Keystream};

/// The keys of one draw.
pub(super) enum Streams {
    None,
    Position {
        words: Keystream,
        more: Keystream,
    },
    /// Those that are needed.
    Ids {
        integer: Option<Keystream>,
        text: Option<Secret>,
        bytes: Option<Secret>,
    },
}

impl Streams {
    /// Those of the draw for which `make` derives keys.
    pub(super) fn new(by: By, make: impl Fn(Purpose) -> Secret) -> Self {
        let stream = |purpose| Keystream::new(&make(purpose));
        if by == By::Position {
            return Streams::Position {
                words: stream(Purpose::Words),
                more: stream(Purpose::More),
            };
        }
        Streams::Ids {
            integer: by.serves(By::Integers).then(|| stream(Purpose::IdInteger)),
            text: by.serves(By::Texts).then(|| make(Purpose::IdText)),
            bytes: by.serves(By::Bytes).then(|| make(Purpose::IdBytes)),
        }
    }

    /// The 64 bytes that an id and a code address.
    ///
    /// # Panics
    /// No key was derived for ids of this kind. `Addresses::check` refuses that before anything is drawn.
    pub(super) fn id_block(&self, id: Id<'_>, code: u64) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        let Streams::Ids {
            integer,
            text,
            bytes,
        } = self
        else {
            unreachable!("keys of positions, or none, were asked for the words of an id");
        };
        let (key, id) = match (id, integer, text, bytes) {
            (Id::Integer(id), Some(integer), _, _) => {
                let nonce = code
                    | if id < 0 && !mutant!("sign-of-id-lost") {
                        NEGATIVE
                    } else {
                        0
                    };
                let words = integer.block(id as u64, nonce);
                for (to, word) in block.chunks_exact_mut(4).zip(words) {
                    to.copy_from_slice(&word.to_le_bytes());
                }
                return block;
            }
            (Id::Text(id), _, Some(text), _) => (text, id),
            (Id::Bytes(id), _, _, Some(bytes)) => (bytes, id),
            _ => unreachable!("no key was derived for ids of this kind"),
        };
        let mut hasher = blake3::Hasher::new_keyed(key);
        let code = if mutant!("code-not-in-id") { 0 } else { code };
        hasher.update(&code.to_le_bytes());
        hasher.update(id);
        let mut output = hasher.finalize_xof();
        output.fill(&mut block);
        output.zeroize();
        hasher.zeroize();
        block
    }
}

/// Where further words come from.
enum Source<'a> {
    /// The blocks of a row.
    Row(&'a Keystream, u64),
    /// A stream of the record's own.
    Own(Keystream),
}

/// A record's further words.
pub(super) struct Further<'a> {
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
    pub(super) fn of_id(streams: &Streams, id: Id<'_>, code: u64) -> Self {
        let mut block = streams.id_block(id, code);
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
            let later = u64::from(!mutant!("further-words-repeat"));
            self.block = match &self.source {
                Source::Row(stream, row) => stream.block(*row, n / 8 * later),
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
    use super::*;

    fn streams(by: By) -> Streams {
        Streams::new(by, |purpose| {
            Box::new(zeroize::Zeroizing::new([purpose as u8; 32]))
        })
    }

    #[test]
    #[should_panic = "keys of positions, or none, were asked for the words of an id"]
    fn keys_of_positions_give_an_id_no_words() {
        streams(By::Position).id_block(Id::Integer(1), 0);
    }

    #[test]
    #[should_panic = "no key was derived for ids of this kind"]
    fn keys_of_texts_give_a_number_no_words() {
        streams(By::Texts).id_block(Id::Integer(1), 0);
    }

    #[test]
    #[should_panic = "no key was derived for ids of this kind"]
    fn keys_of_numbers_give_bytes_no_further_words() {
        Further::of_id(&streams(By::Integers), Id::Bytes(b"1"), 0);
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
