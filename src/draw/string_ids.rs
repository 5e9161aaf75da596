//! Ids that are strings or bytes, one behind the other in one piece of memory.
//!
//! Arrow holds strings so, with offsets. NumPy holds characters or bytes of a fixed width. From either a copy is made,
//! which no other code can change. There is room behind it, so whole blocks of any id can be read.

use crate::draw::hashing::{BLOCK, Messages, word_of};
use crate::system::stop::Paced;
use crate::system::{erase, memory, stop};

/// What is wrong with an id, and at which position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A string that is not UTF-8, or holds a number that is not a character.
    NotUnicode(usize),
    /// A string that ends in U+0000, which arrays of strings drop.
    EndsInZero(usize),
    /// Bytes that do not fill their width: NumPy drops zeros at the end, so that another id may be meant.
    Short(usize),
    /// Offsets that point nowhere.
    Nowhere(usize),
}

type Result<T> = std::result::Result<T, Fault>;

/// Ids, one per record. Erased when dropped.
#[derive(Debug)]
pub struct Spelled {
    /// Once finished, with [`BLOCK`] zeros behind the last id.
    data: Vec<u8>,
    /// Where the first id starts, and where each one ends.
    ends: Vec<usize>,
}

impl Drop for Spelled {
    fn drop(&mut self) {
        erase::all(&mut self.data);
    }
}

/// Bytes that are copied between two points where work may stop.
const STRETCH: usize = 1 << 24;

impl Spelled {
    /// No ids, with room for `records` ids of `bytes` bytes together.
    pub fn room(records: usize, bytes: usize) -> Self {
        let mut ends = memory::room(records.saturating_add(1));
        ends.push(0);
        Spelled {
            data: memory::room(bytes.saturating_add(BLOCK)),
            ends,
        }
    }

    /// The ids of an iterator.
    pub fn of<'a>(ids: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Self {
        let mut all = Spelled::room(ids.len(), ids.clone().map(<[u8]>::len).sum());
        ids.paced().for_each(|id| all.push(id));
        all.finish()
    }

    /// Add an id.
    pub fn push(&mut self, id: &[u8]) {
        self.write(id);
        self.end();
    }

    /// Write some bytes of an id.
    pub fn write(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        self.data.extend_from_slice(bytes);
    }

    /// End the id that was written.
    pub fn end(&mut self) {
        memory::push(&mut self.ends, self.data.len());
    }

    /// Make room for more bytes, twice as much as before at least. The old copy is erased like all others.
    #[inline]
    fn make_room(&mut self, bytes: usize) {
        if self.data.capacity() - self.data.len() < bytes {
            let least = self.data.len().saturating_add(bytes.max(self.data.len()));
            let mut wider = memory::room(least.saturating_add(BLOCK));
            wider.extend_from_slice(&self.data);
            erase::all(&mut self.data);
            self.data = wider;
        }
    }

    /// Add the zeros behind the last id.
    pub fn finish(mut self) -> Self {
        self.make_room(BLOCK);
        self.data.extend_from_slice(&[0; BLOCK]);
        self
    }

    /// Add ids that are one behind the other: id `i` is from offset `i` to offset `i + 1`.
    ///
    /// # Errors
    /// Offsets that are not in order, or beyond the data.
    pub fn add_offsets(&mut self, offsets: &[i64], data: &[u8]) -> Result<()> {
        let place = |&offset: &i64| usize::try_from(offset).ok().filter(|&at| at <= data.len());
        let Some((first, rest)) = offsets.split_first() else {
            return Ok(());
        };
        let (before, base) = (self.ends.len() - 1, self.data.len());
        let first = place(first).ok_or(Fault::Nowhere(before))?;
        let mut last = first;
        for (i, end) in rest.iter().enumerate().paced() {
            let end = place(end).filter(|&end| end >= last);
            last = end.ok_or(Fault::Nowhere(before + i))?;
            memory::push(&mut self.ends, base + (last - first));
        }
        self.make_room(last - first);
        for some in data[first..last].chunks(STRETCH) {
            stop::point();
            self.data.extend_from_slice(some);
        }
        Ok(())
    }

    /// Add ids of `width` bytes each, as NumPy holds bytes.
    ///
    /// # Errors
    /// An id that ends in a zero: it may have been a shorter one.
    pub fn add_fixed(&mut self, width: usize, data: &[u8]) -> Result<()> {
        for (i, id) in data.chunks_exact(width.max(1)).enumerate().paced() {
            if id[width - 1] == 0 {
                return Err(Fault::Short(i));
            }
            self.push(id);
        }
        Ok(())
    }

    /// Add strings of `width` characters of four bytes each, as NumPy holds strings. Zeros at the end do not count.
    ///
    /// # Errors
    /// A number that is not a character.
    pub fn add_wide(&mut self, width: usize, chars: &[u32]) -> Result<()> {
        for (i, id) in chars.chunks_exact(width.max(1)).enumerate().paced() {
            let len = id.iter().rposition(|&c| c != 0).map_or(0, |last| last + 1);
            let id = &id[..len];
            // Most ids are ASCII, of one byte per character.
            if id.iter().fold(0, |all, &c| all | c) < 0x80 {
                self.make_room(len);
                self.data.extend(id.iter().map(|&c| c as u8));
            } else {
                for &c in id {
                    let c = char::from_u32(c).ok_or(Fault::NotUnicode(i))?;
                    self.write(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            self.end();
        }
        Ok(())
    }

    /// Check that all are strings: UTF-8 that does not end in U+0000.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check_texts(&self) -> Result<()> {
        let (ids, bytes) = (self.all(), &self.data[..self.data.len() - BLOCK]);
        // All at once, which is much faster than one by one.
        let whole = is_utf8(bytes);
        let is_text = |i: usize| std::str::from_utf8(ids.id(i)).is_ok();
        for i in (0..ids.len()).paced() {
            // It must not start with a byte that continues a character. If it does, the id before it may be cut.
            let continues = |byte: &u8| byte >> 6 == 0b10;
            let good = if whole {
                !bytes.get(self.ends[i]).is_some_and(continues)
            } else {
                is_text(i)
            };
            if !good {
                let cut = i.checked_sub(1).filter(|&before| !is_text(before));
                return Err(Fault::NotUnicode(cut.unwrap_or(i)));
            }
            if ids.id(i).last() == Some(&0) {
                return Err(Fault::EndsInZero(i));
            }
        }
        Ok(())
    }

    /// All ids.
    pub fn all(&self) -> Part<'_> {
        Part {
            data: &self.data,
            ends: &self.ends,
        }
    }
}

/// Whether all bytes are UTF-8; looked at in stretches, between which work may stop.
fn is_utf8(bytes: &[u8]) -> bool {
    let mut start = 0;
    while bytes.len() - start > STRETCH {
        stop::point();
        start += match std::str::from_utf8(&bytes[start..start + STRETCH]) {
            Ok(text) => text.len(),
            // A character may go on behind the stretch.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return false,
        };
    }
    stop::point();
    std::str::from_utf8(&bytes[start..]).is_ok()
}

/// Some ids in a row.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    data: &'a [u8],
    /// One more than there are ids.
    ends: &'a [usize],
}

impl<'a> Part<'a> {
    /// How many ids there are.
    pub(crate) fn len(self) -> usize {
        self.ends.len() - 1
    }

    /// Those of `start..end`.
    pub fn part(self, start: usize, end: usize) -> Self {
        Part {
            ends: &self.ends[start..=end],
            ..self
        }
    }

    /// One of them.
    pub fn id(self, i: usize) -> &'a [u8] {
        &self.data[self.ends[i]..self.ends[i + 1]]
    }

    /// Bytes of one of them.
    #[inline(always)]
    fn bytes(self, i: usize) -> usize {
        self.ends[i + 1] - self.ends[i]
    }

    /// Copy an id from byte `from` on, which it has or ends at, as far as there is room.
    fn copy(self, i: usize, from: usize, to: &mut [u8]) {
        let id = &self.id(i)[from..];
        let n = id.len().min(to.len());
        to[..n].copy_from_slice(&id[..n]);
    }

    /// Put the words of `bytes` bytes from byte `from` on, up to a block of them, each with its number; zeros follow
    /// the last byte.
    #[inline(always)]
    fn words(self, i: usize, from: usize, bytes: usize, mut put: impl FnMut(usize, u32)) {
        // There is a block behind the last id.
        let read = &self.data[self.ends[i] + from..][..bytes.next_multiple_of(4)];
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
}
