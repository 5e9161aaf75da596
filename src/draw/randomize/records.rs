//! Records of a block as draws see them: whatever addresses them, so that draws are compiled once for a width of codes
//! and not for every kind of address as well.

use super::address::{Address, Answer, Which};
use super::work::Work;

/// The records of a chunk, of which one block at a time is drawn.
pub(super) trait Records {
    /// How many of the records from `start` on are in the same block.
    fn room(&self, start: usize, block: usize) -> usize;

    /// Go to the block of the records `start..end`.
    fn go(&mut self, start: usize, end: usize);

    /// See [`Address::CODES`].
    fn codes(&self) -> bool;

    /// See [`Address::enter`].
    fn enter(&self, work: &mut Work);

    /// See [`Address::FEW`].
    fn few(&self) -> usize;

    /// See [`Address::first_words`]; of the draw with this number.
    fn first_words(&self, number: usize, which: Which<'_>, bytes: usize, work: &mut Work) -> usize;

    /// See [`Address::further`]; of the draw with this number.
    fn further(&self, number: usize, which: Which<'_>, work: &Work, answer: Answer<'_>);
}

/// Addresses with the keys of all draws.
pub(super) struct Addressed<'k, A: Address> {
    /// Those of the chunk, and how many.
    all: A,
    count: usize,
    /// Those of the block.
    block: A,
    keys: &'k [A::Keys],
}

impl<'k, A: Address> Addressed<'k, A> {
    /// Of `count` records.
    pub(super) fn new(all: A, count: usize, keys: &'k [A::Keys]) -> Self {
        let block = all;
        Addressed {
            all,
            count,
            block,
            keys,
        }
    }
}

impl<A: Address> Records for Addressed<'_, A> {
    fn room(&self, start: usize, block: usize) -> usize {
        self.all.part(start, self.count).room(block)
    }

    fn go(&mut self, start: usize, end: usize) {
        self.block = self.all.part(start, end);
    }

    fn codes(&self) -> bool {
        A::CODES
    }

    fn enter(&self, work: &mut Work) {
        self.block.enter(work);
    }

    fn few(&self) -> usize {
        A::FEW
    }

    fn first_words(&self, number: usize, which: Which<'_>, bytes: usize, work: &mut Work) -> usize {
        self.block
            .first_words(&self.keys[number], which, bytes, work)
    }

    fn further(&self, number: usize, which: Which<'_>, work: &Work, answer: Answer<'_>) {
        self.block.further(&self.keys[number], which, work, answer);
    }
}
