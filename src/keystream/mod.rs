//! (key, position) to random words: ChaCha20, the only randomness.
//!
//! # The law of the stream
//! Block `counter` under `nonce` is the ChaCha20 block of RFC 8439 with the counter, 64 bits, in words
//! 12 and 13 of the state and the nonce, 64 bits, in words 14 and 15; its 64 bytes are the words in
//! little-endian order. Byte `i` of a stream is byte `i mod 64` of block `i / 64`. So any part of a
//! stream can be had without the rest, in any order and on any thread.
//!
//! One block function does it all, eight blocks at a time with AVX2, sixteen with AVX-512, one at a
//! time elsewhere. A vector unit is used after it has agreed with the plain function in this process.

use zeroize::Zeroizing;

use crate::key::SECRET;

mod level;
#[cfg(target_arch = "x86_64")]
#[macro_use]
mod rounds;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

pub use level::{Level, level};

/// Bytes in a block.
pub const BLOCK: usize = 64;

/// The 20 rounds under one key. Erased when dropped.
pub struct Keystream {
    // On the heap, so that moving a stream leaves no copies of its key behind.
    key: Box<Zeroizing<[u32; 8]>>,
    level: Level,
}

/// "expand 32-byte k"
const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

impl Keystream {
    /// The stream of a derived key.
    pub fn new(secret: &[u8; SECRET]) -> Self {
        let mut key = Box::new(Zeroizing::new([0; 8]));
        for (word, bytes) in key.iter_mut().zip(secret.chunks_exact(4)) {
            *word = self::word(bytes);
        }
        Keystream {
            key,
            level: level(),
        }
    }

    /// One block, as words.
    pub fn block(&self, counter: u64, nonce: u64) -> [u32; 16] {
        let initial = state(&self.key, counter, nonce);
        let mut x = initial;
        for _ in 0..10 {
            quarter(&mut x, 0, 4, 8, 12);
            quarter(&mut x, 1, 5, 9, 13);
            quarter(&mut x, 2, 6, 10, 14);
            quarter(&mut x, 3, 7, 11, 15);
            quarter(&mut x, 0, 5, 10, 15);
            quarter(&mut x, 1, 6, 11, 12);
            quarter(&mut x, 2, 7, 8, 13);
            quarter(&mut x, 3, 4, 9, 14);
        }
        for (x, i) in x.iter_mut().zip(initial) {
            *x = x.wrapping_add(i);
        }
        x
    }

    /// The words of the stream one after the other, for what is drawn in one go.
    pub fn words(&self) -> impl FnMut() -> u64 + '_ {
        let (mut counter, mut used, mut block) = (0, 16, [0u32; 16]);
        move || {
            if used == 16 {
                block = self.block(counter, 0);
                (counter, used) = (counter + 1, 0);
            }
            let word = u64::from(block[used]) | u64::from(block[used + 1]) << 32;
            block[used..used + 2].fill(0);
            used += 2;
            word
        }
    }

    /// Blocks `first`, `first + 1`, ... under `nonce`.
    ///
    /// # Panics
    /// The length is no multiple of 64: the rest would keep what it held.
    pub fn fill(&self, nonce: u64, first: u64, out: &mut [u8]) {
        assert!(out.len().is_multiple_of(BLOCK), "a part of a block");
        let mut first = first;
        #[cfg(target_arch = "x86_64")]
        let out = {
            let mut out = out;
            while self.level == Level::Avx512 && out.len() >= 16 * BLOCK {
                let (now, rest) = out.split_at_mut(16 * BLOCK);
                // SAFETY: the level is AVX-512 only where `has` found it, and `now` has 1024 bytes.
                unsafe { avx512::fill(&self.key, first, nonce, now) };
                (out, first) = (rest, first.wrapping_add(16));
            }
            while self.level >= Level::Avx2 && out.len() >= 8 * BLOCK {
                let (now, rest) = out.split_at_mut(8 * BLOCK);
                // SAFETY: the level is AVX2 or above only where `has` found it, and `now` has 512 bytes.
                unsafe { avx2::fill(&self.key, first, nonce, now) };
                (out, first) = (rest, first.wrapping_add(8));
            }
            out
        };
        for block in out.chunks_exact_mut(BLOCK) {
            for (bytes, word) in block.chunks_exact_mut(4).zip(self.block(first, nonce)) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            first = first.wrapping_add(1);
        }
    }

    /// The first eight bytes, as a number, of the block at each `(counter, nonce)`.
    ///
    /// # Panics
    /// There are not equally many of each: some words would be missing.
    pub fn first_words(&self, counters: &[u64], nonces: &[u64], out: &mut [u64]) {
        let n = out.len();
        assert!(
            counters.len() == n && nonces.len() == n,
            "an address a word"
        );
        let mut done = 0;
        #[cfg(target_arch = "x86_64")]
        {
            while self.level == Level::Avx512 && done + 16 <= n {
                let range = done..done + 16;
                // SAFETY: AVX-512 was found, and all three slices have 16 items.
                unsafe {
                    avx512::first_words(
                        &self.key,
                        &counters[range.clone()],
                        &nonces[range.clone()],
                        &mut out[range],
                    );
                }
                done += 16;
            }
            while self.level >= Level::Avx2 && done + 8 <= n {
                let range = done..done + 8;
                // SAFETY: AVX2 was found, and all three slices have 8 items.
                unsafe {
                    avx2::first_words(
                        &self.key,
                        &counters[range.clone()],
                        &nonces[range.clone()],
                        &mut out[range],
                    );
                }
                done += 8;
            }
            // A short rest is not worth a second kind of work: fill up the lanes.
            if self.level >= Level::Avx2 && done + 2 <= n {
                let (mut c, mut m, mut w) = ([0; 8], [0; 8], [0; 8]);
                c[..n - done].copy_from_slice(&counters[done..n]);
                m[..n - done].copy_from_slice(&nonces[done..n]);
                // SAFETY: AVX2 was found, and all three arrays have 8 items.
                unsafe { avx2::first_words(&self.key, &c, &m, &mut w) };
                out[done..n].copy_from_slice(&w[..n - done]);
                return;
            }
        }
        for ((&counter, &nonce), out) in counters.iter().zip(nonces).zip(out).skip(done) {
            let block = self.block(counter, nonce);
            *out = u64::from(block[0]) | u64::from(block[1]) << 32;
        }
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn state(key: &[u32; 8], counter: u64, nonce: u64) -> [u32; 16] {
    let mut state = [0; 16];
    state[..4].copy_from_slice(&SIGMA);
    state[4..12].copy_from_slice(key);
    state[12..].copy_from_slice(&[
        counter as u32,
        if mutant!("counter-of-32-bits") {
            0
        } else {
            (counter >> 32) as u32
        },
        nonce as u32,
        (nonce >> 32) as u32,
    ]);
    state
}

#[inline(always)]
fn quarter(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(12);
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(8);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_left(7);
}

#[cfg(test)]
mod tests {
    use super::level::{agrees, has};
    use super::*;

    fn levels() -> impl Iterator<Item = Level> {
        let all = [Level::Plain, Level::Avx2, Level::Avx512];
        all.into_iter().filter(|&level| has(level))
    }

    fn at(secret: &[u8; SECRET], level: Level) -> Keystream {
        let mut stream = Keystream::new(secret);
        stream.level = level;
        stream
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex
            .bytes()
            .filter_map(|c| char::from(c).to_digit(16).map(|d| d as u8))
            .collect();
        digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()
    }

    /// RFC 8439 counts with 32 bits and has a nonce of 96; its first nonce word is our counter's
    /// upper half.
    fn rfc(key: &str, counter: u32, nonce: &str, block: &str) {
        let (key, nonce) = (bytes(key), bytes(nonce));
        let secret = <[u8; 32]>::try_from(&key[..]).unwrap();
        let counter = u64::from(counter) | u64::from(word(&nonce)) << 32;
        let nonce = u64::from(word(&nonce[4..])) | u64::from(word(&nonce[8..])) << 32;
        let want = bytes(block);
        for level in levels() {
            let stream = at(&secret, level);
            // First, and within a full vector.
            for before in [0, 5] {
                let mut got = [0; 16 * BLOCK];
                stream.fill(nonce, counter.wrapping_sub(before), &mut got);
                let start = before as usize * BLOCK;
                assert_eq!(got[start..start + want.len()], want, "{level:?}");
            }
            let mut first = [0; 9];
            stream.first_words(&[counter; 9], &[nonce; 9], &mut first);
            let word = u64::from_le_bytes(<[u8; 8]>::try_from(&want[..8]).unwrap());
            assert_eq!(first, [word; 9], "{level:?}");
        }
    }

    #[test]
    fn rfc_8439_section_2_3_2() {
        rfc(
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            1,
            "000000090000004a00000000",
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e
             d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
        );
    }

    #[test]
    fn rfc_8439_appendix_a_1() {
        let zeros = "00".repeat(32);
        let nonce = "00".repeat(12);
        rfc(
            &zeros,
            0,
            &nonce,
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7
             da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
        );
        rfc(
            &zeros,
            1,
            &nonce,
            "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed
             29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
        );
        let one = format!("{}01", "00".repeat(31));
        rfc(
            &one,
            1,
            &nonce,
            "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a
             8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
        );
        let ff = format!("00ff{}", "00".repeat(30));
        rfc(
            &ff,
            2,
            &nonce,
            "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca
             13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
        );
        rfc(
            &zeros,
            0,
            &format!("{}02", "00".repeat(11)),
            "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7
             8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
        );
    }

    #[test]
    fn the_counter_carries_into_its_upper_half() {
        let secret = [7; SECRET];
        let mut want = [0; 16 * BLOCK];
        let first = u64::from(u32::MAX) - 2;
        at(&secret, Level::Plain).fill(3, first, &mut want);
        let mut one = [0; BLOCK];
        at(&secret, Level::Plain).fill(3, 1 << 32, &mut one);
        assert_eq!(want[3 * BLOCK..4 * BLOCK], one);
        for level in levels() {
            let mut got = [0; 16 * BLOCK];
            at(&secret, level).fill(3, first, &mut got);
            assert_eq!(got, want, "{level:?}");
        }
    }

    #[test]
    fn any_length_and_any_level_give_the_same_words() {
        let secret = [9; SECRET];
        let mut want = vec![0; 40 * BLOCK];
        at(&secret, Level::Plain).fill(1, 5, &mut want);
        let counters: Vec<u64> = (0..40).map(|i| 5 + i).collect();
        for level in levels() {
            for blocks in [0, 1, 7, 8, 9, 16, 23, 33, 40] {
                let mut got = vec![0; blocks * BLOCK];
                at(&secret, level).fill(1, 5, &mut got);
                assert_eq!(got, want[..blocks * BLOCK], "{level:?}");
                let mut words = vec![0; blocks];
                at(&secret, level).first_words(&counters[..blocks], &[1; 40][..blocks], &mut words);
                for (block, word) in want.chunks(BLOCK).zip(words) {
                    assert_eq!(block[..8], word.to_le_bytes(), "{level:?}");
                }
            }
        }
    }

    #[test]
    #[should_panic = "a part of a block"]
    fn no_part_of_a_block_is_left_as_it_was() {
        Keystream::new(&[9; SECRET]).fill(0, 0, &mut [0; BLOCK + 1]);
    }

    #[test]
    #[should_panic = "an address a word"]
    fn no_word_is_left_as_it_was() {
        Keystream::new(&[9; SECRET]).first_words(&[1], &[0], &mut [0; 2]);
    }

    /// `make sanitize` compiles for AVX-512 and interprets it, so that it is tested on any processor.
    #[test]
    fn levels_that_the_compiler_was_told_of_are_tested() {
        let tested = |level| levels().any(|other| other == level);
        assert!(tested(Level::Avx2) || !cfg!(target_feature = "avx2"));
        assert!(tested(Level::Avx512) || !cfg!(target_feature = "avx512f"));
    }

    #[test]
    fn a_level_is_trusted_when_it_agrees() {
        assert!(levels().all(agrees));
    }
}
