//! Unsigned integers by their lowest bits, and a record's first word among them.

use crate::system::pool;

/// An unsigned integer of any width.
pub trait Unsigned: Copy + Default + Ord + Send + Sync + std::fmt::Debug + 'static {
    /// From the lowest bits of a number.
    fn low(x: u64) -> Self;
    /// Its value.
    fn get(self) -> u64;
}

macro_rules! unsigned {
    ($($type:ty)*) => {
        $(impl Unsigned for $type {
            #[inline(always)]
            fn low(x: u64) -> Self {
                x as $type
            }

            #[inline(always)]
            fn get(self) -> u64 {
                self as u64
            }
        })*
    };
}

unsigned!(u8 u16 u32 u64);

/// Records of a part.
const PART: usize = 1 << 16;

/// Write `given` into `out`, of the same length, in one pass over memory that is shared among threads;
/// false if one is not below `size`, and `out` means nothing.
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

/// Bits of a record's first word. They follow the matrix, never the type of the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Up to 256 outcomes.
    Two,
    /// Up to 2^24.
    Four,
    /// Beyond.
    Eight,
}

impl Width {
    /// For a matrix of this size.
    pub fn of(size: u64) -> Self {
        match size {
            0..=0x100 => Width::Two,
            0x101..=0x100_0000 => Width::Four,
            _ => Width::Eight,
        }
    }
}

/// A record's first word.
pub trait Word: Unsigned {
    /// Its bits.
    const BITS: u32;
    /// Its largest value.
    const MOST: u64 = u64::MAX >> (64 - Self::BITS);
    /// From its bytes in a stream.
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! word {
    ($($type:ty)*) => {
        $(impl Word for $type {
            const BITS: u32 = <$type>::BITS;

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut all = [0; size_of::<$type>()];
                all.copy_from_slice(bytes);
                <$type>::from_le_bytes(all)
            }
        })*
    };
}

word!(u16 u32 u64);

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
