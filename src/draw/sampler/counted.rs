//! For tests: every case of a sampler of 16 bits, counted one by one.

use super::{Kind, Leaf, Sampler};
use crate::draw::uniform::More;
use crate::law::Matrix;
use crate::law::examples::{make, table, wholes, with};
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
fn check(matrix: &Matrix, bounds: impl Fn(u64) -> Vec<u64>) {
    let family = matrix;
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

pub fn total(matrix: &Matrix) -> u64 {
    matrix.total().unwrap() as u64
}

#[test]
fn every_case_is_counted() {
    for sizes in [vec![7], vec![1, 2, 5, 3], vec![100, 1, 99], vec![256]] {
        check(&wholes("blocks", "sizes", &sizes), |u| {
            let mut end = 0;
            let found = sizes.iter().find(|&&n| {
                end += n as u64;
                u < end
            });
            vec![*found.unwrap() as u64]
        });
    }
    for (size, n, d) in [
        (2, 1, 2),
        (3, 5, 7),
        (12, 64, 99),
        (20, 0, 1),
        (20, 1, 1),
        (5, 1, 999),
    ] {
        let m = with("randomized_response", size, "keep", Value::Ratio(n, d));
        check(&m, |_| vec![d as u64, size as u64 - 1]);
    }
    // All others draw one number below their total.
    let mut others = Vec::new();
    for row in [
        vec![3, 2, 1],
        vec![0, 7],
        vec![5],
        vec![1; 13],
        vec![1000, 0, 0, 1],
    ] {
        others.push(wholes("circulant", "first_row", &row));
    }
    for kernel in [vec![3, 2, 1], vec![0, 1], vec![4, 0, 0, 0, 9], vec![1; 20]] {
        others.push(wholes("reflected", "kernel", &kernel));
    }
    for alphas in [[1, 2, 3, 0], [5, 5, 0, 10], [10, 0, 9, 1], [0; 4]] {
        let alphas = ("alphas", Value::Wholes(alphas.into()));
        others.push(make("tridiagonal", &[alphas, ("total", Value::Whole(10))]).unwrap());
    }
    for (n, d) in [(1, 2), (1, 3), (3, 10), (0, 1)] {
        others.push(with("tridiagonal", 5, "alphas", Value::Ratio(n, d)));
    }
    let swap = [("size", 4), ("i", 3), ("j", 1)].map(|(name, n)| (name, Value::Whole(n)));
    let keep = [("keep", Value::Ratio(5, 7))];
    others.push(make("t_transform", &[&swap[..], &keep].concat()).unwrap());
    others.push(table(1, [9]));
    others.push(table(2, [1, 6, 6, 1]));
    others.push(table(3, [2, 1, 0, 1, 1, 1, 0, 1, 2]));
    others.push(table(20, (0..400).map(|i| (i / 20 + i % 20) % 20)));
    others.push(table(40, (0..1600).map(|i| (i / 40 + i % 40) % 40 % 2)));
    for m in others {
        check(&m, |_| vec![total(&m)]);
    }
}
