//! How often each code occurs in a column, at the speed of reading it.

use super::word::Unsigned;
use crate::system::{memory, pool, stop};

/// Codes between two places where work may stop.
const STRETCH: usize = 1 << 20;

/// Sizes of which four tables stay close to the core. Neighbours that are equal would wait for each other in one; beyond,
/// waiting for memory costs more than that.
const SMALL: usize = 1 << 12;

/// The counts of the codes below `size`, or the position of the first that is not.
///
/// # Errors
/// The position of a code out of range.
pub fn codes<T: Unsigned>(codes: &[T], size: usize) -> Result<Vec<u64>, usize> {
    // A table of 32-bit counts holds what a band has.
    let least = codes.len().div_ceil(1 << 31).max(1);
    let bands = codes
        .len()
        .div_ceil(STRETCH)
        .min(pool::threads())
        .max(least);
    let height = codes.len().div_ceil(bands).max(1);
    let tables = if size < SMALL { 4 } else { 1 };
    // Those out of range are counted apart, never followed.
    let place = |code: &T| (code.get() as usize).min(size);
    let found = pool::map(bands, bands == 1, |band| {
        let mut counts = memory::zeros::<u32>((size + 1) * tables);
        let band = codes.chunks(height).nth(band).unwrap_or_default();
        for part in band.chunks(STRETCH) {
            stop::point();
            let (fours, rest) = part.as_chunks::<4>();
            let mut all = counts.chunks_exact_mut(size + 1);
            match [all.next(), all.next(), all.next(), all.next()] {
                [Some(a), Some(b), Some(c), Some(d)] => {
                    for [w, x, y, z] in fours {
                        a[place(w)] += 1;
                        b[place(x)] += 1;
                        c[place(y)] += 1;
                        d[place(z)] += 1;
                    }
                    rest.iter().for_each(|code| a[place(code)] += 1);
                }
                [Some(table), ..] => part.iter().for_each(|code| table[place(code)] += 1),
                [None, ..] => {}
            }
        }
        counts
    });
    let mut counts = memory::zeros::<u64>(size + 1);
    for table in found.iter().flat_map(|band| band.chunks(size + 1)) {
        let pairs = counts.iter_mut().zip(table);
        pairs.for_each(|(sum, &n)| *sum += u64::from(n));
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
