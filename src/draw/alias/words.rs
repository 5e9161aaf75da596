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

    /// With words of one byte instead of eight the same steps can be counted to the end.
    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn below_gives_every_number_the_same_share() {
        fn below_bytes(n: u64, bytes: [u64; 2]) -> Option<u64> {
            let (high, low) = ((bytes[0] * n) >> 8, (bytes[0] * n) & 255);
            if low + n <= 256 {
                return Some(high);
            }
            let (carry, next) = ((bytes[1] * n) >> 8, (bytes[1] * n) & 255);
            if low + carry > 255 {
                return Some(high + 1);
            }
            if low + carry < 255 || next + n <= 256 {
                return Some(high);
            }
            None
        }
        for n in [1, 2, 3, 5, 7, 12, 100, 255] {
            let mut seen = vec![0u64; n as usize];
            let mut undecided = vec![0u64; n as usize];
            for a in 0..256 {
                for b in 0..256 {
                    match below_bytes(n, [a, b]) {
                        Some(v) => seen[v as usize] += 1,
                        // Undecided between `v` and `v + 1`.
                        None => undecided[(((a * 256 + b) * n) >> 16) as usize] += 1,
                    }
                }
            }
            // Number v owns the words from v 2^16 / n to (v + 1) 2^16 / n, those at the ends in part.
            for v in 0..n {
                let (from, to) = ((v << 16).div_ceil(n), ((v + 1) << 16) / n);
                assert_eq!(seen[v as usize], to - from, "{v} of {n}");
                let cut = u64::from(((v + 1) << 16) % n != 0);
                assert_eq!(undecided[v as usize], cut);
            }
        }
    }
}
