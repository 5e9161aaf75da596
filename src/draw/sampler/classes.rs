//! Any code of the class: the word times the class size.

use crate::draw::code::Word;
use crate::draw::uniform::{More, by_digits as below};
use crate::system::memory::Gather;

/// How the class of a code is found.
#[derive(Debug)]
pub enum Classes {
    /// There is one.
    One(u64),
    /// First code in the lower half, size less one in the upper half, by code.
    Short(Box<[u32]>),
    /// First code and size, by code.
    Table(Box<[[u32; 2]]>),
    /// (First code, class size) of runs of equal classes.
    Runs(Box<[(u64, u64)]>),
}

/// Up to this size a class is looked up.
const CLASS_TABLE: u64 = 1 << 20;

impl Classes {
    pub(super) fn new(size: u64, runs: Vec<(u64, u64)>) -> Self {
        if runs.len() == 1 && runs[0].1 == size {
            return Classes::One(size);
        }
        let runs = Classes::Runs(runs.into());
        if size > CLASS_TABLE {
            return runs;
        }
        if size <= 1 << 16 {
            let class = |u| {
                let (first, n) = runs.of(u);
                first as u32 | (n as u32 - 1) << 16
            };
            return Classes::Short((0..size).map(class).gather().into());
        }
        let class = |u| {
            let (first, n) = runs.of(u);
            [first as u32, n as u32]
        };
        Classes::Table((0..size).map(class).gather().into())
    }

    /// First code and size of the class of `u`.
    #[inline(always)]
    fn of(&self, u: u64) -> (u64, u64) {
        match self {
            Classes::One(size) => (0, *size),
            Classes::Short(table) => {
                let entry = u64::from(table[u as usize]);
                (entry & 0xffff, (entry >> 16) + 1)
            }
            Classes::Table(table) => {
                let [first, n] = table[u as usize];
                (first.into(), n.into())
            }
            Classes::Runs(runs) => {
                let (first, n) = runs[runs.partition_point(|run| run.0 <= u) - 1];
                (u - (u - first) % n, n)
            }
        }
    }

    #[inline(always)]
    pub(super) fn decide<W: Word>(&self, x: u64, u: u64) -> (u64, bool) {
        let (first, n) = self.of(u);
        let (high, low) = product::<W>(x, n);
        // Fewer than n slots are undecided, and only those with a low part below n may be.
        (first + high, low < n)
    }

    pub(super) fn resolve<W: Word>(&self, x: u64, u: u64, more: &mut impl More) -> u64 {
        let (first, n) = self.of(u);
        let (high, low) = product::<W>(x, n);
        // The products with a low part below 2^w mod n are one too many for their `high`;
        // without them every number has floor(2^w / n).
        let spare = ((u128::from(W::MOST) + 1) % u128::from(n)) as u64;
        if low >= spare {
            first + high
        } else {
            first + below(n, more)
        }
    }
}

/// `x n` as its part above the word and the part in it.
#[inline(always)]
fn product<W: Word>(x: u64, n: u64) -> (u64, u64) {
    if W::BITS <= 32 {
        // n is at most 2^24 here, x below 2^32.
        let p = x * n;
        (p >> W::BITS, p & W::MOST)
    } else {
        let p = u128::from(x) * u128::from(n);
        ((p >> 64) as u64, p as u64)
    }
}
