//! A table of sixteen columns in registers: 32 records at a time.

use std::arch::x86_64::*;

use super::{Then, Undecided, Word, sweep};
use crate::draw::sampler::one::One;

const LANES: usize = 32;

#[target_feature(enable = "avx2")]
pub fn draw<W: Word>(
    one: &One<W>,
    words: &[u8],
    src: &[u8],
    dst: &mut [u8],
    undecided: &mut Undecided,
) {
    let (slots, then) = (&one.slots, one.then);
    // Entries of 16 bits as a table of their lower and one of their upper bytes.
    let (mut low, mut high) = ([0u8; 16], [0u8; 16]);
    for ((low, high), entry) in low.iter_mut().zip(&mut high).zip(&*slots.table) {
        [*low, *high] = (entry.get() as u16).to_le_bytes();
    }
    let both_halves = |bytes: [u8; 16]| {
        let whole = u128::from_le_bytes(bytes);
        _mm256_broadcastsi128_si256(_mm_set_epi64x((whole >> 64) as i64, whole as i64))
    };
    let table = Table {
        low: both_halves(low),
        high: both_halves(high),
        last: _mm256_set1_epi16(slots.last as i16),
    };
    // A choice shifts nothing, and no cycle is as long as 0.
    let (size, fold, mask) = match then {
        Then::Fold(size) => (size, true, -1),
        Then::Shift(size) => (size, false, -1),
        Then::Pick => (0, false, 0),
        Then::Swap(..) => unreachable!("a swap is no shift, fold or choice"),
    };
    let mask = _mm256_set1_epi8(mask);
    let cycle = _mm256_set1_epi8(if fold { 2 * size } else { size } as i8);
    let mirror = _mm256_set1_epi8((2 * size).wrapping_sub(1) as i8);
    let whole = src.len() - src.len() % LANES;
    for start in (0..whole).step_by(LANES) {
        let (words, src) = (&words[2 * start..][..2 * LANES], &src[start..][..LANES]);
        let dst = &mut dst[start..][..LANES];
        // SAFETY: `words` has 64 bytes, `src` 32, and the loads are unaligned ones.
        let (a, b, u) = unsafe {
            (
                _mm256_loadu_si256(words.as_ptr().cast()),
                _mm256_loadu_si256(words[LANES..].as_ptr().cast()),
                _mm256_loadu_si256(src.as_ptr().cast()),
            )
        };
        let ((ja, sure_a), (jb, sure_b)) = (table.draw(a), table.draw(b));
        // Packing works within halves; the permutation puts them in order.
        let packed = _mm256_packus_epi16(ja, jb);
        let j = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
        let v = _mm256_add_epi8(_mm256_and_si256(u, mask), j);
        let mut v = _mm256_min_epu8(v, _mm256_sub_epi8(v, cycle));
        if fold {
            v = _mm256_min_epu8(v, _mm256_sub_epi8(mirror, v));
        }
        // SAFETY: `dst` has 32 bytes, and the store is an unaligned one.
        unsafe { _mm256_storeu_si256(dst.as_mut_ptr().cast(), v) };
        let sure = _mm256_and_si256(sure_a, sure_b);
        if _mm256_movemask_epi8(sure) != -1 {
            for (i, word) in words.chunks_exact(2).enumerate() {
                if u64::from(u16::read(word)) > slots.last {
                    undecided.push(start + i);
                }
            }
        }
    }
    sweep::<W, u8>(whole, words, src, dst, undecided, |x, u| one.decide(x, u));
}

#[derive(Clone, Copy)]
struct Table {
    low: __m256i,
    high: __m256i,
    last: __m256i,
}

impl Table {
    /// Outcomes of 16 words, and for which of them the word decides.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn draw(self, x: __m256i) -> (__m256i, __m256i) {
        let column = _mm256_srli_epi16::<12>(x);
        // The column in both bytes, to look up both bytes of its entry.
        let both = _mm256_or_si256(column, _mm256_slli_epi16::<8>(column));
        let low = _mm256_shuffle_epi8(self.low, both);
        let high = _mm256_shuffle_epi8(self.high, both);
        let entry = _mm256_blendv_epi8(low, high, _mm256_set1_epi16(-256));
        let threshold = _mm256_srli_epi16::<4>(entry);
        let below = _mm256_and_si256(x, _mm256_set1_epi16(0x0fff));
        // Both are below 2^12, so signs do not matter.
        let own = _mm256_cmpgt_epi16(threshold, below);
        let alias = _mm256_and_si256(entry, _mm256_set1_epi16(0x000f));
        let outcome = _mm256_blendv_epi8(alias, column, own);
        // x <= last without a sign: max(x, last) = last.
        let sure = _mm256_cmpeq_epi16(_mm256_max_epu16(x, self.last), self.last);
        (outcome, sure)
    }
}
