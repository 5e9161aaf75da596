//! How often each code occurs in a column, at the speed of reading it.
//!
//! Equal neighbours would wait for each other in one table, so neighbouring codes go to different
//! tables, which are added up in the end. Codes out of range are counted apart, never followed.

use super::word::Unsigned;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop;

/// Sizes of which several tables stay close to the core; beyond, waiting for memory costs more than
/// waiting for an equal neighbour.
const SMALL: usize = 1 << 12;

/// Adds the codes to `tables`, one or four of them, those out of range at the last of their places.
fn clamped<T: Unsigned>(part: &[T], tables: &mut [u32], places: usize) {
    let last = places - 1;
    let mut tables = tables.chunks_exact_mut(places);
    let turns = [tables.next(), tables.next(), tables.next(), tables.next()];
    if let [Some(a), Some(b), Some(c), Some(d)] = turns {
        let (fours, rest) = part.as_chunks::<4>();
        for four in fours {
            let [w, x, y, z] = four.map(|code| (code.get() as usize).min(last));
            a[w] += 1;
            b[x] += 1;
            c[y] += 1;
            d[z] += 1;
        }
        for code in rest {
            a[(code.get() as usize).min(last)] += 1;
        }
    } else if let [Some(a), ..] = turns {
        for code in part {
            a[(code.get() as usize).min(last)] += 1;
        }
    }
}

/// Codes in a task; a table of 32-bit counts holds more.
const TASK: usize = 1 << 24;

/// The counts of the codes below `size`, or the position of the first that is not.
///
/// # Errors
/// The position of a code out of range.
pub fn codes<T: Unsigned>(codes: &[T], size: usize) -> Result<Vec<u64>, usize> {
    // Codes out of range share the last place of a table.
    let places = size + 1;
    let tables = if size < SMALL { 4 } else { 1 };
    let bands = codes.len().div_ceil(1 << 20).clamp(1, pool::threads());
    let height = codes.len().div_ceil(bands).max(1);
    let mut work: Vec<(&[T], Vec<u32>, Vec<u64>)> = codes
        .chunks(height)
        .map(|codes| (codes, memory::zeros(places * tables), memory::zeros(places)))
        .gather();
    pool::for_each_chunk(&mut work, 1, codes.len() < 1 << 16, |_, band| {
        for (codes, small, counts) in band {
            for part in codes.chunks(TASK) {
                stop::point();
                clamped(part, small, places);
                for table in small.chunks_mut(places) {
                    for (count, small) in counts.iter_mut().zip(table) {
                        *count += u64::from(std::mem::take(small));
                    }
                }
            }
        }
    });
    let mut counts = memory::zeros(places);
    for (_, _, band) in &work {
        for (count, more) in counts.iter_mut().zip(band) {
            *count += more;
        }
    }
    if counts.pop() > Some(0) {
        let wrong = codes.iter().position(|code| code.get() >= size as u64);
        return Err(wrong.unwrap_or(0));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Unsigned>(size: usize) {
        for n in [0, 1, 3, 4, 1000, 100_003] {
            let places: Vec<usize> = (0..n).map(|i| (i * i + i / 7) % size).collect();
            let column: Vec<T> = places.iter().map(|&p| T::low(p as u64)).collect();
            let mut want = vec![0; size];
            for p in places {
                want[p] += 1;
            }
            assert_eq!(codes(&column, size), Ok(want));
        }
    }

    #[test]
    fn every_type_is_counted() {
        check::<u8>(1);
        check::<u8>(256);
        check::<u16>(256);
        check::<u16>(4096);
        check::<u16>(65_536);
        check::<u32>(12);
        check::<u32>(100_000);
        check::<u64>(70_000);
        check::<u64>(3);
    }

    #[test]
    fn the_first_code_out_of_range_is_found() {
        assert_eq!(codes(&[0u8, 1, 2, 255], 3), Err(3));
        assert_eq!(codes(&[0u64, 2, u64::MAX, 1], 3), Err(2));
        assert_eq!(codes(&[7u32], 7), Err(0));
        assert_eq!(codes(&[1u8; 5], 1), Err(0));
        assert_eq!(
            codes(&[255u8, 3], 300).map(|c| (c.len(), c[255])),
            Ok((300, 1))
        );
    }
}
