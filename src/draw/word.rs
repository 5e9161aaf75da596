//! Unsigned integers by their lowest bits, and a record's first word among them.

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
