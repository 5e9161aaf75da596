//! Sixteen blocks at a time.

use std::arch::x86_64::*;

use super::SIGMA;

#[inline]
#[target_feature(enable = "avx512f")]
fn initial(key: &[u32; 8], counters: &[u64], nonces: &[u64]) -> [__m512i; 16] {
    let mut x = [_mm512_setzero_si512(); 16];
    for i in 0..4 {
        x[i] = _mm512_set1_epi32(SIGMA[i] as i32);
    }
    for i in 0..8 {
        x[4 + i] = _mm512_set1_epi32(key[i] as i32);
    }
    let mut words = [[0u32; 16]; 4];
    for (j, (&counter, &nonce)) in counters.iter().zip(nonces).take(16).enumerate() {
        words[0][j] = counter as u32;
        words[1][j] = (counter >> 32) as u32;
        words[2][j] = nonce as u32;
        words[3][j] = (nonce >> 32) as u32;
    }
    for (x, words) in x[12..].iter_mut().zip(&words) {
        // SAFETY: sixteen words are 64 bytes, and the load is an unaligned one.
        *x = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
    }
    x
}

#[inline]
#[target_feature(enable = "avx512f")]
fn rounds(initial: &[__m512i; 16]) -> [__m512i; 16] {
    let mut x = *initial;
    let rot16 = |x| _mm512_rol_epi32::<16>(x);
    let rot12 = |x| _mm512_rol_epi32::<12>(x);
    let rot8 = |x| _mm512_rol_epi32::<8>(x);
    let rot7 = |x| _mm512_rol_epi32::<7>(x);
    rounds!(
        x,
        _mm512_add_epi32,
        _mm512_xor_si512,
        rot16,
        rot12,
        rot8,
        rot7
    );
    x
}

/// Sixteen consecutive blocks into 1024 bytes.
#[target_feature(enable = "avx512f")]
pub fn fill(key: &[u32; 8], first: u64, nonce: u64, out: &mut [u8]) {
    let counters: [u64; 16] = std::array::from_fn(|j| first.wrapping_add(j as u64));
    let start = initial(key, &counters, &[nonce; 16]);
    let mut x = rounds(&start);
    for (x, start) in x.iter_mut().zip(start) {
        *x = _mm512_add_epi32(*x, start);
    }
    // Four words of sixteen blocks at a time: lane `l` of `quads[q][k]` then holds words
    // 4q..4q+4 of block 4l + k.
    for q in 0..4 {
        let r = &x[4 * q..4 * q + 4];
        let t = [
            _mm512_unpacklo_epi32(r[0], r[1]),
            _mm512_unpackhi_epi32(r[0], r[1]),
            _mm512_unpacklo_epi32(r[2], r[3]),
            _mm512_unpackhi_epi32(r[2], r[3]),
        ];
        let quads = [
            _mm512_unpacklo_epi64(t[0], t[2]),
            _mm512_unpackhi_epi64(t[0], t[2]),
            _mm512_unpacklo_epi64(t[1], t[3]),
            _mm512_unpackhi_epi64(t[1], t[3]),
        ];
        for (k, quad) in quads.into_iter().enumerate() {
            let mut lanes = [0u8; 64];
            // SAFETY: `lanes` has 64 bytes, and the store is an unaligned one.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), quad) };
            for (l, lane) in lanes.chunks_exact(16).enumerate() {
                let at = 64 * (4 * l + k) + 16 * q;
                out[at..at + 16].copy_from_slice(lane);
            }
        }
    }
}

/// The first eight bytes of sixteen blocks.
#[target_feature(enable = "avx512f")]
pub fn first_words(key: &[u32; 8], counters: &[u64], nonces: &[u64], out: &mut [u64]) {
    let start = initial(key, counters, nonces);
    let x = rounds(&start);
    let mut words = [[0u32; 16]; 2];
    for i in 0..2 {
        let word = _mm512_add_epi32(x[i], start[i]);
        // SAFETY: sixteen words are 64 bytes, and the store is an unaligned one.
        unsafe { _mm512_storeu_si512(words[i].as_mut_ptr().cast(), word) };
    }
    for (j, out) in out.iter_mut().take(16).enumerate() {
        *out = u64::from(words[0][j]) | u64::from(words[1][j]) << 32;
    }
}
