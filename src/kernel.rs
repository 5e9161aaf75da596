//! The inner loops: first words and codes to reports, a block at a time.
//!
//! Each loop is compiled twice, plainly and for AVX2, from one source. Only the look-up in a table of
//! sixteen columns is written by hand: such a table fits in two registers.

use crate::alias::{Slots, Word};
use crate::keystream::{Level, level};
use crate::randomize::{Code, RECORDS};
use crate::sampler::{Classes, Kind, Steps, Then};

/// Positions in a block that the first word did not decide.
pub struct Undecided {
    at: Box<[u16]>,
    n: usize,
}

impl Undecided {
    /// None so far.
    pub fn new() -> Self {
        Undecided {
            at: vec![0; RECORDS].into(),
            n: 0,
        }
    }

    /// All of them, in order.
    pub fn positions(&self) -> &[u16] {
        &self.at[..self.n]
    }

    #[inline]
    fn push(&mut self, i: usize) {
        // A block has no more records than there is room.
        if let Some(at) = self.at.get_mut(self.n) {
            *at = i as u16;
            self.n += 1;
        }
    }
}

impl Default for Undecided {
    fn default() -> Self {
        Self::new()
    }
}

/// Reports for the codes `src`, and which of them are undecided.
pub fn draw<W: Word, C: Code>(
    kind: &Kind<W>,
    words: &[u8],
    src: &[C],
    dst: &mut [C],
    undecided: &mut Undecided,
) {
    undecided.n = 0;
    #[cfg(target_arch = "x86_64")]
    if level() >= Level::Avx2 {
        // SAFETY: the level is AVX2 or above only where the processor has it.
        unsafe { draw_avx2(kind, words, src, dst, undecided) };
        return;
    }
    draw_any(kind, words, src, dst, undecided);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn draw_avx2<W: Word, C: Code>(
    kind: &Kind<W>,
    words: &[u8],
    src: &[C],
    dst: &mut [C],
    undecided: &mut Undecided,
) {
    if let Kind::One { slots, then, .. } = kind
        && let (16, 4) = (W::BITS, slots.k)
        && let Then::Shift(_) | Then::Fold(_) = then
        && let Some((src, dst)) = C::bytes(src, dst)
    {
        return sixteen::draw(slots, *then, words, src, dst, undecided);
    }
    draw_any(kind, words, src, dst, undecided);
}

#[inline(always)]
fn draw_any<W: Word, C: Code>(
    kind: &Kind<W>,
    words: &[u8],
    src: &[C],
    dst: &mut [C],
    undecided: &mut Undecided,
) {
    // One loop a structure, so that nothing is asked a record that does not depend on it.
    match kind {
        Kind::One { slots, then, .. } => {
            let draw = |x, u, then: Then| {
                let (j, undecided) = slots.draw(x);
                (then.apply(u, j), undecided)
            };
            match *then {
                Then::Shift(size) => sweep::<W, C>(words, src, dst, undecided, |x, u| {
                    draw(x, u, Then::Shift(size))
                }),
                Then::Fold(size) => sweep::<W, C>(words, src, dst, undecided, |x, u| {
                    draw(x, u, Then::Fold(size))
                }),
                Then::Swap(a, b) => sweep::<W, C>(words, src, dst, undecided, |x, u| {
                    draw(x, u, Then::Swap(a, b))
                }),
                Then::Pick => sweep::<W, C>(words, src, dst, undecided, |x, _| slots.draw(x)),
            }
        }
        Kind::Classes(Classes::One(_)) => {
            sweep::<W, C>(words, src, dst, undecided, |x, _| kind.decide(x, 0));
        }
        Kind::Neighbours {
            steps: Steps::Constant(_),
            ..
        } => sweep::<W, C>(words, src, dst, undecided, |x, u| kind.decide(x, u)),
        Kind::Lies { .. } | Kind::Classes(_) | Kind::Neighbours { .. } | Kind::Rows(_) => {
            sweep::<W, C>(words, src, dst, undecided, |x, u| kind.decide(x, u));
        }
    }
}

/// `decide(word, code)` for all records. What is undecided is rare, so a run of records is asked
/// again only if one of them is.
#[inline(always)]
fn sweep<W: Word, C: Code>(
    words: &[u8],
    src: &[C],
    dst: &mut [C],
    undecided: &mut Undecided,
    decide: impl Fn(u64, u64) -> (u64, bool),
) {
    const RUN: usize = 64;
    let bytes = W::BITS as usize / 8;
    let runs = words.chunks(RUN * bytes).zip(src.chunks(RUN));
    for (run, ((words, src), dst)) in runs.zip(dst.chunks_mut(RUN)).enumerate() {
        let mut any = false;
        for ((word, u), v) in words.chunks_exact(bytes).zip(src).zip(&mut *dst) {
            let (report, unsure) = decide(W::read(word).get(), u.get());
            *v = C::low(report);
            any |= unsure;
        }
        if any {
            for (i, (word, u)) in words.chunks_exact(bytes).zip(src).enumerate() {
                if decide(W::read(word).get(), u.get()).1 {
                    undecided.push(RUN * run + i);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod sixteen {
    //! A table of sixteen columns in registers: 32 records at a time.

    use std::arch::x86_64::*;

    use super::{Slots, Then, Undecided, Word, sweep};

    const LANES: usize = 32;

    #[target_feature(enable = "avx2")]
    pub fn draw<W: Word>(
        slots: &Slots<W>,
        then: Then,
        words: &[u8],
        src: &[u8],
        dst: &mut [u8],
        undecided: &mut Undecided,
    ) {
        // Entries of 16 bits as a table of their lower and one of their upper bytes.
        let (mut low, mut high) = ([0u8; 16], [0u8; 16]);
        for ((low, high), entry) in low.iter_mut().zip(&mut high).zip(&*slots.table) {
            [*low, *high] = (entry.get() as u16).to_le_bytes();
        }
        // SAFETY: both arrays have 16 bytes, and the loads are unaligned ones.
        let (low, high) = unsafe {
            (
                _mm_loadu_si128(low.as_ptr().cast()),
                _mm_loadu_si128(high.as_ptr().cast()),
            )
        };
        let table = Table {
            low: _mm256_broadcastsi128_si256(low),
            high: _mm256_broadcastsi128_si256(high),
            last: _mm256_set1_epi16(slots.last as i16),
        };
        let (size, fold) = match then {
            Then::Fold(size) => (size, true),
            Then::Shift(size) => (size, false),
            Then::Swap(..) | Then::Pick => return,
        };
        let cycle = _mm256_set1_epi8(if fold { 2 * size } else { size } as i8);
        let mirror = _mm256_set1_epi8((2 * size - 1) as i8);
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
            let j = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(ja, jb));
            let v = _mm256_add_epi8(u, j);
            let mut v = _mm256_min_epu8(v, _mm256_sub_epi8(v, cycle));
            if fold {
                v = _mm256_min_epu8(v, _mm256_sub_epi8(mirror, v));
            }
            // SAFETY: `dst` has 32 bytes, and the store is an unaligned one.
            unsafe { _mm256_storeu_si256(dst.as_mut_ptr().cast(), v) };
            let sure = _mm256_and_si256(sure_a, sure_b);
            if _mm256_movemask_epi8(sure) != -1 {
                for (i, word) in words.chunks_exact(2).enumerate() {
                    if u16::read(word).get() > slots.last {
                        undecided.push(start + i);
                    }
                }
            }
        }
        let before = undecided.n;
        sweep::<W, u8>(
            &words[2 * whole..],
            &src[whole..],
            &mut dst[whole..],
            undecided,
            |x, u| {
                let (j, unsure) = slots.draw(x);
                (then.apply(u, j), unsure)
            },
        );
        let after = undecided.n;
        for i in &mut undecided.at[before..after] {
            *i += whole as u16;
        }
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
}
