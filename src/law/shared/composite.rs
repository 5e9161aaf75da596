//! What mix and product share: exact counts of a composite row by row, and its measures from them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::{Composition, Family, Matrix};
use crate::number::bits::Entropy;
use crate::number::dd::Dd;
use crate::number::entropy;
use crate::number::lattice::nearest;
use crate::number::logarithms;
use crate::system::kept::Kept;
use crate::system::memory::{self, Gather};
use crate::system::pool;

/// Bits and epsilon, and whether they are those of the law or bounds.
#[derive(Debug, Clone)]
pub struct Measures {
    pub entropy: Entropy,
    pub epsilon: f64,
    pub exact: bool,
}

/// Deepest nesting of composites, and most different matrices in one.
const DEPTH: usize = 16;
const DIFFERENT: usize = 64;

/// How composites are nested in a matrix, and what that costs. A composite may hold one matrix many times.
#[derive(Debug, Clone, Copy)]
pub struct Nesting {
    /// Levels; 0 for a matrix that is not a composite.
    depth: usize,
    /// Matrices in it, those that it holds many times so often, saturating.
    pub parts: u64,
    /// Steps to one row, once what is kept is there, saturating.
    pub row: u128,
    /// Steps to all that is kept on the way to the first row, each part that is held twice counted once.
    pub kept: u128,
    /// The same to take a vector through the matrix.
    pub through: u128,
}

impl Nesting {
    /// Of a matrix that is not a composite.
    pub fn none(family: &(impl Family + ?Sized)) -> Self {
        Nesting {
            depth: 0,
            parts: 1,
            row: family.size().into(),
            kept: 0,
            through: u128::from(family.size()).pow(2),
        }
    }

    /// Of `parts`, with the steps that their composite takes.
    ///
    /// # Errors
    /// Nested too deep, or too many different ones.
    pub fn of(parts: &[Matrix], (row, through): (u128, u128)) -> Result<Self> {
        let mut nesting = Nesting {
            depth: 0,
            parts: 1,
            row,
            kept: 0,
            through,
        };
        let mut seen = HashSet::new();
        for part in parts {
            let inner = part.family.nesting();
            if seen.insert(Arc::as_ptr(&part.family).cast::<()>()) {
                nesting.kept = nesting.kept.saturating_add(inner.kept);
            }
            nesting.depth = nesting.depth.max(inner.depth);
            nesting.parts = nesting.parts.saturating_add(inner.parts);
        }
        nesting.depth += 1;
        let must =
            format!("be nested at most {DEPTH} deep, with at most {DIFFERENT} different parts");
        if nesting.depth > DEPTH {
            let got = format!("{} levels", nesting.depth);
            return Err(Error::value("matrices", must, got));
        }
        match different(parts) {
            found if found > DIFFERENT => Err(Error::value(
                "matrices",
                must,
                format!("{found} different parts"),
            )),
            _ => Ok(nesting),
        }
    }

    /// Whether a row can be had in `STEPS` steps. It may take fewer if no matrix is held many times.
    pub fn can_be_written(&self, size: u64) -> bool {
        self.parts <= FEW || size <= TABLE || self.kept.saturating_add(self.row) <= STEPS
    }

    /// Whether they can be had in seconds, of a composite of more than a few parts.
    pub fn is_quick(&self, size: u64) -> bool {
        let rows = self.row.saturating_mul(size.into());
        self.parts <= FEW || size <= TABLE || self.kept.saturating_add(rows) <= STEPS
    }
}

/// The matrices among these and in them, each once, parts first.
pub fn distinct(matrices: &[Matrix]) -> Vec<&Matrix> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut stack: Vec<(&Matrix, bool)> = matrices.iter().rev().map(|m| (m, false)).gather();
    while let Some((matrix, opened)) = stack.pop() {
        if opened {
            order.push(matrix);
        } else if seen.insert(Arc::as_ptr(&matrix.family).cast::<()>()) {
            stack.push((matrix, true));
            let parts = parts_of(&*matrix.family);
            stack.extend(parts.into_iter().rev().map(|part| (part, false)));
        }
    }
    order
}

/// How many different matrices there are among these and in them.
fn different(parts: &[Matrix]) -> usize {
    let found = distinct(parts);
    if found.len() <= DIFFERENT {
        return found.len();
    }
    // Some may have been built twice.
    let mut digests: HashSet<&[u8; 32]> = HashSet::new();
    digests.extend(found.into_iter().map(Matrix::digest));
    digests.len()
}

/// Parts up to which each is asked as often as it is held.
const FEW: u64 = 64;

/// Size up to which a composite of more of them keeps its entries.
const TABLE: u64 = 256;

/// Steps that a row may take beyond, and all rows for a measure that can be done without.
const STEPS: u128 = 1 << 31;

/// A composite, as the rows of its parts make its own.
pub trait Joined: Family {
    /// As [`Family::add_counts`].
    fn join_counts(&self, u: u64, total: u128, weight: u128, out: &mut [u128]) -> bool;

    /// As [`Family::precise_row`].
    fn join_precise(&self, u: u64) -> Vec<Dd>;
}

/// What every [`Joined`] says as a [`Family`], from its fields `nesting` and `written`.
macro_rules! joined {
    () => {
        fn canonical(&self) -> Option<Arc<dyn Family>> {
            None
        }

        fn nesting(&self) -> Nesting {
            self.nesting
        }

        fn add_counts(&self, u: u64, total: u128, weight: u128, out: &mut [u128]) -> bool {
            match self.written.of(self) {
                Some(table) => table.add_counts(u, total, weight, out),
                None => self.join_counts(u, total, weight, out),
            }
        }

        fn precise_row(&self, u: u64) -> Vec<Dd> {
            match self.written.of(self) {
                Some(table) => table.precise_row(u, self.size()),
                None => self.join_precise(u),
            }
        }
    };
}

pub(crate) use joined;

/// Every entry of a composite.
#[derive(Debug)]
pub enum Table {
    /// Counts out of a total.
    Counts(Vec<u128>, u128),
    /// To 30 digits.
    Precise(Vec<Dd>),
}

/// The entries of a small composite that holds matrices many times, so that each is asked once.
#[derive(Debug, Default)]
pub struct Written(Kept<Table>);

impl Written {
    /// The table of `family`, if it holds many parts and is small.
    pub fn of(&self, family: &impl Joined) -> Option<&Table> {
        let many = family.nesting().parts > FEW && family.size() <= TABLE;
        many.then(|| self.0.get_or_make(|| Table::new(family)))
    }
}

impl Table {
    fn new(family: &impl Joined) -> Self {
        let size = family.size() as usize;
        // The first row makes the tables of the parts, before going parallel.
        if let Some(total) = family.total() {
            let counts = |u: usize| {
                let mut row = memory::zeros(size);
                family
                    .join_counts(u as u64, total, 1, &mut row)
                    .then_some(row)
            };
            let rows = counts(0).map(|_| pool::map(size, size < 64, counts));
            let rows = rows.and_then(memory::every);
            if let Some(rows) = rows {
                return Table::Counts(rows.into_iter().flatten().gather(), total);
            }
        }
        family.join_precise(0);
        let rows = pool::map(size, size < 64, |u| family.join_precise(u as u64));
        Table::Precise(rows.into_iter().flatten().gather())
    }

    /// As [`Family::entry`].
    pub fn entry(&self, at: usize) -> Option<(u128, u128)> {
        match self {
            Table::Counts(counts, total) => Some((counts[at], *total)),
            Table::Precise(_) => None,
        }
    }

    /// As [`Family::precise`].
    pub fn precise(&self, at: usize) -> Dd {
        match self {
            Table::Counts(counts, total) => Dd::from(counts[at]) / Dd::from(*total),
            Table::Precise(cells) => cells[at],
        }
    }

    /// As [`Family::add_counts`].
    pub fn add_counts(&self, u: u64, total: u128, weight: u128, out: &mut [u128]) -> bool {
        let Table::Counts(counts, own) = self else {
            return false;
        };
        let row = &counts[u as usize * out.len()..][..out.len()];
        for (out, &c) in out.iter_mut().zip(row) {
            if c > 0 {
                *out += weight * (c * (total / own));
            }
        }
        true
    }

    /// As [`Family::precise_row`].
    pub fn precise_row(&self, u: u64, size: u64) -> Vec<Dd> {
        let start = (u * size) as usize;
        (start..start + size as usize)
            .map(|at| self.precise(at))
            .gather()
    }
}

/// Refuse codes that are never true: what is randomized again, or mixed, can be any code.
///
/// # Errors
/// A part that has such codes.
pub fn refuse_padding(family: &str, parts: &[Matrix]) -> Result<()> {
    let padding = |m: &Matrix| m.family.size() - m.family.true_size();
    match parts.iter().map(padding).find(|&padding| padding > 0) {
        None => Ok(()),
        Some(padding) => {
            let must = format!("have codes that can all be true for {family}");
            let got = format!("{padding} that are never true");
            Err(Error::value("matrices", must, got))
        }
    }
}

/// The parts of a composite; empty for all others.
pub fn parts_of(family: &dyn Family) -> Vec<&Matrix> {
    match family.composition() {
        None => Vec::new(),
        Some(Composition::Kron(factors)) => factors.iter().gather(),
        Some(Composition::Mix(parts)) => parts.into_iter().map(|part| part.1).gather(),
        Some(Composition::Product(first, second)) => vec![first, second],
    }
}

/// A row as the nearest doubles: from exact counts if there are any, else from 30 digits.
pub fn fill_row(family: &dyn Family, u: u64, out: &mut [f64]) {
    if let Some(total) = family.total() {
        let mut counts = memory::zeros(out.len());
        if family.add_counts(u, total, 1, &mut counts) {
            for (x, &c) in out.iter_mut().zip(&counts) {
                *x = nearest(c, total);
            }
            return;
        }
    }
    for (x, p) in out.iter_mut().zip(family.precise_row(u)) {
        *x = p.hi;
    }
}

/// What some consecutive rows are measured with, made before going parallel.
struct Band {
    row: Vec<u128>,
    columns: Vec<(u128, u128)>,
    bits: Dd,
    complete: bool,
}

/// Measures of a matrix from the exact counts of its rows out of `total`, which `fill` writes into
/// zeroed numbers. Probabilities are rounded to doubles once; the extremes of the columns are compared as integers.
pub fn measures(
    size: usize,
    total: u128,
    fill: impl Fn(u64, &mut [u128]) -> bool + Sync + Send,
) -> Option<Measures> {
    const BANDS: usize = 32;
    let height = size.div_ceil(BANDS);
    let bands = size.div_ceil(height);
    let scale = total as f64;
    let mut work: Vec<Band> = (0..bands)
        .map(|_| Band {
            row: memory::zeros(size),
            columns: memory::filled((u128::MAX, 0), size),
            bits: Dd::ZERO,
            complete: true,
        })
        .gather();
    pool::for_each_chunk(&mut work, 1, size < 64, |band, part| {
        let Some(Band {
            row,
            columns,
            bits,
            complete,
        }) = part.first_mut()
        else {
            return;
        };
        for u in band * height..size.min((band + 1) * height) {
            row.fill(0);
            if !fill(u as u64, row) {
                *complete = false;
                return;
            }
            for (column, &c) in columns.iter_mut().zip(&*row) {
                *column = (column.0.min(c), column.1.max(c));
            }
            let row = &*row;
            *bits = *bits
                + entropy::sum(0..size, |start, out| {
                    for (x, &c) in out.iter_mut().zip(&row[start..]) {
                        *x = c as f64 / scale;
                    }
                });
        }
    });
    if work.iter().any(|band| !band.complete) {
        return None;
    }
    let bits = work.iter().fold(Dd::ZERO, |sum, w| sum + w.bits) / Dd::from(size as f64);
    let epsilon = (0..size)
        .map(|v| {
            let low = work.iter().map(|w| w.columns[v].0).min().unwrap_or(0);
            let high = work.iter().map(|w| w.columns[v].1).max().unwrap_or(0);
            logarithms::log_ratio(high, low)
        })
        .fold(0.0, f64::max);
    let entropy = if epsilon == 0.0 {
        Entropy::perfect(size as u64)
    } else {
        Entropy::summed(bits, false)
    };
    Some(Measures {
        entropy,
        epsilon,
        exact: true,
    })
}

/// The least common multiple of totals below 2^127, if it is below 2^127 itself.
pub fn common(totals: impl IntoIterator<Item = Option<u128>>) -> Option<u128> {
    totals.into_iter().try_fold(1u128, |lcm, total| {
        let total = total?;
        (lcm / crate::number::lattice::gcd(lcm, total))
            .checked_mul(total)
            .filter(|&t| t < 1 << 127)
    })
}

/// Irreducible and aperiodic, from the support alone: `reaches(u)` lists where `u` leads. A matrix
/// with equal line sums can be left wherever it can be entered, so one search from code 0 finds all
/// codes or none ever will. The period is the gcd of `level(u) + 1 - level(v)` over positive entries.
pub fn is_ergodic(size: usize, reaches: impl Fn(usize) -> Vec<usize>) -> bool {
    let mut level = memory::filled(usize::MAX, size);
    level[0] = 0;
    let mut queue = vec![0];
    let mut head = 0;
    let mut period = 0u128;
    while let Some(&u) = queue.get(head) {
        head += 1;
        for v in reaches(u) {
            if level[v] == usize::MAX {
                level[v] = level[u] + 1;
                memory::push(&mut queue, v);
            }
            let around = (level[u] + 1).abs_diff(level[v]);
            period = crate::number::lattice::gcd(period, around as u128);
        }
    }
    queue.len() == size && period == 1
}
