//! What mix and product share: exact counts of a composite row by row, and its measures from them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::{Composition, Family, Matrix};
use crate::number::bits::{Bits, Entropy};
use crate::number::dd::Dd;
use crate::number::entropy::{self, Summer};
use crate::number::lattice::nearest;
use crate::number::logarithms::{self, LogSum};
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

/// Deepest nesting of composites: every question asked of one goes down through all of them.
const DEPTH: usize = 256;

/// How composites are nested in a matrix, and what that costs. A composite may hold one matrix many times.
#[derive(Debug, Clone, Copy)]
pub struct Nesting {
    /// Levels; 0 of a matrix that is no composite.
    pub depth: usize,
    /// Matrices in it, those that it holds many times so often, saturating.
    pub parts: u64,
    /// Steps to one entry from the entries of the parts, saturating.
    pub entry: u128,
    /// The same to one row, once what is kept is there.
    pub row: u128,
    /// Steps to all that is kept on the way to the first row, each part that is held twice counted once.
    pub kept: u128,
    /// The same to take a vector through the matrix.
    pub through: u128,
    /// Size up to which looking at every entry takes seconds.
    pub look: u64,
}

impl Nesting {
    /// Of a matrix that is no composite.
    pub fn none(family: &(impl Family + ?Sized), look: u64) -> Self {
        Nesting {
            depth: 0,
            parts: 1,
            entry: 1,
            row: family.size().into(),
            kept: 0,
            through: u128::from(family.size()).pow(2),
            look,
        }
    }

    /// Of `parts`, with the steps that their composite takes.
    ///
    /// # Errors
    /// Nested too deep.
    pub fn of(parts: &[Matrix], look: u64, steps: (u128, u128, u128)) -> Result<Self> {
        let mut nesting = Nesting {
            depth: 0,
            parts: 1,
            entry: steps.0,
            row: steps.1,
            kept: 0,
            through: steps.2,
            look,
        };
        for (i, part) in parts.iter().enumerate() {
            let inner = part.family.nesting();
            if !parts[..i]
                .iter()
                .any(|other| Arc::ptr_eq(&other.family, &part.family))
            {
                nesting.kept = nesting.kept.saturating_add(inner.kept);
            }
            nesting.depth = nesting.depth.max(inner.depth);
            nesting.parts = nesting.parts.saturating_add(inner.parts);
            nesting.look = nesting.look.min(inner.look);
        }
        nesting.depth += 1;
        if nesting.depth > DEPTH {
            let must = format!("be nested at most {DEPTH} deep");
            return Err(Error::value("matrices", must, nesting.depth));
        }
        Ok(nesting)
    }

    /// Whether a row can be had in so many steps; where no matrix is held many times it may take fewer.
    pub fn can_be_written(&self, size: u64) -> bool {
        self.parts <= FEW || size <= TABLE || self.kept.saturating_add(self.row) <= STEPS
    }

    /// Whether they can be had in seconds, of a composite of more than a few parts.
    pub fn is_quick(&self, size: u64) -> bool {
        let rows = self.row.saturating_mul(size.into());
        self.parts <= FEW || size <= TABLE || self.kept.saturating_add(rows) <= QUICK
    }
}

/// Parts up to which each is asked as often as it is held.
const FEW: u64 = 64;

/// Size up to which a composite of more of them is written out, each distinct part once.
const TABLE: u64 = 256;

/// Steps that a row may take beyond.
const STEPS: u128 = 1 << 31;

/// Steps that are taken for a measure that can be done without.
const QUICK: u128 = 1 << 31;

/// Composites inside of it whose tables are kept too.
const KEPT: usize = 512;

/// Every entry of a composite.
#[derive(Debug)]
pub enum Table {
    /// Counts out of a total.
    Counts(Vec<u128>, u128),
    /// To 30 digits.
    Precise(Vec<Dd>),
}

/// A composite with very many parts, written out at first use.
#[derive(Debug, Default)]
pub struct Written(Kept<Arc<Table>>);

impl Written {
    /// The table of `family`, where it holds many parts and is small.
    pub fn of(&self, family: &dyn Family) -> Option<&Table> {
        let many = family.nesting().parts > FEW && family.size() <= TABLE;
        many.then(|| &**self.0.get_or_make(|| write(family)))
    }
}

impl Written {
    /// The table, if it is made already.
    fn made(&self) -> Option<&Arc<Table>> {
        self.0.get()
    }
}

impl Table {
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

fn place(family: &dyn Family) -> *const () {
    std::ptr::from_ref(family).cast()
}

/// The parts of a composite; none of all others.
pub fn parts_of(family: &dyn Family) -> Vec<&Matrix> {
    match family.composition() {
        None => Vec::new(),
        Some(Composition::Kron(factors)) => factors.iter().gather(),
        Some(Composition::Mix(parts)) => parts.into_iter().map(|part| part.1).gather(),
        Some(Composition::Product(first, second)) => vec![first, second],
    }
}

fn made(family: &dyn Family) -> Option<&Arc<Table>> {
    family.written()?.made()
}

/// All entries, from those of the parts, each distinct one of many parts written out once and without
/// recursion. Those of few parts are asked for their rows.
fn write(root: &dyn Family) -> Arc<Table> {
    let many = |family: &dyn Family| family.nesting().parts > FEW;
    // Parts before what they are parts of, and how often each is one.
    let mut order = Vec::new();
    let mut uses: HashMap<*const (), usize> = HashMap::new();
    let mut stack = vec![(root, false)];
    while let Some((family, seen)) = stack.pop() {
        if seen {
            order.push(family);
            continue;
        }
        let uses = uses.entry(place(family)).or_default();
        *uses += 1;
        if *uses > 1 {
            continue;
        }
        stack.push((family, true));
        if made(family).is_none() {
            let parts = parts_of(family).into_iter().map(|part| &*part.family);
            stack.extend(parts.filter(|part| many(*part)).map(|part| (part, false)));
        }
    }
    let mut tables: HashMap<*const (), Arc<Table>> = HashMap::new();
    for family in &order {
        if let Some(table) = made(*family) {
            tables.insert(place(*family), Arc::clone(table));
            continue;
        }
        let parts = parts_of(*family);
        let of_parts = parts
            .iter()
            .map(|part| tables.get(&place(&*part.family)).cloned())
            .gather();
        let table = Arc::new(joined(*family, &parts, of_parts));
        for part in parts.iter().filter(|part| many(&*part.family)) {
            // What nobody needs any more goes.
            if let Some(left) = uses.get_mut(&place(&*part.family)) {
                *left -= 1;
                if *left == 0 {
                    tables.remove(&place(&*part.family));
                }
            }
        }
        // Whoever asks this composite will ask those in it, which would write the same again.
        if let Some(written) = family.written()
            && order.len() <= KEPT
        {
            written.0.get_or_make(|| Arc::clone(&table));
        }
        tables.insert(place(*family), table);
    }
    let root = tables.remove(&place(root));
    root.unwrap_or_else(|| Arc::new(Table::Precise(Vec::new())))
}

/// The table of a matrix with few parts, row by row.
fn rows_of(family: &dyn Family) -> Table {
    let size = family.size() as usize;
    if let Some(total) = family.total() {
        let mut counts = memory::zeros(size * size);
        let mut rows = (0..).zip(counts.chunks_mut(size));
        if rows.all(|(u, row)| family.add_counts(u, total, 1, row)) {
            return Table::Counts(counts, total);
        }
    }
    let rows = (0..size as u64).flat_map(|u| family.precise_row(u));
    Table::Precise(rows.gather())
}

/// The table of a composite from those of its parts, summed in the order of its rows.
fn joined(family: &dyn Family, parts: &[&Matrix], mut tables: Vec<Option<Arc<Table>>>) -> Table {
    let size = family.size() as usize;
    match family.composition() {
        // Of a mixture a row takes one row of each part, so that few parts need no table.
        Some(Composition::Mix(_)) => {}
        _ => {
            for (part, table) in parts.iter().zip(&mut tables) {
                if table.is_none() && part.family.size() > 1 {
                    *table = Some(Arc::new(rows_of(&*part.family)));
                }
            }
        }
    }
    let counts = family.total().and_then(|total| {
        let rows = pool::map(size, size < 64, |u| {
            let mut row = memory::zeros(size);
            row_of_counts(family, parts, &tables, u, total, &mut row).then_some(row)
        });
        let rows = memory::every(rows)?;
        Some(Table::Counts(rows.into_iter().flatten().gather(), total))
    });
    counts.unwrap_or_else(|| {
        let rows = pool::map(size, size < 64, |u| {
            of_sum_one(precise_row_of(family, parts, &tables, u))
        });
        Table::Precise(rows.into_iter().flatten().gather())
    })
}

/// The row, scaled to a sum of 1. What a sum is off by doubles with every square: after a hundred of them the
/// thirtieth digit is the first. All other errors fade, as the matrix contracts what sums to 0.
fn of_sum_one(mut row: Vec<Dd>) -> Vec<Dd> {
    let sum = row.iter().fold(Dd::ZERO, |sum, &p| sum + p);
    row.iter_mut().for_each(|p| *p = *p / sum);
    row
}

/// The places of the digits of `u` and `v` in the tables of the factors of a kron, the last first.
fn digits(factors: &[Matrix], u: usize, v: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = (u, v);
    factors.iter().enumerate().rev().map(move |(k, factor)| {
        let n = factor.family.size() as usize;
        let at = rest.0 % n * n + rest.1 % n;
        rest = (rest.0 / n, rest.1 / n);
        (k, at)
    })
}

/// Row `u` of a composite as counts out of `total`; false where a part has none.
fn row_of_counts(
    family: &dyn Family,
    parts: &[&Matrix],
    tables: &[Option<Arc<Table>>],
    u: usize,
    total: u128,
    row: &mut [u128],
) -> bool {
    let size = row.len();
    let count = |k: usize, at: usize| match &tables[k] {
        Some(table) => table.entry(at).map(|entry| entry.0),
        // All of it, where there is one code.
        None => parts[k].total(),
    };
    match family.composition() {
        Some(Composition::Kron(factors)) => (0..size).all(|v| {
            let mut cell = digits(factors, u, v);
            let product = cell.try_fold(1u128, |p, (k, at)| Some(p * count(k, at)?));
            row[v] = product.unwrap_or(0);
            product.is_some()
        }),
        Some(Composition::Mix(parts)) => {
            parts.iter().zip(tables).all(|(((w, sum), part), table)| {
                let (w, inner) = (*w as u128, total / *sum as u128);
                w == 0
                    || match table {
                        Some(table) => table.add_counts(u as u64, inner, w, row),
                        None => part.family.add_counts(u as u64, inner, w, row),
                    }
            })
        }
        _ => (0..size).all(|w| {
            let Some(a) = count(0, u * size + w) else {
                return false;
            };
            a == 0
                || row.iter_mut().enumerate().all(|(v, sum)| {
                    let b = count(1, w * size + v);
                    *sum += a * b.unwrap_or(0);
                    b.is_some()
                })
        }),
    }
}

/// Row `u` of a composite to 30 digits.
fn precise_row_of(
    family: &dyn Family,
    parts: &[&Matrix],
    tables: &[Option<Arc<Table>>],
    u: usize,
) -> Vec<Dd> {
    let size = family.size() as usize;
    let precise = |k: usize, at: usize| match &tables[k] {
        Some(table) => table.precise(at),
        None => Dd::ONE,
    };
    let mut row = memory::filled(Dd::ZERO, size);
    match family.composition() {
        Some(Composition::Kron(factors)) => {
            for (v, cell) in row.iter_mut().enumerate() {
                *cell = digits(factors, u, v).fold(Dd::ONE, |p, (k, at)| p * precise(k, at));
            }
        }
        Some(Composition::Mix(weighted)) => {
            for (k, ((w, sum), _)) in weighted.iter().enumerate().filter(|(_, p)| p.0.0 > 0) {
                let share = Dd::from(*w as u128) / Dd::from(*sum as u128);
                let part = match &tables[k] {
                    Some(table) => table.precise_row(u as u64, size as u64),
                    None => parts[k].family.precise_row(u as u64),
                };
                for (s, p) in row.iter_mut().zip(part) {
                    *s = *s + share * p;
                }
            }
        }
        _ => {
            for w in 0..size {
                let a = precise(0, u * size + w);
                if a.hi > 0.0 {
                    for (v, sum) in row.iter_mut().enumerate() {
                        *sum = *sum + a * precise(1, w * size + v);
                    }
                }
            }
        }
    }
    row
}

/// A row as the nearest doubles: from exact counts out of `total` where `fill` can write them into
/// zeroed numbers, else entry by entry.
pub fn fill_row(
    family: &dyn Family,
    u: u64,
    total: Option<u128>,
    fill: impl FnOnce(u128, &mut [u128]) -> bool,
    out: &mut [f64],
) {
    let mut counts = memory::zeros(if total.is_some() { out.len() } else { 0 });
    match total {
        Some(total) if fill(total, &mut counts) => {
            for (x, &c) in out.iter_mut().zip(&counts) {
                *x = nearest(c, total);
            }
        }
        _ => {
            for (x, p) in out.iter_mut().zip(family.precise_row(u)) {
                *x = p.hi;
            }
        }
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
/// zeroed numbers. Probabilities are rounded to doubles once, which moves the entropy by less than
/// 2^-50; the extremes of the columns are compared as integers.
pub fn measures(
    size: usize,
    total: u128,
    fill: impl Fn(u64, &mut [u128]) -> bool + Sync + Send,
) -> Option<Measures> {
    const BANDS: usize = 32;
    let height = size.div_ceil(BANDS);
    let bands = size.div_ceil(height);
    let summer = Summer::new();
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
                + summer.sum(0..size, |start, out| {
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
        perfect(size as u64)
    } else {
        rounded_once(bits)
    };
    Some(Measures {
        entropy,
        epsilon,
        exact: true,
    })
}

/// Bits of probabilities that were rounded to doubles once.
pub fn rounded_once(bits: Dd) -> Entropy {
    Entropy::Within(Bits {
        value: bits,
        error: bits.hi * entropy::RELATIVE_ERROR + 2f64.powi(-50),
    })
}

/// All the bits.
pub fn perfect(size: u64) -> Entropy {
    Entropy::Exact(LogSum {
        terms: vec![(1, size.into())],
        denominator: 1,
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
