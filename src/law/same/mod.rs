//! Whether two matrices are the same law: the same size and equal entries, whatever family wrote them.
//!
//! Nothing goes through doubles. What is decided by structure takes as long as the parameters are:
//!
//! | pair | decided by |
//! |---|---|
//! | krons whose factors line up | their factors: summed over one axis a kron is the product of the others |
//! | laws with one diagonal and one other entry | the diagonal |
//! | two circulant, tridiagonal, reflected, dense, blocks, T-transforms | their numbers |
//! | two permutations, whoever writes them | their targets |
//!
//! All others are compared entry by entry, a row at a time, up to [`STEPS`](entries::STEPS).

use crate::error::Result;
use crate::law::parameters::Value;
use crate::law::{self, Composition, Matrix};
use crate::number::lattice::gcd;
use crate::system::control::Control;
use crate::system::control::Failure;

pub mod entries;
mod structures;

/// Whether the laws are the same, provided that those of the pairs pushed to `left` are, whose entries
/// need longer integers.
///
/// # Errors
/// More than [`STEPS`](entries::STEPS) to compare; or who waits wanted it no longer.
pub fn same(
    a: &Matrix,
    b: &Matrix,
    left: &mut Vec<(Matrix, Matrix)>,
    control: &Control,
) -> std::result::Result<bool, Failure> {
    if a.family.size() != b.family.size() {
        return Ok(false);
    }
    if a == b {
        return Ok(true);
    }
    for (a, b) in aligned(a, b)? {
        let found = match structures::compare(&a, &b) {
            Some(found) => found,
            None => entries::compare(a, b, left, control)?,
        };
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The factors of a kron, or the matrix itself; none of size 1, and no mixture of one part.
fn factors(matrix: &Matrix, found: &mut Vec<Matrix>) {
    if matrix.family.size() == 1 {
        return;
    }
    match matrix.family.composition() {
        Some(Composition::Kron(parts)) => parts.iter().for_each(|part| factors(part, found)),
        Some(Composition::Mix(parts)) => {
            let mut drawn = parts.iter().filter(|((weight, _), _)| *weight > 0);
            match (drawn.next(), drawn.next()) {
                (Some((_, part)), None) => factors(part, found),
                _ => found.push(matrix.clone()),
            }
        }
        _ => found.push(matrix.clone()),
    }
}

/// Pairs of factors of the same sizes, several of one side together where the sizes of the other ask
/// for it. The krons are the same law where all pairs are: with all other axes summed over, rows that
/// sum to 1 leave the factor.
fn aligned(a: &Matrix, b: &Matrix) -> Result<Vec<(Matrix, Matrix)>> {
    let size = |parts: &[Matrix]| parts.iter().map(|part| part.family.size()).product::<u64>();
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    factors(a, &mut xs);
    factors(b, &mut ys);
    let (mut xs, mut ys) = (xs.into_iter(), ys.into_iter());
    let mut pairs = Vec::new();
    while let (Some(x), Some(y)) = (xs.next(), ys.next()) {
        let (mut x, mut y) = (vec![x], vec![y]);
        while size(&x) != size(&y) {
            let (short, rest) = if size(&x) < size(&y) {
                (&mut x, &mut xs)
            } else {
                (&mut y, &mut ys)
            };
            match rest.next() {
                Some(next) => short.push(next),
                // All factors together have the same size, so there is one.
                None => break,
            }
        }
        pairs.push((joined(x)?, joined(y)?));
    }
    Ok(pairs)
}

/// The factors as one matrix.
fn joined(mut parts: Vec<Matrix>) -> Result<Matrix> {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => {
            parts.extend(last);
            let size: u64 = parts.iter().map(|part| part.family.size()).product();
            let all = |keep: fn(u64) -> u64| {
                parts.iter().all(|part| {
                    let size = part.family.size();
                    structures::flat(&part.family.structure(), size) == Some((1, keep(size).into()))
                })
            };
            // Perfect secrecy of all is perfect secrecy together, and so is none.
            let given = ("size".to_owned(), Value::Whole(size.into()));
            if all(|size| size) {
                return law::build("uniform", vec![given]);
            }
            if all(|_| 1) {
                return law::build("identity", vec![given]);
            }
            let given = Value::Matrices(parts.into());
            law::build("kron", vec![("matrices".to_owned(), given)])
        }
    }
}

/// A fraction in lowest terms.
fn ratio(n: u128, d: u128) -> (u128, u128) {
    let g = gcd(n, d);
    (n / g, d / g)
}

#[cfg(test)]
mod tests {
    use super::entries::entries_match;
    use super::*;
    use crate::law::battery::make;

    fn verdict(a: &Matrix, b: &Matrix) -> bool {
        let mut left = Vec::new();
        let found = same(a, b, &mut left, &Control::default()).unwrap();
        assert!(left.is_empty());
        found
    }

    fn wholes(family: &str, name: &str, numbers: &[i64]) -> Matrix {
        make(family, &[(name, Value::Wholes(numbers.into()))]).unwrap()
    }

    fn kron(parts: &[Matrix]) -> Matrix {
        make("kron", &[("matrices", Value::Matrices(parts.into()))]).unwrap()
    }

    fn sized(family: &str, size: i128, name: &str, x: Value) -> Matrix {
        make(family, &[("size", Value::Whole(size)), (name, x)]).unwrap()
    }

    fn dense(matrix: &Matrix) -> Matrix {
        let n = matrix.family.size() as usize;
        let cells = (0..n * n).map(|i| {
            let (a, b) = matrix.family.entry((i / n) as u64, (i % n) as u64).unwrap();
            (a as i128, b as i128)
        });
        let cells = Value::Ratios(cells.collect());
        make("dense", &[("array", Value::Table(n, n, Box::new(cells)))]).unwrap()
    }

    fn closed_forms(size: usize) -> Vec<Matrix> {
        let n = size as i128;
        let mut row = vec![1; size];
        let mut all = vec![
            make("identity", &[("size", Value::Whole(n))]).unwrap(),
            make("uniform", &[("size", Value::Whole(n))]).unwrap(),
            wholes("circulant", "first_row", &row),
            sized("randomized_response", n, "keep", Value::Ratio(1, 2)),
            sized("randomized_response", n, "keep", Value::Ratio(0, 1)),
            sized("tridiagonal", n, "alphas", Value::Ratio(1, 4)),
            sized("tridiagonal", n, "alphas", Value::Ratio(0, 1)),
            sized("k_anonymous", n, "k", Value::Whole(2)),
            wholes("blocks", "sizes", &[1, n as i64 - 1]),
        ];
        row[0] = size as i64 - 1;
        all.push(wholes("circulant", "first_row", &row));
        row.fill(0);
        row[1] = 3;
        all.push(wholes("circulant", "first_row", &row));
        let targets: Vec<i64> = (0..size as i64).map(|u| (u + 1) % size as i64).collect();
        all.push(wholes("permutation", "targets", &targets));
        // Alternately more and less: the same reflected law.
        let even: Vec<i64> = (0..=size as i64).map(|i| 5 + i % 2).collect();
        let plain: Vec<i64> = (0..=size as i64).map(|i| 6 - i % 2).collect();
        all.push(wholes("reflected", "kernel", &even));
        all.push(wholes("reflected", "kernel", &plain));
        let mut near = vec![0; size + 1];
        (near[0], near[1]) = (2, 1);
        all.push(wholes("reflected", "kernel", &near));
        for (keep, i, j) in [
            ((0, 1), 0, 1),
            ((1, 3), 1, 0),
            ((1, 3), 0, 1),
            ((1, 1), 0, 1),
        ] {
            let given = [
                ("size", Value::Whole(n)),
                ("i", Value::Whole(i)),
                ("j", Value::Whole(j)),
                ("keep", Value::Ratio(keep.0, keep.1)),
            ];
            all.push(make("t_transform", &given).unwrap());
        }
        all
    }

    /// By structure, by entries and written out: one verdict.
    #[test]
    fn all_ways_agree_with_the_entries() {
        for size in [2, 3, 4, 5] {
            let all = closed_forms(size);
            let tables: Vec<Matrix> = all.iter().map(dense).collect();
            for (a, s) in all.iter().zip(&tables) {
                for (b, t) in all.iter().zip(&tables) {
                    let want = (0..size as u64)
                        .all(|u| (0..size as u64).all(|v| entries_match(a, b, u, v) == Some(true)));
                    for (a, b) in [(a, b), (a, t), (s, b), (s, t)] {
                        assert_eq!(verdict(a, b), want, "{a:?} {b:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn krons_are_compared_factor_by_factor() {
        let rr = |n| sized("randomized_response", n, "keep", Value::Ratio(1, 2));
        let one = make("uniform", &[("size", Value::Whole(1))]).unwrap();
        let uniform = |n| make("uniform", &[("size", Value::Whole(n))]).unwrap();
        let a = kron(&[rr(3), kron(&[uniform(2), one, uniform(3)])]);
        assert!(verdict(&a, &kron(&[dense(&rr(3)), uniform(6)])));
        assert!(!verdict(&a, &kron(&[uniform(2), rr(3), uniform(3)])));
        assert!(verdict(&kron(&[rr(3)]), &rr(3)));
        assert!(!verdict(&a, &uniform(18)));
        // Far too large to be looked at.
        let large = kron(&[rr(1 << 20), uniform(1 << 20)]);
        assert!(verdict(
            &large,
            &kron(&[rr(1 << 20), uniform(2), uniform(1 << 19)])
        ));
    }

    #[test]
    fn what_is_too_large_is_refused_unless_a_difference_is_seen() {
        let n = 1 << 20;
        let steps = sized("tridiagonal", n, "alphas", Value::Ratio(1, 4));
        let mut kernel = vec![0; n as usize + 1];
        (kernel[0], kernel[1]) = (2, 1);
        let reflected = wholes("reflected", "kernel", &kernel);
        let error = same(&steps, &reflected, &mut Vec::new(), &Control::default());
        let Err(Failure::Refused(error)) = error else {
            panic!("{error:?}");
        };
        assert_eq!(
            error.to_string(),
            "`other` must take at most 17179869184 steps to compare where structures differ; \
             got 2199023255552"
        );
        kernel[0] = 3;
        assert!(!verdict(&steps, &wholes("reflected", "kernel", &kernel)));
    }
}
