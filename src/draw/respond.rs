//! One answer at a time: under a key, or with words that are never used again.
//!
//! Without a caller's key, a key from the operating system, kept in memory, gives a buffer of words; the first of them become
//! the next key at once, so that what was handed out cannot be had again from what is in memory. Words are
//! erased as they are taken. A forked child has a copy of its parent's buffer: it sees that it is one and
//! starts afresh.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::draw::derive::{Label, derive};
use crate::draw::key::{Key, SECRET};
use crate::draw::keystream::{BLOCK, Keystream};
use crate::draw::randomize::Id;
use crate::draw::randomize::draw::Further;
use crate::draw::sampler::{Leaf, Path};
use crate::draw::uniform::More;
use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::system::erase;
use crate::system::fork::PerProcess;

/// Words between two keys.
const WORDS: usize = 508;

/// The key and the words behind it, in the place where the keystream writes both.
const BYTES: usize = SECRET + 8 * WORDS;

struct Buffer {
    /// Whether there is a key.
    keyed: bool,
    left: usize,
    bytes: [u8; BYTES],
}

impl Buffer {
    const EMPTY: Self = Buffer {
        keyed: false,
        left: 0,
        bytes: [0; BYTES],
    };
}

/// This process's buffer, locked. A child leaves its parent's alone but for erasing its copy: another
/// thread of the parent may have held the lock when it forked, and no thread would ever open it.
fn current() -> MutexGuard<'static, Buffer> {
    static CURRENT: PerProcess<Mutex<Buffer>> = PerProcess::new();
    let make = || Mutex::new(Buffer::EMPTY);
    let erase = |theirs: &Mutex<Buffer>| {
        if let Ok(mut theirs) = theirs.try_lock() {
            theirs.erase();
        }
    };
    // A thread that panicked while holding it took words and left none of them behind.
    let buffer = CURRENT.get(make, erase);
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffer {
    fn erase(&mut self) {
        self.keyed = false;
        self.left = 0;
        erase::all(&mut self.bytes);
    }

    /// Words from the key, the first of which are the next one.
    fn stretch(&mut self) {
        const { assert!(BYTES.is_multiple_of(BLOCK)) };
        assert!(self.keyed, "words were asked for before there was a key");
        let mut key = erase::empty();
        key.copy_from_slice(&self.bytes[..SECRET]);
        Keystream::new(&key).fill(0, 0, &mut self.bytes);
        self.left = WORDS;
    }

    /// The last word that is left, which is erased.
    #[inline]
    fn take(&mut self) -> u64 {
        self.left -= 1;
        let bytes = &mut self.bytes[SECRET + 8 * self.left..][..8];
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        bytes.fill(0);
        u64::from_le_bytes(word)
    }
}

/// Words of the process's buffer, one after the other.
pub struct Words<'a>(&'a mut Buffer);

impl More for Words<'_> {
    fn next(&mut self) -> u64 {
        if self.0.left == 0 {
            // `with_words` saw to the key.
            self.0.stretch();
        }
        self.0.take()
    }
}

/// Hand fresh words to `f`, one caller at a time.
///
/// # Errors
/// The operating system has no entropy to give.
pub fn with_words<T>(f: impl FnOnce(&mut Words<'_>) -> T) -> Result<T> {
    let mut buffer = current();
    if !buffer.keyed {
        buffer.bytes[..SECRET].copy_from_slice(Key::generate()?.expose());
        buffer.keyed = true;
    }
    Ok(f(&mut Words(&mut buffer)))
}

/// Draw the answer of one person, as [`randomize`](crate::draw::randomize::randomize) does.
///
/// # Errors
/// A code that the matrix does not have, an id outside of what ids are.
pub fn keyed(matrix: &Matrix, key: &Key, labels: &[Label], code: u64, id: Id<'_>) -> Result<u64> {
    let size = matrix.truths();
    if code >= size {
        let must = format!("be an integer from 0 to {}", size - 1);
        return Err(Error::value("code", must, "a number outside"));
    }
    if !id.is_its_own() {
        let must = "be an integer from -2^63 to 2^64 - 1";
        return Err(Error::value("id", must, "one outside"));
    }
    // Each draw has keys of its own.
    let digest = matrix.digest();
    let mut draw = |leaf: &Leaf, path: Option<&Path<'_>>, u| {
        let path = Path::numbers(path);
        let mut block = id.block(code, |purpose| derive(key, purpose, labels, &path, digest));
        let word = &block[..leaf.bytes()];
        let v = match leaf.decide(word, u) {
            (v, false) => v,
            (_, true) => leaf.resolve(word, u, &mut Further::of_block(block)),
        };
        erase::all(&mut block);
        v
    };
    Ok(matrix.sampler().respond(code, None, &mut draw))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn words_differ_and_are_erased() {
        let mut seen = HashSet::new();
        for _ in 0..3 * WORDS {
            assert!(seen.insert(with_words(|words| words.next()).unwrap()));
        }
        let buffer = current();
        let taken = &buffer.bytes[SECRET + 8 * buffer.left..];
        assert!(!taken.is_empty() && taken.iter().all(|&byte| byte == 0));
    }

    /// Without a key the words would be those of the key 0, which everyone knows.
    #[test]
    #[should_panic = "words were asked for before there was a key"]
    fn no_words_come_without_a_key() {
        let mut buffer = Buffer::EMPTY;
        Words(&mut buffer).next();
    }

    /// The first bytes of the stream of a key are the next key, the others words, handed out from the end.
    #[test]
    fn words_are_those_of_the_stream_and_the_next_key_is_too() {
        let mut buffer = Buffer {
            keyed: true,
            ..Buffer::EMPTY
        };
        buffer.bytes[..SECRET].fill(7);
        let mut key = [7; SECRET];
        for _ in 0..2 {
            let mut want = [0; BYTES];
            Keystream::new(&key).fill(0, 0, &mut want);
            for word in want[SECRET..].chunks(8).rev() {
                assert_eq!(Words(&mut buffer).next().to_le_bytes(), word);
            }
            key.copy_from_slice(&want[..SECRET]);
            assert_eq!(buffer.bytes[..SECRET], key);
            assert!(buffer.bytes[SECRET..].iter().all(|&byte| byte == 0));
        }
    }
}
