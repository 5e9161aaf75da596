//! Whether some power of a matrix is positive: irreducible and aperiodic.

use crate::law::{Alphas, Law, Matrix};
use crate::number::lattice::gcd;
use crate::system::memory;

/// Size up to which the support of a composite is looked at.
const SIZE: u64 = 4096;

impl Law {
    /// Of a law that is no composite.
    fn is_ergodic(&self) -> bool {
        let size = self.size();
        match self {
            // Powers of a permutation are permutations.
            Law::Permutation(_) => size == 1,
            // A walk on a cycle by the shifts in the support. After `n` steps it can be anywhere, for some `n`, just when
            // the differences of shifts generate the whole cycle: `gcd(differences, size) = 1`.
            Law::Circulant { first_row, .. } => {
                let mut shifts = (0u128..).zip(&**first_row).filter(|(_, c)| **c > 0);
                let first = shifts.next().map_or(0, |(shift, _)| shift);
                shifts.fold(u128::from(size), |g, (shift, _)| gcd(g, shift - first)) == 1
            }
            // Without lies nothing moves; without truth two codes swap for ever, and three do not.
            Law::RandomizedResponse { law, .. } => law.off > 0 && (law.diag > 0 || size > 2),
            // Nothing leaves its class, and one class is positive.
            Law::Classes { runs, .. } => runs[0].class_size == size,
            // A zero alpha cuts the scale in two. Without one, an end stays put with `1 - alpha_1 > 0` (else its neighbour's
            // alpha would be 0), which breaks every period; two codes that always swap are the exception.
            Law::Tridiagonal { alphas, total, .. } => match alphas {
                Alphas::Constant(alpha) => *alpha > 0 && (size > 2 || alpha < total),
                Alphas::Vector(alphas) => alphas.iter().all(|&alpha| alpha > 0),
            },
            // Steps `j` lead from `u` to all codes just when `g = gcd(steps, 2r)` is 1, or 2, as folding swaps the residues.
            // A symmetric chain has period 1 or 2. A colouring that every step flips is a character of the cycle: for
            // `g = 1` it would be `(-1)^z` with all steps odd, which folding (`z -> -1-z`) contradicts; for `g = 2` it is
            // `(-1)^{z/2}`, possible just when r is even and all steps are 2 mod 4.
            Law::Reflected { kernel, .. } => {
                let positive = || (0u128..).zip(&**kernel).filter(|(_, k)| **k > 0);
                match positive().fold(2 * u128::from(size), |g, (step, _)| gcd(g, step)) {
                    _ if size == 1 => true,
                    1 => true,
                    2 => !(size.is_multiple_of(2) && positive().all(|(step, _)| step % 4 == 2)),
                    _ => false,
                }
            }
            Law::Dense { counts, size, .. } => connects(*size, |u| {
                let row = &counts[u * size..][..*size];
                (0..*size).filter(|&v| row[v] > 0).collect()
            }),
            Law::TTransform { stay, sum, .. } => size == 2 && *stay > 0 && stay < sum,
            Law::Kron(_) | Law::Mix { .. } | Law::Product(_) => false,
        }
    }
}

impl Matrix {
    pub(super) fn decided_ergodic(&self) -> Option<bool> {
        let (size, small) = (self.size() as usize, self.size() <= self.largest(SIZE));
        match self.law() {
            // Powers are taken factor by factor, so all of them have to be.
            Law::Kron(_) => {
                let mut factors = self.wide().map(Matrix::is_ergodic);
                factors.try_fold(true, |all, factor| Some(all & factor?))
            }
            // One ergodic part is enough; else the union of the supports decides.
            Law::Mix { .. } => {
                let parts = self.shares::<u128>();
                let drawn = || parts.iter().map(|(_, part)| part);
                match drawn().any(|part| part.is_ergodic() == Some(true)) {
                    true => Some(true),
                    false => small.then(|| {
                        connects(size, |u| union(size, drawn().map(|part| part.support(u))))
                    }),
                }
            }
            // A positive factor makes the product positive. Otherwise the support decides.
            Law::Product(pair) => {
                if pair.iter().any(|part| part.epsilon().is_finite()) {
                    return Some(true);
                }
                if let Some(other) = self.beside_identity() {
                    return other.is_ergodic();
                }
                small.then(|| {
                    let second: Vec<_> = (0..size).map(|w| pair[1].support(w)).collect();
                    connects(size, |u| {
                        union(size, pair[0].support(u).into_iter().map(|w| &second[w]))
                    })
                })
            }
            plain => Some(plain.is_ergodic()),
        }
    }

    /// The codes that `u` may be reported as.
    fn support(&self, u: usize) -> Vec<usize> {
        let mut row = memory::zeros::<f64>(self.size() as usize);
        self.fill_row(u as u64, &mut row);
        (0..row.len()).filter(|&v| row[v] > 0.0).collect()
    }
}

/// What is in any of these lists of codes.
fn union(size: usize, lists: impl Iterator<Item = impl AsRef<[usize]>>) -> Vec<usize> {
    let mut seen = memory::filled(false, size);
    lists.for_each(|list| list.as_ref().iter().for_each(|&v| seen[v] = true));
    (0..size).filter(|&v| seen[v]).collect()
}

/// Irreducible and aperiodic, from the support alone: `reaches(u)` lists where `u` leads. A matrix
/// with equal line sums can be left wherever it can be entered, so one search from code 0 finds all
/// codes or none ever will. The period is the gcd of `level(u) + 1 - level(v)` over positive entries.
fn connects(size: usize, reaches: impl Fn(usize) -> Vec<usize>) -> bool {
    let mut level = memory::filled(usize::MAX, size);
    level[0] = 0;
    let mut queue = memory::room(size);
    queue.push(0);
    let mut head = 0;
    let mut period = 0u128;
    while let Some(&u) = queue.get(head) {
        head += 1;
        for v in reaches(u) {
            if level[v] == usize::MAX {
                level[v] = level[u] + 1;
                queue.push(v);
            }
            let around = (level[u] + 1).abs_diff(level[v]);
            period = gcd(period, around as u128);
        }
    }
    queue.len() == size && period == 1
}
