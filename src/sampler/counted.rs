//! For tests: every case of a sampler of 16 bits, counted one by one.

use super::{Kind, Sampler};
use crate::alias::More;
use crate::family::Matrix;
use crate::parameters::Value;
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
    for t in 0..n {
        words.push(word(t, n));
        count_rest(kind, (x, u), bounds, words, weight / u128::from(n), cases);
        words.pop();
    }
}

/// The whole of a row's law: every first word, and for undecided ones every further number.
pub fn check(matrix: &Matrix, bounds: impl Fn(u64) -> Vec<u64>) {
    let family = &*matrix.family;
    let Sampler::Two(kind) = matrix.sampler() else {
        panic!("{matrix:?}");
    };
    for u in 0..family.size() {
        let bounds = bounds(u);
        let each: u128 = bounds.iter().map(|&n| u128::from(n)).product();
        let mut cases = memory::zeros::<u128>(family.size() as usize);
        for x in 0..1 << 16 {
            match kind.decide(x, u) {
                (v, false) => cases[v as usize] += each,
                (_, true) => {
                    count_rest(kind, (x, u), &bounds, &mut Vec::new(), each, &mut cases);
                }
            }
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
