//! Sixteen blocks at a time, in AVX-512's own instructions.
//!
//! [`super::lanes`] would do as well, but only with its rounds written out, which takes the compiler seconds.

use std::arch::x86_64::*;

use super::lanes::{self, Rows};
use super::{BLOCK, SIGMA};

/// Blocks in a step.
const LANES: usize = 16;

/// [`lanes::blocks`].
// F alone of AVX-512: with VL the compiler prefers vectors of half the width for the transpose.
#[inline]
#[target_feature(enable = "avx512f")]
fn blocks<const W: usize>(
    key: &[u32; 8],
    counters: &[u64; LANES],
    nonces: &[u64; LANES],
) -> Rows<LANES, W> {
    let mut start = [_mm512_setzero_si512(); 16];
    for i in 0..4 {
        start[i] = _mm512_set1_epi32(SIGMA[i] as i32);
    }
    for i in 0..8 {
        start[4 + i] = _mm512_set1_epi32(key[i] as i32);
    }
    for (i, half) in lanes::halves(counters, nonces).iter().enumerate() {
        // SAFETY: sixteen words are 64 bytes, and the load is an unaligned one.
        start[12 + i] = unsafe { _mm512_loadu_si512(half.as_ptr().cast()) };
    }
    let mut x = start;
    macro_rules! steps {
        ($by:literal: $(($a:literal $b:literal $d:literal))*) => {
            $(
                x[$a] = _mm512_add_epi32(x[$a], x[$b]);
                x[$d] = _mm512_rol_epi32::<$by>(_mm512_xor_si512(x[$d], x[$a]));
            )*
        };
    }
    // Four quarter rounds side by side, over the columns and over the diagonals.
    for _ in 0..10 {
        steps!(16: (0 4 12) (1 5 13) (2 6 14) (3 7 15));
        steps!(12: (8 12 4) (9 13 5) (10 14 6) (11 15 7));
        steps!(8: (0 4 12) (1 5 13) (2 6 14) (3 7 15));
        steps!(7: (8 12 4) (9 13 5) (10 14 6) (11 15 7));
        steps!(16: (0 5 15) (1 6 12) (2 7 13) (3 4 14));
        steps!(12: (10 15 5) (11 12 6) (8 13 7) (9 14 4));
        steps!(8: (0 5 15) (1 6 12) (2 7 13) (3 4 14));
        steps!(7: (10 15 5) (11 12 6) (8 13 7) (9 14 4));
    }
    let mut rows = [[0; LANES]; W];
    for i in 0..W {
        let word = _mm512_add_epi32(x[i], start[i]);
        // SAFETY: sixteen words are 64 bytes, and the store is an unaligned one.
        unsafe { _mm512_storeu_si512(rows[i].as_mut_ptr().cast(), word) };
    }
    rows
}

/// [`lanes::fill`].
#[target_feature(enable = "avx512f")]
pub(super) fn fill(key: &[u32; 8], nonce: u64, first: u64, out: &mut [u8]) {
    let mut first = first;
    for out in out.chunks_mut(LANES * BLOCK) {
        if out.len() == BLOCK {
            return lanes::fill_one(key, nonce, first, out);
        }
        let counters = std::array::from_fn(|j| first.wrapping_add(j as u64));
        lanes::write(&blocks::<16>(key, &counters, &[nonce; LANES]), out);
        first = first.wrapping_add(LANES as u64);
    }
}

/// [`lanes::first_words`].
#[target_feature(enable = "avx512f")]
pub(super) fn first_words(key: &[u32; 8], counters: &[u64], nonces: &[u64], out: &mut [u64]) {
    let some = counters.chunks(LANES).zip(nonces.chunks(LANES));
    for ((counters, nonces), out) in some.zip(out.chunks_mut(LANES)) {
        if out.len() == 1 {
            return lanes::first_word(key, counters, nonces, out);
        }
        let rows = blocks::<2>(key, &lanes::padded(counters), &lanes::padded(nonces));
        lanes::join(&rows, out);
    }
}
