//! Declared strings as codes, from Arrow views, as polars holds them.
//!
//! # Cost
//! One pass over memory, shared among threads. A string of up to 16 bytes is known by its length and two words: its first
//! eight bytes and its last eight. So it is looked up by comparing three numbers.

use super::word::Unsigned;
use crate::system::{memory, pool};

/// Records of a part.
const PART: usize = 1 << 16;
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
    #[inline(always)]
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

    #[inline(always)]
    fn hash(self) -> u64 {
        let mixed = self.first ^ self.last.rotate_left(29) ^ self.len as u64;
        mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// A place of the table: a string, and its code plus 1; 0 if the place is free.
#[derive(Clone, Copy, Default)]
struct Place {
    ends: Ends,
    code: u64,
}

/// The strings of a column, in the order of their codes.
pub struct Texts {
    texts: Vec<Vec<u8>>,
    table: Vec<Place>,
    /// How far a hash is shifted to become a place.
    shift: u32,
}

impl Texts {
    /// Different strings.
    pub fn new(texts: Vec<Vec<u8>>) -> Self {
        let places = (4 * texts.len()).next_power_of_two().max(16);
        let shift = 64 - places.trailing_zeros();
        let mut table: Vec<Place> = memory::filled(Place::default(), places);
        for (code, text) in texts.iter().enumerate() {
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
            table,
            shift,
        }
    }

    /// The code of the string with these ends; `whole` is the string, if it is longer than its ends.
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
        let text = &data[from..to];
        self.find(Ends::of(text), text)
    }

    /// The code of a string in the form of a view: its length in four bytes, and up to 12 bytes of its own; of a longer
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

    /// Write the codes of views, two words each, into `out`, 0 for those that are `missing`. Returns false if
    /// one is not declared; `out` means nothing then.
    pub fn read_views<C: Unsigned>(
        &self,
        views: &[u64],
        buffers: &[&[u8]],
        missing: Option<&[bool]>,
        out: &mut [C],
        threads: usize,
    ) -> bool {
        assert_eq!(views.len(), 2 * out.len(), "two words for each text");
        pool::every(out.chunks_mut(PART).enumerate(), threads, |(part, out)| {
            (part * PART..).zip(out).all(|(i, out)| {
                let none = missing.is_some_and(|missing| missing[i]);
                let code = || self.viewed([views[2 * i], views[2 * i + 1]], buffers);
                let code = if none { Some(0) } else { code() };
                *out = C::low(code.unwrap_or(0));
                code.is_some()
            })
        })
    }
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

    #[test]
    fn texts_are_found_as_they_are() {
        let (all, texts) = (declared(), Texts::new(declared()));
        let many = if cfg!(miri) { 50 } else { 2 * PART + 77 };
        for (rows, threads) in [(0, 1), (1, 1), (50, 1), (many, 1), (many, 3)] {
            let mut codes: Vec<u16> = (0..rows).map(|i| (i * 7919 % all.len()) as u16).collect();
            let (mut data, mut views) = (Vec::new(), Vec::new());
            for &code in &codes {
                let from = data.len();
                data.extend(&all[usize::from(code)]);
                views.extend(view(&data, from, data.len()));
            }
            let mut back = vec![9; rows];
            assert!(texts.read_views(&views, &[b"", &data], None, &mut back, threads));
            assert_eq!(back, codes);
            let missing: Vec<bool> = (0..rows).map(|i| i % 11 == 3).collect();
            assert!(texts.read_views(&views, &[b"", &data], Some(&missing), &mut back, threads));
            for (code, _) in codes.iter_mut().zip(missing).filter(|pair| pair.1) {
                *code = 0;
            }
            assert_eq!(back, codes);
        }
    }

    #[test]
    fn a_text_that_is_none_of_them_is_seen() {
        let texts = Texts::new(declared());
        let long = b"sixteen bytes q and more of them";
        let strangers: [&[u8]; 6] = [b"b", b"level 11", b"\0", long, b"a\0", &[b'z'; 41]];
        for stranger in strangers {
            for (before, behind) in [("", ""), ("aaaaaaaaaa", ""), ("", "aaaaaaaaaa")] {
                let data = [before.as_bytes(), stranger, behind.as_bytes()].concat();
                let (from, to) = (before.len(), before.len() + stranger.len());
                let mut out = [0_u8];
                let view = view(&data, from, to);
                assert!(texts.read_views(&view, &[b"", &data], Some(&[true]), &mut out, 1));
                assert!(!texts.read_views(&view, &[b"", &data], None, &mut out, 1));
            }
        }
    }

    #[test]
    fn views_beyond_their_buffers_are_refused() {
        let texts = Texts::new(declared());
        for wrong in [[13, 0], [13, 7], [13, u64::MAX], [u64::MAX, u64::MAX]] {
            assert!(!texts.read_views(&wrong, &[b"zzz"], None, &mut [0_u8], 1));
        }
    }
}
