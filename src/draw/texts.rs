//! Declared texts as codes, and codes as texts, in the form of Arrow: bytes one after the other, and where each begins.
//!
//! # Cost
//! One pass over memory, shared among threads. A text of up to 16 bytes is known by its length and two words: its first
//! eight bytes and its last eight. So it is looked up by comparing three numbers, and written by one copy of 16 bytes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::recode::Whole;
use crate::system::{memory, pool};

/// Records of a part.
pub const PART: usize = 1 << 16;
/// Texts up to here are whole in two words.
const SHORT: usize = 16;

/// A text by its ends.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Ends {
    first: u64,
    last: u64,
    len: usize,
}

impl Ends {
    fn of(text: &[u8]) -> Self {
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let len = text.len();
        Ends {
            first: word(&text[..len.min(8)]),
            last: word(&text[len.saturating_sub(8)..]),
            len,
        }
    }

    /// The same for `data[from..to]`, by two loads where eight bytes can be read on both sides.
    #[inline(always)]
    fn at(data: &[u8], from: usize, to: usize) -> Self {
        let len = to - from;
        let load = |at: usize| {
            let bytes = data.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        match (load(from), to.checked_sub(8).and_then(load)) {
            (Some(first), Some(last)) if len >= 8 => Ends { first, last, len },
            (Some(first), _) if len < 8 => {
                let first = first & !(u64::MAX << (8 * len));
                Ends {
                    first,
                    last: first,
                    len,
                }
            }
            _ => Ends::of(&data[from..to]),
        }
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        let mixed = self.first ^ self.last.rotate_left(29) ^ self.len as u64;
        mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// A place of the table: a text, and its code plus 1; 0 where there is none.
#[derive(Clone, Copy, Default)]
struct Place {
    ends: Ends,
    code: u64,
}

/// Where a text begins, in four bytes or eight.
pub trait Offset: Copy + Send + Sync {
    /// As a place in memory; a negative one is beyond all of it.
    fn place(self) -> usize;
    /// Of a place that fits.
    fn of(place: usize) -> Self;
    /// The most that fits.
    const MOST: usize;
}

macro_rules! offset {
    ($type:ty) => {
        impl Offset for $type {
            #[inline(always)]
            fn place(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
            #[inline(always)]
            fn of(place: usize) -> Self {
                place as $type
            }
            const MOST: usize = <$type>::MAX as usize;
        }
    };
}
offset!(i32);
offset!(i64);

/// The texts of a column, in the order of their codes.
pub struct Texts {
    texts: Vec<Vec<u8>>,
    /// The first 16 bytes of each, with zeros behind them.
    short: Vec<[u8; SHORT]>,
    table: Vec<Place>,
    /// How far a hash is shifted to become a place.
    shift: u32,
}

impl Texts {
    /// Different texts.
    pub fn new(texts: Vec<Vec<u8>>) -> Self {
        let places = (4 * texts.len()).next_power_of_two().max(16);
        let shift = 64 - places.trailing_zeros();
        let mut table: Vec<Place> = memory::filled(Place::default(), places);
        let mut short = memory::filled([0; SHORT], texts.len());
        for (code, (text, short)) in texts.iter().zip(&mut short).enumerate() {
            let some = text.len().min(SHORT);
            short[..some].copy_from_slice(&text[..some]);
            let ends = Ends::of(text);
            let mut at = (ends.hash() >> shift) as usize;
            while table[at].code != 0 {
                at = (at + 1) % places;
            }
            table[at] = Place {
                ends,
                code: code as u64 + 1,
            };
        }
        Texts {
            texts,
            short,
            table,
            shift,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The code of the text with these ends; `whole` is all of it, where that is more than its ends.
    #[inline(always)]
    fn find(&self, ends: Ends, whole: &[u8]) -> Option<u64> {
        let mut at = (ends.hash() >> self.shift) as usize;
        loop {
            let place = &self.table[at];
            if place.code == 0 {
                return None;
            }
            let code = place.code - 1;
            if place.ends == ends && (ends.len <= SHORT || self.texts[code as usize] == whole) {
                return Some(code);
            }
            at = (at + 1) % self.table.len();
        }
    }

    /// The code of `data[from..to]`.
    #[inline(always)]
    fn code(&self, data: &[u8], from: usize, to: usize) -> Option<u64> {
        if from > to || to > data.len() {
            return None;
        }
        self.find(Ends::at(data, from, to), &data[from..to])
    }

    /// The code of a text in the form of a view: its length in four bytes, and up to 12 bytes of its own; of a longer
    /// one the first four, then in which of `buffers` it is and where.
    #[inline(always)]
    fn viewed(&self, view: [u64; 2], buffers: &[&[u8]]) -> Option<u64> {
        let len = view[0] as u32 as usize;
        if len > 12 {
            let buffer = buffers.get(view[1] as u32 as usize)?;
            let from = (view[1] >> 32) as usize;
            return self.code(buffer, from, from.checked_add(len)?);
        }
        let inside = u128::from(view[0] >> 32) | u128::from(view[1]) << 32;
        let mut first = inside as u64;
        let mut last = first;
        if len < 8 {
            first &= !(u64::MAX << (8 * len));
            last = first;
        } else if len > 8 {
            last = (inside >> (8 * (len - 8))) as u64;
        }
        self.find(Ends { first, last, len }, &[])
    }

    /// The same as [`Texts::read`] for views, two words each.
    pub fn read_views<C: Whole>(
        &self,
        views: &[u64],
        buffers: &[&[u8]],
        missing: Option<&[bool]>,
        out: &mut [C],
        threads: usize,
    ) -> bool {
        assert_eq!(views.len(), 2 * out.len(), "two words for each text");
        each(missing, out, threads, |i| {
            self.viewed([views[2 * i], views[2 * i + 1]], buffers)
        })
    }

    /// Write the codes of texts into `out`, 0 where one is `missing`; false where one is none of these, and `out` means
    /// nothing. Text `i` is `data[offsets[i]..offsets[i + 1]]`.
    pub fn read<O: Offset, C: Whole>(
        &self,
        offsets: &[O],
        data: &[u8],
        missing: Option<&[bool]>,
        out: &mut [C],
        threads: usize,
    ) -> bool {
        assert_eq!(
            offsets.len(),
            out.len() + 1,
            "one offset more than there are texts"
        );
        each(missing, out, threads, |i| {
            self.code(data, offsets[i].place(), offsets[i + 1].place())
        })
    }

    /// How many bytes each part of these codes takes; None where one is no code. Missing texts take none.
    pub fn room<C: Whole>(
        &self,
        codes: &[C],
        missing: Option<&[bool]>,
        threads: usize,
    ) -> Option<Vec<usize>> {
        let mut sizes = memory::filled(Some(0), codes.len().div_ceil(PART));
        let parts = codes.chunks(PART).zip(&mut sizes).enumerate();
        let mut states = memory::filled((), threads.clamp(1, parts.len().max(1)));
        pool::share_out(parts, &mut states, |(), (part, (codes, size))| {
            let start = part * PART;
            *size = codes
                .iter()
                .enumerate()
                .try_fold(0, |sum: usize, (i, code)| {
                    let text = self.texts.get(code.word() as usize)?;
                    let none = missing.is_some_and(|missing| missing[start + i]);
                    sum.checked_add(if none { 0 } else { text.len() })
                });
        });
        memory::all(sizes.into_iter().map(|size| size.ok_or(()))).ok()
    }

    /// Write the texts of codes into `data`, and where they begin into `offsets`, which has one more; `room` is what
    /// [`Texts::room`] said of them.
    pub fn write<O: Offset, C: Whole>(
        &self,
        codes: &[C],
        missing: Option<&[bool]>,
        room: &[usize],
        offsets: &mut [O],
        data: &mut [u8],
        threads: usize,
    ) {
        let (starts, end) = offsets.split_at_mut(codes.len());
        end[0] = O::of(data.len());
        let mut parts = memory::room(room.len());
        let (mut rest, mut begin) = (data, 0);
        for (part, ((codes, starts), &size)) in codes
            .chunks(PART)
            .zip(starts.chunks_mut(PART))
            .zip(room)
            .enumerate()
        {
            let (own, others) = rest.split_at_mut(size);
            parts.push((part * PART, codes, starts, own, begin));
            (rest, begin) = (others, begin + size);
        }
        let mut states = memory::filled((), threads.clamp(1, parts.len().max(1)));
        pool::share_out(
            parts.into_iter(),
            &mut states,
            |(), (first, codes, starts, own, begin)| {
                let mut at = 0;
                for (i, (code, start)) in codes.iter().zip(starts).enumerate() {
                    *start = O::of(begin + at);
                    if missing.is_some_and(|missing| missing[first + i]) {
                        continue;
                    }
                    let code = code.word() as usize;
                    let text = &self.texts[code];
                    match own.get_mut(at..at + SHORT) {
                        // What is behind a short text is written over by the next one.
                        Some(room) if text.len() <= SHORT => {
                            room.copy_from_slice(&self.short[code]);
                        }
                        _ => own[at..at + text.len()].copy_from_slice(text),
                    }
                    at += text.len();
                }
            },
        );
    }
}

/// Write `code(i)` for every record, 0 where it is missing; false where one has none.
#[inline(always)]
fn each<C: Whole>(
    missing: Option<&[bool]>,
    out: &mut [C],
    threads: usize,
    code: impl Fn(usize) -> Option<u64> + Sync,
) -> bool {
    let good = AtomicBool::new(true);
    let parts = out.chunks_mut(PART).enumerate();
    let mut states = memory::filled((), threads.clamp(1, parts.len().max(1)));
    pool::share_out(parts, &mut states, |(), (part, out)| {
        for (i, out) in (part * PART..).zip(out) {
            let none = missing.is_some_and(|missing| missing[i]);
            match if none { Some(0) } else { code(i) } {
                Some(code) => *out = C::of(code),
                None => return good.store(false, Ordering::Relaxed),
            }
        }
    });
    good.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Vec<Vec<u8>> {
        let mut texts: Vec<Vec<u8>> = ["", "a", "ab", "level 1", "level 10", "exactly 8", "été"]
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect();
        // The same ends and the same length; one more that differs in the middle alone.
        for middle in ["x", "y"] {
            texts.push(format!("sixteen bytes {middle} and more of them").into_bytes());
        }
        for len in 9..40 {
            texts.push(vec![b'z'; len]);
        }
        texts
    }

    /// A view of a part of the second buffer.
    fn view(data: &[u8], from: usize, to: usize) -> [u64; 2] {
        let (text, mut view) = (&data[from..to], [0; 16]);
        view[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
        let some = text.len().min(if text.len() > 12 { 4 } else { 12 });
        view[4..4 + some].copy_from_slice(&text[..some]);
        if text.len() > 12 {
            view[8] = 1;
            view[12..].copy_from_slice(&(from as u32).to_le_bytes());
        }
        [0, 8].map(|at| u64::from_le_bytes(view[at..at + 8].try_into().unwrap()))
    }

    fn there_and_back(rows: usize, threads: usize) {
        let texts = Texts::new(declared());
        let codes: Vec<u8> = (0..rows).map(|i| (i * 7919 % texts.len()) as u8).collect();
        let missing: Vec<bool> = (0..rows).map(|i| i % 11 == 3).collect();
        for missing in [None, Some(&missing[..])] {
            let room = texts.room(&codes, missing, threads).unwrap();
            let mut data = vec![0; room.iter().sum()];
            let mut offsets = vec![0_i32; rows + 1];
            texts.write(&codes, missing, &room, &mut offsets, &mut data, threads);
            for (i, &code) in codes.iter().enumerate() {
                let text = &data[offsets[i] as usize..offsets[i + 1] as usize];
                let none = missing.is_some_and(|missing| missing[i]);
                let wanted = if none {
                    &[][..]
                } else {
                    &texts.texts[code as usize]
                };
                assert_eq!(text, wanted);
            }
            let mut back = vec![9_u16; rows];
            let views: Vec<u64> = offsets
                .windows(2)
                .flat_map(|pair| view(&data, pair[0] as usize, pair[1] as usize))
                .collect();
            assert!(texts.read_views(&views, &[b"", &data], missing, &mut back, threads));
            let viewed = std::mem::replace(&mut back, vec![9; rows]);
            assert!(texts.read(&offsets, &data, missing, &mut back, threads));
            assert_eq!(viewed, back);
            for (i, (&back, &code)) in back.iter().zip(&codes).enumerate() {
                let none = missing.is_some_and(|missing| missing[i]);
                assert_eq!(back, if none { 0 } else { u16::from(code) });
            }
        }
    }

    #[test]
    fn texts_are_found_and_written_as_they_are() {
        for rows in [0, 1, 50] {
            there_and_back(rows, 1);
        }
        if !cfg!(miri) {
            there_and_back(2 * PART + 77, 1);
            there_and_back(2 * PART + 77, 3);
        }
    }

    #[test]
    fn a_text_that_is_none_of_them_is_seen() {
        let texts = Texts::new(declared());
        let mut strangers: Vec<Vec<u8>> = vec![b"b".to_vec(), b"level 11".to_vec(), vec![0]];
        strangers.push(b"sixteen bytes q and more of them".to_vec());
        strangers.push(b"a\0".to_vec());
        strangers.push(vec![b'z'; 41]);
        for stranger in strangers {
            for (before, behind) in [("", ""), ("aaaaaaaaaa", ""), ("", "aaaaaaaaaa")] {
                let data = [before.as_bytes(), &stranger, behind.as_bytes()].concat();
                let (from, to) = (before.len() as i64, (before.len() + stranger.len()) as i64);
                let mut out = [0_u8];
                assert!(!texts.read(&[from, to], &data, None, &mut out, 1));
                assert!(texts.read(&[from, to], &data, Some(&[true]), &mut out, 1));
                let view = view(&data, from as usize, to as usize);
                assert!(!texts.read_views(&view, &[b"", &data], None, &mut out, 1));
            }
        }
    }

    #[test]
    fn offsets_and_codes_that_are_none_are_refused() {
        let texts = Texts::new(declared());
        let mut out = [0_u8];
        for wrong in [[2, 1], [0, 9], [-1, 1], [i32::MIN, i32::MAX]] {
            assert!(!texts.read(&wrong, b"abc", None, &mut out, 1));
        }
        assert_eq!(texts.room(&[200_u8], None, 1), None);
        assert_eq!(
            texts.room(&[1_u8, 2], Some(&[false, true]), 1),
            Some(vec![1])
        );
    }
}
