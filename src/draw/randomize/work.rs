//! One thread's buffers.

use crate::draw::code::{Buffers, Code, Room};
use crate::draw::keystream::BLOCK;
use crate::draw::loops::Undecided;
use crate::system::{erase, memory};

/// One thread's buffers, erased when dropped: codes, ids and words alike.
pub(super) struct Scratch<C: Code> {
    pub src: Box<[C]>,
    pub dst: Box<[C]>,
    pub buffers: Buffers,
    pub work: Work,
}

impl<C: Code> Scratch<C> {
    /// For blocks of `records`, with more room for composites.
    pub(super) fn new(records: usize, room: Room) -> Self {
        let codes = || memory::filled(C::default(), records).into_boxed_slice();
        Scratch {
            src: codes(),
            dst: codes(),
            buffers: Buffers::new(room, records),
            work: Work::new(records),
        }
    }

    fn erase(&mut self) {
        erase::all(&mut self.src);
        erase::all(&mut self.dst);
        self.buffers.erase();
        self.work.erase();
    }
}

impl<C: Code> Drop for Scratch<C> {
    fn drop(&mut self) {
        self.erase();
    }
}

/// What one draw of a block needs.
pub struct Work {
    /// First words in the order of records, with room for a block that starts late.
    pub(super) words: Box<[u8]>,
    /// First eight bytes of addressed blocks.
    pub(super) first: Box<[u64]>,
    /// What addresses the words of all people of a block: counters, and nonces with the codes in them.
    pub(super) counters: Box<[u64]>,
    pub(super) nonces: Box<[u64]>,
    /// The same of those who are drawn, where not all are.
    pub(super) own_counters: Box<[u64]>,
    pub(super) own_nonces: Box<[u64]>,
    pub(super) undecided: Undecided,
}

impl Work {
    fn new(records: usize) -> Self {
        let numbers = || memory::zeros::<u64>(records).into_boxed_slice();
        Work {
            words: memory::zeros((8 * records).next_multiple_of(BLOCK) + 2 * BLOCK).into(),
            first: numbers(),
            counters: numbers(),
            nonces: numbers(),
            own_counters: numbers(),
            own_nonces: numbers(),
            undecided: Undecided::new(records),
        }
    }

    fn numbers(&mut self) -> [&mut Box<[u64]>; 5] {
        [
            &mut self.first,
            &mut self.counters,
            &mut self.nonces,
            &mut self.own_counters,
            &mut self.own_nonces,
        ]
    }

    fn erase(&mut self) {
        erase::all(&mut self.words);
        for numbers in self.numbers() {
            erase::all(numbers);
        }
        self.undecided.erase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erased_buffers_hold_nothing() {
        let room = [200, 300, 70_000, 1 << 33].map(|size| Room::of(size, 2));
        let room = room.into_iter().fold(Room::counts(7), Room::and);
        let mut scratch = Scratch::<u32>::new(5, room);
        scratch.src.fill(7);
        scratch.dst.fill(7);
        let mut space = scratch.buffers.space();
        u8::take(&mut space, 10).fill(7);
        u16::take(&mut space, 10).fill(7);
        u32::take(&mut space, 17).fill(7);
        u64::take(&mut space, 10).fill(7);
        scratch.work.words.fill(7);
        for numbers in scratch.work.numbers() {
            numbers.fill(7);
        }
        scratch.erase();
        let Scratch {
            src,
            dst,
            buffers,
            work,
        } = &mut scratch;
        assert!([src, dst].iter().all(|codes| codes.iter().all(|&u| u == 0)));
        let mut space = buffers.space();
        assert!(u8::take(&mut space, 10).iter().all(|&x| x == 0));
        assert!(u16::take(&mut space, 10).iter().all(|&x| x == 0));
        assert!(u32::take(&mut space, 17).iter().all(|&x| x == 0));
        assert!(u64::take(&mut space, 10).iter().all(|&x| x == 0));
        assert!(work.words.iter().all(|&x| x == 0));
        for numbers in work.numbers() {
            assert!(numbers.iter().all(|&x| x == 0));
        }
        assert!(work.undecided.positions().is_empty());
    }
}
