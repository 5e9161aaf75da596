//! For tests: permutations of values by every outcome of all random decisions.

use super::decisions::{Buffer, Draw, Source};
pub(super) use crate::birkhoff::tree::Tree;
use crate::birkhoff::tree::marginals;
use crate::system::memory::{self, Gather};

struct Ask<'a>(&'a Tree);

impl Draw for Ask<'_> {
    fn digits(&mut self, _: u64) -> impl FnMut(u64) -> u64 {
        |n| self.0.ask(n, |_| (1, n))
    }

    fn happens(&mut self, a: u64, b: u64) -> bool {
        self.0.happens(a, b)
    }

    fn fill(&mut self, bits: u32, out: &mut [u16]) {
        for number in out {
            *number = self.below(1 << bits) as u16;
        }
    }
}

impl Source for Tree {
    fn open<'a>(&'a self, _: &'a mut Buffer, _: u64) -> impl Draw {
        Ask(self)
    }
}

/// Compare the chances of all outcomes with the entries, as fractions. Returns how many outcomes there are.
pub(super) fn check_marginals(
    n: usize,
    entry: impl Fn(usize, usize) -> (u128, u128),
    draw: impl Fn(&Tree, &[u32], &mut [u32]),
) -> usize {
    let x: Vec<u32> = (0..n as u32).gather();
    // Who comes to each place, so that places are rows here.
    let (sums, leaves) = marginals(n, |tree| {
        let mut out = memory::filled(u32::MAX, n);
        draw(tree, &x, &mut out);
        out
    });
    for u in 0..n {
        for v in 0..n {
            let ((a, b), (c, d)) = (sums[v * n + u], entry(u, v));
            assert_eq!(a * d, c * b, "({u}, {v}): {a}/{b} for {c}/{d}");
        }
    }
    leaves
}
