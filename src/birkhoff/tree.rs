//! For tests: every outcome of all random decisions, with its exact chance.

use std::sync::Mutex;

use super::terms;

/// Decisions by a script, beyond which the first way is taken; remembers what was asked.
#[derive(Default)]
pub(crate) struct Tree(Mutex<Script>);

#[derive(Default)]
struct Script {
    given: Vec<u64>,
    /// The way taken, how many there are, and its chance.
    asked: Vec<(u64, u64, (u64, u64))>,
}

impl Tree {
    pub(crate) fn ask(&self, ways: u64, chance: impl FnOnce(u64) -> (u64, u64)) -> u64 {
        let mut script = self.0.lock().unwrap();
        let at = script.asked.len();
        let way = script.given.get(at).copied().unwrap_or(0);
        let chance = chance(way);
        script.asked.push((way, ways, chance));
        way
    }

    /// Decide what has the chance `a/b`. A way without a chance is not gone.
    pub(crate) fn happens(&self, a: u64, b: u64) -> bool {
        match a {
            0 => false,
            a if a == b => true,
            a => self.ask(2, |way| (if way == 1 { a } else { b - a }, b)) == 1,
        }
    }

    /// The chance of what was decided.
    pub(crate) fn leaf(&self) -> (u128, u128) {
        let script = self.0.lock().unwrap();
        let chances = script.asked.iter().map(|asked| asked.2);
        chances.fold((1, 1), |product, (a, b)| {
            terms::multiply(product, (a.into(), b.into())).unwrap()
        })
    }

    /// The next outcome; false if there is none.
    pub(crate) fn advance(&mut self) -> bool {
        let script = self.0.get_mut().unwrap();
        script.given = script.asked.iter().map(|asked| asked.0).collect();
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

/// Sum the chances of all outcomes of `draw`, place by place: `sums[u * n + v]` is the chance that `u` goes to `v`. Also
/// returns the number of outcomes.
pub(crate) fn marginals(n: usize, draw: impl Fn(&Tree) -> Vec<u32>) -> (Vec<(u128, u128)>, usize) {
    let mut sums = vec![(0, 1); n * n];
    let (mut tree, mut leaves) = (Tree::default(), 0);
    loop {
        for (u, v) in draw(&tree).into_iter().enumerate() {
            let sum = &mut sums[u * n + v as usize];
            *sum = terms::add(*sum, tree.leaf()).unwrap();
        }
        leaves += 1;
        if !tree.advance() {
            return (sums, leaves);
        }
    }
}
