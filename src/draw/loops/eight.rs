//! Eight records at a time, tables read by gathers. Words of 16 and 32 bits.

use std::arch::x86_64::*;

use super::{Code, Kind, Then, Undecided, Word};
use crate::draw::sampler::classes::Classes;
use crate::draw::sampler::tridiagonal::Steps;

const LANES: usize = 8;

/// Whether there is a loop for this kind, which has then been run.
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
        Kind::Dense(rows) if rows.table.len() < 1 << 31 => {
            let (k, last) = (rows.k, all(rows.least));
            let table = &*rows.table;
            let shift = _mm_cvtsi32_si128(k as i32);
            sweep::<W, C>(kind, words, src, dst, undecided, |x, u| {
                // SAFETY: codes were found to be below the size, so the entry is in the table.
                let v = unsafe { look_up(table, k, x, _mm256_sll_epi32(u, shift)) };
                (v, below(last, x))
            });
        }
        Kind::RandomizedResponse(lies) if W::BITS == 32 && lies.each > 0 => {
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
        Kind::Tridiagonal(neighbours) => {
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
        let mut codes = [0u32; LANES];
        for (code, u) in codes.iter_mut().zip(src) {
            *code = u.get() as u32;
        }
        // SAFETY: `words` has 16 or 32 bytes, eight codes are 32 bytes, and loads and store are unaligned ones.
        let (v, unsure) = unsafe {
            let x = if W::BITS == 16 {
                _mm256_cvtepu16_epi32(_mm_loadu_si128(words.as_ptr().cast()))
            } else {
                _mm256_loadu_si256(words.as_ptr().cast())
            };
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
    super::sweep::<W, C>(whole, words, src, dst, undecided, |x, u| kind.decide(x, u));
}
