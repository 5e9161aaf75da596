//! The block function compiled for each level of processor; a level is believed after it has agreed with the
//! plain one.

use super::{BLOCK, Keystream, lanes};
use crate::system::kept::Kept;
use crate::system::processor::{self, Level};

/// The best level that this processor has and that agrees with the plain one.
pub fn level() -> Level {
    static FOUND: Kept<Level> = Kept::new();
    *FOUND.get_or_make(|| processor::trusted(agrees))
}

/// Whether the level computes what the plain function does, over a carry of the counter and with lanes left
/// over.
pub(super) fn agrees(level: Level) -> bool {
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
pub(super) fn fill(level: Level, key: &[u32; 8], nonce: u64, first: u64, out: &mut [u8]) {
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
pub(super) fn first_words(
    level: Level,
    key: &[u32; 8],
    counters: &[u64],
    nonces: &[u64],
    out: &mut [u64],
) {
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
