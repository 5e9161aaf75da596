//! The compression compiled for each level of processor; a level is believed after it has agreed with the crate.

use super::lanes::{self, Blocks, Chain};
use super::{BLOCK, Hashing, Messages, word_of};
use crate::system::erase::{self, SECRET};
use crate::system::kept::Kept;
use crate::system::processor::{self, Level};

/// The best level that this processor has and that agrees with the crate.
pub(super) fn level() -> Level {
    static FOUND: Kept<Level> = Kept::new();
    *FOUND.get_or_make(|| processor::trusted(agrees))
}

/// Messages of several lengths, of bytes that are all the same.
struct Trial;

impl Messages for Trial {
    fn len(&self, i: usize) -> usize {
        9 * i
    }

    fn block(&self, i: usize, b: usize) -> [u8; BLOCK] {
        let rest = (9 * i).saturating_sub(BLOCK * b);
        std::array::from_fn(|k| if k < rest { i as u8 } else { 0 })
    }
}

const TRIALS: usize = 35;

/// Whether the level computes what the crate does, for one block and more, and with lanes left over.
pub(super) fn agrees(level: Level) -> bool {
    let hashing = Hashing::with(erase::empty(), level);
    let mut same = 0;
    hashing.many(&Trial, TRIALS, |i, words: [u32; 2]| {
        let want = blake3::keyed_hash(&[0; SECRET], &[i as u8; 9 * TRIALS][..9 * i]);
        let want = want.as_bytes();
        same += usize::from(words == [word_of(want), word_of(&want[4..])]);
    });
    same == TRIALS
}

/// [`lanes::many`] as the level has it, which the processor has; nothing if it is the plain one.
pub(super) fn many<const W: usize>(
    level: Level,
    key: &[u32; 8],
    messages: &impl Messages,
    count: usize,
    put: &mut impl FnMut(usize, [u32; W]),
) {
    match level {
        Level::Plain => {}
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => lanes::many(key, messages, count, put, |chain, blocks| {
            // SAFETY: hashes have this level only if the processor has AVX2.
            unsafe { compress_avx2(chain, blocks) }
        }),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => lanes::many(key, messages, count, put, |chain, blocks| {
            // SAFETY: hashes have this level only if the processor has AVX-512.
            unsafe { compress_avx512(chain, blocks) }
        }),
        _ => lanes::many(key, messages, count, put, compress_base),
    }
}

#[inline(never)]
fn compress_base(chain: &mut Chain<4>, blocks: &Blocks<4>) {
    lanes::compress(chain, blocks);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn compress_avx2(chain: &mut Chain<8>, blocks: &Blocks<8>) {
    lanes::compress(chain, blocks);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn compress_avx512(chain: &mut Chain<16>, blocks: &Blocks<16>) {
    lanes::compress(chain, blocks);
}
