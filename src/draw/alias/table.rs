//! The decided slots, in the order of an alias table.

use crate::draw::word::Word;
use crate::system::memory;
use crate::system::stop::Paced;
use std::hint::select_unpredictable;

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
