//! For tests: every case of a sampler of 16 bits, counted one by one.

use super::{Kind, Leaf, Sampler};
use crate::draw::alias::More;
use crate::law::Matrix;
use crate::law::parameters::Value;
use crate::system::memory;

/// Words that were written down, and whether more were asked for.
pub struct Script<'a> {
    pub words: &'a [u64],
    pub asked: usize,
}

impl More for Script<'_> {
    fn next(&mut self) -> u64 {
        self.asked += 1;
        self.words.get(self.asked - 1).copied().unwrap_or(0)
    }
}

/// The first word for which `below(n)` is `t`: `ceil(t 2^64 / n)`.
pub fn word(t: u64, n: u64) -> u64 {
    (u128::from(t) << 64).div_ceil(u128::from(n)) as u64
}

/// Add up the reports of an undecided word over every value of the numbers below `bounds` that it
/// takes, each of `weight` cases.
fn count_rest(
    kind: &Kind<u16>,
    (x, u): (u64, u64),
    bounds: &[u64],
    words: &mut Vec<u64>,
    weight: u128,
    cases: &mut [u128],
) {
    let mut script = Script { words, asked: 0 };
    let v = kind.resolve(x, u, &mut script);
    if script.asked <= script.words.len() {
        cases[v as usize] += weight;
        return;
    }
    let n = bounds[words.len()];
    let step = if cfg!(miri) { n.max(2) - 1 } else { 1 };
    for t in (0..n).step_by(step as usize) {
        words.push(word(t, n));
        count_rest(kind, (x, u), bounds, words, weight / u128::from(n), cases);
        words.pop();
    }
}

/// The whole of a row's law: every first word, and for undecided ones every further number. Miri is slow,
/// and there for memory alone: it takes some of the words and numbers, and does not add them up.
pub fn check(matrix: &Matrix, bounds: impl Fn(u64) -> Vec<u64>) {
    let family = &*matrix.family;
    let Sampler::Leaf(Leaf::Two(kind)) = matrix.sampler() else {
        panic!("{matrix:?}");
    };
    let (rows, step) = if cfg!(miri) {
        (family.size().min(2), 977)
    } else {
        (family.size(), 1)
    };
    for u in 0..rows {
        let bounds = bounds(u);
        let each: u128 = bounds.iter().map(|&n| u128::from(n)).product();
        let mut cases = memory::zeros::<u128>(family.size() as usize);
        for x in (0..65_520).step_by(step).chain(65_520..65_536) {
            match kind.decide(x, u) {
                (v, false) => cases[v as usize] += each,
                (_, true) => {
                    count_rest(kind, (x, u), &bounds, &mut Vec::new(), each, &mut cases);
                }
            }
        }
        if cfg!(miri) {
            continue;
        }
        for (v, cases) in (0..).zip(cases) {
            let (n, d) = family.entry(u, v).unwrap();
            assert_eq!(
                cases * d,
                n * (each << 16),
                "({u}, {v}) of {}",
                family.name()
            );
        }
    }
}

pub fn whole(n: i128) -> Value {
    Value::Whole(n)
}

pub fn total(matrix: &Matrix) -> u64 {
    matrix.family.total().unwrap() as u64
}
