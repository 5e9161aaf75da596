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

/// Tables that neighbours take turns in.
const TURNS: usize = 8;

/// The same for tables, one or eight, in which every code of the type has a place: nothing need be checked on the way.
fn unchecked<T: Unsigned, const PLACES: usize>(part: &[T], tables: &mut [u32]) {
    let place = |code: T| code.get() as usize % PLACES;
    match tables.as_chunks_mut::<PLACES>().0 {
        [a, b, c, d, e, f, g, h] => {
            let (eights, rest) = part.as_chunks::<TURNS>();
            for eight in eights {
                let [s, t, u, v, w, x, y, z] = eight.map(place);
                a[s] += 1;
                b[t] += 1;
                c[u] += 1;
                d[v] += 1;
                e[w] += 1;
                f[x] += 1;
                g[y] += 1;
                h[z] += 1;
            }
            rest.iter().for_each(|&code| a[place(code)] += 1);
        }
        [a, ..] => part.iter().for_each(|&code| a[place(code)] += 1),
        [] => {}
    }
}

/// Codes in a task; a table of 32-bit counts holds more.
const TASK: usize = 1 << 24;

/// Codes below which the tables would take longer than they do.
const FEW: usize = 1 << 16;

/// The counts of the codes below `size`, or the position of the first that is not.
///
/// # Errors
/// The position of a code out of range.
pub fn codes<T: Unsigned>(codes: &[T], size: usize) -> Result<Vec<u64>, usize> {
    let bytes = if codes.len() < FEW { 0 } else { size_of::<T>() };
    // Codes out of range share the last place, or have their own.
    let (places, tables) = match bytes {
        1 => (1 << 8, TURNS),
        // Several would not fit beside each other.
        2 => (1 << 16, 1),
        4.. if size < SMALL => (size + 1, 4),
        _ => (size + 1, 1),
    };
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
                match bytes {
                    1 => unchecked::<T, { 1 << 8 }>(part, small),
                    2 => unchecked::<T, { 1 << 16 }>(part, small),
                    _ => clamped(part, small, places),
                }
                for table in small.chunks_mut(places) {
                    for (count, small) in counts.iter_mut().zip(table) {
                        *count += u64::from(std::mem::take(small));
                    }
                }
            }
        }
    });
    let mut counts = memory::zeros(places.max(size));
    for (_, _, band) in &work {
        for (count, more) in counts.iter_mut().zip(band) {
            *count += more;
        }
    }
    if counts[size..].iter().any(|&count| count > 0) {
        let wrong = codes.iter().position(|code| code.get() >= size as u64);
        return Err(wrong.unwrap_or(0));
    }
    counts.truncate(size);
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
