//! Exact random decisions, and the words of the keystream that take them.
//!
//! # Law
//! *Digits.* For `b = n_1 n_2 ... n_k` and a word `w` of 64 bits, `floor(w b / 2^64)` is each number below `b`
//! for `floor(2^64 / b)` words or one more; those with `w b mod 2^64 < 2^64 mod b` are the ones more, and are
//! thrown away (Lemire 2019). What is left is uniform below `b`, and its digits in the mixed radix `n_1, ..., n_k`
//! are independent and uniform each. They come one by one: multiplied by `n_1` the fraction `w / 2^64` has the
//! first digit before the point, what is behind the point multiplied by `n_2` the second, and so on.
//!
//! *Chances.* `a/b` is compared with a random fraction of which 16 bits are known: `w b`, `(w + 1) b` and
//! `2^16 a` tell whether it is below, above or not decided yet; then the rest of it is compared with what is
//! left of `a/b`, 64 bits at a time. No chance is rounded.

use zeroize::Zeroizing;

use crate::draw::keystream::Keystream;
use crate::draw::uniform::{More, digit, is_fair};

/// What nonces are for; below it there is room for a class and a number in it.
pub mod kind {
    /// What is decided once.
    pub const ONCE: u64 = 0;
    /// Stretches of classes.
    pub const STRETCH: u64 = 1 << 60;
    /// Blocks whose values are dealt out to buckets.
    pub const DEAL: u64 = 2 << 60;
    /// Buckets.
    pub const BUCKET: u64 = 3 << 60;
    /// Blocks of neighbours.
    pub const PATH: u64 = 4 << 60;
    /// Where the number of a class begins.
    pub const CLASS: u32 = 24;
}

/// Random decisions, one after the other.
pub trait Draw {
    /// Independent numbers below limits that multiply to `product`, one for each limit.
    fn digits(&mut self, product: u64) -> impl FnMut(u64) -> u64;

    /// True with probability `a/b`, where `a` is at most `b` and `b` is positive.
    fn happens(&mut self, a: u64, b: u64) -> bool;

    /// Fill with numbers of `bits` bits.
    fn fill(&mut self, bits: u32, out: &mut [u16]);

    /// A number below `n`, each with the same probability.
    fn below(&mut self, n: u64) -> u64 {
        self.digits(n)(n)
    }
}

/// Where decisions come from: a stream for each nonce.
pub trait Source: Sync {
    /// Those of `nonce`, from the first on.
    fn open<'a>(&'a self, buffer: &'a mut Buffer, nonce: u64) -> impl Draw;
}

/// Bytes of the keystream at a time: as many blocks as the widest vectors take.
const BYTES: usize = 1 << 10;

/// Words not used yet. On the heap, and erased when dropped.
pub struct Buffer(Box<Zeroizing<[u8; BYTES]>>);

impl Default for Buffer {
    fn default() -> Self {
        Buffer(Box::new(Zeroizing::new([0; BYTES])))
    }
}

/// The words of one nonce.
pub struct Stream<'a> {
    words: &'a Keystream,
    nonce: u64,
    next: u64,
    buffer: &'a mut Buffer,
    at: usize,
    quarters: u64,
    left: u32,
}

impl Source for Keystream {
    fn open<'a>(&'a self, buffer: &'a mut Buffer, nonce: u64) -> impl Draw {
        Stream::new(self, buffer, nonce)
    }
}

impl More for Stream<'_> {
    #[inline]
    fn next(&mut self) -> u64 {
        if self.at == BYTES {
            self.refill();
        }
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.buffer.0[self.at..self.at + 8]);
        self.at += 8;
        u64::from_le_bytes(bytes)
    }
}

impl<'a> Stream<'a> {
    fn new(words: &'a Keystream, buffer: &'a mut Buffer, nonce: u64) -> Self {
        Stream {
            words,
            nonce,
            next: 0,
            buffer,
            at: BYTES,
            quarters: 0,
            left: 0,
        }
    }

    #[inline(never)]
    fn refill(&mut self) {
        self.words
            .fill(self.nonce, self.next, &mut self.buffer.0[..]);
        self.next += (BYTES / crate::draw::keystream::BLOCK) as u64;
        self.at = 0;
    }

    #[inline]
    fn quarter(&mut self) -> u16 {
        if self.left == 0 {
            (self.quarters, self.left) = (self.next(), 4);
        }
        let quarter = self.quarters as u16;
        self.quarters >>= 16;
        self.left -= 1;
        quarter
    }

    /// `a/b` against 64 bits at a time.
    #[cold]
    fn decide(&mut self, mut a: u64, b: u64) -> bool {
        loop {
            let (known, wanted) = (u128::from(self.next()) * u128::from(b), u128::from(a) << 64);
            if known >= wanted {
                return false;
            }
            if wanted - known >= u128::from(b) {
                return true;
            }
            a = (wanted - known) as u64;
        }
    }
}

impl Draw for Stream<'_> {
    #[inline]
    fn digits(&mut self, product: u64) -> impl FnMut(u64) -> u64 {
        let mut word = self.next();
        while !is_fair(word, product) {
            word = self.next();
        }
        move |n| digit(&mut word, n)
    }

    #[inline]
    fn happens(&mut self, a: u64, b: u64) -> bool {
        let (known, wanted) = (
            u128::from(self.quarter()) * u128::from(b),
            u128::from(a) << 16,
        );
        if known >= wanted {
            return false;
        }
        if wanted - known >= u128::from(b) {
            return true;
        }
        self.decide((wanted - known) as u64, b)
    }

    fn fill(&mut self, bits: u32, out: &mut [u16]) {
        let mask = ((1u32 << bits) - 1) as u16;
        for four in out.chunks_mut(4) {
            let mut word = self.next();
            for quarter in four {
                *quarter = word as u16 & mask;
                word >>= 16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chance that a word of the stream decides so, from all values of 16 bits.
    #[test]
    fn chances_are_exact() {
        let keystream = Keystream::new(&[3; 32]);
        let mut buffer = Buffer::default();
        for (a, b) in [
            (0, 1),
            (1, 1),
            (1, 3),
            (5, 7),
            (1, 1 << 62),
            ((1 << 53) - 1, 1 << 53),
        ] {
            let mut stream = Stream::new(&keystream, &mut buffer, 1);
            let (mut sure, mut open) = (0u128, 0u128);
            for quarter in 0..1u64 << 16 {
                // Each value once, and then words that are above anything, so that an open one is false.
                (stream.quarters, stream.left) = (quarter, 1);
                let (known, wanted) = (u128::from(quarter) * u128::from(b), u128::from(a) << 16);
                let is_open = known < wanted && wanted - known < u128::from(b);
                open += u128::from(is_open);
                if !is_open {
                    sure += u128::from(stream.happens(a, b));
                }
            }
            // Of the one open value the share rest/b is true.
            let (all, b) = (u128::from(a) << 16, u128::from(b));
            assert_eq!(open, u128::from(all % b > 0));
            assert_eq!(sure * b + all % b, all);
        }
    }
}
