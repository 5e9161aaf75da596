//! The integers that hold codes.

/// An unsigned integer that holds codes.
pub trait Code: Copy + Default + Ord + Send + Sync + 'static {
    /// From the lowest bits of a number.
    fn low(x: u64) -> Self;
    /// Its value.
    fn get(self) -> u64;
    /// Both slices as bytes, for codes of one byte.
    fn bytes<'a>(_src: &'a [Self], _dst: &'a mut [Self]) -> Option<(&'a [u8], &'a mut [u8])> {
        None
    }
}

macro_rules! code {
    ($type:ty, $($bytes:item)?) => {
        impl Code for $type {
            #[inline(always)]
            fn low(x: u64) -> Self {
                x as $type
            }

            #[inline(always)]
            fn get(self) -> u64 {
                self as u64
            }

            $($bytes)?
        }
    };
}

code!(
    u8,
    fn bytes<'a>(src: &'a [Self], dst: &'a mut [Self]) -> Option<(&'a [u8], &'a mut [u8])> {
        Some((src, dst))
    }
);
code!(u16,);
code!(u32,);
code!(u64,);
