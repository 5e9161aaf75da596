//! The compression of BLAKE3, several messages at a time.
//!
//! It is written once, over `N` lanes of which each has one message, and in the form of
//! [`keystream`](crate::draw::keystream): one loop over the lanes that holds all rounds, which the compiler turns into
//! vectors. [`super::level`] compiles [`compress`] for each level of processor. What brings messages there is compiled
//! for each kind of message, so it calls that and does not hold it.

use super::{BLOCK, CHAIN, Messages};

/// The first four words of the initial state, those of SHA-256.
const IV: [u32; 4] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a];

/// Flags of a block: the first of its chain, the last, of the whole message, under a key.
pub(super) const START: u32 = 1;
pub(super) const END: u32 = 1 << 1;
pub(super) const ROOT: u32 = 1 << 3;
pub(super) const KEYED: u32 = 1 << 4;

/// What the chain of each message has come to.
pub(super) type Chain<const N: usize> = [[u32; N]; 8];

/// The next block of each message: its words, its length, its flags.
pub(super) struct Blocks<const N: usize> {
    words: [[u32; N]; 16],
    lengths: [u32; N],
    flags: [u32; N],
}

/// The first `W` words of the hashes of messages that are chains; others are left out. `compress` is [`compress`] for
/// the processor at hand.
pub(super) fn many<const N: usize, const W: usize>(
    key: &[u32; 8],
    messages: &impl Messages,
    count: usize,
    put: &mut impl FnMut(usize, [u32; W]),
    compress: impl Fn(&mut Chain<N>, &Blocks<N>),
) {
    for first in (0..count).step_by(N) {
        // A message for each lane. The lanes left over compute what is dropped.
        let n = N.min(count - first);
        // How many blocks each message has. An empty one has one, of no bytes.
        let (mut lens, mut blocks, mut most) = ([0; N], [0; N], 1);
        for j in 0..n {
            lens[j] = messages.len(first + j);
            if lens[j] <= CHAIN {
                blocks[j] = lens[j].div_ceil(BLOCK).max(1);
                most = most.max(blocks[j]);
            }
        }
        let mut chain = [[0; N]; 8];
        for (row, &word) in chain.iter_mut().zip(key) {
            *row = [word; N];
        }
        for b in 0..most {
            let mut now = Blocks {
                words: [[0; N]; 16],
                lengths: [0; N],
                flags: [KEYED; N],
            };
            for j in 0..n {
                if b >= blocks[j] {
                    continue;
                }
                let length = BLOCK.min(lens[j] - BLOCK * b);
                // Words behind the last byte are zeros, as they were.
                messages.words(first + j, b, length, |k, word| {
                    if let Some(row) = now.words.get_mut(k) {
                        row[j] = word;
                    }
                });
                now.lengths[j] = length as u32;
                now.flags[j] |= if b == 0 { START } else { 0 };
                now.flags[j] |= if b + 1 == blocks[j] { END | ROOT } else { 0 };
            }
            let before = chain;
            compress(&mut chain, &now);
            if most > 1 {
                // A message that has ended keeps its words.
                for (row, before) in chain.iter_mut().zip(&before) {
                    for j in 0..N {
                        row[j] = if b < blocks[j] { row[j] } else { before[j] };
                    }
                }
            }
        }
        for j in (0..n).filter(|&j| blocks[j] > 0) {
            let mut words = [0; W];
            for (word, row) in words.iter_mut().zip(&chain) {
                *word = row[j];
            }
            put(first + j, words);
        }
    }
}

/// One block of each message onto its chain.
#[inline(always)]
pub(super) fn compress<const N: usize>(chain: &mut Chain<N>, blocks: &Blocks<N>) {
    let Blocks {
        words,
        lengths,
        flags,
    } = blocks;
    for j in 0..N {
        let m = &mut [0; 16];
        for i in 0..16 {
            m[i] = words[i][j];
        }
        let mut own = [0; 8];
        for i in 0..8 {
            own[i] = chain[i][j];
        }
        let x = rounds(&own, m, lengths[j], flags[j]);
        for i in 0..8 {
            chain[i][j] = x[i] ^ x[i + 8];
        }
    }
}

/// The state after all rounds over a block of this number of bytes.
#[inline(always)]
pub(super) fn rounds(chain: &[u32; 8], m: &[u32; 16], length: u32, flags: u32) -> [u32; 16] {
    let mut x = [0; 16];
    x[..8].copy_from_slice(chain);
    x[8..12].copy_from_slice(&IV);
    // Words 12 and 13 are the number of the chain, which is the only one: 0.
    x[14] = length;
    x[15] = flags;
    // Seven times, written out: a loop in here would keep the one around it scalar. Each takes the words in the
    // order that the permutation of BLAKE3 makes of the one before.
    #[rustfmt::skip]
    {
        round(&mut x, m, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        round(&mut x, m, [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]);
        round(&mut x, m, [3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1]);
        round(&mut x, m, [10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6]);
        round(&mut x, m, [12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4]);
        round(&mut x, m, [9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7]);
        round(&mut x, m, [11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13]);
    };
    x
}

/// Four steps over the columns and four over the diagonals.
#[inline(always)]
fn round(x: &mut [u32; 16], m: &[u32; 16], s: [usize; 16]) {
    step(x, [0, 4, 8, 12], m[s[0]], m[s[1]]);
    step(x, [1, 5, 9, 13], m[s[2]], m[s[3]]);
    step(x, [2, 6, 10, 14], m[s[4]], m[s[5]]);
    step(x, [3, 7, 11, 15], m[s[6]], m[s[7]]);
    step(x, [0, 5, 10, 15], m[s[8]], m[s[9]]);
    step(x, [1, 6, 11, 12], m[s[10]], m[s[11]]);
    step(x, [2, 7, 8, 13], m[s[12]], m[s[13]]);
    step(x, [3, 4, 9, 14], m[s[14]], m[s[15]]);
}

#[inline(always)]
fn step(x: &mut [u32; 16], [a, b, c, d]: [usize; 4], m: u32, n: u32) {
    x[a] = x[a].wrapping_add(x[b]).wrapping_add(m);
    x[d] = (x[d] ^ x[a]).rotate_right(16);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_right(12);
    x[a] = x[a].wrapping_add(x[b]).wrapping_add(n);
    x[d] = (x[d] ^ x[a]).rotate_right(8);
    x[c] = x[c].wrapping_add(x[d]);
    x[b] = (x[b] ^ x[c]).rotate_right(7);
}
