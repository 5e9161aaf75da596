//! Exact integer sampling of one finite law, and the law that is really sampled.
//!
//! # The law
//! Outcome `v` has probability `c_v / D`, integers that sum to `D`. A word of `w` bits has `2^w`
//! slots. Outcome `v` gets `n_v = floor(c_v 2^w / D)` of them (at most `2^w - 1`), which leaves `R`
//! slots undecided, fewer than there are outcomes (or one). A word in an undecided slot, the `i`-th of
//! them, takes `t` uniform below `D` from further words; `i D + t` is then uniform below `R D`, and the
//! outcomes own intervals there of `c_v 2^w - n_v D` numbers, one after the other. Altogether `v` owns
//!
//! ```text
//! n_v D + (c_v 2^w - n_v D) = c_v 2^w    of    2^w D
//! ```
//!
//! equally likely cases: the law, exactly, whatever `w` and `D` are. [`Slots::law`] and [`Rest::mass`]
//! state the two parts, and tests add them up.
//!
//! # The table
//! The decided slots come first, in the order of an alias table of `2^k` columns: the upper `k` bits of a
//! word choose a column `j`, the others are compared with its threshold; below it the outcome is `j`, from
//! it on the column's alias. Threshold and alias share one word of `w` bits, so a draw is one look-up.

mod rest;
mod table;

pub use super::uniform::{More, by_digits as below};
pub use rest::{Outcomes, Rest, left_over, scan, share};
pub use table::{Slots, columns, fill, look_up, zeros};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::word::Word;

    fn check<W: Word>(law: &Outcomes, total: u64) {
        let n = law.len();
        let slots = Slots::<W>::new(n, |v| share::<W>(law.count(v), total));
        let rest = Rest::new::<W>(law.clone(), total);
        let decided = slots.law();
        let mut sum = 0;
        for (v, &decided) in decided.iter().enumerate() {
            if v >= n {
                assert_eq!(decided, 0);
                continue;
            }
            let cases = u128::from(decided) * u128::from(total) + rest.mass::<W>(v);
            assert_eq!(cases, u128::from(law.count(v)) << W::BITS, "{v} of {law:?}");
            // The first and the last case of the interval find their owner.
            let mass = rest.mass::<W>(v);
            if mass > 0 {
                assert_eq!(rest.find::<W>(sum), v as u64);
                assert_eq!(rest.find::<W>(sum + mass - 1), v as u64);
            }
            sum += mass;
        }
        // What is undecided is as much as the intervals hold.
        let undecided = u128::from(W::MOST - slots.last);
        assert_eq!(sum, undecided * u128::from(total));
    }

    #[test]
    fn slots_and_rest_make_the_law() {
        let grid = 1u64 << 53;
        let laws: Vec<(Vec<i64>, u64)> = vec![
            (vec![1], 1),
            (vec![0, 1, 0], 1),
            (vec![1, 1, 1], 3),
            (vec![1; 256], 256),
            (vec![1; 257], 257),
            (vec![grid as i64 - 3, 1, 1, 1], grid),
            ((1..=200).collect(), 20_100),
            (vec![(1 << 62), (1 << 62) - 1, 0, 0, 0, 0], (1 << 63) - 1),
            ((0..1000).map(|i| i * i % 7).collect(), 2001),
        ];
        // Miri is slow.
        let most = if cfg!(miri) { 20 } else { usize::MAX };
        for (counts, total) in laws.into_iter().filter(|(counts, _)| counts.len() <= most) {
            let law = Outcomes::Row(counts.into());
            check::<u16>(&law, total);
            check::<u32>(&law, total);
            check::<u64>(&law, total);
        }
        let law = Outcomes::Even([5, 4, 3, 2, 1].into());
        check::<u16>(&law, 5 + 2 * 9 + 1);
        check::<u32>(&law, 5 + 2 * 9 + 1);
    }

    /// Every word of 16 bits, against the counts that the table states.
    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn every_slot_is_what_the_table_says() {
        let laws = [vec![1i64; 12], vec![7, 0, 1, 100], vec![1; 256]];
        for counts in laws.into_iter().chain([(0..300).collect()]) {
            let total = counts.iter().sum::<i64>() as u64;
            let slots = Slots::<u16>::new(counts.len(), |v| share::<u16>(counts[v] as u64, total));
            let mut seen = vec![0; slots.table.len() - 1];
            for x in 0..=slots.last {
                let (v, undecided) = slots.draw(x);
                assert!(!undecided);
                seen[v as usize] += 1;
            }
            assert_eq!(seen, slots.law());
            assert!((slots.last + 1..1 << 16).all(|x| slots.draw(x).1));
        }
    }

    /// 2^16 = 3 * 21845 + 1: one case is left over to each.
    #[test]
    #[should_panic = "an undecided case that no outcome owns"]
    fn a_case_beyond_all_intervals_is_nobodys() {
        let law = Outcomes::Row([1, 1, 1].into());
        let rest = Rest::new::<u16>(law, 3);
        assert_eq!(rest.find::<u16>(2), 2);
        rest.find::<u16>(3);
    }
}
