//! For tests: the whole tree of random decisions that a sample takes.

use super::sample::Coins;
use crate::system::memory::Gather;

/// Every leaf with its exact chance, one after the other.
#[derive(Default)]
pub(crate) struct Leaves {
    given: Vec<bool>,
    done: bool,
}

/// Decisions by a script, beyond which everything is false; remembers what was asked.
pub(crate) struct Script {
    given: Vec<bool>,
    /// What was decided, which has a chance of one over an integer or its complement.
    asked: Vec<(bool, u64)>,
}

impl Script {
    fn decide(&mut self, n: u64) -> bool {
        let i = self.asked.len();
        let answer = self.given.get(i).copied().unwrap_or(false);
        self.asked.push((answer, n));
        answer
    }
}

impl Coins for Script {
    fn flip(&mut self) -> bool {
        self.decide(2)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.decide(n)
    }
}

impl Leaves {
    pub(crate) fn next<T>(
        &mut self,
        draw: impl FnOnce(&mut Script) -> T,
    ) -> Option<(T, (u128, u128))> {
        if self.done {
            return None;
        }
        let mut script = Script {
            given: std::mem::take(&mut self.given),
            asked: Vec::new(),
        };
        let sample = draw(&mut script);
        let (mut n, mut d) = (1u128, 1u128);
        for &(answer, of) in &script.asked {
            n *= if answer { 1 } else { u128::from(of - 1) };
            d *= u128::from(of);
            let g = crate::number::lattice::gcd(n, d);
            (n, d) = (n / g, d / g);
        }
        // The next leaf: the last decision that was false becomes true.
        self.given = script.asked.iter().map(|&(answer, _)| answer).gather();
        while self.given.last() == Some(&true) {
            self.given.pop();
        }
        match self.given.last_mut() {
            Some(last) => *last = true,
            None => self.done = true,
        }
        Some((sample, (n, d)))
    }
}
