//! Eight blocks at a time, in AVX2's own instructions.
//!
//! [`super::lanes`] would do, but the compiler makes two shuffles of some rotations there, and drawing took up to a
//! tenth longer. Where fewer than eight blocks are left, the rest of what eight lanes compute is dropped.

use std::arch::x86_64::*;

use super::{BLOCK, SIGMA, lanes};

/// Blocks in a step.
const LANES: usize = 8;

/// The initial state of eight blocks with these counters and nonces, lower and upper halves.
#[inline]
#[target_feature(enable = "avx2")]
fn initial(key: &[u32; 8], counters: Halves, nonces: Halves) -> [__m256i; 16] {
    let mut x = [_mm256_setzero_si256(); 16];
    for i in 0..4 {
        x[i] = _mm256_set1_epi32(SIGMA[i] as i32);
    }
    for i in 0..8 {
        x[4 + i] = _mm256_set1_epi32(key[i] as i32);
    }
    (x[12], x[13]) = counters;
    (x[14], x[15]) = nonces;
    x
}

type Halves = (__m256i, __m256i);

/// The halves of `first`, `first + 1`, ...
#[inline]
#[target_feature(enable = "avx2")]
fn consecutive(first: u64) -> Halves {
    let start = _mm256_set1_epi32(first as i32);
    let low = _mm256_add_epi32(start, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    // Where the lower half has passed 2^32 it is below its start, and the comparison is -1.
    let passed = _mm256_cmpeq_epi32(_mm256_max_epu32(low, start), low);
    let carry = _mm256_xor_si256(passed, _mm256_set1_epi32(-1));
    let high = _mm256_set1_epi32((first >> 32) as i32);
    (low, _mm256_sub_epi32(high, carry))
}

/// The halves of eight numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(numbers: &[u64; LANES]) -> Halves {
    let (a, b) = numbers.split_at(4);
    // SAFETY: four numbers are 32 bytes, and the loads are unaligned ones.
    let (a, b) = unsafe {
        (
            _mm256_castsi256_ps(_mm256_loadu_si256(a.as_ptr().cast())),
            _mm256_castsi256_ps(_mm256_loadu_si256(b.as_ptr().cast())),
        )
    };
    let low = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(a, b));
    let high = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(a, b));
    // The shuffles work within halves of a vector; this puts the numbers in order.
    (
        _mm256_permute4x64_epi64::<0b11_01_10_00>(low),
        _mm256_permute4x64_epi64::<0b11_01_10_00>(high),
    )
}

#[inline]
#[target_feature(enable = "avx2")]
fn rot12(x: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_slli_epi32::<12>(x), _mm256_srli_epi32::<20>(x))
}

#[inline]
#[target_feature(enable = "avx2")]
fn rot7(x: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_slli_epi32::<7>(x), _mm256_srli_epi32::<25>(x))
}

/// The rounds: lane `j` of vector `i` is word `i` of block `j`. Two quarter rounds at a time, so that few of
/// the sixteen vectors have to leave the registers.
#[inline]
#[target_feature(enable = "avx2")]
fn rounds(initial: &[__m256i; 16]) -> [__m256i; 16] {
    let mut x = *initial;
    // Opaque, or the compiler makes two shuffles of the first one.
    let by16 = std::hint::black_box(_mm256_set_epi8(
        13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2, 13, 12, 15, 14, 9, 8, 11, 10, 5, 4,
        7, 6, 1, 0, 3, 2,
    ));
    let by8 = std::hint::black_box(_mm256_set_epi8(
        14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3, 14, 13, 12, 15, 10, 9, 8, 11, 6, 5,
        4, 7, 2, 1, 0, 3,
    ));
    let rot16 = |x| _mm256_shuffle_epi8(x, by16);
    let rot8 = |x| _mm256_shuffle_epi8(x, by8);
    macro_rules! step {
        ($a:expr, $b:expr, $d:expr, $rot:ident) => {
            x[$a] = _mm256_add_epi32(x[$a], x[$b]);
            x[$d] = $rot(_mm256_xor_si256(x[$d], x[$a]));
        };
    }
    macro_rules! two {
        ($a:expr, $b:expr, $c:expr, $d:expr) => {
            step!($a[0], $b[0], $d[0], rot16);
            step!($a[1], $b[1], $d[1], rot16);
            step!($c[0], $d[0], $b[0], rot12);
            step!($c[1], $d[1], $b[1], rot12);
            step!($a[0], $b[0], $d[0], rot8);
            step!($a[1], $b[1], $d[1], rot8);
            step!($c[0], $d[0], $b[0], rot7);
            step!($c[1], $d[1], $b[1], rot7);
        };
    }
    for _ in 0..10 {
        two!([0, 1], [4, 5], [8, 9], [12, 13]);
        two!([2, 3], [6, 7], [10, 11], [14, 15]);
        two!([0, 1], [5, 6], [10, 11], [15, 12]);
        two!([2, 3], [7, 4], [8, 9], [13, 14]);
    }
    x
}

/// [`lanes::fill`].
#[target_feature(enable = "avx2")]
pub(super) fn fill(key: &[u32; 8], nonce: u64, first: u64, out: &mut [u8]) {
    let mut first = first;
    let mut steps = out.chunks_exact_mut(LANES * BLOCK);
    for out in &mut steps {
        fill_step(key, nonce, first, out);
        first = first.wrapping_add(LANES as u64);
    }
    let rest = steps.into_remainder();
    match rest.len() / BLOCK {
        0 => {}
        // Half of the time that the lanes take.
        1 => lanes::fill_one(key, nonce, first, rest),
        _ => {
            let mut all = [0; LANES * BLOCK];
            fill_step(key, nonce, first, &mut all);
            rest.copy_from_slice(&all[..rest.len()]);
        }
    }
}

/// Eight consecutive blocks into 512 bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn fill_step(key: &[u32; 8], nonce: u64, first: u64, out: &mut [u8]) {
    let nonces = (
        _mm256_set1_epi32(nonce as i32),
        _mm256_set1_epi32((nonce >> 32) as i32),
    );
    let start = initial(key, consecutive(first), nonces);
    let mut x = rounds(&start);
    for (x, start) in x.iter_mut().zip(start) {
        *x = _mm256_add_epi32(*x, start);
    }
    for (half, rows) in x.chunks_exact(8).enumerate() {
        let columns = transpose(rows);
        for (j, column) in columns.into_iter().enumerate() {
            let at = 64 * j + 32 * half;
            let out = &mut out[at..at + 32];
            // SAFETY: `out` has 32 bytes, and the store is an unaligned one.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), column) };
        }
    }
}

/// Eight vectors of words `i` into eight of blocks `j`.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(r: &[__m256i]) -> [__m256i; 8] {
    let t = [
        _mm256_unpacklo_epi32(r[0], r[1]),
        _mm256_unpackhi_epi32(r[0], r[1]),
        _mm256_unpacklo_epi32(r[2], r[3]),
        _mm256_unpackhi_epi32(r[2], r[3]),
        _mm256_unpacklo_epi32(r[4], r[5]),
        _mm256_unpackhi_epi32(r[4], r[5]),
        _mm256_unpacklo_epi32(r[6], r[7]),
        _mm256_unpackhi_epi32(r[6], r[7]),
    ];
    let u = [
        _mm256_unpacklo_epi64(t[0], t[2]),
        _mm256_unpackhi_epi64(t[0], t[2]),
        _mm256_unpacklo_epi64(t[1], t[3]),
        _mm256_unpackhi_epi64(t[1], t[3]),
        _mm256_unpacklo_epi64(t[4], t[6]),
        _mm256_unpackhi_epi64(t[4], t[6]),
        _mm256_unpacklo_epi64(t[5], t[7]),
        _mm256_unpackhi_epi64(t[5], t[7]),
    ];
    [
        _mm256_permute2x128_si256::<0x20>(u[0], u[4]),
        _mm256_permute2x128_si256::<0x20>(u[1], u[5]),
        _mm256_permute2x128_si256::<0x20>(u[2], u[6]),
        _mm256_permute2x128_si256::<0x20>(u[3], u[7]),
        _mm256_permute2x128_si256::<0x31>(u[0], u[4]),
        _mm256_permute2x128_si256::<0x31>(u[1], u[5]),
        _mm256_permute2x128_si256::<0x31>(u[2], u[6]),
        _mm256_permute2x128_si256::<0x31>(u[3], u[7]),
    ]
}

/// [`lanes::first_words`].
#[target_feature(enable = "avx2")]
pub(super) fn first_words(key: &[u32; 8], counters: &[u64], nonces: &[u64], out: &mut [u64]) {
    let (counters, last_counters) = counters.as_chunks::<LANES>();
    let (nonces, last_nonces) = nonces.as_chunks::<LANES>();
    let (out, last) = out.as_chunks_mut::<LANES>();
    for ((counters, nonces), out) in counters.iter().zip(nonces).zip(out) {
        first_words_step(key, counters, nonces, out);
    }
    match last.len() {
        0 => {}
        1 => lanes::first_word(key, last_counters, last_nonces, last),
        n => {
            let (counters, nonces) = (lanes::padded(last_counters), lanes::padded(last_nonces));
            let mut all = [0; LANES];
            first_words_step(key, &counters, &nonces, &mut all);
            last.copy_from_slice(&all[..n]);
        }
    }
}

/// The first eight bytes of eight blocks.
#[inline]
#[target_feature(enable = "avx2")]
fn first_words_step(
    key: &[u32; 8],
    counters: &[u64; LANES],
    nonces: &[u64; LANES],
    out: &mut [u64; LANES],
) {
    let start = initial(key, halves(counters), halves(nonces));
    let x = rounds(&start);
    let mut words = [[0u32; 8]; 2];
    for i in 0..2 {
        let word = _mm256_add_epi32(x[i], start[i]);
        // SAFETY: eight words are 32 bytes, and the store is an unaligned one.
        unsafe { _mm256_storeu_si256(words[i].as_mut_ptr().cast(), word) };
    }
    for (j, out) in out.iter_mut().enumerate() {
        *out = u64::from(words[0][j]) | u64::from(words[1][j]) << 32;
    }
}
