//! Unsigned numbers as codes of another width, many at a time.
//!
//! # Cost
//! One pass over memory, shared among threads: a column of eight bytes per record takes as long to read as its
//! reports take to draw.

use std::sync::atomic::{AtomicBool, Ordering};

use super::word::Unsigned;
use crate::system::{memory, pool};

/// Records of a part.
const PART: usize = 1 << 16;

/// Write `given` into `out`, of the same length; false if one is not below `size`, and `out` means nothing.
pub fn recode<A: Unsigned, B: Unsigned>(
    given: &[A],
    out: &mut [B],
    size: u64,
    threads: usize,
) -> bool {
    let good = AtomicBool::new(true);
    let parts = given.chunks(PART).zip(out.chunks_mut(PART));
    let mut states = memory::filled((), threads.clamp(1, parts.len().max(1)));
    pool::share_out(parts, &mut states, |(), (given, out)| {
        let mut below = true;
        for (&given, out) in given.iter().zip(out) {
            let word = given.get();
            below &= word < size;
            *out = B::low(word);
        }
        if !below {
            good.store(false, Ordering::Relaxed);
        }
    });
    good.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<A: Unsigned, B: Unsigned>(given: &[A], size: u64, threads: usize) -> Option<Vec<B>> {
        let mut out = vec![B::low(0); given.len()];
        recode(given, &mut out, size, threads).then_some(out)
    }

    #[test]
    fn numbers_keep_their_value_in_every_width() {
        let given: Vec<u64> = (0..200_000).map(|i| i % 251).collect();
        for threads in [1, 2, 7] {
            let narrow: Vec<u8> = of(&given, 251, threads).unwrap();
            assert!(narrow.iter().zip(&given).all(|(&a, &b)| u64::from(a) == b));
            assert_eq!(of::<u8, u64>(&narrow, 256, threads).unwrap(), given);
        }
        assert_eq!(of::<u16, u8>(&[0, 127], 128, 1).unwrap(), [0, 127]);
        assert_eq!(of::<u64, u32>(&[], 1, 2).unwrap(), [0_u32; 0]);
    }

    #[test]
    fn a_number_that_is_no_code_is_seen_wherever_it_is() {
        for at in [0, 1, PART - 1, PART, 3 * PART + 5] {
            for bad in [12, u64::MAX, 256] {
                let mut given = vec![3_u64; 3 * PART + 6];
                given[at] = bad;
                assert_eq!(of::<u64, u8>(&given, 12, 2), None);
            }
        }
    }
}
