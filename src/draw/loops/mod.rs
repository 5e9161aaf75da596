//! The inner loops: first words and codes to reports, a block at a time.
//!
//! Each loop is compiled twice, plainly and for AVX2, from one source. Only the look-up in a table of
//! sixteen columns is written by hand: such a table fits in two registers.

use crate::draw::code::Code;
use crate::draw::code::Word;
use crate::draw::sampler::Kind;
use crate::draw::sampler::kind::Then;
use crate::system::erase::Erased;
#[cfg(target_arch = "x86_64")]
use crate::system::processor::{Level, level};

pub mod digits;
#[cfg(target_arch = "x86_64")]
mod eight;

/// Positions in a block that the first word did not decide.
pub struct Undecided {
    at: Erased<u16>,
    n: usize,
}

impl Undecided {
    /// None so far, of at most `records`.
    pub fn new(records: usize) -> Self {
        assert!(records <= 1 << 16, "positions have 16 bits");
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
        // A block has no more records than there is room; one that is lost would be released undrawn.
        self.at[self.n] = i as u16;
        self.n += 1;
    }
}

/// Reports for the codes `src`, and which of them are undecided. Codes are below the size: tables are read
/// without asking again.
///
/// # Panics
/// There are not equally many of words, codes and reports: some would not be drawn.
pub(crate) fn draw<W: Word, C: Code>(
    kind: &Kind<W>,
    words: &[u8],
    src: &[C],
    dst: &mut [C],
    undecided: &mut Undecided,
) {
    let bytes = W::BITS as usize / 8;
    assert!(
        words.len() == bytes * src.len() && src.len() == dst.len(),
        "a word and a report for each code"
    );
    undecided.n = 0;
    #[cfg(target_arch = "x86_64")]
    if level() >= Level::Avx2 {
        // SAFETY: the level is AVX2 or above only if the processor has it.
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
        && let Then::Shift(_) | Then::Fold(_) | Then::Pick = one.then
        && let Some((src, dst)) = C::bytes(src, dst)
    {
        return sixteen::draw(one, words, src, dst, undecided);
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
                Then::Shift(size) => sweep::<W, C>(0, words, src, dst, undecided, |x, u| {
                    draw(x, u, Then::Shift(size))
                }),
                Then::Fold(size) => sweep::<W, C>(0, words, src, dst, undecided, |x, u| {
                    draw(x, u, Then::Fold(size))
                }),
                Then::Swap(a, b) => sweep::<W, C>(0, words, src, dst, undecided, |x, u| {
                    draw(x, u, Then::Swap(a, b))
                }),
                Then::Pick => sweep::<W, C>(0, words, src, dst, undecided, |x, _| slots.draw(x)),
            }
        }
        Kind::RandomizedResponse(_) | Kind::Classes(_) | Kind::Tridiagonal(_) | Kind::Dense(_) => {
            sweep::<W, C>(0, words, src, dst, undecided, |x, u| kind.decide(x, u));
        }
    }
}

/// `decide(word, code)` for the records from `first` on. What is undecided is rare, so a run of records is asked
/// again only if one of them is.
#[inline(always)]
fn sweep<W: Word, C: Code>(
    first: usize,
    words: &[u8],
    src: &[C],
    dst: &mut [C],
    undecided: &mut Undecided,
    decide: impl Fn(u64, u64) -> (u64, bool),
) {
    const RUN: usize = 64;
    let bytes = W::BITS as usize / 8;
    let runs = words[first * bytes..]
        .chunks(RUN * bytes)
        .zip(src[first..].chunks(RUN));
    for (run, ((words, src), dst)) in runs.zip(dst[first..].chunks_mut(RUN)).enumerate() {
        let mut any = false;
        for ((word, u), v) in words.chunks_exact(bytes).zip(src).zip(&mut *dst) {
            let (report, unsure) = decide(W::read(word).get(), u.get());
            *v = C::low(report);
            any |= unsure;
        }
        if any {
            for (i, (word, u)) in words.chunks_exact(bytes).zip(src).enumerate() {
                if decide(W::read(word).get(), u.get()).1 {
                    undecided.push(first + RUN * run + i);
                }
            }
        }
    }
}

/// A table of sixteen columns in registers: 32 records at a time.
#[cfg(target_arch = "x86_64")]
mod sixteen {
    use std::arch::x86_64::*;

    use super::{Then, Undecided, Word, sweep};
    use crate::draw::sampler::kind::One;

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
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::draw::code::RECORDS;
    use crate::draw::code::WordWidth;
    use crate::draw::keystream::{BLOCK, Keystream};
    use crate::draw::sampler::classes::Classes;
    use crate::draw::sampler::{Leaf, Sampler};
    use crate::law::Matrix;
    use crate::law::examples::{make, response, sized, table, wholes, with};
    use crate::law::parameters::Value;

    /// Words on both sides of where one lie ends and the next begins.
    fn edges<W: Word>(kind: &Kind<W>) -> Vec<u64> {
        match kind {
            Kind::RandomizedResponse(lies) if lies.each > 0 => (0..1500)
                .map(|i| lies.stay + (i * 0x9e37_79b1 % (lies.size - 1)) * lies.each)
                .flat_map(|first| [first.saturating_sub(1), first])
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Records in a block. Miri is slow, and there for memory alone: a few vectors and a rest.
    const N: usize = if cfg!(miri) { 37 } else { RECORDS - 3 };

    /// Bytes of several blocks, the last of which may be short.
    static WORDS: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let blocks = if cfg!(miri) { 1 } else { 8 };
        let mut words = vec![0; ((blocks - 1) * 8 * RECORDS + 8 * N).next_multiple_of(BLOCK)];
        Keystream::new(&[1; 32]).fill(0, 0, &mut words);
        words
    });

    /// Both compilations agree on every record, decided at once or not.
    fn agree<W: Word, C: Code>(kind: &Kind<W>, size: u64) {
        let n = N;
        let edges = edges(kind);
        for (block, bytes) in WORDS.chunks(8 * RECORDS).enumerate() {
            let mut words = bytes[..n * W::BITS as usize / 8].to_vec();
            // The last slots are the undecided ones.
            let width = W::BITS as usize / 8;
            for (i, word) in words.chunks_exact_mut(width).step_by(7).enumerate() {
                let x = W::MOST - (i as u64 % 40);
                word.copy_from_slice(&x.to_le_bytes()[..width]);
            }
            let records = words.chunks_exact_mut(width).skip(1).step_by(2);
            for (word, x) in records.zip(&edges).take(if block == 0 { n } else { 0 }) {
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
                    let mut state = i as u64;
                    let mut more = || {
                        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                        state
                    };
                    dst[i] = C::low(kind.resolve(x, src[i].get(), &mut more));
                }
                dst.iter().map(|v| v.get()).collect::<Vec<u64>>()
            };
            let (plain, best) = (run(true), run(false));
            assert_eq!(plain, best);
            assert!(plain.iter().all(|&v| v < size));
        }
    }

    fn check(matrix: &Matrix) {
        let size = matrix.size();
        match matrix.sampler() {
            Sampler::Leaf(Leaf::Two(kind)) => {
                agree::<u16, u8>(kind, size);
                agree::<u16, u64>(kind, size);
                // Wider words than it would have.
                let Sampler::Leaf(Leaf::Four(wider)) =
                    Sampler::with(matrix.law(), WordWidth::Four(()))
                else {
                    panic!("{matrix:?}");
                };
                agree::<u32, u32>(&wider, size);
            }
            Sampler::Leaf(Leaf::Four(kind)) => {
                if size <= 1 << 16 {
                    agree::<u32, u16>(kind, size);
                }
                agree::<u32, u32>(kind, size);
            }
            Sampler::Leaf(Leaf::Eight(kind)) => agree::<u64, u64>(kind, size),
            Sampler::Permutation(_) | Sampler::Composite(_) => {}
        }
    }

    #[test]
    fn both_compilations_draw_the_same() {
        let (tables, dense) = if cfg!(miri) { (17, 17) } else { (1 << 17, 300) };
        let all = [
            2, 5, 8, 12, 16, 17, 200, 256, 257, 5000, 65_536, 100_000, 33_554_432,
        ];
        let sizes = if cfg!(miri) { &[2, 17, 257] } else { &all[..] };
        for &size in sizes {
            check(&sized("uniform", size));
            check(&response(size, 0.6));
            let keep = Value::Ratio(3, 7);
            check(&with("randomized_response", size, "keep", keep));
            if size > 2 {
                check(&with("k_anonymous", size, "k", Value::Whole(2 + size / 9)));
            }
            check(&with("tridiagonal", size, "alphas", Value::Ratio(1, 2)));
            check(&with("tridiagonal", size, "alphas", Value::Real(0.3)));
            let n = size as i64;
            if size <= tables {
                check(&with("geometric", size, "temperature", Value::Real(3.0)));
                let alphas = (1..size).map(|i| [0.5, 0.5, 0.0, 0.2][i as usize % 4]);
                let alphas = Value::Reals(alphas.collect());
                check(&make("tridiagonal", &[("alphas", alphas)]).unwrap());
                let row: Vec<i64> = (0..n).map(|i| i * i % 11 + 1).collect();
                check(&wholes("circulant", "first_row", &row));
                check(&wholes("blocks", "sizes", &[1, 1, n - 1, 1]));
            }
            if size <= dense {
                let cells = (0..n * n).map(|i| (i / n + i % n) % n + 1);
                check(&table(size as usize, cells));
                // Rows of which one leaves more words undecided than another.
                let cells = (0..n * n).map(|i| match (i / n, i % n) {
                    (0 | 1, 0 | 1) => 4,
                    (u, v) => 1 + 6 * i64::from(u == v && u > 1),
                });
                check(&table(size as usize, cells));
            }
            let [n, i, j] = [size, 0, size - 1].map(Value::Whole);
            let swap = [("size", n), ("i", i), ("j", j), ("keep", Value::Real(0.3))];
            check(&make("t_transform", &swap).unwrap());
        }
        // The one kind of table that small sizes do not have.
        let classes = [(0u32, 3u32), (0, 3), (0, 3), (3, 2), (3, 2)].map(Into::into);
        let classes: Kind<u32> = Kind::Classes(Classes::Table(classes.into()));
        agree::<u32, u32>(&classes, 5);
    }
}
