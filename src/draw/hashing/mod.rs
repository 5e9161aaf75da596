//! (key, message) to words: keyed BLAKE3 of many short messages at a time.
//!
//! # The law of the words
//! The words of a message are the first bytes of its keyed BLAKE3 hash, in little-endian order. So they are what the
//! crate `blake3` gives, one message after the other. A message of up to 1024 bytes is a chain of blocks of 64
//! bytes, and the chains of several messages are computed side by side: see `lanes`. Longer ones go to the crate.
//!
//! A vector unit is used after it has agreed with the crate in this process.

use zeroize::Zeroizing;

use crate::system::erase::{self, SECRET, Secret};
use crate::system::kept::Kept;
use crate::system::processor::{self, Level};
use lanes::{Blocks, Chain};

mod lanes;

/// Bytes in a block.
pub const BLOCK: usize = 64;

/// Bytes of a message that is one chain of blocks.
const CHAIN: usize = 1024;

/// Messages to be hashed, by their number.
pub trait Messages {
    /// Bytes of message `i`.
    fn len(&self, i: usize) -> usize;

    /// Its bytes from `64 b` on, zeros behind the last.
    fn block(&self, i: usize, b: usize) -> [u8; BLOCK];

    /// Words of that block, each with its number: those that the block's `bytes` bytes fill, the last as far as they
    /// do. Most messages have few. Bytes that were written one by one cannot be read as a vector at once.
    #[inline(always)]
    fn words(&self, i: usize, b: usize, bytes: usize, mut put: impl FnMut(usize, u32)) {
        let block = self.block(i, b);
        let used = block.chunks_exact(4).take(bytes.div_ceil(4));
        for (k, word) in used.enumerate() {
            put(k, word_of(word));
        }
    }
}

/// Keyed hashes under one key, which is erased when dropped.
pub struct Hashing {
    secret: Secret,
    /// The same as words, on the heap, so that moving it leaves no copies behind.
    key: Box<Zeroizing<[u32; 8]>>,
    // One that the processor has, or vectors would be computed that it lacks.
    level: Level,
}

impl Hashing {
    /// Under a derived key.
    pub fn new(secret: Secret) -> Self {
        Hashing::with(secret, level())
    }

    fn with(secret: Secret, level: Level) -> Self {
        let mut key = Box::new(Zeroizing::new([0; 8]));
        for (word, bytes) in key.iter_mut().zip(secret.chunks_exact(SECRET / 8)) {
            *word = word_of(bytes);
        }
        Hashing { secret, key, level }
    }

    /// The first 64 bytes of one message's hash, given in parts.
    pub fn one(&self, parts: &[&[u8]]) -> [u8; BLOCK] {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        for part in parts {
            hasher.update(part);
        }
        let mut block = [0; BLOCK];
        hasher.finalize_xof().fill(&mut block);
        block
    }

    /// The first `W` words of the hashes of messages 0 to `count - 1`, each handed to `put` with its number. Nothing
    /// is allocated.
    pub fn many<const W: usize>(
        &self,
        messages: &impl Messages,
        count: usize,
        mut put: impl FnMut(usize, [u32; W]),
    ) {
        many(self.level, &self.key, messages, count, &mut put);
        // Longer messages were left out. The plain level leaves out all.
        let all = self.level == Level::Plain;
        for i in (0..count).filter(|&i| all || messages.len(i) > CHAIN) {
            let mut hasher = blake3::Hasher::new_keyed(&self.secret);
            let len = messages.len(i);
            for b in 0..len.div_ceil(BLOCK) {
                hasher.update(&messages.block(i, b)[..BLOCK.min(len - BLOCK * b)]);
            }
            let mut bytes = Zeroizing::new([0; BLOCK]);
            hasher.finalize_xof().fill(&mut bytes[..]);
            put(i, std::array::from_fn(|w| word_of(&bytes[4 * w..])));
        }
    }
}

/// The first four bytes.
#[inline(always)]
pub fn word_of(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// The best level that this processor has and that agrees with the crate.
fn level() -> Level {
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
fn agrees(level: Level) -> bool {
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
fn many<const W: usize>(
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

#[cfg(test)]
mod tests {
    use super::agrees;
    use super::*;

    /// Slices.
    struct Plain<'a>(&'a [Vec<u8>]);

    impl Messages for Plain<'_> {
        fn len(&self, i: usize) -> usize {
            self.0[i].len()
        }

        fn block(&self, i: usize, b: usize) -> [u8; BLOCK] {
            let rest = &self.0[i][(BLOCK * b).min(self.0[i].len())..];
            std::array::from_fn(|k| rest.get(k).copied().unwrap_or(0))
        }
    }

    fn secret(of: u8) -> Secret {
        Box::new(Zeroizing::new(std::array::from_fn(|i| of + i as u8)))
    }

    /// All levels that the processor has, and lanes of each width as the processor computes them that has no such
    /// vectors, give the words of the crate.
    fn check(messages: &[Vec<u8>]) {
        let (source, n) = (Plain(messages), messages.len());
        let want: Vec<[u32; 4]> = messages
            .iter()
            .map(|message| *blake3::keyed_hash(&secret(3), message).as_bytes())
            .map(|hash| std::array::from_fn(|w| word_of(&hash[4 * w..])))
            .collect();
        for level in Level::ALL.into_iter().filter(|l| l.is_had()) {
            let mut out = vec![[0; 4]; n];
            Hashing::with(secret(3), level).many(&source, n, |i, words| out[i] = words);
            assert_eq!(out, want, "{level:?}");
        }
        let key = **Hashing::new(secret(3)).key;
        // Longer messages are left out.
        let mut out: Vec<_> = want
            .iter()
            .zip(messages)
            .map(|(want, m)| if m.len() > CHAIN { *want } else { [0; 4] })
            .collect();
        macro_rules! lanes {
            ($($n:literal)*) => {$(
                let put = &mut |i: usize, words| out[i] = words;
                lanes::many::<$n, 4>(&key, &source, n, put, lanes::compress);
                assert_eq!(out, want, "{} lanes", $n);
            )*};
        }
        lanes!(1 4 8 16);
    }

    fn message(len: usize, of: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 7919 + of * 31) as u8).collect()
    }

    #[test]
    fn words_are_those_of_the_crate_for_every_length() {
        let step = if cfg!(miri) { 97 } else { 1 };
        let lengths = (0..300).chain([959, 960, 961, 1016, 1023, 1024]);
        for len in lengths.step_by(step) {
            check(&(0..19).map(|of| message(len, of)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn lengths_may_differ_within_lanes_and_be_longer_than_a_chain() {
        for most in [20, 70, 200, 1025, 3000] {
            let some = 0..if cfg!(miri) { 20 } else { 400 };
            let messages = some.map(|i| message((i * 7919 + 13) % most, i));
            check(&messages.collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_message_has_the_hash_of_its_parts_together() {
        let hashing = Hashing::new(secret(3));
        let block = hashing.one(&[b"ab", b"", b"c"]);
        let mut want = [0; BLOCK];
        let mut whole = blake3::Hasher::new_keyed(&secret(3));
        whole.update(b"abc").finalize_xof().fill(&mut want);
        assert_eq!(block, want);
    }

    #[test]
    fn a_level_is_trusted_when_it_agrees() {
        assert!(Level::ALL.into_iter().filter(|l| l.is_had()).all(agrees));
        assert!(level() <= crate::system::processor::level());
    }
}
