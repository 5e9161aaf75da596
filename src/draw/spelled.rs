//! Ids that are texts or bytes: all of them in one piece of memory, read from whatever layout holds them.
//!
//! Arrow has texts one behind the other with offsets, or views of 16 bytes that hold a short text or say where a
//! longer one is. NumPy has characters or bytes of a fixed width. From any of them a copy is made, which nobody else
//! can change, and with room behind it, so that whole blocks of any id can be read.

use crate::draw::hashing::{BLOCK, Messages, Take, word_of};
use crate::system::stop;
use crate::system::{erase, memory};

/// Ids between two points where work may stop.
const STRETCH: usize = 1 << 14;

/// What is wrong with an id, and at which position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A text that is not UTF-8, or holds what is no character.
    NotUnicode(usize),
    /// A text that ends in U+0000, which arrays of text drop.
    EndsInZero(usize),
    /// Bytes that do not fill their width: NumPy drops zeros at the end, so that another id may be meant.
    Short(usize),
    /// Offsets, views or indices that point nowhere.
    Nowhere(usize),
}

type Result<T> = std::result::Result<T, Fault>;

/// Where an id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: usize,
    len: usize,
}

/// Ids, one each for some records. Erased when dropped.
#[derive(Debug)]
pub struct Spelled {
    /// With [`BLOCK`] zeros behind the last id.
    data: Vec<u8>,
    spans: Vec<Span>,
    /// Where the records point into a list of entries: those, and which one each record has.
    entries: Option<(Vec<Span>, Vec<u32>)>,
}

impl Drop for Spelled {
    fn drop(&mut self) {
        erase::all(&mut self.data);
    }
}

/// An offset of Arrow's, which has a sign.
pub trait Offset: Copy + Sync {
    /// As a place, if it is one.
    fn place(self) -> Option<usize>;
}

impl Offset for i32 {
    fn place(self) -> Option<usize> {
        usize::try_from(self).ok()
    }
}

impl Offset for i64 {
    fn place(self) -> Option<usize> {
        usize::try_from(self).ok()
    }
}

impl Spelled {
    /// With room for so many ids of so many bytes together.
    fn room(records: usize, bytes: usize) -> Self {
        Spelled {
            data: memory::room(bytes.saturating_add(BLOCK)),
            spans: memory::room(records),
            entries: None,
        }
    }

    /// The id that was written behind `start`.
    fn wrote(&mut self, start: usize) {
        let len = self.data.len() - start;
        self.spans.push(Span { start, len });
    }

    /// The zeros behind the last id, for which there is room.
    fn ended(mut self) -> Self {
        memory::reserve(&mut self.data, BLOCK);
        self.data.extend_from_slice(&[0; BLOCK]);
        self
    }

    /// Those of slices.
    pub fn of<'a>(ids: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Self {
        let mut found = Spelled::room(ids.len(), ids.clone().map(<[u8]>::len).sum());
        for (i, id) in ids.enumerate() {
            pace(i);
            let start = found.data.len();
            found.data.extend_from_slice(id);
            found.wrote(start);
        }
        found.ended()
    }

    /// Those of so many records, of so many bytes together, each written behind the ones before it by `write`.
    pub fn written(records: usize, bytes: usize, write: impl Fn(usize, &mut Vec<u8>)) -> Self {
        let mut found = Spelled::room(records, bytes);
        for i in 0..records {
            pace(i);
            let start = found.data.len();
            write(i, &mut found.data);
            found.wrote(start);
        }
        found.ended()
    }

    /// One behind the other: id `i` is from offset `i` to offset `i + 1`.
    ///
    /// # Errors
    /// Offsets that are not in order, or beyond the data.
    pub fn from_offsets<O: Offset>(offsets: &[O], data: &[u8]) -> Result<Self> {
        let Some((first, rest)) = offsets.split_first() else {
            return Ok(Spelled::room(0, 0).ended());
        };
        let first = first.place().ok_or(Fault::Nowhere(0))?;
        let last = rest.last().map_or(Some(first), |end| end.place());
        let last = last.filter(|&last| last <= data.len());
        let last = last.ok_or(Fault::Nowhere(rest.len().saturating_sub(1)))?;
        let used = data.get(first..last).ok_or(Fault::Nowhere(0))?;
        let mut found = Spelled::room(rest.len(), used.len());
        let mut start = 0;
        for (i, end) in rest.iter().enumerate() {
            pace(i);
            let end = end.place().and_then(|end| end.checked_sub(first));
            match end {
                Some(end) if start <= end && end <= used.len() => {
                    let len = end - start;
                    found.spans.push(Span { start, len });
                    start = end;
                }
                _ => return Err(Fault::Nowhere(i)),
            }
        }
        for some in used.chunks(1 << 24) {
            stop::point();
            found.data.extend_from_slice(some);
        }
        Ok(found.ended())
    }

    /// Arrow's views of 16 bytes each: a length, then either up to 12 bytes, or four of them, which of the buffers
    /// and where in it.
    ///
    /// # Errors
    /// A view that points nowhere.
    pub fn from_views(views: &[u8], buffers: &[&[u8]]) -> Result<Self> {
        let number = |view: &[u8], at: usize| {
            let bytes = [view[at], view[at + 1], view[at + 2], view[at + 3]];
            i32::from_le_bytes(bytes).place()
        };
        let body = |view: &'_ [u8]| -> Option<(usize, Option<(usize, usize)>)> {
            let len = number(view, 0)?;
            if len <= 12 {
                return Some((len, None));
            }
            let (which, start) = (number(view, 8)?, number(view, 12)?);
            buffers.get(which)?.get(start..start.checked_add(len)?)?;
            Some((len, Some((which, start))))
        };
        let mut bytes = 0;
        for (i, view) in views.chunks_exact(16).enumerate() {
            pace(i);
            bytes += body(view).ok_or(Fault::Nowhere(i))?.0;
        }
        let mut found = Spelled::room(views.len() / 16, bytes);
        for (i, view) in views.chunks_exact(16).enumerate() {
            pace(i);
            let start = found.data.len();
            match body(view).ok_or(Fault::Nowhere(i))? {
                (len, None) => found.data.extend_from_slice(&view[4..4 + len]),
                (len, Some((which, at))) => {
                    found.data.extend_from_slice(&buffers[which][at..at + len]);
                }
            }
            found.wrote(start);
        }
        Ok(found.ended())
    }

    /// `count` ids of `width` bytes each.
    ///
    /// # Errors
    /// There are fewer bytes.
    pub fn from_fixed(width: usize, count: usize, data: &[u8]) -> Result<Self> {
        let used = width.checked_mul(count).and_then(|n| data.get(..n));
        let used = used.ok_or(Fault::Nowhere(data.len() / width.max(1)))?;
        let mut found = Spelled::room(count, used.len());
        for some in used.chunks(1 << 24) {
            stop::point();
            found.data.extend_from_slice(some);
        }
        for i in 0..count {
            pace(i);
            let start = i * width;
            found.spans.push(Span { start, len: width });
        }
        Ok(found.ended())
    }

    /// NumPy's texts: `count` of `width` characters of four bytes each. Zeros behind the last are none.
    ///
    /// # Errors
    /// What is no character.
    pub fn from_wide(width: usize, count: usize, chars: &[u32]) -> Result<Self> {
        let used = width.checked_mul(count).and_then(|n| chars.get(..n));
        let used = used.ok_or(Fault::Nowhere(chars.len() / width.max(1)))?;
        // Most ids are ASCII, of a byte a character: more is asked for where there are others.
        let mut found = Spelled::room(count, used.len());
        if width == 0 {
            found.spans.resize(count, Span { start: 0, len: 0 });
            return Ok(found.ended());
        }
        for (i, id) in used.chunks_exact(width).enumerate() {
            pace(i);
            let len = id.iter().rposition(|&c| c != 0).map_or(0, |last| last + 1);
            let id = &id[..len];
            let start = found.data.len();
            if id.iter().fold(0, |all, &c| all | c) < 0x80 {
                found.make_room(len);
                found.data.extend(id.iter().map(|&c| c as u8));
            } else {
                found.make_room(4 * len);
                for &c in id {
                    let c = char::from_u32(c).ok_or(Fault::NotUnicode(i))?;
                    let mut bytes = [0; 4];
                    found
                        .data
                        .extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
                }
            }
            found.wrote(start);
        }
        Ok(found.ended())
    }

    /// Twice the room, where there is none for so many bytes.
    #[inline]
    fn make_room(&mut self, bytes: usize) {
        if self.data.capacity() - self.data.len() < bytes {
            // The old copy is erased like all others.
            let mut wider =
                memory::room((2 * self.data.len()).max(self.data.len() + bytes) + BLOCK);
            wider.extend_from_slice(&self.data);
            erase::all(&mut self.data);
            self.data = wider;
        }
    }

    /// Each record has one of these as entries, by its index.
    ///
    /// # Errors
    /// An index of no entry.
    pub fn indexed(mut self, indices: &[i64]) -> Result<Self> {
        let entries = std::mem::take(&mut self.spans);
        let (mut spans, mut places) = (memory::room(indices.len()), memory::room(indices.len()));
        for (i, &index) in indices.iter().enumerate() {
            pace(i);
            let place = u32::try_from(index).map_err(|_| Fault::Nowhere(i))?;
            let span = entries.get(place as usize).ok_or(Fault::Nowhere(i))?;
            spans.push(*span);
            places.push(place);
        }
        self.spans = spans;
        self.entries = Some((entries, places));
        Ok(self)
    }

    /// As texts: all are UTF-8, and none ends in U+0000.
    ///
    /// # Errors
    /// The first that is not.
    pub fn texts(self) -> Result<Self> {
        let all = &self.data[..self.data.len() - BLOCK];
        // All at once, which is much faster than one by one, where they are one behind the other.
        let whole = self.entries.is_none() && is_utf8(all);
        for (i, span) in self.spans.iter().enumerate() {
            pace(i);
            let id = &all[span.start..span.start + span.len];
            let good = if whole {
                // At no byte that goes on with a character.
                all.get(span.start).is_none_or(|byte| byte >> 6 != 0b10)
            } else {
                std::str::from_utf8(id).is_ok()
            };
            if !good {
                // A text that is cut within a character may end the one before.
                let before = (0..i).rev().take(1);
                let bad = before
                    .into_iter()
                    .chain([i])
                    .find(|&i| self.text(i).is_none());
                return Err(Fault::NotUnicode(bad.unwrap_or(i)));
            }
            if id.last() == Some(&0) {
                return Err(Fault::EndsInZero(i));
            }
        }
        Ok(self)
    }

    fn text(&self, i: usize) -> Option<&str> {
        std::str::from_utf8(self.part(0, self.len()).id(i)).ok()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Those of records `start..end`.
    pub fn part(&self, start: usize, end: usize) -> Part<'_> {
        Part {
            data: &self.data,
            spans: &self.spans[start..end],
        }
    }

    /// The different ids, as far as they came as entries, and which of them each record has.
    pub fn entries(&self) -> Option<(Part<'_>, &[u32])> {
        self.entries.as_ref().map(|(spans, places)| {
            let data = &self.data[..];
            (Part { data, spans }, &places[..])
        })
    }
}

/// Whether all bytes are UTF-8; looked at in stretches, between which work may stop.
fn is_utf8(bytes: &[u8]) -> bool {
    let mut start = 0;
    while bytes.len() - start > 1 << 24 {
        stop::point();
        start += match std::str::from_utf8(&bytes[start..start + (1 << 24)]) {
            Ok(text) => text.len(),
            // A character may go on behind the stretch.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return false,
        };
    }
    stop::point();
    std::str::from_utf8(&bytes[start..]).is_ok()
}

#[inline]
fn pace(i: usize) {
    if i.is_multiple_of(STRETCH) {
        stop::point();
    }
}

/// Some ids in a row.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    data: &'a [u8],
    spans: &'a [Span],
}

/// `BLOCK` ones and as many zeros: from `BLOCK - n` on it keeps `n` bytes.
static KEEP: [u8; 2 * BLOCK] = {
    let mut keep = [0; 2 * BLOCK];
    let mut i = 0;
    while i < BLOCK {
        keep[i] = 0xff;
        i += 1;
    }
    keep
};

impl<'a> Part<'a> {
    /// How many.
    pub fn len(self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.spans.is_empty()
    }

    /// Those of `start..end`.
    pub fn part(self, start: usize, end: usize) -> Self {
        Part {
            spans: &self.spans[start..end],
            ..self
        }
    }

    /// One of them.
    pub fn id(self, i: usize) -> &'a [u8] {
        let Span { start, len } = self.spans[i];
        &self.data[start..start + len]
    }
}

/// Ids by their number, as messages take them.
impl Part<'_> {
    /// Bytes of one of them.
    #[inline(always)]
    fn bytes(self, i: usize) -> usize {
        self.spans[i].len
    }

    /// Copy an id from byte `from` on, which it has or ends at, up to a block of it; zeros follow its last byte.
    #[inline(always)]
    fn copy(self, i: usize, from: usize, to: &mut [u8]) {
        let Span { start, len } = self.spans[i];
        let n = to.len();
        let kept = (len - from).min(n);
        // There is a block behind the last id.
        let bytes = &self.data[start + from..][..n];
        let keep = &KEEP[BLOCK - kept..][..n];
        for ((to, byte), keep) in to.iter_mut().zip(bytes).zip(keep) {
            *to = byte & keep;
        }
    }

    /// Put the words of `bytes` bytes from byte `from` on, up to a block of them, each with its number; zeros follow
    /// the last byte.
    #[inline(always)]
    fn words(self, i: usize, from: usize, bytes: usize, mut put: impl FnMut(usize, u32)) {
        // There is a block behind the last id.
        let read = &self.data[self.spans[i].start + from..][..bytes.next_multiple_of(4)];
        let (whole, left) = (bytes / 4, bytes % 4);
        for (k, word) in read.chunks_exact(4).take(whole).enumerate() {
            put(k, word_of(word));
        }
        if left > 0 {
            put(
                whole,
                word_of(&read[4 * whole..]) & !(u32::MAX << (8 * left)),
            );
        }
    }
}

/// Ids with `P` bytes before each of them, as messages.
pub struct Prefixed<'a, const P: usize, F> {
    /// The ids.
    pub ids: Part<'a>,
    /// Which id message `i` has, and what stands before it.
    pub at: F,
}

impl<const P: usize, F: Fn(usize) -> (usize, [u8; P])> Messages for Prefixed<'_, P, F> {
    #[inline(always)]
    fn len(&self, i: usize) -> usize {
        P + self.ids.bytes((self.at)(i).0)
    }

    #[inline(always)]
    fn block(&self, i: usize, b: usize) -> [u8; BLOCK] {
        let (id, prefix) = (self.at)(i);
        let mut block = [0; BLOCK];
        if b == 0 {
            block[..P].copy_from_slice(&prefix);
            self.ids.copy(id, 0, &mut block[P..]);
        } else {
            self.ids.copy(id, BLOCK * b - P, &mut block);
        }
        block
    }

    #[inline(always)]
    fn words(&self, i: usize, b: usize, bytes: usize, mut put: impl FnMut(usize, u32)) {
        if !P.is_multiple_of(4) {
            let block = self.block(i, b);
            let used = block.chunks_exact(4).take(bytes.div_ceil(4));
            return used.enumerate().for_each(|(k, word)| put(k, word_of(word)));
        }
        let (id, prefix) = (self.at)(i);
        if b > 0 {
            return self.ids.words(id, BLOCK * b - P, bytes, put);
        }
        for (k, word) in prefix.chunks_exact(4).enumerate() {
            put(k, word_of(word));
        }
        let then = |k, word| put(P / 4 + k, word);
        self.ids.words(id, 0, bytes - P, then);
    }

    fn all(&self, i: usize, take: Take<'_>) {
        let (id, prefix) = (self.at)(i);
        take(&prefix);
        take(self.ids.id(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::hashing::Hashing;
    use crate::system::erase;

    fn ids(spelled: &Spelled) -> Vec<Vec<u8>> {
        let part = spelled.part(0, spelled.len());
        (0..part.len()).map(|i| part.id(i).to_vec()).collect()
    }

    fn of(texts: &[&str]) -> Vec<Vec<u8>> {
        texts.iter().map(|t| t.as_bytes().to_vec()).collect()
    }

    const TEXTS: [&str; 6] = ["", "a", "twelve bytes", "thirteen byte", "größe", "z\0z"];

    #[test]
    fn every_layout_gives_the_same_ids() {
        let want = of(&TEXTS);
        let data = TEXTS.concat();
        let mut offsets = vec![3i32];
        for text in TEXTS {
            offsets.push(offsets.last().unwrap() + text.len() as i32);
        }
        let data = [b"xyz", data.as_bytes(), b"more"].concat();
        let found = Spelled::from_offsets(&offsets, &data).unwrap();
        assert_eq!(ids(&found.texts().unwrap()), want);
        let long: Vec<i64> = offsets.iter().map(|&o| o.into()).collect();
        assert_eq!(
            ids(&Spelled::from_offsets(&long[2..], &data).unwrap()),
            want[2..]
        );
        let mut views = Vec::new();
        for (text, &at) in TEXTS.iter().zip(&offsets) {
            let mut view = [0; 16];
            view[..4].copy_from_slice(&(text.len() as i32).to_le_bytes());
            if text.len() <= 12 {
                view[4..4 + text.len()].copy_from_slice(text.as_bytes());
            } else {
                view[8..12].copy_from_slice(&1i32.to_le_bytes());
                view[12..].copy_from_slice(&at.to_le_bytes());
            }
            views.extend(view);
        }
        let found = Spelled::from_views(&views, &[b"", &data]).unwrap();
        assert_eq!(ids(&found.texts().unwrap()), want);
        let wide: Vec<u32> = TEXTS
            .iter()
            .flat_map(|t| {
                t.chars()
                    .map(u32::from)
                    .chain(std::iter::repeat(0))
                    .take(14)
            })
            .collect();
        let found = Spelled::from_wide(14, 6, &wide).unwrap();
        assert_eq!(ids(&found.texts().unwrap()), want);
        let found = Spelled::of(want.iter().map(|id| &id[..]));
        assert_eq!(ids(&found), want);
        let found = found.indexed(&[5, 1, 1]).unwrap();
        assert_eq!(ids(&found), of(&["z\0z", "a", "a"]));
        let (entries, places) = found.entries().unwrap();
        assert_eq!((entries.len(), places), (6, &[5, 1, 1][..]));
        let found = Spelled::from_fixed(2, 3, b"abcdefg").unwrap();
        assert_eq!(ids(&found), of(&["ab", "cd", "ef"]));
        assert_eq!(Spelled::from_wide(0, 2, &[]).unwrap().len(), 2);
        assert!(Spelled::from_offsets::<i32>(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn many_wide_characters_have_room() {
        let wide: Vec<u32> = (0..3000).map(|i| 0x1f600 + i % 60).collect();
        let found = Spelled::from_wide(30, 100, &wide).unwrap().texts().unwrap();
        assert_eq!(found.part(0, 100).id(99).len(), 120);
    }

    #[test]
    fn what_points_nowhere_is_refused() {
        let nowhere = |found: Result<Spelled>| match found {
            Err(Fault::Nowhere(i)) => i,
            other => panic!("{other:?}"),
        };
        assert_eq!(nowhere(Spelled::from_offsets(&[0i32, 2, 1, 3], b"abc")), 1);
        assert_eq!(nowhere(Spelled::from_offsets(&[0i32, 2, 9, 3], b"abc")), 1);
        assert_eq!(nowhere(Spelled::from_offsets(&[0i32, 4], b"abc")), 0);
        assert_eq!(nowhere(Spelled::from_offsets(&[-1i64, 2], b"abc")), 0);
        assert_eq!(nowhere(Spelled::from_offsets(&[2i64, 1], b"abc")), 0);
        assert_eq!(nowhere(Spelled::from_fixed(2, 3, b"abcde")), 2);
        assert_eq!(nowhere(Spelled::from_wide(2, 2, &[1, 2, 3])), 1);
        let mut view = [0; 16];
        for (len, which, at) in [(-1i32, 0i32, 0i32), (13, 1, 0), (13, 0, 1), (13, -1, 0)] {
            view[..4].copy_from_slice(&len.to_le_bytes());
            view[8..12].copy_from_slice(&which.to_le_bytes());
            view[12..].copy_from_slice(&at.to_le_bytes());
            assert_eq!(nowhere(Spelled::from_views(&view, &[&[7; 13]])), 0);
        }
        let two = || Spelled::of([&b"a"[..], b"b"].into_iter());
        assert_eq!(nowhere(two().indexed(&[0, 2])), 1);
        assert_eq!(nowhere(two().indexed(&[0, 1, -1])), 2);
        assert_eq!(nowhere(two().indexed(&[1 << 32])), 0);
    }

    #[test]
    fn texts_are_unicode_and_do_not_end_in_a_zero() {
        let fault = |ids: &[&[u8]]| Spelled::of(ids.iter().copied()).texts().unwrap_err();
        assert_eq!(fault(&[b"a", b"\xff", b"c"]), Fault::NotUnicode(1));
        // A character that is cut in two, which is one together.
        assert_eq!(fault(&[b"a", b"\xc3", b"\xb6"]), Fault::NotUnicode(1));
        assert_eq!(fault(&[b"\xc3", b"", b"\xb6"]), Fault::NotUnicode(0));
        assert_eq!(fault(&[b"a", b"", b"b\0"]), Fault::EndsInZero(2));
        assert_eq!(fault(&[b"\xed\xa0\x80"]), Fault::NotUnicode(0));
        let entries = Spelled::of([&b"a"[..], b"\xff"].into_iter());
        assert_eq!(
            entries.indexed(&[0, 0, 1]).unwrap().texts().unwrap_err(),
            Fault::NotUnicode(2)
        );
        for bad in [0xd800, 0x11_0000] {
            let found = Spelled::from_wide(1, 2, &[97, bad]).unwrap_err();
            assert_eq!(found, Fault::NotUnicode(1));
        }
    }

    #[test]
    fn messages_are_the_ids_behind_their_prefixes() {
        let hashing = Hashing::new(erase::empty());
        let long = "x".repeat(3000);
        let texts: Vec<&str> = (0..200)
            .chain([1015, 1016, 1017, 2000])
            .map(|n| &long[..n])
            .collect();
        let spelled = Spelled::of(texts.iter().map(|t| t.as_bytes()));
        let n = spelled.len();
        let prefix = |i: usize| (i as u64 * 77).to_le_bytes();
        let messages = Prefixed {
            ids: spelled.part(0, n),
            // In another order than that of the ids.
            at: |i: usize| (n - 1 - i, prefix(i)),
        };
        let mut seen = 0;
        hashing.many(&messages, n, |i, words: [u32; 2]| {
            let want = hashing.one(&[&prefix(i), texts[n - 1 - i].as_bytes()]);
            let got = [words[0].to_le_bytes(), words[1].to_le_bytes()].concat();
            assert_eq!(got, want[..8], "{i}");
            seen += 1;
        });
        assert_eq!(seen, n);
    }
}
