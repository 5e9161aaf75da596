//! Dense: a matrix of one's own, as counts; what balance and gibbs become, too.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::scaling::potentials::Potentials;
use crate::law::scaling::rounding;
use crate::law::scaling::support;
use crate::law::scaling::{DONE, Scaling};
use crate::law::shared::composite;
use crate::law::structure::Structure;
use crate::number::bits::{self, Entropy};
use crate::number::entropy;
use crate::number::lattice::{self, GRID, gcd, nearest};
use crate::number::logarithms::{self};
use crate::system::memory::{self, Gather};
use crate::system::pool;

/// # Law
/// `probability(u, v) = counts[u][v] / total`, all lines of `counts` summing to `total`.
///
/// # Cost
/// 8 bytes an entry, everything O(size^2), in parallel.
#[derive(Debug)]
pub struct Dense {
    name: &'static str,
    size: usize,
    counts: Arc<[i64]>,
    total: u64,
}

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    if let Some(law) = Dense::realised("dense", arguments)? {
        return Ok(Arc::new(law));
    }
    let (size, cells) = arguments.square("array")?;
    let law = match cells {
        Value::Wholes(counts) => {
            let total = counts[..size].iter().map(|&c| i128::from(c)).sum();
            Dense::of_counts("dense", "array", size, counts, total)?
        }
        Value::Ratios(ratios) => {
            let (counts, total) = lattice::common_total("array", &ratios)?;
            Dense::of_counts("dense", "array", size, counts, total.into())?
        }
        Value::Reals(reals) => of_reals(arguments, size, reals)?,
        other => return Err(Error::type_("array", "be a table of numbers", other.kind())),
    };
    Ok(Arc::new(law))
}

/// Given floats, whose sums must be within 1e-9 of 1.
fn of_reals(arguments: &mut Arguments, size: usize, reals: Arc<[f64]>) -> Result<Dense> {
    arguments.note("off", entropy::scan_bistochastic(&reals, size)?.1);
    if let Some(law) = on_grid(size, &reals) {
        arguments.note("moved", 0.0);
        return Ok(law);
    }
    if let Some((law, moved)) = of_fractions(size, &reals) {
        arguments.note("moved", moved);
        return Ok(law);
    }
    let mut scaling = Scaling::new(&reals, size);
    let left = scaling.run(DONE);
    let (x, y) = (scaling.x, scaling.y);
    if left > 16.0 * DONE {
        // Entries of very different magnitude need their logarithms; a pattern that cannot be
        // balanced needs an error.
        support::check("array", size, |u, v| reals[u * size + v] > 0.0)?;
        let cost: Vec<f64> = reals.iter().map(|p| (-p.ln()).max(0.0)).gather();
        let mut potentials = Potentials::new(size, &cost);
        potentials.settle(1.0, DONE);
        return Dense::settled("dense", "array", arguments, &potentials);
    }
    Dense::rounded("dense", "array", arguments, reals, &x, &y)
}

/// The law as it is, if it is on the grid already.
fn on_grid(size: usize, reals: &[f64]) -> Option<Dense> {
    let scaled = |x: &f64| x * GRID as f64;
    if reals.iter().any(|x| scaled(x) as u64 as f64 != scaled(x)) {
        return None;
    }
    let counts = reals.iter().map(|x| scaled(x) as i64).gather_shared();
    Dense::of_counts("dense", "array", size, counts, GRID.into()).ok()
}

/// Denominators up to here are taken for those that were meant. Their fractions are so far apart
/// that at most one is within [`NEAR`] of a double, and that it is a convergent.
const DENOMINATOR: u64 = 1_000_000;
/// Sums of a few decimals are a unit in the last place off, and so may be an entry.
const NEAR: f64 = 1.0 / (1u64 << 50) as f64;

/// The fractions with one small denominator that the doubles stand for, and how far one was moved.
fn of_fractions(size: usize, reals: &[f64]) -> Option<(Dense, f64)> {
    let tens = (1..=6).map(|digits| 10u64.pow(digits));
    // A double that stands for nothing ends this at once, wherever it is.
    let first_row = std::iter::once_with(|| {
        reals[..size].iter().try_fold(1, |total, &x| {
            let more = denominator(x)?;
            let common = total / gcd(total.into(), more.into()) as u64 * more;
            (common <= DENOMINATOR).then_some(common)
        })
    });
    tens.map(Some).chain(first_row).flatten().find_map(|total| {
        if reals.iter().any(|&x| count_near(x, total).is_none()) {
            return None;
        }
        let count = |&x: &f64| count_near(x, total).unwrap_or(0);
        let counts = reals.iter().map(count).gather_shared();
        let moved = reals.iter().zip(&*counts).fold(0.0, |m: f64, (x, &c)| {
            m.max((nearest(c as u128, total.into()) - x).abs())
        });
        let law = Dense::of_counts("dense", "array", size, counts, total.into()).ok()?;
        Some((law, moved))
    })
}

/// The count out of `total` that is within [`NEAR`] of a double; what is possible stays possible.
fn count_near(x: f64, total: u64) -> Option<i64> {
    let count = (x * total as f64).round();
    let off = x.mul_add(total as f64, -count).abs();
    (off <= NEAR * total as f64 && (count > 0.0) == (x > 0.0)).then_some(count as i64)
}

/// The denominator of the fraction within [`NEAR`] of a double, by its continued fraction.
fn denominator(x: f64) -> Option<u64> {
    const ONE: u128 = 1 << 73;
    if x > 0.0 && x * (DENOMINATOR as f64) < 0.5 {
        return None;
    }
    // Whole, since a double from 2^-21 up is a multiple of 2^-73.
    let (mut over, mut under) = ((x * ONE as f64) as u128, ONE);
    let (mut before, mut last) = (1, 0);
    while under > 0 {
        (before, last) = (last, over / under * last + before);
        if last > DENOMINATOR.into() {
            return None;
        }
        if count_near(x, last as u64).is_some() {
            return Some(last as u64);
        }
        (over, under) = (under, over % under);
    }
    None
}

impl Dense {
    /// Counts whose lines are known to sum to `total`.
    pub fn new(name: &'static str, size: usize, counts: Arc<[i64]>, total: u64) -> Self {
        Dense {
            name,
            size,
            counts,
            total,
        }
    }

    /// From `counts` and `total`, as they stand in the parameters, where they are given.
    pub fn realised(name: &'static str, arguments: &mut Arguments) -> Result<Option<Self>> {
        let Some(total) = arguments.whole("total", 1, (1 << 63) - 1)? else {
            if arguments.has("counts") {
                return Err(Error::type_("total", "be given with counts", "nothing"));
            }
            return Ok(None);
        };
        let (size, cells) = arguments.square("counts")?;
        match cells {
            Value::Wholes(counts) => Dense::of_counts(name, "counts", size, counts, total.into()),
            other => Err(Error::type_("counts", "hold integers", other.kind())),
        }
        .map(Some)
    }

    /// Counts as they are, if all lines sum to `total`.
    pub fn of_counts(
        name: &'static str,
        parameter: &str,
        size: usize,
        counts: Arc<[i64]>,
        total: i128,
    ) -> Result<Self> {
        let must = "hold non-negative integers whose rows and columns all have one sum";
        if let Some(i) = counts.iter().position(|&c| c < 0) {
            let got = format!("{} at ({}, {})", counts[i], i / size, i % size);
            return Err(Error::value(parameter, must, got));
        }
        let mut columns = memory::zeros::<i128>(size);
        for (u, row) in counts.chunks(size).enumerate() {
            let mut sum = 0i128;
            for (column, &c) in columns.iter_mut().zip(row) {
                *column += i128::from(c);
                sum += i128::from(c);
            }
            if sum != total {
                let got = format!("{sum} in row {u}, off by {}", sum - total);
                return Err(Error::value(parameter, must, got));
            }
        }
        if let Some(v) = columns.iter().position(|&sum| sum != total) {
            let got = format!(
                "{} in column {v}, off by {}",
                columns[v],
                columns[v] - total
            );
            return Err(Error::value(parameter, must, got));
        }
        match u64::try_from(total) {
            Ok(total) if (1..1 << 63).contains(&total) => Ok(Dense::new(name, size, counts, total)),
            _ => Err(Error::value(
                parameter,
                "have a sum from 1 to below 2^63",
                total,
            )),
        }
    }

    /// `diag(x) P diag(y)` on the grid, and how far that moved an entry of P in `requested`.
    pub fn rounded(
        name: &'static str,
        parameter: &str,
        arguments: &mut Arguments,
        reals: Arc<[f64]>,
        x: &[f64],
        y: &[f64],
    ) -> Result<Self> {
        let size = x.len();
        let mut cells: Vec<u64> = reals.iter().map(|p| p.to_bits()).gather();
        rounding::round_matrix(parameter, &mut cells, size, x, y)?;
        if name == "dense" {
            let moved = reals.iter().zip(&cells).fold(0.0, |m: f64, (p, &c)| {
                m.max((c as f64 / GRID as f64 - p).abs())
            });
            arguments.note("moved", moved);
        }
        drop(reals);
        let counts = cells.into_iter().map(|c| c as i64).gather_shared();
        Ok(Dense::new(name, size, counts, GRID))
    }

    /// What potentials settled to, on the grid.
    pub fn settled(
        name: &'static str,
        parameter: &str,
        arguments: &mut Arguments,
        potentials: &Potentials<'_>,
    ) -> Result<Self> {
        potentials.check(parameter)?;
        let ones = memory::filled(1.0, potentials.size);
        Dense::rounded(name, parameter, arguments, potentials.cells(), &ones, &ones)
    }

    /// Smallest and largest count of each column.
    fn column_extremes(&self) -> Vec<(u64, u64)> {
        const BAND: usize = 64;
        let size = self.size;
        let bands = size.div_ceil(BAND);
        let mut all = memory::filled((u64::MAX, 0u64), bands * size);
        pool::for_each_chunk(
            &mut all,
            size,
            self.counts.len() < 1 << 14,
            |band, columns| {
                for row in self.counts[band * BAND * size..].chunks(size).take(BAND) {
                    for (column, &c) in columns.iter_mut().zip(row) {
                        column.0 = column.0.min(c as u64);
                        column.1 = column.1.max(c as u64);
                    }
                }
            },
        );
        let (first, rest) = all.split_at_mut(size);
        for band in rest.chunks(size) {
            for (a, b) in first.iter_mut().zip(band) {
                *a = (a.0.min(b.0), a.1.max(b.1));
            }
        }
        memory::copied(first)
    }
}

impl Family for Dense {
    fn name(&self) -> &'static str {
        self.name
    }

    fn size(&self) -> u64 {
        self.size as u64
    }

    fn parameters(&self) -> Parameters {
        let cells = Box::new(Value::Wholes(Arc::clone(&self.counts)));
        vec![
            ("counts", Value::Table(self.size, self.size, cells)),
            ("total", Value::Whole(self.total.into())),
        ]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        let count = self.counts[u as usize * self.size + v as usize];
        Some((count as u128, self.total.into()))
    }

    fn canonical(&self) -> Option<Arc<dyn Family>> {
        None
    }

    fn structure(&self) -> Structure {
        Structure::Rows {
            counts: Arc::clone(&self.counts),
            total: self.total,
            size: self.size,
        }
    }

    fn total(&self) -> Option<u128> {
        Some(self.total.into())
    }

    fn fill_row(&self, u: u64, out: &mut [f64]) {
        let row = &self.counts[u as usize * self.size..][..self.size];
        if self.total.is_power_of_two() && self.total <= GRID {
            // A count of at most 53 bits times a power of two is exact.
            let unit = 1.0 / self.total as f64;
            for (x, &c) in out.iter_mut().zip(row) {
                *x = c as f64 * unit;
            }
            return;
        }
        for (x, &c) in out.iter_mut().zip(row) {
            *x = nearest(c as u128, self.total.into());
        }
    }

    fn entropy_rate(&self) -> Entropy {
        let counts = &*self.counts;
        bits::of_counts(self.size as u64, self.total, 1, counts.len(), |i| {
            counts[i] as u64
        })
    }

    fn epsilon(&self) -> f64 {
        logarithms::widest(self.column_extremes())
    }

    fn truthfulness(&self) -> f64 {
        let trace = self
            .counts
            .iter()
            .step_by(self.size + 1)
            .map(|&c| c as u128);
        nearest(trace.sum(), self.size as u128 * u128::from(self.total))
    }

    fn is_ergodic(&self) -> bool {
        composite::is_ergodic(self.size, |u| {
            let row = &self.counts[u * self.size..][..self.size];
            (0..self.size).filter(|&v| row[v] > 0).gather()
        })
    }
}
