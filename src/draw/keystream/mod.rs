//! (key, position) to random words: ChaCha20, the only randomness.
//!
//! # The law of the stream
//! Block `counter` under `nonce` is the ChaCha20 block of RFC 8439 with the counter, 64 bits, in words
//! 12 and 13 of the state and the nonce, 64 bits, in words 14 and 15; its 64 bytes are the words in
//! little-endian order. Byte `i` of a stream is byte `i mod 64` of block `i / 64`. So any part of a
//! stream can be had without the rest, in any order and on any thread.
//!
//! One block function does it all: see `lanes`. It is compiled for vectors of four, eight (AVX2) and sixteen (AVX-512)
//! blocks: see `level`. A vector unit is used after it has agreed with the plain function in this process.

// A few bytes, whatever a caller gives.
#![allow(clippy::disallowed_methods)]

use zeroize::Zeroizing;

use crate::draw::key::SECRET;
use crate::system::processor::Level;

mod lanes;
mod level;

pub use level::level;

/// Bytes in a block.
pub const BLOCK: usize = 64;

/// The 20 rounds under one key. Erased when dropped.
pub struct Keystream {
    // On the heap, so that moving a stream leaves no copies of its key behind.
    key: Box<Zeroizing<[u32; 8]>>,
    // One that the processor has, or vectors would be computed that it lacks.
    level: Level,
}

/// "expand 32-byte k"
const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

impl Keystream {
    /// The stream of a derived key.
    pub fn new(secret: &[u8; SECRET]) -> Self {
        Keystream::with(secret, level())
    }

    /// The same at another level, for tests and benchmarks.
    ///
    /// # Panics
    /// The processor lacks the level.
    pub fn at(secret: &[u8; SECRET], level: Level) -> Self {
        assert!(level.is_had(), "a level that the processor lacks");
        Keystream::with(secret, level)
    }

    fn with(secret: &[u8; SECRET], level: Level) -> Self {
        let mut key = Box::new(Zeroizing::new([0; 8]));
        for (word, bytes) in key.iter_mut().zip(secret.chunks_exact(4)) {
            *word = self::word(bytes);
        }
        Keystream { key, level }
    }

    /// One block, as words.
    pub fn block(&self, counter: u64, nonce: u64) -> [u32; 16] {
        lanes::block(&self.key, counter, nonce)
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
    /// The length is not a multiple of 64: the rest would keep what it held.
    pub fn fill(&self, nonce: u64, first: u64, out: &mut [u8]) {
        assert!(out.len().is_multiple_of(BLOCK), "a part of a block");
        level::fill(self.level, &self.key, nonce, first, out);
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
        level::first_words(self.level, &self.key, counters, nonces, out);
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::level::agrees;
    use super::*;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::{Rng, SeedableRng};

    /// What is tested: a level that the processor has, or its lanes as the processor computes them that it has
    /// not, so that each width is tested on each machine.
    #[derive(Debug, Clone, Copy)]
    enum Way {
        Level(Level),
        Lanes(usize),
    }

    fn ways() -> impl Iterator<Item = Way> {
        let had = Level::ALL.into_iter().filter(|l| l.is_had());
        had.map(Way::Level).chain([1, 4, 8, 16].map(Way::Lanes))
    }

    impl Way {
        fn fill(self, secret: &[u8; SECRET], nonce: u64, first: u64, blocks: usize) -> Vec<u8> {
            let mut out = vec![0xa5; blocks * BLOCK];
            let (key, to) = (**Keystream::new(secret).key, &mut out[..]);
            match self {
                Way::Level(level) => Keystream::at(secret, level).fill(nonce, first, to),
                Way::Lanes(1) => lanes::fill::<1>(&key, nonce, first, to, lanes::blocks),
                Way::Lanes(4) => lanes::fill::<4>(&key, nonce, first, to, lanes::blocks),
                Way::Lanes(8) => lanes::fill::<8>(&key, nonce, first, to, lanes::blocks),
                Way::Lanes(_) => lanes::fill::<16>(&key, nonce, first, to, lanes::blocks),
            }
            out
        }

        fn first_words(self, secret: &[u8; SECRET], counters: &[u64], nonces: &[u64]) -> Vec<u64> {
            let mut out = vec![0xa5; counters.len()];
            let (key, c, n, to) = (**Keystream::new(secret).key, counters, nonces, &mut out[..]);
            match self {
                Way::Level(level) => Keystream::at(secret, level).first_words(c, n, to),
                Way::Lanes(1) => lanes::first_words::<1>(&key, c, n, to, lanes::blocks),
                Way::Lanes(4) => lanes::first_words::<4>(&key, c, n, to, lanes::blocks),
                Way::Lanes(8) => lanes::first_words::<8>(&key, c, n, to, lanes::blocks),
                Way::Lanes(_) => lanes::first_words::<16>(&key, c, n, to, lanes::blocks),
            }
            out
        }
    }

    /// The same by the crate `chacha20`, whose generator has our counter and nonce.
    fn judge(secret: &[u8; SECRET], nonce: u64, first: u64, blocks: usize) -> Vec<u8> {
        let mut out = vec![0; blocks * BLOCK];
        let mut stream = ChaCha20Rng::from_seed(*secret);
        stream.set_stream(nonce);
        stream.set_block_pos(first);
        stream.fill_bytes(&mut out);
        out
    }

    /// RFC 8439, section 2.3.2. It counts with 32 bits and has a nonce of 96, whose first word is our counter's upper
    /// half.
    #[test]
    fn the_block_of_the_standard() {
        let secret = std::array::from_fn(|i| i as u8);
        let (counter, nonce) = (1 | 0x0900_0000 << 32, 0x4a00_0000);
        let want: Vec<u8> = [
            0xe4e7_f110_u32,
            0x1559_3bd1,
            0x1fdd_0f50,
            0xc471_20a3,
            0xc7f4_d1c7,
            0x0368_c033,
            0x9aaa_2204,
            0x4e6c_d4c3,
            0x4664_82d2,
            0x09aa_9f07,
            0x05d7_c214,
            0xa202_8bd9,
            0xd19c_12b5,
            0xb94e_16de,
            0xe883_d0cb,
            0x4e3c_50a2,
        ]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
        for way in ways() {
            // First, and within a full vector.
            for before in [0, 5] {
                let got = way.fill(&secret, nonce, counter - before, 16);
                assert_eq!(got[before as usize * BLOCK..][..BLOCK], want, "{way:?}");
            }
        }
    }

    #[test]
    fn the_counter_carries_into_its_upper_half() {
        let secret = [7; SECRET];
        for way in ways() {
            for before in 0..17 {
                let first = (1 << 32) - before;
                let got = way.fill(&secret, 3, first, 19);
                assert_eq!(got, judge(&secret, 3, first, 19), "{way:?}");
            }
        }
    }

    #[test]
    fn the_last_block_is_followed_by_the_first() {
        let secret = [8; SECRET];
        let mut want = judge(&secret, 3, u64::MAX, 1);
        want.extend(judge(&secret, 3, 0, 32));
        for way in ways() {
            assert_eq!(way.fill(&secret, 3, u64::MAX, 33), want, "{way:?}");
        }
    }

    #[test]
    fn any_length_gives_the_blocks_of_the_judge() {
        let secret = std::array::from_fn(|i| 3 * i as u8);
        let nonce = 0x0123_4567_89ab_cdef;
        let want = judge(&secret, nonce, 5, 50);
        let counters: Vec<u64> = (5..55).collect();
        for way in ways() {
            for blocks in 0..=50 {
                let got = way.fill(&secret, nonce, 5, blocks);
                assert_eq!(got, want[..blocks * BLOCK], "{way:?}");
                let words = way.first_words(&secret, &counters[..blocks], &[nonce; 50][..blocks]);
                let first = want
                    .chunks(BLOCK)
                    .map(|block| block[..8].try_into().unwrap());
                let first: Vec<u64> = first.map(u64::from_le_bytes).take(blocks).collect();
                assert_eq!(words, first, "{way:?}");
            }
        }
    }

    #[test]
    fn unrelated_counters_and_nonces_give_the_words_of_the_judge() {
        let secret = std::array::from_fn(|i| 255 - i as u8);
        let mix = |i: u64, by: u64| (i + 1).wrapping_mul(by).rotate_left(i as u32);
        let edges = [0, u64::from(u32::MAX), 1 << 32, u64::MAX];
        let numbers = |by| (0..37).map(move |i| mix(i, by)).chain(edges);
        let counters: Vec<u64> = numbers(0x9e37_79b9_7f4a_7c15).collect();
        let nonces: Vec<u64> = numbers(0xd1b5_4a32_d192_ed03).rev().collect();
        let want: Vec<u64> = counters
            .iter()
            .zip(&nonces)
            .map(|(&counter, &nonce)| judge(&secret, nonce, counter, 1))
            .map(|block| u64::from_le_bytes(block[..8].try_into().unwrap()))
            .collect();
        for way in ways() {
            assert_eq!(
                way.first_words(&secret, &counters, &nonces),
                want,
                "{way:?}"
            );
        }
    }

    #[test]
    fn one_block_and_words_in_turn_are_those_of_the_judge() {
        let stream = Keystream::new(&[6; SECRET]);
        let far = 7 << 40;
        let block: Vec<u8> = stream
            .block(far, 9)
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        assert_eq!(block, judge(&[6; SECRET], 9, far, 1));
        let mut next = stream.words();
        let words: Vec<u8> = (0..24).flat_map(|_| next().to_le_bytes()).collect();
        assert_eq!(words, judge(&[6; SECRET], 0, 0, 3));
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

    #[test]
    fn a_level_is_trusted_when_it_agrees() {
        assert!(Level::ALL.into_iter().filter(|l| l.is_had()).all(agrees));
        assert!(level().is_had() && level() <= crate::system::processor::level());
    }
}
