//! Codes to digits and back, and reports chosen one by one: what composites do between the draws of their parts.
//!
//! Plain loops without branches, which the compiler turns into vectors, compiled for AVX2 too.

use crate::draw::code::Code;
use crate::system::processor::for_avx2;

/// `d`, `m` and `s`, to divide codes of this type by `size`, which is not 0, if the type holds that.
///
/// With `s = floor(log2 d)` and `m = floor(2^(w+s) / d)`, or one less than `2^w` if that is `2^w`,
/// `floor(x m / 2^(w+s))` is `floor(x / d)` or one less for any `x` below `2^w`: `m` is above
/// `2^(w+s) / d - 1`, so that `x m / 2^(w+s)` is above `x / d - 1`.
fn divisor<C: Code>(size: u64) -> Option<(C, C, u32)> {
    let d = C::low(size);
    if d.get() != size {
        return None;
    }
    let (bits, s) = (8 * size_of::<C>() as u32, size.ilog2());
    let m = (1u128 << (bits + s)) / u128::from(size);
    Some((d, C::low(m.min((1 << bits) - 1) as u64), s))
}

for_avx2! {
    /// Leave the quotients of the codes by `size` in `rest`, and put what they leave over into `digits`.
    pub(crate) fn split<C: Code, D: Code>(size: u64, rest: &mut [C], digits: &mut [D]) {
        let pairs = rest.iter_mut().zip(digits);
        match divisor::<C>(size) {
            Some((d, m, s)) => pairs.for_each(|(rest, digit)| {
                let (quotient, left) = rest.divide(d, m, s);
                *rest = quotient;
                *digit = D::low(left.get());
            }),
            // All codes are below it.
            None => pairs.for_each(|(rest, digit)| {
                *digit = D::low(rest.get());
                *rest = C::default();
            }),
        }
    }
}

for_avx2! {
    /// Codes that fit into a narrower type.
    pub(crate) fn narrow<C: Code, D: Code>(codes: &[C], digits: &mut [D]) {
        for (code, digit) in codes.iter().zip(digits) {
            *digit = D::low(code.get());
        }
    }
}

for_avx2! {
    /// Add digits at their place.
    pub(crate) fn join<C: Code, D: Code>(codes: &mut [C], place: u64, digits: &[D]) {
        // Beyond all codes if it does not fit, and then all digits are 0.
        let place = C::low(place);
        for (code, digit) in codes.iter_mut().zip(digits) {
            *code = code.with_digit(place, C::low(digit.get()));
        }
    }
}

for_avx2! {
    /// Take the new codes if the pick is `this`.
    pub(crate) fn select<C: Code, P: Code>(codes: &mut [C], new: &[C], picks: &[P], this: P) {
        for ((code, new), pick) in codes.iter_mut().zip(new).zip(picks) {
            *code = code.replace(*new, *pick == this);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree<C: Code, D: Code>(size: u64, most: u64) {
        let n = if cfg!(miri) { 20 } else { 70_000 };
        let before = |x: u64| x.saturating_mul(size).saturating_sub(1).min(most);
        let codes = (0..=most.min(n)).flat_map(|x| [x, most - x, before(x)]);
        let codes: Vec<C> = codes.map(C::low).collect();
        let mut rest = codes.clone();
        let mut digits = vec![D::default(); codes.len()];
        split(size, &mut rest, &mut digits);
        for ((code, rest), digit) in codes.iter().zip(&rest).zip(&digits) {
            let x = code.get();
            let found = (rest.get(), digit.get());
            assert_eq!(found, (x / size, x % size), "{x} by {size}");
        }
        // And back: the quotients as digits of their own.
        let mut joined = vec![C::default(); codes.len()];
        join(&mut joined, 1, &digits);
        join(&mut joined, size, &rest);
        assert_eq!(joined, codes);
    }

    #[test]
    fn digits_are_quotients_and_rests() {
        for size in (1..=256).step_by(if cfg!(miri) { 51 } else { 1 }) {
            agree::<u8, u8>(size, u8::MAX.into());
        }
        let sizes = [
            1, 2, 3, 7, 12, 16, 255, 256, 257, 4095, 4096, 65_535, 65_536,
        ];
        let more = (1..65_536).step_by(if cfg!(miri) { 16_001 } else { 997 });
        for size in sizes.into_iter().chain(more) {
            agree::<u16, u16>(size, u16::MAX.into());
        }
        let wide = [65_537, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32];
        for size in sizes.into_iter().chain(wide) {
            agree::<u32, u32>(size, u32::MAX.into());
            agree::<u64, u64>(size, u64::MAX);
            agree::<u64, u64>(size, (1 << 53) - 1);
        }
        agree::<u16, u8>(256, u16::MAX.into());
        agree::<u32, u8>(200, u32::MAX.into());
        agree::<u64, u16>(65_536, u64::MAX);
        agree::<u64, u64>((1 << 32) + 1, u64::MAX);
        agree::<u64, u64>(u64::MAX, u64::MAX);
    }
}
