//! One thread's buffers.

use zeroize::Zeroize;

use super::address::{Addresses, NEGATIVE};
use super::code::Code;
use crate::kernel::Undecided;
use crate::keystream::BLOCK;
use crate::system::memory;

/// One thread's buffers, erased when dropped.
pub(super) struct Scratch<C> {
    pub src: Box<[C]>,
    pub dst: Box<[C]>,
    pub space: Box<[C]>,
    pub work: Work,
}

impl<C: Code> Scratch<C> {
    /// For blocks of `records`, with `buffers` more for composites.
    pub(super) fn new(records: usize, buffers: usize) -> Self {
        let codes = |n: usize| memory::filled(C::default(), n * records).into_boxed_slice();
        Scratch {
            src: codes(1),
            dst: codes(1),
            space: codes(buffers),
            work: Work::new(records, buffers / 2),
        }
    }
}

impl<C> Drop for Scratch<C> {
    fn drop(&mut self) {
        self.work.words.zeroize();
        self.work.first.zeroize();
    }
}

/// What one draw of a block needs.
pub(super) struct Work {
    /// First words in the order of records, with room for a block that starts late.
    pub words: Box<[u8]>,
    /// First eight bytes of addressed blocks.
    pub first: Box<[u64]>,
    /// Addresses of blocks: counters, nonces.
    pub counters: Box<[u64]>,
    pub nonces: Box<[u64]>,
    pub undecided: Undecided,
    /// Which part of a mixture each record takes, one buffer for each level of nesting.
    pub picks: Vec<Box<[u32]>>,
}

impl Work {
    pub(super) fn new(records: usize, mixtures: usize) -> Self {
        let numbers = || memory::zeros::<u64>(records).into_boxed_slice();
        Work {
            words: memory::zeros(8 * records + 2 * BLOCK).into(),
            first: numbers(),
            counters: numbers(),
            nonces: numbers(),
            undecided: Undecided::new(records),
            picks: memory::filled(memory::zeros(records).into(), mixtures),
        }
    }

    /// Counters and nonces of a block with integer ids.
    pub(super) fn address<C: Code>(&mut self, at: Addresses<'_>, codes: &[C]) {
        let nonces = self.nonces.iter_mut().zip(codes);
        match at {
            Addresses::From(_) => {}
            Addresses::Signed(ids) => {
                for ((counter, (nonce, code)), id) in self.counters.iter_mut().zip(nonces).zip(ids)
                {
                    *counter = *id as u64;
                    *nonce = code.get() | (*id as u64 & NEGATIVE);
                }
            }
            Addresses::Unsigned(ids) => {
                for ((counter, (nonce, code)), id) in self.counters.iter_mut().zip(nonces).zip(ids)
                {
                    *counter = *id;
                    *nonce = code.get();
                }
            }
            // The codes, for the hash.
            Addresses::Ids(_) => nonces.for_each(|(nonce, code)| *nonce = code.get()),
        }
    }
}
