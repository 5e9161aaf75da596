//! What a code is in 8, 16, 32 and 64 bits, a record's first word in 16, 32 and 64, and buffers for codes of each width.

use crate::system::erase::Erased;

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

/// Something for first words of two, four or eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByWord<A, B, C> {
    /// Two bytes: up to 256 outcomes.
    Two(A),
    /// Four: up to 2^24.
    Four(B),
    /// Eight.
    Eight(C),
}

/// Bytes of a record's first word. They follow the matrix, never the type of the codes.
pub type WordWidth = ByWord<(), (), ()>;

impl WordWidth {
    /// For a matrix of this size.
    pub fn of(size: u64) -> Self {
        match size {
            0..=0x100 => ByWord::Two(()),
            0x101..=0x100_0000 => ByWord::Four(()),
            _ => ByWord::Eight(()),
        }
    }
}

impl<A, B, C> ByWord<A, B, C> {
    /// Of one word.
    pub fn bytes(&self) -> usize {
        match self {
            ByWord::Two(_) => 2,
            ByWord::Four(_) => 4,
            ByWord::Eight(_) => 8,
        }
    }
}

/// `$run` for what there is of some width; `$as_such` makes the same of that width again.
macro_rules! each_word {
    (@ $Width:ident, $as_such:ident, $run:expr) => {{
        let $as_such = $crate::draw::code::ByWord::$Width;
        $run
    }};
    ($all:expr, $one:pat => $run:expr) => {
        match $all {
            $crate::draw::code::ByWord::Two($one) => $run,
            $crate::draw::code::ByWord::Four($one) => $run,
            $crate::draw::code::ByWord::Eight($one) => $run,
        }
    };
    ($all:expr, $as_such:ident, $one:pat => $run:expr) => {
        match $all {
            $crate::draw::code::ByWord::Two($one) => each_word!(@ Two, $as_such, $run),
            $crate::draw::code::ByWord::Four($one) => each_word!(@ Four, $as_such, $run),
            $crate::draw::code::ByWord::Eight($one) => each_word!(@ Eight, $as_such, $run),
        }
    };
}

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

    /// The buffers of this width.
    fn spare(all: &mut Spare) -> &mut Vec<Erased<Self>>;

    /// The quotient and the rest of a division by `d`, given `m` and `s` of `loops::digits::divisor`.
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

            fn spare(all: &mut Spare) -> &mut Vec<Erased<Self>> {
                &mut all.$field
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

/// Something for codes of one, two, four or eight bytes each, whatever it is: `Each<u8>` to `Each<u64>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByWidth<A, B, C, D> {
    /// One byte: up to 256 categories.
    One(A),
    /// Two: up to 65,536.
    Two(B),
    /// Four: up to 2^32.
    Four(C),
    /// Eight.
    Eight(D),
}

/// Codes to be written.
pub type Codes<'a> = ByWidth<&'a mut [u8], &'a mut [u16], &'a mut [u32], &'a mut [u64]>;

/// A width of codes alone.
pub type CodeWidth = ByWidth<(), (), (), ()>;

impl CodeWidth {
    /// Of the narrowest codes below `size`.
    pub fn of(size: u64) -> Self {
        match size {
            0..=0x100 => ByWidth::One(()),
            0x101..=0x1_0000 => ByWidth::Two(()),
            0x1_0001..=0x1_0000_0000 => ByWidth::Four(()),
            _ => ByWidth::Eight(()),
        }
    }

    /// Of codes of this number of bytes; of eight for any other number.
    pub fn of_bytes(bytes: usize) -> Self {
        match bytes {
            1 => ByWidth::One(()),
            2 => ByWidth::Two(()),
            4 => ByWidth::Four(()),
            _ => ByWidth::Eight(()),
        }
    }
}

impl<A, B, C, D> ByWidth<A, B, C, D> {
    /// Of one code.
    pub fn bytes(&self) -> usize {
        match self {
            ByWidth::One(_) => 1,
            ByWidth::Two(_) => 2,
            ByWidth::Four(_) => 4,
            ByWidth::Eight(_) => 8,
        }
    }
}

/// `$run` for what there is of some width; `$as_such` makes the same of that width again.
macro_rules! each {
    (@ $Width:ident, $as_such:ident, $run:expr) => {{
        let $as_such = $crate::draw::code::ByWidth::$Width;
        $run
    }};
    ($all:expr, $one:pat => $run:expr) => {
        match $all {
            $crate::draw::code::ByWidth::One($one) => $run,
            $crate::draw::code::ByWidth::Two($one) => $run,
            $crate::draw::code::ByWidth::Four($one) => $run,
            $crate::draw::code::ByWidth::Eight($one) => $run,
        }
    };
    ($all:expr, $as_such:ident, $one:pat => $run:expr) => {
        match $all {
            $crate::draw::code::ByWidth::One($one) => each!(@ One, $as_such, $run),
            $crate::draw::code::ByWidth::Two($one) => each!(@ Two, $as_such, $run),
            $crate::draw::code::ByWidth::Four($one) => each!(@ Four, $as_such, $run),
            $crate::draw::code::ByWidth::Eight($one) => each!(@ Eight, $as_such, $run),
        }
    };
}

/// `$run` for the type `$C` of codes of a width.
macro_rules! typed {
    (@ $type:ty, $C:ident, $run:expr) => {{
        type $C = $type;
        $run
    }};
    ($width:expr, $C:ident => $run:expr) => {
        match $width {
            $crate::draw::code::ByWidth::One(()) => typed!(@ u8, $C, $run),
            $crate::draw::code::ByWidth::Two(()) => typed!(@ u16, $C, $run),
            $crate::draw::code::ByWidth::Four(()) => typed!(@ u32, $C, $run),
            $crate::draw::code::ByWidth::Eight(()) => typed!(@ u64, $C, $run),
        }
    };
}

pub(crate) use {each, each_word, typed};

/// Buffers that no draw uses now, by the width of their codes. Each holds one code per record of a block.
#[derive(Default)]
pub struct Spare {
    records: usize,
    one: Vec<Erased<u8>>,
    two: Vec<Erased<u16>>,
    four: Vec<Erased<u32>>,
    eight: Vec<Erased<u64>>,
}

impl Spare {
    /// No buffers yet, for blocks of at most `records` records.
    pub fn new(records: usize) -> Self {
        Spare {
            records,
            ..Spare::default()
        }
    }

    /// Take a buffer. It holds what its last user left there.
    pub fn take<C: Code>(&mut self) -> Erased<C> {
        let records = self.records;
        let taken = C::spare(self).pop();
        taken.unwrap_or_else(|| vec![C::default(); records].into())
    }

    /// Give a buffer back.
    pub fn give<C: Code>(&mut self, buffer: Erased<C>) {
        C::spare(self).push(buffer);
    }
}
