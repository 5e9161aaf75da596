//! The block function, several blocks at a time.
//!
//! It is written once, over `N` lanes of which each computes one block, and in a form that the compiler turns
//! into vectors: one loop over the lanes that holds all rounds, as a step at a time over arrays stays scalar.
//! [`super::level`] compiles it for each level of processor, so all is inlined there.

use super::{BLOCK, SIGMA};

/// The words of `N` blocks: lane `j` of row `i` is word `i` of block `j`.
pub(super) type Rows<const N: usize> = [[u32; N]; 16];

/// The blocks with these counters and nonces.
#[inline(always)]
pub(super) fn blocks<const N: usize>(
    key: &[u32; 8],
    counters: &[u64; N],
    nonces: &[u64; N],
) -> Rows<N> {
    let own = halves(counters, nonces);
    let mut rows = [[0; N]; 16];
    for j in 0..N {
        let start: [u32; 16] = std::array::from_fn(|i| match i {
            0..4 => SIGMA[i],
            4..12 => key[i - 4],
            _ => own[i - 12][j],
        });
        let mut x = start;
        // Ten times, written out: a loop in here would keep the one around it scalar. Each use of this in the crate
        // takes the compiler a second, so there are few.
        double(&mut x);
        double(&mut x);
        double(&mut x);
        double(&mut x);
        double(&mut x);
        double(&mut x);
        double(&mut x);
        double(&mut x);
        double(&mut x);
        double(&mut x);
        for i in 0..16 {
            rows[i][j] = x[i].wrapping_add(start[i]);
        }
    }
    rows
}

/// The lower halves of the counters, the upper ones, and those of the nonces.
#[inline(always)]
fn halves<const N: usize>(counters: &[u64; N], nonces: &[u64; N]) -> [[u32; N]; 4] {
    let mut own = [[0; N]; 4];
    for j in 0..N {
        own[0][j] = counters[j] as u32;
        own[1][j] = (counters[j] >> 32) as u32;
        own[2][j] = nonces[j] as u32;
        own[3][j] = (nonces[j] >> 32) as u32;
    }
    own
}

/// A round over the columns and one over the diagonals.
#[inline(always)]
fn double(x: &mut [u32; 16]) {
    quarters(x, [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]);
    quarters(x, [5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14]);
}

/// Four quarter rounds side by side: measured, two or one at a time are 2 to 4 % slower.
#[inline(always)]
fn quarters(x: &mut [u32; 16], b: [usize; 4], c: [usize; 4], d: [usize; 4]) {
    for i in 0..4 {
        step(x, i, b[i], d[i], 16);
    }
    for i in 0..4 {
        step(x, c[i], d[i], b[i], 12);
    }
    for i in 0..4 {
        step(x, i, b[i], d[i], 8);
    }
    for i in 0..4 {
        step(x, c[i], d[i], b[i], 7);
    }
}

#[inline(always)]
fn step(x: &mut [u32; 16], a: usize, b: usize, d: usize, by: u32) {
    x[a] = x[a].wrapping_add(x[b]);
    x[d] = (x[d] ^ x[a]).rotate_left(by);
}

/// Write consecutive blocks, as many as `out` has room for, each `N` of them by `blocks`.
#[inline(always)]
pub(super) fn fill<const N: usize>(
    key: &[u32; 8],
    nonce: u64,
    first: u64,
    out: &mut [u8],
    blocks: impl Fn(&[u32; 8], &[u64; N], &[u64; N]) -> Rows<N>,
) {
    let mut first = first;
    for out in out.chunks_mut(N * BLOCK) {
        if N > 1 && out.len() == BLOCK {
            // Half of the time that the lanes take.
            return fill_one(key, nonce, first, out);
        }
        let counters = std::array::from_fn(|j| first.wrapping_add(j as u64));
        write(&blocks(key, &counters, &[nonce; N]), out);
        first = first.wrapping_add(N as u64);
    }
}

/// One block.
#[inline(never)]
pub(super) fn block(key: &[u32; 8], counter: u64, nonce: u64) -> [u32; 16] {
    blocks(key, &[counter], &[nonce]).map(|[word]| word)
}

/// One block at a time.
pub(super) fn fill_one(key: &[u32; 8], nonce: u64, first: u64, out: &mut [u8]) {
    for (i, out) in (0..).zip(out.chunks_exact_mut(BLOCK)) {
        let words = block(key, first.wrapping_add(i), nonce);
        write(&words.map(|word| [word]), out);
    }
}

/// The blocks one after the other, as many as `out` has room for.
#[inline(always)]
fn write<const N: usize>(rows: &Rows<N>, out: &mut [u8]) {
    if out.len() < N * BLOCK || !N.is_multiple_of(4) {
        for (j, out) in out.chunks_exact_mut(BLOCK).enumerate() {
            for (out, row) in out.chunks_exact_mut(4).zip(rows) {
                out.copy_from_slice(&row[j].to_le_bytes());
            }
        }
        return;
    }
    // Four words of four blocks at a time, in which the compiler sees a transpose.
    for (i, rows) in rows.chunks_exact(4).enumerate() {
        for four in 0..N / 4 {
            for j in 4 * four..4 * four + 4 {
                let at = BLOCK * j + 16 * i;
                for (out, row) in out[at..at + 16].chunks_exact_mut(4).zip(rows) {
                    out.copy_from_slice(&row[j].to_le_bytes());
                }
            }
        }
    }
}

/// The first eight bytes, as a number, of the block at each `(counter, nonce)`. There are equally many of
/// each.
#[inline(always)]
pub(super) fn first_words<const N: usize>(
    key: &[u32; 8],
    counters: &[u64],
    nonces: &[u64],
    out: &mut [u64],
    blocks: impl Fn(&[u32; 8], &[u64; N], &[u64; N]) -> Rows<N>,
) {
    let some = counters.chunks(N).zip(nonces.chunks(N));
    for ((counters, nonces), out) in some.zip(out.chunks_mut(N)) {
        if N > 1 && out.len() == 1 {
            return first_word(key, counters, nonces, out);
        }
        let [a, b, ..] = blocks(key, &padded(counters), &padded(nonces));
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = u64::from(a) | u64::from(b) << 32;
        }
    }
}

/// One block at a time.
pub(super) fn first_word(key: &[u32; 8], counters: &[u64], nonces: &[u64], out: &mut [u64]) {
    for ((out, &counter), &nonce) in out.iter_mut().zip(counters).zip(nonces) {
        let [a, b, ..] = block(key, counter, nonce);
        *out = u64::from(a) | u64::from(b) << 32;
    }
}

/// A number for each lane. A short rest is not worth a second kind of work: what the lanes left over compute
/// is dropped.
#[inline(always)]
fn padded<const N: usize>(numbers: &[u64]) -> [u64; N] {
    <[u64; N]>::try_from(numbers).unwrap_or_else(|_| {
        let mut all = [0; N];
        all[..numbers.len()].copy_from_slice(numbers);
        all
    })
}
