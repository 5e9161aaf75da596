//! Random words, and the ways from them to a number below `n`. Outputs depend on which it is.

/// Random words, as many as it takes.
pub trait More {
    /// The next one.
    fn next(&mut self) -> u64;
}

impl<F: FnMut() -> u64> More for F {
    fn next(&mut self) -> u64 {
        self()
    }
}

/// Uniform below `n`, exactly: `floor(U n)` for `U` in [0, 1) whose binary digits are the words, as many
/// as decide it. The first word decides unless its tail could still carry; then the next one does,
/// and so on.
pub fn by_digits(n: u64, more: &mut impl More) -> u64 {
    let product = |word: u64| {
        let p = u128::from(word) * u128::from(n);
        ((p >> 64) as u64, p as u64)
    };
    let (high, mut low) = product(more.next());
    loop {
        // What follows adds less than n to `low`.
        if low.checked_add(n - 1).is_some() {
            return high;
        }
        let (carry, next) = product(more.next());
        let (sum, over) = low.overflowing_add(carry);
        if over {
            return high + 1;
        }
        if sum != u64::MAX {
            return high;
        }
        low = next;
    }
}

/// Uniform below `n`, exactly: words beyond the last whole multiple of `n` are thrown away.
pub fn by_remainder(n: u64, more: &mut impl More) -> u64 {
    let beyond = (u64::MAX % n + 1) % n;
    loop {
        let word = more.next();
        if word <= u64::MAX - beyond {
            return word % n;
        }
    }
}

/// The same from two words if one is too short.
pub fn by_long_remainder(n: u128, more: &mut impl More) -> u128 {
    if let Ok(n) = u64::try_from(n) {
        return by_remainder(n, more).into();
    }
    let beyond = (u128::MAX % n + 1) % n;
    loop {
        let number = u128::from(more.next()) << 64 | u128::from(more.next());
        if number <= u128::MAX - beyond {
            return number % n;
        }
    }
}

/// Near to uniform below `n`, which is at most 2^32, from the upper half of one word: for what needs no chance.
pub fn by_upper_half(n: u64, word: u64) -> u64 {
    ((word >> 32) * n) >> 32
}

/// Whether a word is one of those that every number below `product` has as many of.
#[inline]
pub fn is_fair(word: u64, product: u64) -> bool {
    let behind = word.wrapping_mul(product);
    // 2^64 mod product, which is below the product: seldom worth a division.
    behind >= product || behind >= product.wrapping_neg() % product
}

/// The next digit of a fair word: it is independent of those before, and each below `n` is as likely.
#[inline]
pub fn digit(word: &mut u64, n: u64) -> u64 {
    let wide = u128::from(*word) * u128::from(n);
    *word = wide as u64;
    (wide >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that are written down.
    fn given(words: &[u64]) -> impl FnMut() -> u64 {
        let mut next = words.iter().copied();
        move || next.next().expect("enough words")
    }

    #[test]
    fn one_in_n_holds_for_one_word_in_n() {
        // Of 2520 words in a row, every remainder of n up to 10 has as many.
        let all: Vec<u64> = (0..2520).collect();
        for n in 1..=10 {
            let mut words = given(&all);
            let held = (0..2520)
                .filter(|_| by_remainder(n, &mut words) == 0)
                .count() as u64;
            assert_eq!(held * n, 2520, "{n}");
        }
    }

    #[test]
    fn words_beyond_the_last_multiple_are_thrown_away() {
        // 2^64 is one more than a multiple of 3 and of 5, 2^128 than one of 2^64 + 1.
        for n in [3, 5, 15] {
            assert_eq!(by_remainder(n, &mut given(&[u64::MAX, 1])), 1);
            assert_eq!(by_remainder(n, &mut given(&[u64::MAX - 1])), n - 1);
        }
        let long = (1u128 << 64) + 1;
        let words = [u64::MAX, u64::MAX, 0, 7];
        assert_eq!(by_long_remainder(long, &mut given(&words)), 7);
    }

    #[test]
    fn every_number_has_as_many_fair_words() {
        for b in [
            2u64,
            3,
            5,
            120,
            1000,
            119 * 120 * 121,
            (1 << 56) - 5,
            1 << 40,
        ] {
            let number = |mut word: u64| digit(&mut word, b);
            // The first word that gives `r`, by bisection: the number grows with the word.
            let first = |r: u64| {
                let (mut low, mut high) = (0u128, 1u128 << 64);
                while low < high {
                    let middle = (low + high) / 2;
                    if number(middle as u64) < r {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                low
            };
            let whole = (1u128 << 64) / u128::from(b);
            for r in [0, 1, b / 3, b / 2, b - 2, b - 1] {
                let (from, to) = (first(r), if r + 1 == b { 1 << 64 } else { first(r + 1) });
                let near = (from..(from + 3).min(to)).chain((to - 3).max(from)..to);
                let unfair: std::collections::HashSet<u128> =
                    near.filter(|&word| !is_fair(word as u64, b)).collect();
                assert_eq!(to - from - unfair.len() as u128, whole, "{r} of {b}");
            }
        }
    }

    #[test]
    fn below_is_the_whole_part_of_the_product_with_all_digits() {
        // U = 0.(word)(word)...; against three words at once where n is small.
        let n = 3;
        let third = u64::MAX / 3;
        let draw = |words: &[u64]| {
            let mut taken = 0;
            let drawn = by_digits(n, &mut || {
                taken += 1;
                words[taken - 1]
            });
            (drawn, taken)
        };
        assert_eq!(draw(&[0]), (0, 1));
        assert_eq!(draw(&[u64::MAX]), (2, 1));
        // 0.333... in binary is exactly undecided for as long as it lasts.
        assert_eq!(draw(&[third, third, third, 0]), (0, 4));
        assert_eq!(draw(&[third, third, third + 1]), (1, 3));
        assert_eq!(draw(&[third, third - 1]), (0, 2));
        // A power of two never needs a second word.
        for word in [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1] {
            assert_eq!(by_digits(1 << 53, &mut given(&[word])), word >> 11);
        }
        assert_eq!(by_digits(1, &mut given(&[u64::MAX])), 0);
    }
}
