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

use std::sync::atomic::{AtomicU8, Ordering};

use zeroize::Zeroize;

use crate::key::SECRET;

/// Bytes in a block.
pub const BLOCK: usize = 64;

/// The 20 rounds under one key. Erased when dropped.
pub struct Keystream {
    key: [u32; 8],
    level: Level,
}

impl Drop for Keystream {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// What the processor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// One block at a time, on any machine.
    Plain = 1,
    /// Eight.
    Avx2 = 2,
    /// Sixteen.
    Avx512 = 3,
}

/// "expand 32-byte k"
const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// The best level that this processor has and that agrees with the plain one. `BISTOCHASTIC_CPU` may
/// name a lower one (`plain`, `avx2`), for tests.
pub fn level() -> Level {
    static SEEN: AtomicU8 = AtomicU8::new(0);
    match SEEN.load(Ordering::Relaxed) {
        1 => Level::Plain,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => {
            let most = match std::env::var("BISTOCHASTIC_CPU").as_deref() {
                Ok("plain") => Level::Plain,
                Ok("avx2") => Level::Avx2,
                _ => Level::Avx512,
            };
            let best = [Level::Avx512, Level::Avx2]
                .into_iter()
                .find(|&level| level <= most && has(level) && agrees(level))
                .unwrap_or(Level::Plain);
            SEEN.store(best as u8, Ordering::Relaxed);
            best
        }
    }
}

/// Whether the processor has what the level needs.
pub fn has(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    match level {
        Level::Plain => true,
        Level::Avx2 => is_x86_feature_detected!("avx2"),
        Level::Avx512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx2"),
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        level == Level::Plain
    }
}

/// Whether the level computes what the plain function does, over a carry of the counter.
fn agrees(level: Level) -> bool {
    let stream = |level| Keystream {
        key: std::array::from_fn(|i| 0x0102_0304 * i as u32),
        level,
    };
    let mut got = [[0u8; 16 * BLOCK]; 2];
    let mut words = [[0u64; 16]; 2];
    let counters: [u64; 16] = std::array::from_fn(|i| (i as u64) << (4 * i));
    let nonces: [u64; 16] = std::array::from_fn(|i| (i as u64) << (60 - 3 * i));
    for (i, level) in [Level::Plain, level].into_iter().enumerate() {
        stream(level).fill(0x0123_4567_89ab_cdef, u64::from(u32::MAX) - 3, &mut got[i]);
        stream(level).first_words(&counters, &nonces, &mut words[i]);
    }
    got[0] == got[1] && words[0] == words[1]
}

impl Keystream {
    /// The stream of a derived key.
    pub fn new(secret: &[u8; SECRET]) -> Self {
        Keystream {
            key: std::array::from_fn(|i| word(&secret[4 * i..])),
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

    /// Blocks `first`, `first + 1`, ... under `nonce`. The length is a multiple of 64.
    pub fn fill(&self, nonce: u64, first: u64, out: &mut [u8]) {
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
    pub fn first_words(&self, counters: &[u64], nonces: &[u64], out: &mut [u64]) {
        let mut done = 0;
        #[cfg(target_arch = "x86_64")]
        {
            let n = counters.len().min(nonces.len()).min(out.len());
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
        (counter >> 32) as u32,
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

/// The rounds over vectors: lane `j` of vector `i` is word `i` of block `j`. Two quarter rounds at a
/// time, so that few of the sixteen vectors have to leave the registers.
#[cfg(target_arch = "x86_64")]
macro_rules! rounds {
    ($x:ident, $add:ident, $xor:ident, $rot16:ident, $rot12:ident, $rot8:ident, $rot7:ident) => {
        macro_rules! step {
            ($a:expr, $b:expr, $d:expr, $rot:ident) => {
                $x[$a] = $add($x[$a], $x[$b]);
                $x[$d] = $rot($xor($x[$d], $x[$a]));
            };
        }
        macro_rules! two {
            ($a:expr, $b:expr, $c:expr, $d:expr) => {
                step!($a[0], $b[0], $d[0], $rot16);
                step!($a[1], $b[1], $d[1], $rot16);
                step!($c[0], $d[0], $b[0], $rot12);
                step!($c[1], $d[1], $b[1], $rot12);
                step!($a[0], $b[0], $d[0], $rot8);
                step!($a[1], $b[1], $d[1], $rot8);
                step!($c[0], $d[0], $b[0], $rot7);
                step!($c[1], $d[1], $b[1], $rot7);
            };
        }
        for _ in 0..10 {
            two!([0, 1], [4, 5], [8, 9], [12, 13]);
            two!([2, 3], [6, 7], [10, 11], [14, 15]);
            two!([0, 1], [5, 6], [10, 11], [15, 12]);
            two!([2, 3], [7, 4], [8, 9], [13, 14]);
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! Eight blocks at a time.

    use std::arch::x86_64::*;

    use super::SIGMA;

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
    fn halves(numbers: &[u64]) -> Halves {
        let (a, b) = numbers[..8].split_at(4);
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

    #[inline]
    #[target_feature(enable = "avx2")]
    fn rounds(initial: &[__m256i; 16]) -> [__m256i; 16] {
        let mut x = *initial;
        // Opaque, or the compiler makes two shuffles of the first one.
        let by16 = std::hint::black_box(_mm256_set_epi8(
            13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2, 13, 12, 15, 14, 9, 8, 11, 10, 5,
            4, 7, 6, 1, 0, 3, 2,
        ));
        let by8 = std::hint::black_box(_mm256_set_epi8(
            14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3, 14, 13, 12, 15, 10, 9, 8, 11, 6,
            5, 4, 7, 2, 1, 0, 3,
        ));
        let rot16 = |x| _mm256_shuffle_epi8(x, by16);
        let rot8 = |x| _mm256_shuffle_epi8(x, by8);
        let add = |a, b| _mm256_add_epi32(a, b);
        let xor = |a, b| _mm256_xor_si256(a, b);
        rounds!(x, add, xor, rot16, rot12, rot8, rot7);
        x
    }

    /// Eight consecutive blocks into 512 bytes.
    #[target_feature(enable = "avx2")]
    pub fn fill(key: &[u32; 8], first: u64, nonce: u64, out: &mut [u8]) {
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

    /// The first eight bytes of eight blocks.
    #[target_feature(enable = "avx2")]
    pub fn first_words(key: &[u32; 8], counters: &[u64], nonces: &[u64], out: &mut [u64]) {
        let start = initial(key, halves(counters), halves(nonces));
        let x = rounds(&start);
        let mut words = [[0u32; 8]; 2];
        for i in 0..2 {
            let word = _mm256_add_epi32(x[i], start[i]);
            // SAFETY: eight words are 32 bytes, and the store is an unaligned one.
            unsafe { _mm256_storeu_si256(words[i].as_mut_ptr().cast(), word) };
        }
        for (j, out) in out.iter_mut().take(8).enumerate() {
            *out = u64::from(words[0][j]) | u64::from(words[1][j]) << 32;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
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
}

#[cfg(test)]
mod tests {
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
                at(&secret, level).first_words(&counters[..blocks], &[1; 40], &mut words);
                for (block, word) in want.chunks(BLOCK).zip(words) {
                    assert_eq!(block[..8], word.to_le_bytes(), "{level:?}");
                }
            }
        }
    }

    #[test]
    fn a_level_is_trusted_when_it_agrees() {
        assert!(levels().all(agrees));
    }
}
