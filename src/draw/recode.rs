//! Unsigned numbers as codes of another width, many at a time.
//!
//! # Cost
//! One pass over memory, shared among threads: a column of eight bytes per record takes as long to read as its
//! reports take to draw.

use super::word::Unsigned;
use crate::system::pool;

/// Records of a part.
const PART: usize = 1 << 16;

/// Write `given` into `out`, of the same length; false if one is not below `size`, and `out` means nothing.
pub fn recode<A: Unsigned, B: Unsigned>(
    given: &[A],
    out: &mut [B],
    size: u64,
    threads: usize,
) -> bool {
    let parts = given.chunks(PART).zip(out.chunks_mut(PART));
    pool::every(parts, threads, |(given, out)| {
        let mut below = true;
        for (&given, out) in given.iter().zip(out) {
            let word = given.get();
            below &= word < size;
            *out = B::low(word);
        }
        below
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<A: Unsigned, B: Unsigned>(given: &[A], size: u64, threads: usize) -> Option<Vec<B>> {
        let mut out = vec![B::low(0); given.len()];
        recode(given, &mut out, size, threads).then_some(out)
    }

    #[test]
    fn numbers_keep_their_value_in_every_width_if_all_are_codes() {
        let given: Vec<u64> = (0..200_000).map(|i| i % 251).collect();
        for threads in [1, 7] {
            let narrow: Vec<u8> = of(&given, 251, threads).unwrap();
            assert_eq!(of::<u8, u64>(&narrow, 256, threads).unwrap(), given);
        }
        for at in [0, PART - 1, PART, 199_999] {
            for bad in [251, u64::MAX, 256] {
                let mut given = given.clone();
                given[at] = bad;
                assert_eq!(of::<u64, u8>(&given, 251, 2), None);
            }
        }
        assert_eq!(of::<u64, u32>(&[], 1, 2).unwrap(), [0_u32; 0]);
    }
}
