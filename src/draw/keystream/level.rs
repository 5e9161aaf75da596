//! The block function compiled for each level of processor; a level is believed after it has agreed with the
//! plain one.

use super::{BLOCK, Keystream, lanes};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::system::kept::Kept;
use crate::system::processor::{self, Level};

/// The best level that this processor has and that agrees with the plain one.
pub fn level() -> Level {
    static FOUND: Kept<Level> = Kept::new();
    *FOUND.get_or_make(|| {
        let most = processor::level();
        let had = |level: &Level| *level <= most && level.is_had();
        let mut levels = Level::ALL.into_iter().rev().filter(had);
        levels.find(|&l| agrees(l)).unwrap_or(Level::Plain)
    })
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

/// [`lanes::fill`] as the level has it, which the processor has.
pub(super) fn fill(level: Level, key: &[u32; 8], nonce: u64, first: u64, out: &mut [u8]) {
    match level {
        Level::Plain => lanes::fill_one(key, nonce, first, out),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: streams have this level only where the processor has AVX2.
        Level::Avx2 => unsafe { avx2::fill(key, nonce, first, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: streams have this level only where the processor has AVX-512.
        Level::Avx512 => unsafe { avx512::fill(key, nonce, first, out) },
        _ => lanes::fill::<4>(key, nonce, first, out),
    }
}

/// [`lanes::first_words`] as the level has it, which the processor has.
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
        // SAFETY: streams have this level only where the processor has AVX2.
        Level::Avx2 => unsafe { avx2::first_words(key, counters, nonces, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: streams have this level only where the processor has AVX-512.
        Level::Avx512 => unsafe { avx512::first_words(key, counters, nonces, out) },
        _ => lanes::first_words::<4>(key, counters, nonces, out),
    }
}
