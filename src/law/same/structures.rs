//! Two closed forms, compared by their parameters.

use super::ratio;
use crate::law::Matrix;
use crate::law::structure::{Alphas, Structure};
use crate::number::lattice::gcd;

/// What two closed forms of at least two codes say; none where they have to be compared by entries.
pub(super) fn compare(a: &Matrix, b: &Matrix) -> Option<bool> {
    let size = a.family.size();
    let (a, b) = (a.family.structure(), b.family.structure());
    match (flat(&a, size), flat(&b, size)) {
        (Some(a), Some(b)) => return Some(a == b),
        // Whether a closed form is flat is always seen.
        (Some(_), None) if is_closed(&b) => return Some(false),
        (None, Some(_)) if is_closed(&a) => return Some(false),
        _ => {}
    }
    if let (Some(a), Some(b)) = (target(&a), target(&b)) {
        return Some((0..size).all(|u| a(u) == b(u)));
    }
    // Whether counts out of two totals are the same fractions.
    fn alike(a: (impl Iterator<Item = u128>, u64), b: (impl Iterator<Item = u128>, u64)) -> bool {
        let (s, t) = (u128::from(a.1), u128::from(b.1));
        let g = gcd(s, t);
        // Sums of two counts have 64 bits, and so have totals.
        a.0.zip(b.0).all(|(x, y)| x * (t / g) == y * (s / g))
    }
    fn of(counts: &[i64]) -> impl Iterator<Item = u128> {
        counts.iter().map(|&count| count as u128)
    }
    match (&a, &b) {
        (
            Structure::Circulant {
                first_row: a,
                total: s,
            },
            Structure::Circulant {
                first_row: b,
                total: t,
            },
        ) => Some(alike((of(a), *s), (of(b), *t))),
        (
            Structure::Rows {
                counts: a,
                total: s,
                ..
            },
            Structure::Rows {
                counts: b,
                total: t,
                ..
            },
        ) => Some(alike((of(a), *s), (of(b), *t))),
        (
            Structure::Even {
                kernel: a,
                total: s,
            },
            Structure::Even {
                kernel: b,
                total: t,
            },
        ) => Some(alike((first_column(a), *s), (first_column(b), *t))),
        (Structure::Classes { runs: a, .. }, Structure::Classes { runs: b, .. }) => {
            Some(merged(a).eq(merged(b)))
        }
        (
            Structure::Neighbours {
                alphas: a,
                total: s,
                ..
            },
            Structure::Neighbours {
                alphas: b,
                total: t,
                ..
            },
        ) => {
            if let (Alphas::Constant(a), Alphas::Constant(b)) = (a, b) {
                let one = |alpha: u64| std::iter::once(u128::from(alpha));
                return Some(alike((one(*a), *s), (one(*b), *t)));
            }
            fn all(alphas: &Alphas, size: u64) -> impl Iterator<Item = u128> + '_ {
                (0..size - 1).map(|i| u128::from(alphas.at(i)))
            }
            Some(alike((all(a, size), *s), (all(b, size), *t)))
        }
        (
            Structure::Swap {
                i, j, stay, sum, ..
            },
            Structure::Swap {
                i: k,
                j: l,
                stay: other,
                sum: of,
                ..
            },
        ) => {
            let pair = (i.min(j), i.max(j)) == (k.min(l), k.max(l));
            let one = |stay: u64| std::iter::once(u128::from(stay));
            Some(pair && alike((one(*stay), *sum), (one(*other), *of)))
        }
        _ => None,
    }
}

fn is_closed(structure: &Structure) -> bool {
    !matches!(
        structure,
        Structure::Rows { .. } | Structure::Kron(_) | Structure::Mix { .. } | Structure::Product(_)
    )
}

/// The diagonal entry of a law that has one, and one other entry everywhere else.
pub(super) fn flat(structure: &Structure, size: u64) -> Option<(u128, u128)> {
    if let Some(law) = structure.two_valued(size) {
        return Some(ratio(law.diag, law.total));
    }
    match structure {
        Structure::Certain(Some(targets)) => {
            if (0..).zip(&**targets).all(|(u, &v)| u == v) {
                Some((1, 1))
            } else {
                (size == 2).then_some((0, 1))
            }
        }
        Structure::Circulant { first_row, total } => {
            let others = &first_row[1..];
            let keep = ratio(first_row[0] as u128, (*total).into());
            others.iter().all(|&c| c == others[0]).then_some(keep)
        }
        Structure::Neighbours { alphas, total, .. } => {
            let still = alphas.stored().all(|alpha| alpha == 0);
            let keep = total - alphas.at(0);
            (still || size == 2).then(|| ratio(keep.into(), (*total).into()))
        }
        Structure::Even { kernel, total } => {
            // A reflected law is given by its first column, and there is a flat one for each.
            let keep = first_column(kernel).next()?;
            let mut others = first_column(kernel).skip(1);
            let other = others.next()?;
            others
                .all(|sum| sum == other)
                .then(|| ratio(keep, (*total).into()))
        }
        Structure::Swap { stay, sum, .. } => {
            (size == 2 || stay == sum).then(|| ratio((*stay).into(), (*sum).into()))
        }
        _ => None,
    }
}

/// Column 0 of a reflected law, `c_u + c_(u+1)`. It decides all others: an entry is the sum of two `c` an
/// odd number of places apart, which is the alternating sum of the sums of neighbours in between.
fn first_column(kernel: &[i64]) -> impl Iterator<Item = u128> {
    kernel
        .windows(2)
        .map(|pair| pair[0] as u128 + pair[1] as u128)
}

/// Runs of classes, those of one size that follow each other as one.
fn merged(runs: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> {
    runs.chunk_by(|a, b| a.1 == b.1).map(|equal| equal[0])
}

/// Where every code goes, if that is certain and seen at once.
fn target(structure: &Structure) -> Option<Box<dyn Fn(u64) -> u64 + '_>> {
    match structure {
        Structure::Certain(None) => Some(Box::new(|u| u)),
        Structure::Certain(Some(targets)) => Some(Box::new(|u| targets[u as usize] as u64)),
        Structure::Swap { i, j, stay: 0, .. } => Some(Box::new(move |u| match u {
            u if u == *i => *j,
            u if u == *j => *i,
            u => u,
        })),
        Structure::Circulant { first_row, total } => {
            let size = first_row.len() as u64;
            let shift = first_row.iter().position(|&c| c as u64 == *total)? as u64;
            Some(Box::new(move |u| (u + shift) % size))
        }
        _ => None,
    }
}
