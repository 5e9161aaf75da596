//! Single entries, rows, and sums of rows: as counts out of a total, to 30 digits where there is none, and as the nearest
//! doubles.

use std::ops::{Add, Mul, Range};

use crate::law::kernel::Kernel;
use crate::law::matrix::Found;
use crate::law::{Law, Matrix, Run};
use crate::number::dd::Dd;
use crate::number::lattice::{GRID, gcd, nearest};
use crate::system::kept::Kept;
use crate::system::memory::{self, Gather};
use crate::system::pool;

/// What the entries of a row are: counts out of the total of their matrix, or probabilities to 30 digits.
pub(crate) trait Cell:
    Copy + Send + Sync + Add<Output = Self> + Mul<Output = Self> + 'static
{
    /// Certain.
    const ONE: Self;

    /// Impossible.
    const ZERO: Self;

    /// The entry `n / d` of a matrix with this total.
    fn entry(n: u128, d: u128, total: u128) -> Self;

    /// What makes a share `weight / sum` of an entry of `part` one of a mixture with this total.
    fn share(weight: u64, sum: u64, total: u128, part: &Matrix) -> Self;

    /// Whether it is not 0.
    fn is_positive(self) -> bool;

    /// The total of a matrix, if its rows can be written so; 1 where none is needed.
    fn total_of(matrix: &Matrix) -> Option<u128>;

    /// Size up to which the rows of the second matrix of a product are kept.
    const KEPT: u64;

    /// Every entry of a matrix, if it is kept.
    fn kept(found: &Found) -> &Kept<Option<Vec<Self>>>;
}

impl Cell for u128 {
    const ONE: Self = 1;
    const ZERO: Self = 0;

    fn entry(n: u128, d: u128, total: u128) -> Self {
        if n == 0 { 0 } else { n * (total / d) }
    }

    fn share(weight: u64, sum: u64, total: u128, part: &Matrix) -> Self {
        let of_part = part.total().unwrap_or(1);
        u128::from(weight) * (total / u128::from(sum) / of_part)
    }

    fn is_positive(self) -> bool {
        self > 0
    }

    fn total_of(matrix: &Matrix) -> Option<u128> {
        matrix.total()
    }

    /// A product then takes 2^32 multiply-adds, which also keeps these counts small.
    const KEPT: u64 = 1625;

    fn kept(found: &Found) -> &Kept<Option<Vec<Self>>> {
        &found.counts
    }
}

impl Cell for Dd {
    const ONE: Self = Dd::ONE;
    const ZERO: Self = Dd::ZERO;

    fn entry(n: u128, d: u128, _total: u128) -> Self {
        Dd::from(n) / Dd::from(d)
    }

    fn share(weight: u64, sum: u64, _total: u128, _part: &Matrix) -> Self {
        Dd::from(u128::from(weight)) / Dd::from(u128::from(sum))
    }

    fn is_positive(self) -> bool {
        self.hi > 0.0
    }

    fn total_of(_matrix: &Matrix) -> Option<u128> {
        Some(1)
    }

    const KEPT: u64 = 1024;

    fn kept(found: &Found) -> &Kept<Option<Vec<Self>>> {
        &found.precise
    }
}

/// Adds a share of a row to a sum.
fn add<C: Cell>(sum: &mut [C], share: C, row: &[C]) {
    for (s, &p) in sum.iter_mut().zip(row) {
        *s = *s + share * p;
    }
}

impl Matrix {
    /// `Pr(report v | truth u)` as numerator and denominator below 2^127, for `u` and `v` below the
    /// size. `None` if a composite needs larger ones.
    pub(crate) fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        match self.law() {
            Law::Kron(factors) => {
                let mut digits = digits(factors, u, v);
                digits.try_fold((1u128, 1u128), |(n, d), (factor, u, v)| {
                    let (m, e) = factor.entry(u, v)?;
                    let product = (n.checked_mul(m)?, d.checked_mul(e)?);
                    (product.1 < 1 << 127).then_some(product)
                })
            }
            Law::Mix { .. } => {
                let total = self.total()?;
                let mut parts = self.shares::<u128>().into_iter();
                let count = parts.try_fold(0u128, |sum, (share, part)| {
                    let (n, d) = part.entry(u, v)?;
                    Some(sum + share * u128::entry(n, d, part.total()?))
                })?;
                Some((count, total))
            }
            Law::Product(_) => Some((self.row::<u128>(u)?[v as usize], self.total()?)),
            plain => Some(plain.count(u, v)),
        }
    }

    /// The same to 30 digits.
    fn precise(&self, u: u64, v: u64) -> Dd {
        match self.law() {
            Law::Kron(factors) => {
                digits(factors, u, v).fold(Dd::ONE, |p, (factor, u, v)| p * factor.precise(u, v))
            }
            Law::Mix { .. } => (self.shares::<Dd>().into_iter())
                .fold(Dd::ZERO, |sum, (share, part)| {
                    sum + share * part.precise(u, v)
                }),
            Law::Product(_) => {
                let row = self.row::<Dd>(u);
                row.map_or(Dd::from(f64::NAN), |row| row[v as usize])
            }
            plain => {
                let (n, d) = plain.count(u, v);
                Dd::entry(n, d, 1)
            }
        }
    }

    /// The same as the nearest double.
    pub(crate) fn probability(&self, u: u64, v: u64) -> f64 {
        match self.entry(u, v) {
            Some((n, d)) => nearest(n, d),
            None => self.precise(u, v).hi,
        }
    }

    /// Row `u` as the nearest doubles: from exact counts if there are any, else from 30 digits.
    pub(crate) fn fill_row(&self, u: u64, out: &mut [f64]) {
        match self.law() {
            // Entries of factors that are composites take a row each, so that rows are then taken whole.
            Law::Kron(_) if self.wide().all(|factor| !factor.is_composite()) => {
                for (v, x) in (0..).zip(out) {
                    *x = self.probability(u, v);
                }
            }
            Law::Kron(_) | Law::Mix { .. } | Law::Product(_) => {
                if let (Some(total), Some(row)) = (self.total(), self.row::<u128>(u)) {
                    let entries = row.into_iter().map(|c| nearest(c, total));
                    out.iter_mut().zip(entries).for_each(|(x, p)| *x = p);
                } else if let Some(row) = self.row::<Dd>(u) {
                    out.iter_mut().zip(row).for_each(|(x, p)| *x = p.hi);
                }
            }
            plain => plain.fill_row(u, out),
        }
    }

    /// Row `u`: counts out of the total, if there is one, or probabilities to 30 digits.
    pub(crate) fn row<C: Cell>(&self, u: u64) -> Option<Vec<C>> {
        let total = C::total_of(self)?;
        let zeros = || memory::filled(C::ZERO, self.size() as usize);
        match self.law() {
            Law::Kron(factors) => {
                let mut row = vec![C::ONE];
                for (factor, u, _) in digits(factors, u, 0) {
                    let part = factor.row::<C>(u)?;
                    row = part
                        .iter()
                        .flat_map(|&p| row.iter().map(move |&q| q * p))
                        .gather();
                }
                Some(row)
            }
            Law::Mix { .. } => {
                let mut sum = zeros();
                for (share, part) in self.shares() {
                    add(&mut sum, share, &part.row(u)?);
                }
                Some(sum)
            }
            // The row of the first matrix, then of the second for each code it leads to. A product of many matrices so
            // costs a row at a time, not a path at a time.
            Law::Product(pair) => {
                let first = pair[0].row::<C>(u)?;
                let Some(rows) = self.second_rows::<C>() else {
                    return pair[1].through(&first);
                };
                let mut sum = zeros();
                let rows = rows.chunks(first.len()).zip(&first);
                for (row, &share) in rows.filter(|(_, share)| share.is_positive()) {
                    add(&mut sum, share, row);
                }
                Some(sum)
            }
            plain => {
                let mut row = zeros();
                for v in plain.reach(u) {
                    let (n, d) = plain.count(u, v);
                    row[v as usize] = C::entry(n, d, total);
                }
                Some(row)
            }
        }
    }

    /// The rows of the second matrix of a product, found once, as every row of the product needs them all; `None` if they
    /// are too many to be kept.
    pub(super) fn second_rows<C: Cell>(&self) -> Option<&[C]> {
        let second = self
            .law()
            .parts()
            .last()
            .filter(|_| self.size() <= self.largest(C::KEPT))?;
        let table = || {
            C::total_of(second)?;
            // The first row makes the tables of the parts, before going parallel.
            second.row::<C>(0)?;
            let size = second.size() as usize;
            let rows = pool::map(size, size < 64, |u| second.row::<C>(u as u64));
            let rows = rows.into_iter().collect::<Option<Vec<_>>>()?;
            Some(rows.into_iter().flatten().gather())
        };
        C::kept(second.found()).get_or_make(table).as_deref()
    }

    /// The sum of all rows with a weight each.
    fn through<C: Cell>(&self, weights: &[C]) -> Option<Vec<C>> {
        C::total_of(self)?;
        let mut sum = memory::filled(C::ZERO, weights.len());
        match self.law() {
            Law::Mix { .. } => {
                for (share, part) in self.shares() {
                    add(&mut sum, share, &part.through(weights)?);
                }
            }
            Law::Product(pair) => return pair[1].through(&pair[0].through(weights)?),
            _ => {
                let rows = (0..)
                    .zip(weights)
                    .filter(|(_, weight)| weight.is_positive());
                for (w, &weight) in rows {
                    add(&mut sum, weight, &self.row(w)?);
                }
            }
        }
        Some(sum)
    }

    /// The parts of a mixture that are ever chosen, with what makes their entries its own.
    pub(super) fn shares<C: Cell>(&self) -> Vec<(C, &Matrix)> {
        let Law::Mix {
            parts,
            weights,
            sum,
        } = self.law()
        else {
            return Vec::new();
        };
        let total = C::total_of(self).unwrap_or(1);
        let chosen = weights.iter().zip(&**parts).filter(|(w, _)| **w > 0);
        chosen
            .map(|(&w, part)| (C::share(w as u64, *sum, total, part), part))
            .collect()
    }
}

/// The factors of a kron with the digits of `u` and `v`, the last first.
fn digits(factors: &[Matrix], u: u64, v: u64) -> impl Iterator<Item = (&Matrix, u64, u64)> {
    let mut rest = (u, v);
    factors.iter().rev().map(move |factor| {
        let n = factor.size();
        let digits = (factor, rest.0 % n, rest.1 % n);
        rest = (rest.0 / n, rest.1 / n);
        digits
    })
}

impl Law {
    /// Entry `(u, v)` of a law that is no composite, as a count and what it is out of.
    pub fn count(&self, u: u64, v: u64) -> (u128, u128) {
        match self {
            Law::Permutation(targets) => (u128::from(targets[u as usize] as u64 == v), 1),
            Law::Circulant { first_row, total } => {
                let size = first_row.len() as u64;
                let shift = (v + size - u) % size;
                (first_row[shift as usize] as u128, (*total).into())
            }
            Law::RandomizedResponse { law, .. } => {
                (if u == v { law.diag } else { law.off }, law.total)
            }
            Law::Classes { runs, .. } => {
                let (start, n) = class_of(runs, u);
                (u128::from(v >= start && v - start < n), n.into())
            }
            Law::Tridiagonal { total, .. } => {
                let [down, stay, up] = self.steps(u);
                let count = match v {
                    _ if v == u => stay,
                    _ if v + 1 == u => down,
                    _ if v == u + 1 => up,
                    _ => 0,
                };
                (count.into(), (*total).into())
            }
            Law::Reflected { kernel, total } => {
                let kernel = Kernel::new(kernel, *total);
                (kernel.count(u as usize, v as usize), (*total).into())
            }
            Law::Dense {
                counts,
                total,
                size,
            } => {
                let count = counts[u as usize * size + v as usize];
                (count as u128, (*total).into())
            }
            Law::TTransform {
                i, j, stay, sum, ..
            } => {
                let moves = |code: u64| code == *i || code == *j;
                let (n, d) = match (moves(u), u == v) {
                    (true, true) => (*stay, *sum),
                    (true, false) if moves(v) => (sum - stay, *sum),
                    (_, same) => (u64::from(same), 1),
                };
                (n.into(), d.into())
            }
            Law::Kron(_) | Law::Mix { .. } | Law::Product(_) => {
                unreachable!("a composite is asked as a matrix")
            }
        }
    }

    /// A total below 2^127 of which every entry is an integer, if there is one.
    pub(super) fn total(&self) -> Option<u128> {
        let below = |total: u128| (total < 1 << 127).then_some(total);
        let common = |lcm: u128, n: u128| match lcm.is_multiple_of(n) {
            true => Some(lcm),
            false => (lcm / gcd(lcm, n)).checked_mul(n).and_then(below),
        };
        match self {
            Law::Permutation(_) => Some(1),
            Law::RandomizedResponse { law, .. } => Some(law.total),
            Law::Classes { runs, .. } => {
                let sizes = runs.iter().map(|run| run.class_size.into());
                sizes.into_iter().try_fold(1, common)
            }
            Law::Circulant { total, .. }
            | Law::Tridiagonal { total, .. }
            | Law::Reflected { total, .. }
            | Law::Dense { total, .. }
            | Law::TTransform { sum: total, .. } => Some((*total).into()),
            Law::Kron(parts) | Law::Product(parts) => {
                parts.iter().try_fold(1u128, |total, part| {
                    total.checked_mul(part.total()?).and_then(below)
                })
            }
            Law::Mix { parts, sum, .. } => {
                let mut totals = parts.iter().map(Matrix::total);
                let lcm = totals.try_fold(1, |lcm, total| common(lcm, total?))?;
                lcm.checked_mul((*sum).into()).and_then(below)
            }
        }
    }

    /// Row `u` of a law that is no composite, as the nearest doubles.
    fn fill_row(&self, u: u64, out: &mut [f64]) {
        match self {
            Law::Dense {
                counts,
                total,
                size,
            } if total.is_power_of_two() && *total <= GRID => {
                // A count of at most 53 bits times a power of two is exact.
                let unit = 1.0 / *total as f64;
                for (x, &c) in out.iter_mut().zip(&counts[u as usize * size..]) {
                    *x = c as f64 * unit;
                }
            }
            _ => {
                out.fill(0.0);
                for v in self.reach(u) {
                    let (n, d) = self.count(u, v);
                    out[v as usize] = nearest(n, d);
                }
            }
        }
    }

    /// Codes beyond which nothing is reported for `u`, of a law that is no composite.
    fn reach(&self, u: u64) -> Range<u64> {
        match self {
            Law::Permutation(targets) => {
                let v = targets[u as usize] as u64;
                v..v + 1
            }
            Law::Classes { runs, .. } => {
                let (start, n) = class_of(runs, u);
                start..start + n
            }
            Law::Tridiagonal { size, .. } => u.saturating_sub(1)..(u + 2).min(*size),
            _ => 0..self.size(),
        }
    }
}

/// First code and size of the class of `u`.
fn class_of(runs: &[Run], u: u64) -> (u64, u64) {
    let run = runs[runs.partition_point(|run| run.start <= u) - 1];
    let within = (u - run.start) / run.class_size;
    (run.start + within * run.class_size, run.class_size)
}
