//! Two matrices, compared row by row.

use std::collections::HashMap;
use std::sync::Arc;

use super::ratio;
use crate::error::Error;
use crate::law::{Composition, Matrix};
use crate::number::lattice::gcd;
use crate::system::control::Control;
use crate::system::control::Failure;
use crate::system::memory;
use crate::system::stop;

/// Entries that are computed at most for a comparison, those inside of composites included.
pub const STEPS: u128 = 1 << 34;

/// The same where they need integers longer than 128 bits.
pub const LONG_STEPS: u128 = 1 << 26;

/// Entries that are looked at where there are too many for all.
const PROBES: u64 = 4096;

/// Entry by entry.
pub(super) fn compare(
    a: Matrix,
    b: Matrix,
    left: &mut Vec<(Matrix, Matrix)>,
    control: &Control,
) -> std::result::Result<bool, Failure> {
    let size = a.family.size();
    let mut costs = Costs::default();
    let each = costs.row(&a).saturating_add(costs.row(&b));
    let steps = each.saturating_mul(size.into());
    let refuse = |most: u128| {
        let must = format!("take at most {most} steps to compare where structures differ");
        let got = if steps < u128::MAX {
            steps.to_string()
        } else {
            "2^128 or above".to_owned()
        };
        Failure::Refused(Error::value("other", must, got))
    };
    if steps > STEPS {
        if probes_differ(&a, &b, &mut costs) {
            return Ok(false);
        }
        return Err(refuse(STEPS));
    }
    let longer = |a, b, left: &mut Vec<(Matrix, Matrix)>| {
        if steps > LONG_STEPS {
            return Err(refuse(LONG_STEPS));
        }
        left.push((a, b));
        Ok(true)
    };
    let (Some(s), Some(t)) = (a.total(), b.total()) else {
        let simple = |m: &Matrix| m.family.composition().is_none();
        if simple(&a) && simple(&b) {
            return entries_are_alike(&a, &b, control);
        }
        return longer(a, b, left);
    };
    let g = gcd(s, t);
    let (s_own, t_own) = (s / g, t / g);
    let n = size as usize;
    let (mut x, mut y) = (memory::zeros::<u128>(n), memory::zeros::<u128>(n));
    for u in 0..size {
        stop::point();
        control.check()?;
        x.fill(0);
        y.fill(0);
        if !(a.family.add_counts(u, s, 1, &mut x) && b.family.add_counts(u, t, 1, &mut y)) {
            return longer(a, b, left);
        }
        // x/s = y/t where x t' = y s' with s' = s/g and t' = t/g, which have no common divisor: where both
        // are multiples, x of s' and y of t', of the same number.
        let alike = |(&x, &y): (&u128, &u128)| {
            if s_own == 1 && t_own == 1 {
                x == y
            } else {
                x % s_own == 0 && y % t_own == 0 && x / s_own == y / t_own
            }
        };
        if !x.iter().zip(&y).all(alike) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two entries are the same fraction; none where one has no 128-bit fraction.
pub(super) fn entries_match(a: &Matrix, b: &Matrix, u: u64, v: u64) -> Option<bool> {
    let ((n, d), (m, e)) = (a.family.entry(u, v)?, b.family.entry(u, v)?);
    Some(match (n, m) {
        (0, _) | (_, 0) => n == m,
        _ => (n, d) == (m, e) || ratio(n, d) == ratio(m, e),
    })
}

fn entries_are_alike(
    a: &Matrix,
    b: &Matrix,
    control: &Control,
) -> std::result::Result<bool, Failure> {
    let size = a.family.size();
    for u in 0..size {
        control.check()?;
        // Every entry of a matrix that is no composite has a fraction.
        if !(0..size).all(|v| entries_match(a, b, u, v) == Some(true)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether entries at the start of the first row or of the diagonal differ.
fn probes_differ(a: &Matrix, b: &Matrix, costs: &mut Costs) -> bool {
    let dear = costs.entry(a).saturating_add(costs.entry(b)) > u128::from(PROBES);
    let mut places = (0..a.family.size().min(PROBES)).flat_map(|v| [(0, v), (v, v)]);
    !dear && places.any(|(u, v)| entries_match(a, b, u, v) == Some(false))
}

/// What an entry and a row take to compute. A composite may hold one matrix many times.
#[derive(Default)]
struct Costs {
    seen: HashMap<*const (), (u128, u128)>,
}

impl Costs {
    fn entry(&mut self, matrix: &Matrix) -> u128 {
        self.both(matrix).0
    }

    fn row(&mut self, matrix: &Matrix) -> u128 {
        self.both(matrix).1
    }

    fn both(&mut self, matrix: &Matrix) -> (u128, u128) {
        let place = Arc::as_ptr(&matrix.family).cast::<()>();
        if let Some(found) = self.seen.get(&place) {
            return *found;
        }
        let size = u128::from(matrix.family.size());
        let found = match matrix.family.composition() {
            None => (1, size),
            Some(Composition::Kron(parts)) => {
                let entry = parts
                    .iter()
                    .fold(0u128, |sum, part| sum.saturating_add(self.entry(part)));
                (entry, entry.saturating_mul(size))
            }
            Some(Composition::Mix(parts)) => parts.iter().fold((0u128, size), |sum, (_, part)| {
                let (entry, row) = self.both(part);
                (sum.0.saturating_add(entry), sum.1.saturating_add(row))
            }),
            Some(Composition::Product(first, second)) => {
                let (first, second) = (self.row(first), self.row(second));
                let row = first.saturating_add(second.saturating_mul(size));
                (row, row)
            }
        };
        self.seen.insert(place, found);
        found
    }
}
