//! One short message at a time: what [`lanes`](super::lanes) computes, in one lane.
//!
//! A call with one record hashes two messages of a few blocks. The crate's hasher has room for the tree of a long
//! message, two thousand bytes that have to be set up and erased each time. A chain of blocks needs none of it.

use zeroize::Zeroize;

use super::lanes::{END, KEYED, ROOT, START, rounds};
use super::{BLOCK, CHAIN, word_of};
use crate::system::erase;

/// What is hashed under which kind of key: flags of BLAKE3.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A message under a key.
    Keyed = KEYED as isize,
    /// What a key is derived from, under the key of a context.
    Material = 1 << 6,
}

/// The first 64 bytes of the hash of a message, as words, given in pieces that are one behind the other.
pub(super) struct Single {
    chain: [u32; 8],
    block: [u8; BLOCK],
    /// Bytes in the block.
    filled: usize,
    /// Bytes in the blocks before it.
    before: usize,
    kind: u32,
}

impl Single {
    pub(super) fn new(key: &[u32; 8], kind: Kind) -> Self {
        Single {
            chain: *key,
            block: [0; BLOCK],
            filled: 0,
            before: 0,
            kind: kind as u32,
        }
    }

    /// The next bytes. Those beyond a chain are counted alone.
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled == BLOCK {
                if self.before + BLOCK >= CHAIN {
                    self.before = CHAIN;
                    return;
                }
                self.enter();
            }
            let n = bytes.len().min(BLOCK - self.filled);
            self.block[self.filled..self.filled + n].copy_from_slice(&bytes[..n]);
            self.filled += n;
            bytes = &bytes[n..];
        }
    }

    /// A whole block, which is not the last one, onto the chain.
    fn enter(&mut self) {
        let x = self.rounds(0);
        for (i, word) in self.chain.iter_mut().enumerate() {
            *word = x[i] ^ x[i + 8];
        }
        self.before += BLOCK;
        self.filled = 0;
        // The last block has zeros behind its bytes.
        self.block = [0; BLOCK];
    }

    #[inline(never)]
    fn rounds(&self, end: u32) -> [u32; 16] {
        let mut words = [0; 16];
        for (word, bytes) in words.iter_mut().zip(self.block.chunks_exact(4)) {
            *word = word_of(bytes);
        }
        let start = if self.before == 0 { START } else { 0 };
        rounds(
            &self.chain,
            &words,
            self.filled as u32,
            self.kind | start | end,
        )
    }

    /// The hash; none of a message that is longer than a chain.
    pub(super) fn hash(&self) -> Option<[u32; 16]> {
        if self.before >= CHAIN {
            return None;
        }
        let mut x = self.rounds(END | ROOT);
        for i in 0..8 {
            x[i] ^= x[i + 8];
            x[i + 8] ^= self.chain[i];
        }
        Some(x)
    }
}

impl Drop for Single {
    fn drop(&mut self) {
        self.chain.zeroize();
        erase::all(&mut self.block);
    }
}
