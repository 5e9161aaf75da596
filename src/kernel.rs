//! The inner loops: first words and codes to reports, a block at a time.
//!
//! Each loop is compiled twice, plainly and for AVX2, from one source. Only the look-up in a table of
//! sixteen columns is written by hand: such a table fits in two registers.

use crate::alias::Word;
#[cfg(target_arch = "x86_64")]
use crate::keystream::{Level, level};
use crate::randomize::Code;
use crate::sampler::Kind;
use crate::sampler::one::Then;

/// Positions in a block that the first word did not decide.
pub struct Undecided {
    at: Box<[u16]>,
    n: usize,
}

impl Undecided {
    /// None so far, of at most so many.
    pub fn new(records: usize) -> Self {
        Undecided {
            at: vec![0; records].into(),
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
    if let Kind::One(one) = kind
        && let (16, 4) = (W::BITS, one.slots.k)
        && let Then::Shift(_) | Then::Fold(_) = one.then
        && let Some((src, dst)) = C::bytes(src, dst)
    {
        return sixteen::draw(&one.slots, one.then, words, src, dst, undecided);
    }
    if W::BITS <= 32 && eight::draw(kind, words, src, dst, undecided) {
        return;
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
        Kind::One(one) => {
            let slots = &one.slots;
            let draw = |x, u, then: Then| {
                let (j, undecided) = slots.draw(x);
                (then.apply(u, j), undecided)
            };
            match one.then {
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
        Kind::Lies(_) | Kind::Classes(_) | Kind::Neighbours(_) | Kind::Rows(_) => {
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
mod eight {
    //! Eight records at a time, tables read by gathers. Words of 16 and 32 bits.

    use std::arch::x86_64::*;

    use super::{Code, Kind, Then, Undecided, Word};
    use crate::sampler::classes::Classes;
    use crate::sampler::neighbours::Steps;

    const LANES: usize = 8;

    /// Whether there is a kernel for this kind, which has then been run.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn draw<W: Word, C: Code>(
        kind: &Kind<W>,
        words: &[u8],
        src: &[C],
        dst: &mut [C],
        undecided: &mut Undecided,
    ) -> bool {
        let most = _mm256_set1_epi32(W::MOST as i32);
        let all = |n: u64| _mm256_set1_epi32(n as i32);
        match kind {
            Kind::One(one) if one.slots.k < 30 => {
                let slots = &one.slots;
                let (k, last) = (slots.k, all(slots.last));
                let table = &*slots.table;
                // SAFETY: a column is below 2^k, and the table has 2^k + 1 entries.
                let j = |x| unsafe { look_up(table, k, x, _mm256_setzero_si256()) };
                match one.then {
                    Then::Shift(size) => {
                        let size = all(size);
                        sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                            let v = _mm256_add_epi32(u, j(x));
                            let v = _mm256_min_epu32(v, _mm256_sub_epi32(v, size));
                            (v, below(last, x))
                        });
                    }
                    Then::Fold(size) => {
                        let (cycle, mirror) = (all(2 * size), all(2 * size - 1));
                        sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                            let v = _mm256_add_epi32(u, j(x));
                            let v = _mm256_min_epu32(v, _mm256_sub_epi32(v, cycle));
                            let v = _mm256_min_epu32(v, _mm256_sub_epi32(mirror, v));
                            (v, below(last, x))
                        });
                    }
                    Then::Swap(a, b) => {
                        let (a, b, flip) = (all(a), all(b), all(a ^ b));
                        sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                            let either =
                                _mm256_or_si256(_mm256_cmpeq_epi32(u, a), _mm256_cmpeq_epi32(u, b));
                            let swap = _mm256_cmpeq_epi32(j(x), all(1));
                            let flip = _mm256_and_si256(_mm256_and_si256(either, swap), flip);
                            (_mm256_xor_si256(u, flip), below(last, x))
                        });
                    }
                    Then::Pick => {
                        sweep::<W, C>(kind, words, src, dst, undecided, |x, _| {
                            (j(x), below(last, x))
                        });
                    }
                }
            }
            Kind::Rows(rows) if rows.table.len() < 1 << 31 => {
                let (k, last) = (rows.k, all(rows.least));
                let table = &*rows.table;
                let shift = _mm_cvtsi32_si128(k as i32);
                sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                    // SAFETY: codes were found to be below the size, so the entry is in the table.
                    let v = unsafe { look_up(table, k, x, _mm256_sll_epi32(u, shift)) };
                    (v, below(last, x))
                });
            }
            Kind::Lies(lies) if W::BITS == 32 && lies.each > 0 => {
                let (size, stay, each) = (lies.size, lies.stay, lies.each);
                // With s = floor(log2 each) and m = floor(2^(32+s) / each), or one less than 2^32 where
                // that is 2^32, floor(y m / 2^(32+s)) is floor(y / each) or one less, for any y below 2^32.
                let s = each.ilog2();
                let m = all(((1u64 << (32 + s)) / each).min(u64::from(u32::MAX)));
                let (truth, each, others) = (all(stay), all(each), all(size - 1));
                let size = all(size);
                let (shift, one) = (_mm_cvtsi32_si128(s as i32), all(1));
                sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                    let lies = _mm256_xor_si256(below(x, truth), all(u64::MAX));
                    let y = _mm256_sub_epi32(x, truth);
                    let low = _mm256_srl_epi32(product::<W>(y, m).0, shift);
                    let left = _mm256_sub_epi32(y, _mm256_mullo_epi32(low, each));
                    // One more where as much as `each` is left; the comparison is 0 there, else -1.
                    let lie = _mm256_add_epi32(_mm256_add_epi32(low, one), below(left, each));
                    let j = _mm256_and_si256(_mm256_add_epi32(lie, one), lies);
                    let v = _mm256_add_epi32(u, j);
                    let v = _mm256_min_epu32(v, _mm256_sub_epi32(v, size));
                    (v, _mm256_andnot_si256(below(lie, others), lies))
                });
            }
            Kind::Classes(Classes::One(n)) => {
                let n = all(*n);
                sweep::<W, C>(kind, words, src, dst, undecided, |x, _| {
                    let (high, low) = product::<W>(x, n);
                    (high, below(low, n))
                });
            }
            Kind::Classes(Classes::Short(table)) => {
                sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                    // SAFETY: codes were found to be below the size, and the table has one entry each.
                    let entry = unsafe { _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), u) };
                    let first = _mm256_and_si256(entry, all(0xffff));
                    let n = _mm256_add_epi32(_mm256_srli_epi32::<16>(entry), all(1));
                    let (high, low) = product::<W>(x, n);
                    (_mm256_add_epi32(first, high), below(low, n))
                });
            }
            Kind::Classes(Classes::Table(table)) => {
                sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                    let at = table.as_ptr().cast::<i32>();
                    // SAFETY: codes were found to be below the size, and the table has two numbers each.
                    let (first, n) = unsafe {
                        (
                            _mm256_i32gather_epi32::<8>(at, u),
                            _mm256_i32gather_epi32::<8>(at.add(1), u),
                        )
                    };
                    let (high, low) = product::<W>(x, n);
                    (_mm256_add_epi32(first, high), below(low, n))
                });
            }
            Kind::Neighbours(neighbours) => {
                let unsure = _mm256_sub_epi32(most, all(2));
                let strays = |x, u, down, up| {
                    let falls = below(x, down);
                    let rises = _mm256_andnot_si256(falls, below(_mm256_sub_epi32(x, down), up));
                    // Comparisons are -1 where they hold.
                    let v = _mm256_sub_epi32(_mm256_add_epi32(u, falls), rises);
                    let moves = _mm256_or_si256(falls, rises);
                    (v, _mm256_andnot_si256(moves, below(unsure, x)))
                };
                match &neighbours.steps {
                    Steps::Constant(step) => {
                        let (step, end) = (all(*step), all(neighbours.end));
                        sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                            let first = _mm256_cmpeq_epi32(u, _mm256_setzero_si256());
                            let last = _mm256_cmpeq_epi32(u, end);
                            let down = _mm256_andnot_si256(first, step);
                            strays(x, u, down, _mm256_andnot_si256(last, step))
                        });
                    }
                    Steps::Vector(table) => {
                        let at = table.as_ptr().cast::<i32>();
                        sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                            // SAFETY: the table has two entries more than the largest code.
                            let (down, up) = unsafe {
                                if W::BITS == 16 {
                                    let pair = _mm256_i32gather_epi32::<2>(at, u);
                                    (
                                        _mm256_and_si256(pair, all(0xffff)),
                                        _mm256_srli_epi32::<16>(pair),
                                    )
                                } else {
                                    (
                                        _mm256_i32gather_epi32::<4>(at, u),
                                        _mm256_i32gather_epi32::<4>(at.add(1), u),
                                    )
                                }
                            };
                            strays(x, u, down, up)
                        });
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// Where `a < b`, without signs.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn below(a: __m256i, b: __m256i) -> __m256i {
        // a >= b where max(a, b) = a.
        let not = _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a);
        _mm256_xor_si256(not, _mm256_set1_epi32(-1))
    }

    /// The parts of `x n` above the word and in it.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn product<W: Word>(x: __m256i, n: __m256i) -> (__m256i, __m256i) {
        if W::BITS == 16 {
            // At most 2^16 * 2^8.
            let p = _mm256_mullo_epi32(x, n);
            (
                _mm256_srli_epi32::<16>(p),
                _mm256_and_si256(p, _mm256_set1_epi32(0xffff)),
            )
        } else {
            let even = _mm256_mul_epu32(x, n);
            let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(x), _mm256_srli_epi64::<32>(n));
            (
                _mm256_blend_epi32::<0b1010_1010>(_mm256_srli_epi64::<32>(even), odd),
                _mm256_blend_epi32::<0b1010_1010>(even, _mm256_slli_epi64::<32>(odd)),
            )
        }
    }

    /// Outcomes of eight words from the tables that start at `rows`.
    ///
    /// # Safety
    /// Each table has `2^k` entries, and one more follows the last of them.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn look_up<W: Word>(table: &[W], k: u32, x: __m256i, rows: __m256i) -> __m256i {
        let column = _mm256_srl_epi32(x, _mm_cvtsi32_si128((W::BITS - k) as i32));
        let below = _mm256_and_si256(x, _mm256_set1_epi32((W::MOST >> k) as i32));
        let at = _mm256_add_epi32(rows, column);
        // SAFETY: as the caller promises; entries of 16 bits are read with the two bytes after them.
        let entry = unsafe {
            if W::BITS == 16 {
                let pair = _mm256_i32gather_epi32::<2>(table.as_ptr().cast(), at);
                _mm256_and_si256(pair, _mm256_set1_epi32(0xffff))
            } else {
                _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), at)
            }
        };
        // Thresholds and what is compared with them have at most 28 bits: signs do not matter.
        let threshold = _mm256_srl_epi32(entry, _mm_cvtsi32_si128(k as i32));
        let own = _mm256_cmpgt_epi32(threshold, below);
        let alias = _mm256_and_si256(entry, _mm256_set1_epi32(!(u32::MAX << k) as i32));
        _mm256_blendv_epi8(alias, column, own)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sweep<W: Word, C: Code>(
        kind: &Kind<W>,
        words: &[u8],
        src: &[C],
        dst: &mut [C],
        undecided: &mut Undecided,
        decide: impl Fn(__m256i, __m256i) -> (__m256i, __m256i),
    ) {
        let bytes = W::BITS as usize / 8;
        let whole = src.len() - src.len() % LANES;
        let groups = src[..whole]
            .chunks_exact(LANES)
            .zip(words.chunks_exact(LANES * bytes));
        for (i, ((src, words), dst)) in groups.zip(dst.chunks_exact_mut(LANES)).enumerate() {
            // SAFETY: `words` has 16 or 32 bytes, and the loads are unaligned ones.
            let x = unsafe {
                if W::BITS == 16 {
                    _mm256_cvtepu16_epi32(_mm_loadu_si128(words.as_ptr().cast()))
                } else {
                    _mm256_loadu_si256(words.as_ptr().cast())
                }
            };
            let mut codes = [0u32; LANES];
            for (code, u) in codes.iter_mut().zip(src) {
                *code = u.get() as u32;
            }
            // SAFETY: eight codes are 32 bytes, and load and store are unaligned ones.
            let (v, unsure) = unsafe {
                let (v, unsure) = decide(x, _mm256_loadu_si256(codes.as_ptr().cast()));
                _mm256_storeu_si256(codes.as_mut_ptr().cast(), v);
                (codes, _mm256_movemask_ps(_mm256_castsi256_ps(unsure)))
            };
            for (to, v) in dst.iter_mut().zip(v) {
                *to = C::low(v.into());
            }
            if unsure != 0 {
                for lane in 0..LANES {
                    if unsure >> lane & 1 == 1 {
                        undecided.push(LANES * i + lane);
                    }
                }
            }
        }
        for i in whole..src.len() {
            let x = W::read(&words[i * bytes..][..bytes]).get();
            let (v, unsure) = kind.decide(x, src[i].get());
            dst[i] = C::low(v);
            if unsure {
                undecided.push(i);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod sixteen {
    //! A table of sixteen columns in registers: 32 records at a time.

    use std::arch::x86_64::*;

    use super::{Then, Undecided, Word, sweep};
    use crate::alias::Slots;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alias::More;
    use crate::family::Matrix;
    use crate::family::laws::make;
    use crate::keystream::Keystream;
    use crate::parameters::Value;
    use crate::randomize::RECORDS;
    use crate::sampler::Sampler;

    struct Always(u64);

    impl More for Always {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            self.0
        }
    }

    /// Both compilations agree on every record, decided at once or not.
    fn agree<W: Word, C: Code>(kind: &Kind<W>, size: u64) {
        let n = RECORDS - 3;
        let mut bytes = vec![0; 8 * RECORDS];
        for nonce in 0..8 {
            Keystream::new(&[1; 32]).fill(nonce, 0, &mut bytes);
            let mut words = bytes[..n * W::BITS as usize / 8].to_vec();
            // The last slots are the undecided ones.
            let width = W::BITS as usize / 8;
            for (i, word) in words.chunks_exact_mut(width).step_by(7).enumerate() {
                let x = W::MOST - (i as u64 % 40);
                word.copy_from_slice(&x.to_le_bytes()[..width]);
            }
            let src: Vec<C> = (0..n as u64).map(|i| C::low(i * 31 % size)).collect();
            let run = |plain: bool| {
                let mut dst = vec![C::low(0); n];
                let mut undecided = Undecided::new(n);
                if plain {
                    draw_any(kind, &words, &src, &mut dst, &mut undecided);
                } else {
                    draw(kind, &words, &src, &mut dst, &mut undecided);
                }
                for &i in undecided.positions() {
                    let i = usize::from(i);
                    let x = W::read(&words[i * width..][..width]).get();
                    dst[i] = C::low(kind.resolve(x, src[i].get(), &mut Always(i as u64)));
                }
                dst.iter().map(|v| v.get()).collect::<Vec<u64>>()
            };
            let (plain, best) = (run(true), run(false));
            assert_eq!(plain, best);
            assert!(plain.iter().all(|&v| v < size));
        }
    }

    fn check(matrix: &Matrix) {
        let size = matrix.family.size();
        match matrix.sampler() {
            Sampler::Two(kind) => {
                agree::<u16, u8>(kind, size);
                agree::<u16, u64>(kind, size);
            }
            Sampler::Four(kind) => {
                if size <= 1 << 16 {
                    agree::<u32, u16>(kind, size);
                }
                agree::<u32, u32>(kind, size);
            }
            Sampler::Eight(kind) => agree::<u64, u64>(kind, size),
            Sampler::Certain(_) | Sampler::Composite(_) => {}
        }
    }

    #[test]
    fn both_compilations_draw_the_same() {
        let sized = |family: &str, size: i128, name: &str, x: Value| {
            make(family, &[("size", Value::Whole(size)), (name, x)]).unwrap()
        };
        for size in [
            2,
            5,
            8,
            12,
            16,
            17,
            200,
            256,
            257,
            5000,
            65_536,
            100_000,
            1 << 25,
        ] {
            check(&make("uniform", &[("size", Value::Whole(size))]).unwrap());
            check(&sized(
                "randomized_response",
                size,
                "beta",
                Value::Real(0.6),
            ));
            check(&sized(
                "randomized_response",
                size,
                "keep",
                Value::Ratio(3, 7),
            ));
            if size > 2 {
                check(&sized("k_anonymous", size, "k", Value::Whole(2 + size / 9)));
            }
            check(&sized("tridiagonal", size, "alphas", Value::Ratio(1, 2)));
            check(&sized("tridiagonal", size, "alphas", Value::Real(0.3)));
            if size <= 1 << 17 {
                check(&sized("geometric", size, "temperature", Value::Real(3.0)));
                let alphas = (1..size).map(|i| [0.5, 0.5, 0.0, 0.2][i as usize % 4]);
                let alphas = Value::Reals(alphas.collect());
                check(&make("tridiagonal", &[("alphas", alphas)]).unwrap());
                let row = (0..size as i64).map(|i| i * i % 11 + 1).collect();
                check(&make("circulant", &[("first_row", Value::Wholes(row))]).unwrap());
                let sizes = Value::Wholes([1, 1, size as i64 - 1, 1].into());
                check(&make("blocks", &[("sizes", sizes)]).unwrap());
            }
            if size <= 300 {
                let n = size as usize;
                let cells = (0..size * size).map(|i| ((i / size + i % size) % size) as i64 + 1);
                let cells = Value::Table(n, n, Box::new(Value::Wholes(cells.collect())));
                check(&make("dense", &[("array", cells)]).unwrap());
            }
            let swap = [
                ("size", Value::Whole(size)),
                ("i", Value::Whole(0)),
                ("j", Value::Whole(size - 1)),
                ("keep", Value::Real(0.3)),
            ];
            check(&make("t_transform", &swap).unwrap());
        }
    }
}
