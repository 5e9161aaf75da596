//! Whole numbers as places in the list of those that occur, in as few bits as a place takes: pages of Parquet.
//!
//! A protected column has few different numbers, which lie close together. So they are found by a table over their
//! range instead of by hashing.
//!
//! # Cost
//! Three passes over the numbers: their range, which of it occur, and the bits. A group of rows stays in the cache
//! meanwhile.

use super::recode::Whole;
use crate::system::memory;

/// The widest range that is listed: a place then has at most 16 bits.
pub const MOST: u64 = 1 << 16;

/// Numbers that are packed.
#[derive(Debug, PartialEq, Eq)]
pub struct Packed<T> {
    /// Those that occur, ascending.
    pub levels: Vec<T>,
    /// Bits of a place, at least one.
    pub width: u32,
    /// How many numbers each page holds, and their places in the runs that Parquet calls RLE.
    pub pages: Vec<(usize, Vec<u8>)>,
}

/// The numbers of all rows that are not missing, in pages of as many rows. None where their range is too wide, or where
/// there are none.
///
/// `missing` is as long as `values`, and `rows` is not 0.
pub fn packed<T: Whole + Ord>(
    values: &[T],
    missing: Option<&[bool]>,
    rows: usize,
) -> Option<Packed<T>> {
    let (low, high) = range(values, missing)?;
    // Also right where it wraps: both ends have the same sign extension.
    let span = high.word().wrapping_sub(low.word());
    if span >= MOST {
        return None;
    }
    let mut place = memory::zeros::<u16>(span as usize + 1);
    let at = |value: T| value.word().wrapping_sub(low.word()) as usize;
    each(values, missing, |value| {
        // What is missing may be any number, what is not lies in the range.
        if let Some(seen) = place.get_mut(at(value)) {
            *seen = 1;
        }
    });
    let mut levels = memory::room(place.iter().filter(|&&seen| seen > 0).count());
    for (offset, place) in place.iter_mut().enumerate().filter(|(_, seen)| **seen > 0) {
        *place = levels.len() as u16;
        levels.push(T::of(low.word().wrapping_add(offset as u64)));
    }
    let width = (levels.len() as u64 - 1).max(1).ilog2() + 1;
    let mut pages = memory::room(values.len().div_ceil(rows));
    let mut places = memory::zeros(rows.min(values.len()));
    for (i, page) in values.chunks(rows).enumerate() {
        let missing = missing.map(|missing| &missing[i * rows..i * rows + page.len()]);
        let mut count = 0;
        each(page, missing, |value| {
            places[count] = place[at(value)];
            count += 1;
        });
        pages.push((count, runs(&places[..count], width)));
    }
    Some(Packed {
        levels,
        width,
        pages,
    })
}

/// Call `f` with each number that is not missing.
#[inline(always)]
fn each<T: Copy>(values: &[T], missing: Option<&[bool]>, mut f: impl FnMut(T)) {
    match missing {
        None => values.iter().for_each(|&value| f(value)),
        Some(missing) => {
            for (&value, _) in values.iter().zip(missing).filter(|(_, none)| !**none) {
                f(value);
            }
        }
    }
}

/// The least and the largest number.
fn range<T: Whole + Ord>(values: &[T], missing: Option<&[bool]>) -> Option<(T, T)> {
    let mut all = (0..values.len()).filter(|&i| missing.is_none_or(|missing| !missing[i]));
    let first = values[all.next()?];
    let (mut low, mut high) = (first, first);
    each(values, missing, |value| {
        low = low.min(value);
        high = high.max(value);
    });
    Some((low, high))
}

/// Bytes that a run of one place has to save, so that it is written as such.
///
/// Its length, the place, and the length of the packed ones after it take at most 11 bytes. It saves the bytes of as
/// many eights as it has. So runs never make a page longer than packing all of it.
const WORTH: usize = 12;

/// Places as runs: some of one place, the others of packed ones.
fn runs(places: &[u16], width: u32) -> Vec<u8> {
    let w = width as usize;
    let mut out = memory::room(places.len().div_ceil(8) * w + 16);
    let (mut packed, mut at) = (0, 0);
    while at < places.len() {
        let run = same(&places[at..]);
        if run / 8 * w < WORTH {
            // Packed ones come in eights.
            at += 8;
            continue;
        }
        pack(&places[packed..at], width, &mut out);
        varint((run as u64) << 1, &mut out);
        out.extend_from_slice(&places[at].to_le_bytes()[..w.div_ceil(8)]);
        at += run;
        packed = at;
    }
    pack(&places[packed..], width, &mut out);
    out
}

/// How often the first place comes at first.
#[inline(always)]
fn same(places: &[u16]) -> usize {
    let first = places[0];
    places.iter().take_while(|&&place| place == first).count()
}

/// One run of packed places, the first in the lowest bits, zeros after the last up to a multiple of eight places.
fn pack(places: &[u16], width: u32, out: &mut Vec<u8>) {
    if places.is_empty() {
        return;
    }
    let groups = places.len().div_ceil(8);
    varint((groups as u64) << 1 | 1, out);
    let (mut held, mut filled) = (0_u64, 0);
    let end = out.len() + groups * width as usize;
    for &place in places {
        // Fewer than 32 bits wait, and a place has at most 16.
        held |= u64::from(place) << filled;
        filled += width;
        if filled >= 32 {
            out.extend_from_slice(&(held as u32).to_le_bytes());
            held >>= 32;
            filled -= 32;
        }
    }
    out.extend_from_slice(&(held as u32).to_le_bytes());
    out.resize(end, 0);
}

/// Seven bits per byte, the lowest first.
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of a page, read run by run and a bit at a time.
    fn read<T: Copy>(packed: &Packed<T>, page: usize) -> Vec<T> {
        let (count, bytes) = &packed.pages[page];
        let width = packed.width as usize;
        let mut at = 0;
        let mut places = Vec::new();
        while at < bytes.len() {
            let mut head = 0;
            for shift in (0..).step_by(7) {
                head |= usize::from(bytes[at] & 0x7f) << shift;
                at += 1;
                if bytes[at - 1] < 0x80 {
                    break;
                }
            }
            if head & 1 == 0 {
                let len = width.div_ceil(8);
                let mut place = [0; 2];
                place[..len].copy_from_slice(&bytes[at..at + len]);
                places.extend(vec![u16::from_le_bytes(place) as usize; head >> 1]);
                at += len;
            } else {
                let bit = |i: usize| usize::from(bytes[at + i / 8] >> (i % 8) & 1);
                let place = |i: usize| (0..width).map(|j| bit(i * width + j) << j).sum::<usize>();
                places.extend((0..8 * (head >> 1)).map(place));
                at += (head >> 1) * width;
            }
        }
        // Only the last run may hold more than there are.
        assert!(
            places.len() >= *count && places.len() < count + 8,
            "{} {count} {width}",
            places.len()
        );
        assert!(bytes.len() <= count.div_ceil(8) * width + 5);
        places[..*count].iter().map(|&i| packed.levels[i]).collect()
    }

    #[test]
    fn pages_hold_the_numbers_in_order_at_every_width() {
        for bits in 0..=16_u32 {
            let size = 1_i64 << bits;
            for rows in [1, 7, 8, 64, 1000] {
                let values: Vec<i64> = (0..2 * size.max(500))
                    .map(|i| (i * 7919) % size - size / 3)
                    .collect();
                let found = packed(&values, None, rows).unwrap();
                assert_eq!(found.width, bits.max(1));
                assert_eq!(found.levels.len() as i64, size);
                let all: Vec<i64> = (0..found.pages.len())
                    .flat_map(|i| read(&found, i))
                    .collect();
                assert_eq!(all, values);
            }
        }
    }

    #[test]
    fn runs_of_every_length_and_beginning_are_read_again() {
        for bits in [1, 2, 7, 8, 9, 16] {
            let size = 1_i32 << bits;
            for run in [1, 5, 8, 9, 12, 31, 32, 95, 96, 97, 130, 5000] {
                for start in [0, 1, 7, 8, 9, 100] {
                    let mut values: Vec<i32> = (0..size.max(start)).map(|i| i % size).collect();
                    let at = start as usize;
                    values.splice(at..at, vec![size - 1; run]);
                    values.extend(vec![0; run]);
                    let found = packed(&values, None, 1 << 20).unwrap();
                    assert_eq!(read(&found, 0), values);
                }
            }
        }
        // A long run takes a few bytes.
        let found = packed(&[vec![3_u8; 100_000], vec![4; 1]].concat(), None, 1 << 20).unwrap();
        assert!(found.pages[0].1.len() < 12);
    }

    #[test]
    fn levels_are_those_that_occur_in_the_order_of_their_type() {
        let found = packed(&[250_u8, 3, 250, 7], None, 10).unwrap();
        assert_eq!((found.levels, found.width), (vec![3, 7, 250], 2));
        let found = packed(&[-1_i8, 100, -128], None, 10).unwrap();
        assert_eq!(found.levels, [-128, -1, 100]);
        let found = packed(&[u64::MAX, u64::MAX - 5], None, 10).unwrap();
        assert_eq!(found.levels, [u64::MAX - 5, u64::MAX]);
        let found = packed(&[i64::MIN, i64::MIN + 1], None, 10).unwrap();
        assert_eq!(found.levels, [i64::MIN, i64::MIN + 1]);
    }

    #[test]
    fn what_is_missing_is_left_out_whatever_it_holds() {
        let values = [5_i64, i64::MAX, 6, i64::MIN, 5];
        let missing = [false, true, false, true, false];
        let found = packed(&values, Some(&missing), 2).unwrap();
        assert_eq!(found.levels, [5, 6]);
        let pages: Vec<_> = (0..3).map(|i| read(&found, i)).collect();
        assert_eq!(pages, [vec![5], vec![6], vec![5]]);
        assert_eq!(packed(&values, Some(&[true; 5]), 2), None);
        assert_eq!(packed::<u8>(&[], None, 2), None);
    }

    #[test]
    fn a_range_that_is_too_wide_is_left_to_others() {
        assert!(packed(&[0, 65_535_i32], None, 8).is_some());
        assert_eq!(packed(&[0, 65_536_i32], None, 8), None);
        assert_eq!(packed(&[i64::MIN, i64::MAX], None, 8), None);
        assert_eq!(packed(&[0, u64::MAX], None, 8), None);
    }
}
