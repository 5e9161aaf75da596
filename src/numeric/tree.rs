//! For tests: every outcome of all random decisions, with its exact chance.

use std::sync::Mutex;

use super::draw::{Buffer, Digits, Draw, Source};
use crate::number::lattice::gcd;
use crate::system::memory::{self, Gather};

/// Decisions by a script, beyond which the first way is taken; remembers what was asked.
#[derive(Default)]
pub(super) struct Tree(Mutex<Script>);

#[derive(Default)]
struct Script {
    given: Vec<u64>,
    /// The way taken, how many there are, and its chance.
    asked: Vec<(u64, u64, (u64, u64))>,
}

impl Tree {
    fn ask(&self, ways: u64, chance: impl FnOnce(u64) -> (u64, u64)) -> u64 {
        let mut script = self.0.lock().unwrap();
        let at = script.asked.len();
        let way = script.given.get(at).copied().unwrap_or(0);
        let chance = chance(way);
        script.asked.push((way, ways, chance));
        way
    }

    /// The chance of what was decided.
    pub(super) fn leaf(&self) -> (u128, u128) {
        let script = self.0.lock().unwrap();
        let chances = script.asked.iter().map(|asked| asked.2);
        chances.fold((1u128, 1u128), |(n, d), (a, b)| {
            let (n, d) = (n * u128::from(a), d * u128::from(b));
            let g = gcd(n, d).max(1);
            (n / g, d / g)
        })
    }

    /// The next outcome; false if there is none.
    pub(super) fn advance(&mut self) -> bool {
        let script = self.0.get_mut().unwrap();
        script.given = script.asked.iter().map(|asked| asked.0).gather();
        while let (Some(last), Some(asked)) = (script.given.last_mut(), script.asked.pop()) {
            if *last + 1 < asked.1 {
                *last += 1;
                script.asked.clear();
                return true;
            }
            script.given.pop();
        }
        false
    }
}

pub(super) struct Ask<'a>(&'a Tree);

impl Digits for Ask<'_> {
    fn next(&mut self, n: u64) -> u64 {
        self.0.ask(n, |_| (1, n))
    }
}

impl Draw for Ask<'_> {
    type Digits<'a>
        = Ask<'a>
    where
        Self: 'a;

    fn digits(&mut self, _: u64) -> Ask<'_> {
        Ask(self.0)
    }

    fn happens(&mut self, a: u64, b: u64) -> bool {
        // A way without a chance is not gone.
        match a {
            0 => false,
            a if a == b => true,
            a => self.0.ask(2, |way| (if way == 1 { a } else { b - a }, b)) == 1,
        }
    }

    fn fill(&mut self, bits: u32, out: &mut [u16]) {
        for number in out {
            *number = self.next(1 << bits) as u16;
        }
    }
}

impl Source for Tree {
    type Draw<'a> = Ask<'a>;

    fn open<'a>(&'a self, _: &'a mut Buffer, _: u64) -> Ask<'a> {
        Ask(self)
    }
}

pub(super) fn add((a, b): (u128, u128), (c, d): (u128, u128)) -> (u128, u128) {
    let g = gcd(b, d);
    let (n, d) = (a * (d / g) + c * (b / g), b / g * d);
    let g = gcd(n, d).max(1);
    (n / g, d / g)
}

/// Sums the chances of all outcomes place by place and compares them with the entries, as fractions. How many
/// outcomes there are.
pub(super) fn check_marginals(
    n: usize,
    entry: impl Fn(usize, usize) -> (u128, u128),
    draw: impl Fn(&Tree, &[u32], &mut [u32]),
) -> usize {
    let x: Vec<u32> = (0..n as u32).gather();
    let mut sums = memory::filled((0u128, 1u128), n * n);
    let (mut tree, mut leaves) = (Tree::default(), 0);
    loop {
        let mut out = memory::filled(u32::MAX, n);
        draw(&tree, &x, &mut out);
        let chance = tree.leaf();
        for (v, &u) in out.iter().enumerate() {
            let sum = &mut sums[u as usize * n + v];
            *sum = add(*sum, chance);
        }
        leaves += 1;
        if !tree.advance() {
            break;
        }
    }
    for u in 0..n {
        for v in 0..n {
            let ((a, b), (c, d)) = (sums[u * n + v], entry(u, v));
            assert_eq!(a * d, c * b, "({u}, {v}): {a}/{b} for {c}/{d}");
        }
    }
    leaves
}
