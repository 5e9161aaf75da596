//! How often each code occurs in a column, at the speed of reading it.
//!
//! Equal neighbours would wait for each other in one table, so neighbouring codes go to different
//! tables, which are added up in the end. Codes out of range are counted apart, never followed.

use crate::pool;

/// A code as it lies in memory; a negative one is far out of range.
pub trait Code: Copy + Send + Sync {
    /// Codes that the type has, where that is a small table.
    const ALL: Option<usize>;
    /// As a place in a table.
    fn place(self) -> usize;
}

macro_rules! codes {
    ($($type:ty, $unsigned:ty, $all:expr);*) => {$(
        impl Code for $type {
            const ALL: Option<usize> = $all;
            fn place(self) -> usize {
                self as $unsigned as usize
            }
        }
    )*};
}

codes!(
    u8, u8, Some(1 << 8); i8, u8, Some(1 << 8);
    u16, u16, Some(1 << 16); i16, u16, Some(1 << 16);
    u32, u32, None; i32, u32, None;
    u64, u64, None; i64, u64, None
);

/// Tables that neighbours take turns in.
const TABLES: usize = 4;

/// Codes up to which a table is small enough to have several.
const SMALL: usize = 1 << 16;

/// Codes in a task; a table of 32-bit counts holds more.
const TASK: usize = 1 << 22;

/// The counts of the codes below `size`, or the position of the first that is not.
///
/// # Errors
/// The position of a code out of range.
pub fn codes<T: Code>(codes: &[T], size: usize) -> Result<Vec<u64>, usize> {
    // Every code of a narrow type has a place; of a wide one those beyond share the last.
    let places = T::ALL.unwrap_or(size + 1).max(size + 1);
    let tables = if places <= SMALL { TABLES } else { 1 };
    let bands = codes.len().div_ceil(TASK).clamp(1, pool::threads());
    let height = codes.len().div_ceil(bands).max(1);
    struct Band<'a, T> {
        codes: &'a [T],
        small: Vec<u32>,
        counts: Vec<u64>,
    }
    let mut work: Vec<Band<'_, T>> = codes
        .chunks(height)
        .map(|codes| Band {
            codes,
            small: vec![0; places * tables],
            counts: vec![0; places],
        })
        .collect();
    let last = places - 1;
    pool::for_each_chunk(&mut work, 1, codes.len() < 1 << 16, |_, band| {
        for band in band {
            for part in band.codes.chunks(TASK) {
                if tables == TABLES {
                    let (fours, rest) = part.as_chunks::<TABLES>();
                    let (a, others) = band.small.split_at_mut(places);
                    let (b, others) = others.split_at_mut(places);
                    let (c, d) = others.split_at_mut(places);
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
                } else {
                    for code in part {
                        band.small[code.place().min(last)] += 1;
                    }
                }
                for table in band.small.chunks_mut(places) {
                    for (count, small) in band.counts.iter_mut().zip(table) {
                        *count += u64::from(std::mem::take(small));
                    }
                }
            }
        }
    });
    let mut counts = vec![0; places];
    for band in &work {
        for (count, more) in counts.iter_mut().zip(&band.counts) {
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

    fn check<T: Code + TryFrom<usize>>(size: usize) {
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
        check::<i8>(100);
        check::<u16>(256);
        check::<u16>(65_536);
        check::<i16>(1000);
        check::<u32>(12);
        check::<u32>(100_000);
        check::<i32>(12);
        check::<u64>(70_000);
        check::<i64>(3);
    }

    #[test]
    fn the_first_code_out_of_range_is_found() {
        assert_eq!(codes(&[0u8, 1, 2, 255], 3), Err(3));
        assert_eq!(codes(&[0i8, -1, 2], 3), Err(1));
        assert_eq!(codes(&[0i64, 2, i64::MIN, 1], 3), Err(2));
        assert_eq!(codes(&[7u32], 7), Err(0));
        assert_eq!(codes(&[1u8; 5], 1), Err(0));
    }
}
