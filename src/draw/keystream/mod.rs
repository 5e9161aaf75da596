//! (key, position) to random words: ChaCha20, the only randomness.
//!
//! # The law of the stream
//! Block `counter` under `nonce` is the ChaCha20 block of RFC 8439 with the counter, 64 bits, in words
//! 12 and 13 of the state and the nonce, 64 bits, in words 14 and 15; its 64 bytes are the words in
//! little-endian order. Byte `i` of a stream is byte `i mod 64` of block `i / 64`. So any part of a
//! stream can be had without the rest, in any order and on any thread.
//!
//! One block function does it all: see `lanes`. It is compiled for vectors of four, eight (AVX2) and sixteen (AVX-512)
//! blocks: see `fill`. A vector unit is used after it has agreed with the plain function in this process.

use zeroize::Zeroizing;

use crate::draw::code::Word;
use crate::draw::key::SECRET;
use crate::system::kept::Kept;
use crate::system::processor::{self, Level};

mod lanes;

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
        Keystream::at(secret, level())
    }

    /// The same at another level, for benchmarks.
    ///
    /// # Panics
    /// The processor lacks the level.
    pub fn at(secret: &[u8; SECRET], level: Level) -> Self {
        assert!(level.is_had(), "a level that the processor lacks");
        let mut key = Box::new(Zeroizing::new([0; 8]));
        for (word, bytes) in key.iter_mut().zip(secret.chunks_exact(4)) {
            *word = u32::read(bytes);
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
        fill(self.level, &self.key, nonce, first, out);
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
        first_words(self.level, &self.key, counters, nonces, out);
    }
}

/// The best level that this processor has and that agrees with the plain one.
pub fn level() -> Level {
    static FOUND: Kept<Level> = Kept::new();
    *FOUND.get_or_make(|| processor::trusted(agrees))
}

/// Whether the level computes what the plain function does, over a carry of the counter and with lanes left
/// over.
fn agrees(level: Level) -> bool {
    let stream = |level| Keystream {
        key: Box::new(std::array::from_fn(|i| 0x0102_0304 * i as u32).into()),
        level,
    };
    let mut got = [[0u8; 18 * BLOCK]; 2];
    let mut words = [[0u64; 18]; 2];
    let counters: [u64; 18] = std::array::from_fn(|i| (i as u64) << (3 * i));
    let nonces: [u64; 18] = std::array::from_fn(|i| (i as u64) << (59 - 3 * i));
    for (i, level) in [Level::Plain, level].into_iter().enumerate() {
        stream(level).fill(0x0123_4567_89ab_cdef, u64::from(u32::MAX) - 3, &mut got[i]);
        stream(level).first_words(&counters, &nonces, &mut words[i]);
    }
    got[0] == got[1] && words[0] == words[1]
}

/// [`lanes::fill`] at a level that the processor has.
fn fill(level: Level, key: &[u32; 8], nonce: u64, first: u64, out: &mut [u8]) {
    match level {
        Level::Plain => lanes::fill_one(key, nonce, first, out),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: streams have this level only if the processor has AVX2.
        Level::Avx2 => unsafe { avx2::fill(key, nonce, first, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: streams have this level only if the processor has AVX-512.
        Level::Avx512 => unsafe { avx512::fill(key, nonce, first, out) },
        _ => lanes::fill(key, nonce, first, out, base),
    }
}

/// [`lanes::first_words`] at a level that the processor has.
fn first_words(level: Level, key: &[u32; 8], counters: &[u64], nonces: &[u64], out: &mut [u64]) {
    match level {
        Level::Plain => lanes::first_word(key, counters, nonces, out),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: streams have this level only if the processor has AVX2.
        Level::Avx2 => unsafe { avx2::first_words(key, counters, nonces, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: streams have this level only if the processor has AVX-512.
        Level::Avx512 => unsafe { avx512::first_words(key, counters, nonces, out) },
        _ => lanes::first_words(key, counters, nonces, out, base),
    }
}

/// Four blocks, by what every processor of the architecture has.
#[inline(never)]
fn base(key: &[u32; 8], counters: &[u64; 4], nonces: &[u64; 4]) -> lanes::Rows<4> {
    lanes::blocks(key, counters, nonces)
}

/// The functions of [`lanes`] over `$n` blocks, compiled for a processor that has `$feature`.
#[cfg(target_arch = "x86_64")]
macro_rules! compiled {
    ($name:ident, $n:literal, $feature:literal) => {
        mod $name {
            use crate::draw::keystream::lanes;

            // Compiled once for both: the rounds, written out, take the compiler a second.
            #[inline(never)]
            #[target_feature(enable = $feature)]
            fn blocks(key: &[u32; 8], counters: &[u64; $n], nonces: &[u64; $n]) -> lanes::Rows<$n> {
                lanes::blocks(key, counters, nonces)
            }

            #[target_feature(enable = $feature)]
            pub fn fill(key: &[u32; 8], nonce: u64, first: u64, out: &mut [u8]) {
                lanes::fill(key, nonce, first, out, |key, c, n| blocks(key, c, n));
            }

            #[target_feature(enable = $feature)]
            pub fn first_words(key: &[u32; 8], counters: &[u64], nonces: &[u64], out: &mut [u64]) {
                lanes::first_words(key, counters, nonces, out, |key, c, n| blocks(key, c, n));
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compiled!(avx2, 8, "avx2");
// F alone of AVX-512: with VL the compiler prefers vectors of half the width for the transpose.
#[cfg(target_arch = "x86_64")]
compiled!(avx512, 16, "avx512f");

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use chacha20::rand_core::{Rng, SeedableRng};

    /// What is tested, as [`fill`] and [`first_words`].
    type Way = (
        fn(&[u32; 8], u64, u64, &mut [u8]),
        fn(&[u32; 8], &[u64], &[u64], &mut [u64]),
    );

    /// Each level that the processor has, and lanes of each width as the processor computes them that has no such
    /// vectors, so that each is tested on each machine.
    fn ways() -> Vec<Way> {
        let mut ways: Vec<Way> = Vec::new();
        macro_rules! ways {
            ($($level:ident)*; $($n:literal)*) => {
                $(if Level::$level.is_had() {
                    ways.push((
                        |key, nonce, first, out| fill(Level::$level, key, nonce, first, out),
                        |key, c, n, out| first_words(Level::$level, key, c, n, out),
                    ));
                })*
                $(ways.push((
                    |key, nonce, first, out| lanes::fill::<$n>(key, nonce, first, out, lanes::blocks),
                    |key, c, n, out| lanes::first_words::<$n>(key, c, n, out, lanes::blocks),
                ));)*
            };
        }
        ways!(Plain Base Avx2 Avx512; 1 4 8 16);
        ways
    }

    /// All ways give these blocks.
    fn all_fill(secret: &[u8; SECRET], nonce: u64, first: u64, want: &[u8]) {
        let key = **Keystream::new(secret).key;
        for (i, (fill, _)) in ways().into_iter().enumerate() {
            let mut out = vec![0xa5; want.len()];
            fill(&key, nonce, first, &mut out);
            assert_eq!(out, want, "way {i}");
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
        let words: [u32; 16] = [
            0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033, 0x9aaa2204,
            0x4e6cd4c3, 0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9, 0xd19c12b5, 0xb94e16de,
            0xe883d0cb, 0x4e3c50a2,
        ];
        let want: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        // First, and within a full vector.
        for before in [0, 5] {
            let mut all = judge(&secret, nonce, counter - before, 16);
            all[before as usize * BLOCK..][..BLOCK].copy_from_slice(&want);
            all_fill(&secret, nonce, counter - before, &all);
        }
    }

    #[test]
    fn the_counter_carries_into_its_upper_half() {
        for before in 0..17 {
            let first = (1 << 32) - before;
            all_fill(&[7; SECRET], 3, first, &judge(&[7; SECRET], 3, first, 19));
        }
        // The last block is followed by the first.
        let mut want = judge(&[7; SECRET], 3, u64::MAX, 1);
        want.extend(judge(&[7; SECRET], 3, 0, 32));
        all_fill(&[7; SECRET], 3, u64::MAX, &want);
    }

    #[test]
    fn any_length_gives_the_blocks_of_the_judge() {
        let secret = std::array::from_fn(|i| 3 * i as u8);
        let nonce = 0x0123_4567_89ab_cdef;
        let want = judge(&secret, nonce, 5, 50);
        for blocks in 0..=50 {
            all_fill(&secret, nonce, 5, &want[..blocks * BLOCK]);
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
        let key = **Keystream::new(&secret).key;
        for (i, (_, first_words)) in ways().into_iter().enumerate() {
            for n in 0..=want.len() {
                let mut out = vec![0xa5; n];
                first_words(&key, &counters[..n], &nonces[..n], &mut out);
                assert_eq!(out, want[..n], "way {i}");
            }
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
