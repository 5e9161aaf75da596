//! Words for one answer at a time, from a stream that is never used again.
//!
//! A key from the operating system, kept in memory, gives a buffer of words; the first of them become
//! the next key at once, so that what was handed out cannot be had again from what is in memory. Words are
//! erased as they are taken. A forked child has a copy of its parent's buffer: it sees that it is one and
//! starts afresh.

use std::sync::{Mutex, MutexGuard, PoisonError};

use zeroize::Zeroize;

use crate::draw::alias::More;
use crate::draw::key::{Key, SECRET};
use crate::draw::keystream::{BLOCK, Keystream};
use crate::error::Result;
use crate::system::erase;
use crate::system::fork::PerProcess;

/// Words between two keys.
const WORDS: usize = 508;

struct Buffer {
    /// Whether there is a key.
    keyed: bool,
    key: [u8; SECRET],
    words: [u64; WORDS],
    left: usize,
}

/// This process's buffer, locked. A child leaves its parent's alone but for erasing its copy: another
/// thread of the parent may have held the lock when it forked, and nobody would ever open it.
fn current() -> MutexGuard<'static, Buffer> {
    static CURRENT: PerProcess<Mutex<Buffer>> = PerProcess::new();
    let make = || {
        Mutex::new(Buffer {
            keyed: false,
            key: [0; SECRET],
            words: [0; WORDS],
            left: 0,
        })
    };
    let erase = |theirs: &Mutex<Buffer>| {
        if let Ok(mut theirs) = theirs.try_lock() {
            theirs.erase();
        }
    };
    // Whoever panicked while holding it took words and left none of them behind.
    let buffer = CURRENT.get(make, erase);
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Buffer {
    fn erase(&mut self) {
        self.keyed = false;
        self.key.zeroize();
        self.words.zeroize();
        self.left = 0;
    }

    /// Words from the key, which is drawn first where there is none.
    fn refill(&mut self) -> Result<()> {
        if !self.keyed {
            self.key.copy_from_slice(Key::generate()?.expose());
            self.keyed = true;
        }
        self.stretch();
        Ok(())
    }

    /// Words from the key, the first of which are the next one.
    fn stretch(&mut self) {
        assert!(self.keyed, "words were asked for before there was a key");
        erase::after(|| self.turn());
    }

    fn turn(&mut self) {
        let mut bytes = [0; SECRET + 8 * WORDS];
        const { assert!((SECRET + 8 * WORDS).is_multiple_of(BLOCK)) };
        Keystream::new(&self.key).fill(0, 0, &mut bytes);
        self.key.copy_from_slice(&bytes[..SECRET]);
        for (word, bytes) in self.words.iter_mut().zip(bytes[SECRET..].chunks_exact(8)) {
            let mut all = [0; 8];
            all.copy_from_slice(bytes);
            *word = u64::from_le_bytes(all);
        }
        bytes.zeroize();
        self.left = WORDS;
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
        self.0.left -= 1;
        std::mem::take(&mut self.0.words[self.0.left])
    }
}

/// Hand fresh words to `f`, one caller at a time.
///
/// # Errors
/// The operating system has no entropy to give.
pub fn with_words<T>(f: impl FnOnce(&mut Words<'_>) -> T) -> Result<T> {
    let mut buffer = current();
    if buffer.left == 0 {
        buffer.refill()?;
    }
    Ok(f(&mut Words(&mut buffer)))
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
        assert!(buffer.words[buffer.left..].iter().all(|&word| word == 0));
    }

    /// Without a key the words would be those of the key 0, which everyone knows.
    #[test]
    #[should_panic = "words were asked for before there was a key"]
    fn no_words_come_without_a_key() {
        let mut buffer = Buffer {
            keyed: false,
            key: [0; SECRET],
            words: [0; WORDS],
            left: 0,
        };
        Words(&mut buffer).next();
    }

    #[test]
    fn a_call_may_take_more_than_a_buffer() {
        let words: HashSet<u64> =
            with_words(|words| (0..3 * WORDS).map(|_| words.next()).collect()).unwrap();
        assert_eq!(words.len(), 3 * WORDS);
    }
}
