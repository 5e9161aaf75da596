//! Uniform integers from as many words as it takes.

/// Further words for a record, as many as it takes.
pub trait More {
    /// The next one.
    fn next(&mut self) -> u64;
}

/// Uniform below `n`, exactly: `floor(U n)` for `U` in [0, 1) whose binary digits are the words, as many
/// as decide it. The first word decides unless its tail could still carry; then the next one does,
/// and so on.
pub fn below(n: u64, more: &mut impl More) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Vec<u64>, usize);

    impl More for Fixed {
        fn next(&mut self) -> u64 {
            self.1 += 1;
            self.0[self.1 - 1]
        }
    }

    #[test]
    fn below_is_the_whole_part_of_the_product_with_all_digits() {
        // U = 0.(word)(word)...; against three words at once where n is small.
        let n = 3;
        let third = u64::MAX / 3;
        let draw = |words: &[u64]| {
            let mut more = Fixed(words.to_vec(), 0);
            (below(n, &mut more), more.1)
        };
        assert_eq!(draw(&[0]), (0, 1));
        assert_eq!(draw(&[u64::MAX]), (2, 1));
        // 0.333... in binary is exactly undecided for as long as it lasts.
        assert_eq!(draw(&[third, third, third, 0]), (0, 4));
        assert_eq!(draw(&[third, third, third + 1]), (1, 3));
        assert_eq!(draw(&[third, third - 1]), (0, 2));
        // A power of two never needs a second word.
        for word in [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1] {
            let mut more = Fixed(vec![word], 0);
            assert_eq!(below(1 << 53, &mut more), word >> 11);
        }
        assert_eq!(below(1, &mut Fixed(vec![u64::MAX], 0)), 0);
    }
}
