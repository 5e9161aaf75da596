//! One thread's buffers.

use crate::draw::code::Spare;
use crate::draw::keystream::BLOCK;
use crate::draw::loops::Undecided;
use crate::system::erase::Erased;
use crate::system::memory;

/// One thread's buffers, erased when dropped: codes, ids and words alike.
pub struct Scratch {
    /// Buffers of codes and of numbers.
    pub(super) spare: Spare,
    /// First words in the order of records, with room for a block that starts late.
    pub(super) words: Erased<u8>,
    /// What addresses the words of all people of a block: counters, and nonces with the codes in them.
    pub(super) counters: Erased<u64>,
    pub(super) nonces: Erased<u64>,
    pub(super) undecided: Undecided,
}

impl Scratch {
    /// For blocks of at most `records` records.
    pub(super) fn new(records: usize) -> Self {
        Scratch {
            spare: Spare::new(records),
            words: memory::zeros((8 * records).next_multiple_of(BLOCK) + 2 * BLOCK).into(),
            counters: memory::zeros(records).into(),
            nonces: memory::zeros(records).into(),
            undecided: Undecided::new(records),
        }
    }
}
