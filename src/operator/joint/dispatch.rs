//! The loops compiled for AVX2 too, where the machine has it. Nothing is added in another order, so that the numbers
//! are the same.

use super::{Room, loops};
#[cfg(target_arch = "x86_64")]
use crate::system::processor::{Level, level};

macro_rules! dispatched {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        pub fn $name($($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($argument: $type),*) {
                    loops::$name($($argument),*);
                }
                if level() >= Level::Avx2 {
                    // SAFETY: the level is AVX2 or above only where the processor has it.
                    return unsafe { avx2($($argument),*) };
                }
            }
            loops::$name($($argument),*);
        }
    )*};
}

dispatched! {
    turn(from: &[f64], columns: usize, to: &mut [f64]);
    shift(part: &mut [f64], size: usize, inner: usize, own: f64, all: f64, sums: &mut [f64]);
    multiply(part: &mut [f64], size: usize, inner: usize, table: &[f64], room: &mut Room);
}
