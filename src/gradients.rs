//! The passes over long vectors in a step of conjugate gradients, each number touched once a pass.
//!
//! The equations are `(B B^T + diag z) y = right`, and `inverse` is a diagonal near the inverse of that
//! matrix. Products with B are somebody else's. Sums are taken part by part in a fixed order, so that they do not depend on the
//! number of threads.

use crate::pool;
use crate::system::memory::Gather;

/// Numbers a task.
const PART: usize = 1 << 14;

/// `direction = inverse rest + keep direction` and `work = root direction`.
pub fn turn(
    keep: f64,
    [inverse, rest, root]: [&[f64]; 3],
    direction: &mut [f64],
    work: &mut [f64],
) {
    let mut parts: Vec<_> = direction
        .chunks_mut(PART)
        .zip(work.chunks_mut(PART))
        .zip(
            inverse
                .chunks(PART)
                .zip(rest.chunks(PART))
                .zip(root.chunks(PART)),
        )
        .gather();
    let small = parts.len() < 2;
    pool::for_each_chunk(&mut parts, 1, small, |_, part| {
        for ((direction, work), ((inverse, rest), root)) in part {
            let mine = direction.iter_mut().zip(work.iter_mut());
            let given = inverse.iter().zip(rest.iter()).zip(root.iter());
            for ((d, w), ((inverse, r), root)) in mine.zip(given) {
                *d = inverse * r + keep * *d;
                *w = root * *d;
            }
        }
    });
}

/// `image = root work + z direction`, where `work` has been through B and back; its product with
/// `direction`.
pub fn image([z, root, work, direction]: [&[f64]; 4], image: &mut [f64]) -> f64 {
    let given = z
        .chunks(PART)
        .zip(root.chunks(PART))
        .zip(work.chunks(PART).zip(direction.chunks(PART)));
    let mut parts: Vec<_> = image
        .chunks_mut(PART)
        .zip(given)
        .map(|(image, given)| (image, given, 0.0))
        .gather();
    let small = parts.len() < 2;
    pool::for_each_chunk(&mut parts, 1, small, |_, part| {
        for (image, ((z, root), (work, direction)), product) in part {
            let given = z.iter().zip(*root).zip(work.iter().zip(*direction));
            let mut lanes = Lanes::default();
            for (i, (image, ((z, root), (w, d)))) in image.iter_mut().zip(given).enumerate() {
                *image = root * w + z * d;
                lanes.add(i, d * *image);
            }
            *product = lanes.sum();
        }
    });
    parts.iter().map(|part| part.2).sum()
}

/// `found += length direction` and `rest -= length image`; the square of what rests, and its product with
/// itself preconditioned.
pub fn advance(
    length: f64,
    [inverse, direction, image]: [&[f64]; 3],
    found: &mut [f64],
    rest: &mut [f64],
) -> (f64, f64) {
    let given = inverse
        .chunks(PART)
        .zip(direction.chunks(PART))
        .zip(image.chunks(PART));
    let mut parts: Vec<_> = found
        .chunks_mut(PART)
        .zip(rest.chunks_mut(PART))
        .zip(given)
        .map(|(mine, given)| (mine, given, (0.0, 0.0)))
        .gather();
    let small = parts.len() < 2;
    pool::for_each_chunk(&mut parts, 1, small, |_, part| {
        for ((found, rest), ((inverse, direction), image), sums) in part {
            let mine = found.iter_mut().zip(rest.iter_mut());
            let given = inverse.iter().zip(*direction).zip(*image);
            let (mut squares, mut products) = (Lanes::default(), Lanes::default());
            for (i, ((found, rest), ((inverse, d), image))) in mine.zip(given).enumerate() {
                *found += length * d;
                *rest -= length * image;
                squares.add(i, *rest * *rest);
                products.add(i, inverse * *rest * *rest);
            }
            *sums = (squares.sum(), products.sum());
        }
    });
    parts
        .iter()
        .fold((0.0, 0.0), |(a, b), part| (a + part.2.0, b + part.2.1))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Solves `(diag(root b^2 root) + diag z) y = right` for a diagonal B, of which the answer is known.
    #[test]
    fn the_passes_together_solve_equations() {
        let n = 3 * PART + 5;
        let each = |f: fn(f64) -> f64| -> Vec<f64> { (0..n).map(|i| f(i as f64)).collect() };
        let z = each(|i| 0.1 + (i % 7.0) / 10.0);
        let root = each(|i| 1.0 / (1.0 + i % 3.0));
        let squares = each(|i| 0.5 + (i % 5.0) / 10.0);
        let right = each(|i| (i % 11.0) - 5.0);
        let inverse: Vec<f64> = z.iter().map(|z| 1.0 / (z + 0.3)).collect();
        let mut rest = right.clone();
        let (mut found, mut direction) = (vec![0.0; n], vec![0.0; n]);
        let (mut work, mut through) = (vec![0.0; n], vec![0.0; n]);
        let mut product: f64 = rest.iter().zip(&inverse).map(|(r, i)| i * r * r).sum();
        let mut keep = 0.0;
        for _ in 0..200 {
            turn(keep, [&inverse, &rest, &root], &mut direction, &mut work);
            for (w, s) in work.iter_mut().zip(&squares) {
                *w *= s;
            }
            let bent = image([&z, &root, &work, &direction], &mut through);
            let length = product / bent;
            let (left, next) = advance(
                length,
                [&inverse, &direction, &through],
                &mut found,
                &mut rest,
            );
            keep = next / product;
            product = next;
            if left < 1e-24 {
                break;
            }
        }
        for i in 0..n {
            let want = right[i] / (root[i] * squares[i] * root[i] + z[i]);
            assert!((found[i] - want).abs() < 1e-11, "{i}: {} {want}", found[i]);
        }
    }
}
