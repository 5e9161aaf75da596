//! How often each code occurs in a column, at the speed of reading it.

use super::code::Unsigned;
use crate::system::{memory, pool, stop};

/// Codes between two places where work may stop.
const STRETCH: usize = 1 << 20;

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
    // Those out of range are counted apart, never followed.
    let place = |code: &T| (code.get() as usize).min(size);
    let found = pool::map(bands, bands == 1, |band| {
        let mut counts = memory::zeros::<u32>(size + 1);
        let band = codes.chunks(height).nth(band).unwrap_or_default();
        for part in band.chunks(STRETCH) {
            stop::point();
            part.iter().for_each(|code| counts[place(code)] += 1);
        }
        counts
    });
    let mut counts = memory::zeros::<u64>(size + 1);
    for table in &found {
        let pairs = counts.iter_mut().zip(table);
        pairs.for_each(|(sum, &n)| *sum += u64::from(n));
    }
    if counts.pop() > Some(0) {
        let wrong = codes.iter().position(|code| code.get() >= size as u64);
        return Err(wrong.unwrap_or(0));
    }
    Ok(counts)
}
