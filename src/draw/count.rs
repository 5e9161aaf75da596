//! How often each code occurs in a column, at the speed of reading it.
//!
//! Equal neighbours would wait for each other in one table, so neighbouring codes go to different
//! tables, which are added up in the end. Codes out of range are counted apart, never followed.

use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop;

/// A code as it lies in memory.
pub trait Counted: Copy + Send + Sync {
    /// As a place in a table.
    fn place(self) -> usize;

    /// Adds the codes of a part to `tables`, `places` counts each.
    fn add(part: &[Self], tables: &mut [u32], places: usize) {
        clamped(part, tables, places);
    }

    /// Places of a table for codes below `size`, and how many tables neighbours take turns in.
    fn tables(size: usize) -> (usize, usize) {
        // Codes out of range share the last place.
        (size + 1, if size < SMALL { 4 } else { 1 })
    }
}

/// Sizes of which several tables stay close to the core; beyond, waiting for memory costs more than
/// waiting for an equal neighbour.
const SMALL: usize = 1 << 12;

/// Adds the codes to `tables`, those out of range at the last of its places.
fn clamped<T: Counted>(part: &[T], tables: &mut [u32], places: usize) {
    let Some(last) = places.checked_sub(1) else {
        return;
    };
    let mut tables = tables.chunks_exact_mut(places);
    let turns = [tables.next(), tables.next(), tables.next(), tables.next()];
    if let [Some(a), Some(b), Some(c), Some(d)] = turns {
        let (fours, rest) = part.as_chunks::<4>();
        for four in fours {
            let [w, x, y, z] = four.map(|code| code.place().min(last));
            a[w] += 1;
            b[x] += 1;
            c[y] += 1;
            d[z] += 1;
        }
        for code in rest {
            a[code.place().min(last)] += 1;
        }
    } else if let [Some(a), ..] = turns {
        for code in part {
            a[code.place().min(last)] += 1;
        }
    }
}

macro_rules! wide {
    ($($type:ty),*) => {$(
        impl Counted for $type {
            fn place(self) -> usize {
                self as usize
            }
        }
    )*};
}

wide!(u32, u64);

/// Tables that neighbours take turns in.
const TURNS: usize = 8;

macro_rules! narrow {
    ($($type:ty),*) => {$(
        impl Counted for $type {
            fn place(self) -> usize {
                self as usize
            }

            /// Every code of the type has a place, so that nothing need be checked on the way.
            fn add(part: &[Self], tables: &mut [u32], places: usize) {
                const PLACES: usize = 1 << <$type>::BITS;
                if places != PLACES {
                    return clamped(part, tables, places);
                }
                match tables.as_chunks_mut::<PLACES>().0 {
                    [a, b, c, d, e, f, g, h] => {
                        let (eights, rest) = part.as_chunks::<TURNS>();
                        for eight in eights {
                            let [s, t, u, v, w, x, y, z] = eight.map(Counted::place);
                            a[s % PLACES] += 1;
                            b[t % PLACES] += 1;
                            c[u % PLACES] += 1;
                            d[v % PLACES] += 1;
                            e[w % PLACES] += 1;
                            f[x % PLACES] += 1;
                            g[y % PLACES] += 1;
                            h[z % PLACES] += 1;
                        }
                        for code in rest {
                            a[code.place() % PLACES] += 1;
                        }
                    }
                    [a, ..] => {
                        for code in part {
                            a[code.place() % PLACES] += 1;
                        }
                    }
                    [] => {}
                }
            }

            fn tables(_: usize) -> (usize, usize) {
                // Of the wider ones several would not fit beside each other.
                let bits = <$type>::BITS;
                (1 << bits, if bits == 8 { TURNS } else { 1 })
            }
        }
    )*};
}

narrow!(u8, u16);

/// Codes in a task; a table of 32-bit counts holds more.
const TASK: usize = 1 << 24;

/// Codes below which the tables would take longer than they do.
const FEW: usize = 1 << 16;

/// The counts of the codes below `size`, or the position of the first that is not.
///
/// # Errors
/// The position of a code out of range.
pub fn codes<T: Counted>(codes: &[T], size: usize) -> Result<Vec<u64>, usize> {
    let (places, tables) = match codes.len() < FEW {
        true => (size + 1, 1),
        false => T::tables(size),
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
                T::add(part, small, places);
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
        let wrong = codes.iter().position(|code| code.place() >= size);
        return Err(wrong.unwrap_or(0));
    }
    counts.truncate(size);
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Counted + TryFrom<usize>>(size: usize) {
        for n in [0, 1, 3, 4, 1000, 100_003] {
            let places: Vec<usize> = (0..n).map(|i| (i * i + i / 7) % size).collect();
            let column: Vec<T> = places.iter().filter_map(|&p| T::try_from(p).ok()).collect();
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
