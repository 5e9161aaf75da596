//! Newton's equations of the likelihood by conjugate gradients, for matrices that are never written down.
//!
//! They are `(B B^T + diag z) y = right` with `B = root P sqrt(weights)`, and `inverse` is a diagonal near the
//! inverse of that matrix. Vectors are long here, so that each pass touches a number once. Sums are taken part
//! by part in a fixed order, so that they do not depend on the number of threads.

use crate::error::Result;
use crate::law::Matrix;
use crate::operator::composite::{Program, Walk, is_same};
use crate::operator::map::Way;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop;

/// The diagonal of `B B^T` is between 0 and 1; this stands for it.
const DIAGONAL: f64 = 0.3;

/// A matrix both ways, its steps found once for many equations.
#[derive(Debug)]
pub struct Equations {
    forth: Program,
    back: Program,
    /// Which of the tables of the first each table of the second is.
    places: Vec<usize>,
    size: usize,
}

impl Equations {
    /// The steps of `matrix`.
    pub fn new(matrix: &Matrix) -> Result<Self> {
        let forth = Program::new(matrix, Way::Forth, false)?;
        let back = Program::new(matrix, Way::Back, false)?;
        let place = |m: &Matrix| forth.dense.iter().position(|other| is_same(m, other));
        // Both hold the same matrices, in another order.
        let places = back.dense.iter().map(|m| place(m).unwrap_or(0)).gather();
        Ok(Equations {
            forth,
            back,
            places,
            size: matrix.family.size() as usize,
        })
    }

    /// Number of categories.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The matrices whose entries are needed, all of them in this order.
    pub fn dense(&self) -> &[Matrix] {
        &self.forth.dense
    }

    /// The `y` that leaves at most the share `within` of the right side, which `rest` is at first, or what was
    /// found in `turns` turns; how many were taken. `weights` are the weights of reports, 0 for reports that were not seen.
    pub fn solve(
        &self,
        tables: &[&[f64]],
        [weights, root, z]: [&[f64]; 3],
        rest: &mut [f64],
        within: f64,
        turns: usize,
    ) -> (Vec<f64>, usize) {
        let n = self.size;
        let again: Vec<&[f64]> = self.places.iter().map(|&i| tables[i]).gather();
        let mut found = memory::zeros(n);
        let (mut direction, mut through) = (memory::zeros(n), memory::zeros(n));
        let mut walk = Walk::new(memory::zeros(n));
        let inverse: Vec<f64> = z.iter().map(|z| 1.0 / (z + DIAGONAL)).gather();
        // Of no step at all only the sums are wanted.
        let (right, mut product) = advance(0.0, [&inverse, &direction, &through], &mut found, rest);
        let enough = within * within * right;
        let mut keep = 0.0;
        for taken in 0..turns {
            stop::point();
            let work = &mut walk.rows;
            turn(keep, [&inverse, rest, root], &mut direction, work);
            walk.run(&self.forth, tables);
            scale(weights, &mut walk.rows);
            walk.run(&self.back, &again);
            let bent = image([z, root, &walk.rows, &direction], &mut through);
            if !(bent > 0.0) {
                return (found, taken + 1);
            }
            let given = [&inverse[..], &direction, &through];
            let (left, after) = advance(product / bent, given, &mut found, rest);
            if left <= enough {
                return (found, taken + 1);
            }
            keep = after / product;
            product = after;
        }
        (found, turns)
    }
}

/// Numbers a task.
const PART: usize = 1 << 14;

/// `step` on every part of all vectors side by side; the sums of what it returns.
fn in_parts<const M: usize, const G: usize>(
    mine: [&mut [f64]; M],
    given: [&[f64]; G],
    step: impl Fn(&mut [&mut [f64]; M], &[&[f64]; G]) -> (f64, f64) + Sync + Send,
) -> (f64, f64) {
    let tasks = given[0].len().div_ceil(PART);
    let mut mine = mine.map(|vector| vector.chunks_mut(PART));
    let mut given = given.map(|vector| vector.chunks(PART));
    let mut parts: Vec<_> = (0..tasks)
        .map(|_| {
            let mine = mine
                .each_mut()
                .map(|parts| parts.next().unwrap_or_default());
            let given = given
                .each_mut()
                .map(|parts| parts.next().unwrap_or_default());
            (mine, given, (0.0, 0.0))
        })
        .gather();
    pool::for_each_chunk(&mut parts, 1, tasks < 2, |_, part| {
        for (mine, given, sums) in part {
            *sums = step(mine, given);
        }
    });
    let add = |(a, b), part: &(_, _, (f64, f64))| (a + part.2.0, b + part.2.1);
    parts.iter().fold((0.0, 0.0), add)
}

/// `work *= weights`.
fn scale(weights: &[f64], work: &mut [f64]) {
    in_parts([work], [weights], |[work], [weights]| {
        work.iter_mut().zip(*weights).for_each(|(w, x)| *w *= x);
        (0.0, 0.0)
    });
}

/// `direction = inverse rest + keep direction` and `work = root direction`.
fn turn(keep: f64, given: [&[f64]; 3], direction: &mut [f64], work: &mut [f64]) {
    in_parts(
        [direction, work],
        given,
        |[direction, work], [inverse, rest, root]| {
            let mine = direction.iter_mut().zip(work.iter_mut());
            let given = inverse.iter().zip(*rest).zip(*root);
            for ((d, w), ((inverse, r), root)) in mine.zip(given) {
                *d = inverse * r + keep * *d;
                *w = root * *d;
            }
            (0.0, 0.0)
        },
    );
}

/// `image = root work + z direction`, where `work` has been through B and back; its product with
/// `direction`.
fn image(given: [&[f64]; 4], image: &mut [f64]) -> f64 {
    let sums = in_parts([image], given, |[image], [z, root, work, direction]| {
        let given = z.iter().zip(*root).zip(work.iter().zip(*direction));
        let mut lanes = Lanes::default();
        for (i, (image, ((z, root), (w, d)))) in image.iter_mut().zip(given).enumerate() {
            *image = root * w + z * d;
            lanes.add(i, d * *image);
        }
        (lanes.sum(), 0.0)
    });
    sums.0
}

/// `found += length direction` and `rest -= length image`; the square of what rests, and its product with
/// itself preconditioned.
fn advance(length: f64, given: [&[f64]; 3], found: &mut [f64], rest: &mut [f64]) -> (f64, f64) {
    in_parts(
        [found, rest],
        given,
        |[found, rest], [inverse, direction, image]| {
            let mine = found.iter_mut().zip(rest.iter_mut());
            let given = inverse.iter().zip(*direction).zip(*image);
            let (mut squares, mut products) = (Lanes::default(), Lanes::default());
            for (i, ((found, rest), ((inverse, d), image))) in mine.zip(given).enumerate() {
                *found += length * d;
                *rest -= length * image;
                squares.add(i, *rest * *rest);
                products.add(i, inverse * *rest * *rest);
            }
            (squares.sum(), products.sum())
        },
    )
}

/// Four sums side by side, so that they do not wait for each other.
#[derive(Default)]
struct Lanes([f64; 4]);

impl Lanes {
    fn add(&mut self, i: usize, x: f64) {
        self.0[i % 4] += x;
    }

    fn sum(&self) -> f64 {
        self.0.iter().sum()
    }
}
