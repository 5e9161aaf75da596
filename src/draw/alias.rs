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

use std::hint::select_unpredictable;
use std::sync::Arc;

use super::uniform::{More, by_digits as below};
use crate::draw::code::Word;
use crate::system::memory;
use crate::system::stop::Paced;

/// Columns of the table of a law with this many outcomes, as a power of two. Sixteen are one vector.
pub fn columns(outcomes: usize) -> u32 {
    outcomes.next_power_of_two().trailing_zeros().max(4)
}

/// A table of zeros.
pub fn zeros<W: Word>(entries: usize) -> Box<[W]> {
    memory::filled(W::low(0), entries).into_boxed_slice()
}

/// The decided slots of one law.
#[derive(Debug)]
pub struct Slots<W> {
    /// Columns are `2^k`.
    pub k: u32,
    /// Threshold above, alias in the lowest `k` bits; and one entry more that lets a vector of four
    /// bytes be read anywhere.
    pub table: Box<[W]>,
    /// The last decided word.
    pub last: u64,
}

impl<W: Word> Slots<W> {
    /// Outcome `v` gets `slots(v)` slots.
    pub fn new(outcomes: usize, slots: impl Fn(usize) -> u64) -> Self {
        let k = columns(outcomes);
        let mut table = zeros((1 << k) + 1);
        let mut mass = memory::filled(W::low(0), 1 << k);
        for (v, mass) in mass[..outcomes].iter_mut().enumerate().paced() {
            *mass = W::low(slots(v));
        }
        let last = fill(&mut mass, &mut table[..1 << k]);
        Slots { k, table, last }
    }

    /// The outcome of a word, and whether the word is undecided.
    #[inline(always)]
    pub fn draw(&self, x: u64) -> (u64, bool) {
        (look_up(&self.table, self.k, x), x > self.last)
    }

    /// Slots of each outcome, from the table alone.
    #[cfg(test)]
    pub fn law(&self) -> Vec<u64> {
        law(&self.table[..1 << self.k], self.k, self.last)
    }
}

/// The outcome of a decided word.
#[inline(always)]
pub fn look_up<W: Word>(table: &[W], k: u32, x: u64) -> u64 {
    let column = x >> (W::BITS - k);
    let below = x & (W::MOST >> k);
    let entry = table[column as usize].get();
    // Half of all words fall on either side, so a branch would be guessed wrong as often.
    let threshold = entry >> k;
    select_unpredictable(below < threshold, column, entry & !(u64::MAX << k))
}

/// Slots of each outcome in a table.
#[cfg(test)]
pub fn law<W: Word>(table: &[W], k: u32, last: u64) -> Vec<u64> {
    let mut law = memory::zeros(table.len());
    for (column, entry) in table.iter().enumerate() {
        let (threshold, alias) = (entry.get() >> k, entry.get() & !(u64::MAX << k));
        let room = room::<W>(k, column, last);
        law[column] += threshold.min(room);
        law[alias as usize] += room.saturating_sub(threshold);
    }
    law
}

/// Decided slots of a column.
fn room<W: Word>(k: u32, column: usize, last: u64) -> u64 {
    let full = (W::MOST >> k) + 1;
    match last.checked_sub(column as u64 * full) {
        None => 0,
        Some(further) if further >= full => full,
        Some(further) => further + 1,
    }
}

/// Write the alias table of `mass` slots an outcome and return the last decided word. At least one
/// slot is decided and one is not counted here: masses sum to at most `2^w`.
///
/// Every column that has less than its room is filled up from the first one that has more, which may
/// then have less itself. Each step settles one column, and rooms and masses have one sum, so the steps
/// end with every column full.
pub fn fill<W: Word>(mass: &mut [W], table: &mut [W]) -> u64 {
    let k = table.len().trailing_zeros();
    let decided: u128 = mass.iter().map(|m| u128::from(m.get())).sum();
    let last = (decided - 1) as u64;
    let room = |column| room::<W>(k, column, last);
    let mut large = 0;
    for scan in (0..mass.len()).paced() {
        if mass[scan].get() > room(scan) {
            continue;
        }
        let mut column = scan;
        loop {
            let missing = room(column) - mass[column].get();
            if missing == 0 {
                table[column] = W::low(column as u64);
                break;
            }
            while mass[large].get() <= room(large) {
                large += 1;
            }
            table[column] = W::low(mass[column].get() << k | large as u64);
            mass[large] = W::low(mass[large].get() - missing);
            // A column that was passed over as too large is settled as soon as it is not.
            if large > scan || mass[large].get() > room(large) {
                break;
            }
            column = large;
        }
    }
    last
}

/// Counts of a finite law.
#[derive(Debug, Clone)]
pub enum Outcomes {
    /// As they stand.
    Row(Arc<[i64]>),
    /// `c_0..c_r` of an even law on the cycle of length `2r`.
    Even(Arc<[i64]>),
}

impl Outcomes {
    /// Number of outcomes.
    pub fn len(&self) -> usize {
        match self {
            Outcomes::Row(counts) => counts.len(),
            Outcomes::Even(counts) => 2 * (counts.len() - 1),
        }
    }

    /// The count of one.
    #[inline]
    pub fn count(&self, v: usize) -> u64 {
        match self {
            Outcomes::Row(counts) => counts[v] as u64,
            Outcomes::Even(counts) => counts[v.min(2 * (counts.len() - 1) - v)] as u64,
        }
    }
}

/// `n_v`, the slots of an outcome with this count out of `total`.
#[inline]
pub fn share<W: Word>(count: u64, total: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    let scaled = u128::from(count) << W::BITS;
    // Totals on the grid need no division.
    let slots = if total.is_power_of_two() {
        scaled >> total.trailing_zeros()
    } else {
        scaled / u128::from(total)
    };
    slots.min(u128::from(W::MOST)) as u64
}

/// `c_v 2^w - n_v D`, what the slots of an outcome leave over.
#[inline]
pub fn left_over<W: Word>(count: u64, total: u64) -> u128 {
    (u128::from(count) << W::BITS) - u128::from(share::<W>(count, total)) * u128::from(total)
}

/// Outcomes between two marks.
const STRIDE: usize = 64;

/// What the undecided slots of one law decide.
#[derive(Debug)]
pub struct Rest {
    law: Outcomes,
    total: u64,
    /// Mass before every [`STRIDE`]-th outcome.
    marks: Box<[u128]>,
}

impl Rest {
    /// Of the law `counts / total`.
    pub fn new<W: Word>(law: Outcomes, total: u64) -> Self {
        let n = law.len();
        let mut sum = 0;
        let mut marks = memory::room(n.div_ceil(STRIDE));
        for v in (0..n).paced() {
            if v % STRIDE == 0 {
                marks.push(sum);
            }
            sum += left_over::<W>(law.count(v), total);
        }
        Rest {
            law,
            total,
            marks: marks.into(),
        }
    }

    /// Of `2^w D` cases, those of `v` that no slot decides.
    #[cfg(test)]
    pub fn mass<W: Word>(&self, v: usize) -> u128 {
        left_over::<W>(self.law.count(v), self.total)
    }

    /// The outcome of the `i`-th undecided slot.
    pub fn draw<W: Word>(&self, i: u64, more: &mut impl More) -> u64 {
        let t = below(self.total, more);
        self.find::<W>(u128::from(i) * u128::from(self.total) + u128::from(t))
    }

    /// Whose interval holds `t`.
    pub fn find<W: Word>(&self, t: u128) -> u64 {
        let block = self.marks.partition_point(|&mark| mark <= t) - 1;
        let start = block * STRIDE;
        let end = self.law.len().min(start + STRIDE);
        let counts = (start..end).map(|v| self.law.count(v));
        (start as u64) + scan::<W>(counts, self.total, t - self.marks[block])
    }
}

/// The position in `counts` whose interval of left-over cases holds `t`.
///
/// # Panics
/// None holds it: `t` is not below their sum.
pub fn scan<W: Word>(counts: impl Iterator<Item = u64>, total: u64, t: u128) -> u64 {
    let mut left = t;
    for (v, count) in counts.enumerate() {
        let mass = left_over::<W>(count, total);
        if left < mass {
            return v as u64;
        }
        left -= mass;
    }
    unreachable!("an undecided case that no outcome owns")
}

#[cfg(test)]
mod tests {
    use super::*;

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
