//! The integers that hold codes.

use zeroize::Zeroize;

use crate::word::Unsigned;

/// An unsigned integer that holds codes.
pub trait Code: Unsigned + Zeroize {
    /// Both slices as bytes, for codes of one byte.
    fn bytes<'a>(_src: &'a [Self], _dst: &'a mut [Self]) -> Option<(&'a [u8], &'a mut [u8])> {
        None
    }
}

impl Code for u8 {
    fn bytes<'a>(src: &'a [Self], dst: &'a mut [Self]) -> Option<(&'a [u8], &'a mut [u8])> {
        Some((src, dst))
    }
}

impl Code for u16 {}
impl Code for u32 {}
impl Code for u64 {}
