//! The integers that hold codes, and room for codes of each width.

use crate::draw::word::Unsigned;
use crate::system::{erase, memory};

/// Records that are drawn together: their words stay in the nearest cache. Blocks start at multiples
/// of it, counted from row 0.
pub const RECORDS: usize = 1024;

/// An unsigned integer that holds codes.
pub trait Code: Unsigned {
    /// As many zeros as a block has records.
    const ZEROS: &'static [Self];

    /// Both slices as bytes, for codes of one byte.
    fn bytes<'a>(_src: &'a [Self], _dst: &'a mut [Self]) -> Option<(&'a [u8], &'a mut [u8])> {
        None
    }

    /// These codes, with their width as a value.
    fn of_width(codes: &mut [Self]) -> Codes<'_>;

    /// The codes, if they have this width.
    fn if_width(codes: Codes<'_>) -> Option<&mut [Self]>;

    /// Room for `n` codes, which nobody else has.
    fn take<'a>(space: &mut Space<'a>, n: usize) -> &'a mut [Self];

    /// The quotient and the rest of a division by `d = size`, given `m` and `s` of
    /// [`Divisor`](crate::draw::loops::digits::Divisor).
    fn divide(self, d: Self, m: Self, s: u32) -> (Self, Self);

    /// `self + place digit`.
    fn with_digit(self, place: Self, digit: Self) -> Self;

    /// `new` where `is`, else itself. Never a branch.
    fn replace(self, new: Self, is: bool) -> Self;
}

macro_rules! code {
    ($($type:ty, $wide:ty, $field:ident, $Width:ident $(, $bytes:item)?;)*) => {
        $(impl Code for $type {
            const ZEROS: &'static [Self] = &[0; RECORDS];

            $($bytes)?

            fn of_width(codes: &mut [Self]) -> Codes<'_> {
                Codes::$Width(codes)
            }

            fn if_width(codes: Codes<'_>) -> Option<&mut [Self]> {
                match codes {
                    Codes::$Width(codes) => Some(codes),
                    _ => None,
                }
            }

            fn take<'a>(space: &mut Space<'a>, n: usize) -> &'a mut [Self] {
                let (taken, left) = std::mem::take(&mut space.$field).split_at_mut(n);
                space.$field = left;
                taken
            }

            #[inline(always)]
            fn divide(self, d: Self, m: Self, s: u32) -> (Self, Self) {
                let high = ((<$wide>::from(self) * <$wide>::from(m)) >> <$type>::BITS) as $type;
                let low = high >> s;
                let left = self.wrapping_sub(low.wrapping_mul(d));
                let more = left >= d;
                let one = more as $type;
                (low.wrapping_add(one), left.replace(left.wrapping_sub(d), more))
            }

            #[inline(always)]
            fn with_digit(self, place: Self, digit: Self) -> Self {
                self.wrapping_add(place.wrapping_mul(digit))
            }

            #[inline(always)]
            fn replace(self, new: Self, is: bool) -> Self {
                let mask = (is as $type).wrapping_neg();
                (self & !mask) | (new & mask)
            }
        })*
    };
}

code! {
    u8, u16, one, One,
        fn bytes<'a>(src: &'a [Self], dst: &'a mut [Self]) -> Option<(&'a [u8], &'a mut [u8])> {
            Some((src, dst))
        };
    u16, u32, two, Two;
    u32, u64, four, Four;
    u64, u128, eight, Eight;
}

/// Codes of some width.
pub enum Codes<'a> {
    /// Of one byte.
    One(&'a mut [u8]),
    /// Of two.
    Two(&'a mut [u16]),
    /// Of four.
    Four(&'a mut [u32]),
    /// Of eight.
    Eight(&'a mut [u64]),
}

/// The width of the narrowest code that tells so many apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrow {
    /// One byte.
    One,
    /// Two.
    Two,
    /// Four.
    Four,
    /// Eight.
    Eight,
}

impl Narrow {
    /// For codes below `size`.
    pub fn of(size: u64) -> Self {
        match size {
            0..=0x100 => Narrow::One,
            0x101..=0x1_0000 => Narrow::Two,
            0x1_0001..=0x1_0000_0000 => Narrow::Four,
            _ => Narrow::Eight,
        }
    }
}

/// `$run::<C>` for the narrowest type `C` of codes below a size.
macro_rules! narrow {
    ($size:expr, $C:ident => $run:expr) => {
        match $crate::draw::code::Narrow::of($size) {
            $crate::draw::code::Narrow::One => {
                type $C = u8;
                $run
            }
            $crate::draw::code::Narrow::Two => {
                type $C = u16;
                $run
            }
            $crate::draw::code::Narrow::Four => {
                type $C = u32;
                $run
            }
            $crate::draw::code::Narrow::Eight => {
                type $C = u64;
                $run
            }
        }
    };
}

pub(super) use narrow;

/// How many codes of each width a thread has room for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// Buffers of a code for each record, by width.
    buffers: [usize; 4],
    /// Numbers of four bytes besides.
    counts: usize,
}

impl Room {
    /// So many buffers for codes below `size`.
    pub(super) fn of(size: u64, buffers: usize) -> Self {
        let mut room = Room::default();
        room.buffers[Narrow::of(size) as usize] = buffers;
        room
    }

    /// So many counts.
    pub(super) fn counts(counts: usize) -> Self {
        Room {
            counts,
            ..Room::default()
        }
    }

    /// This and that at once.
    pub(super) fn and(self, other: Self) -> Self {
        Room {
            buffers: std::array::from_fn(|i| self.buffers[i] + other.buffers[i]),
            counts: self.counts + other.counts,
        }
    }

    /// This or that.
    pub(super) fn or(self, other: Self) -> Self {
        Room {
            buffers: std::array::from_fn(|i| self.buffers[i].max(other.buffers[i])),
            counts: self.counts.max(other.counts),
        }
    }
}

/// Room for codes of each width, erased when dropped.
pub struct Buffers {
    one: Box<[u8]>,
    two: Box<[u16]>,
    four: Box<[u32]>,
    eight: Box<[u64]>,
}

impl Buffers {
    pub(super) fn new(room: Room, records: usize) -> Self {
        let [one, two, four, eight] = room.buffers.map(|buffers| buffers * records);
        Buffers {
            one: memory::zeros(one).into(),
            two: memory::zeros(two).into(),
            four: memory::zeros(four + room.counts).into(),
            eight: memory::zeros(eight).into(),
        }
    }

    pub(super) fn space(&mut self) -> Space<'_> {
        Space {
            one: &mut self.one,
            two: &mut self.two,
            four: &mut self.four,
            eight: &mut self.eight,
        }
    }

    pub(super) fn erase(&mut self) {
        erase::all(&mut self.one);
        erase::all(&mut self.two);
        erase::all(&mut self.four);
        erase::all(&mut self.eight);
    }
}

/// What nobody has taken of [`Buffers`].
pub struct Space<'a> {
    one: &'a mut [u8],
    two: &'a mut [u16],
    four: &'a mut [u32],
    eight: &'a mut [u64],
}

impl Space<'_> {
    /// The same, for as long as it is used.
    pub(super) fn again(&mut self) -> Space<'_> {
        Space {
            one: self.one,
            two: self.two,
            four: self.four,
            eight: self.eight,
        }
    }
}
