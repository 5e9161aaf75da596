//! One thread's buffers.

use zeroize::Zeroize;

use super::address::{Addresses, NEGATIVE};
use super::code::Code;
use crate::kernel::Undecided;
use crate::keystream::BLOCK;
use crate::system::memory;

/// One thread's buffers, erased when dropped: codes, ids and words alike.
pub(super) struct Scratch<C: Code> {
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

    fn erase(&mut self) {
        for codes in [&mut self.src, &mut self.dst, &mut self.space] {
            codes.zeroize();
        }
        self.work.erase();
    }
}

impl<C: Code> Drop for Scratch<C> {
    fn drop(&mut self) {
        self.erase();
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

    fn erase(&mut self) {
        self.words.zeroize();
        for numbers in [&mut self.first, &mut self.counters, &mut self.nonces] {
            numbers.zeroize();
        }
        self.undecided.erase();
        for picks in &mut self.picks {
            picks.zeroize();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erased_buffers_hold_nothing() {
        let mut scratch = Scratch::<u32>::new(5, 4);
        for codes in [&mut scratch.src, &mut scratch.dst, &mut scratch.space] {
            codes.fill(7);
        }
        let ids = [-1, 2, 3, 4, 5];
        let codes = scratch.src.clone();
        let work = &mut scratch.work;
        work.address(Addresses::Signed(&ids), &codes);
        work.words.fill(7);
        work.first.fill(7);
        work.picks.iter_mut().for_each(|picks| picks.fill(7));
        scratch.erase();
        let Scratch {
            src,
            dst,
            space,
            work,
        } = &scratch;
        assert!(
            [src, dst, space]
                .iter()
                .all(|codes| codes.iter().all(|&u| u == 0))
        );
        assert!(work.words.iter().all(|&x| x == 0));
        let numbers = [&work.first, &work.counters, &work.nonces];
        assert!(
            numbers
                .iter()
                .all(|numbers| numbers.iter().all(|&x| x == 0))
        );
        assert!(work.undecided.positions().is_empty());
        assert!(work.picks.iter().all(|picks| picks.iter().all(|&x| x == 0)));
    }
}
