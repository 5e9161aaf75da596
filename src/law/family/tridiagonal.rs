//! Tridiagonal family, Expression (7): an ordinal scale on which a report strays by one step.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::lines::{self, RowBits, Survey};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::rate;
use crate::law::structure::{Alphas, Structure};
use crate::number::bits::{self, Entropy};
use crate::number::calibrate;
use crate::number::dd::Dd;
use crate::number::lattice::{self, GRID, TOLERANCE};
use crate::number::logarithms::{self, LogSum};
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

/// # Law
/// `probability(i, i+1) = probability(i+1, i) = alpha_i` for `size - 1` alphas (the paper's print has
/// one too many), the diagonal takes what is left of each row: symmetric, so columns sum to 1 as rows
/// do. Valid if no alpha exceeds 1 and no two neighbours together do.
///
/// # Cost
/// One alpha repeated is one integer, everything O(1); a vector O(size).
#[derive(Debug)]
pub struct Tridiagonal {
    size: u64,
    alphas: Alphas,
    total: u64,
}

const MUST: &str = "be non-negative, each and with its neighbour at most 1";

impl Tridiagonal {
    /// The law of these steps.
    pub fn new(size: u64, alphas: Alphas, total: u64) -> Result<Self> {
        match alphas {
            Alphas::Constant(alpha) => constant(size, alpha, total),
            Alphas::Vector(alphas) => vector(alphas, total),
        }
    }

    fn constant(size: u64, alpha: u64, total: u64) -> Self {
        let alphas = if size == 1 {
            Alphas::Vector([].into())
        } else {
            Alphas::Constant(alpha)
        };
        Tridiagonal {
            size,
            alphas,
            total: if size == 1 { 1 } else { total },
        }
    }

    /// The alpha between codes `i` and `i + 1`; 0 at the ends.
    fn alpha(&self, i: Option<u64>) -> u64 {
        match i {
            Some(i) if i + 1 < self.size => self.alphas.at(i),
            _ => 0,
        }
    }

    fn diagonal(&self, u: u64) -> u64 {
        self.total - self.alpha(u.checked_sub(1)) - self.alpha(Some(u))
    }

    /// The smallest constant alpha whose reported beta reaches the one asked for.
    ///
    /// `H(a) = (2/size) [h(a) + (size-2)/2 h(a, a, 1-2a)]` is concave, so it rises up to one peak,
    /// where `d/da: log((1-a)/a) + (size-2) log((1-2a)/a) = 0`: 1/2 for size 2, towards 1/3 for many.
    fn by_beta(size: u64, beta: f64) -> Result<Self> {
        if size == 1 {
            return Ok(Self::constant(1, 0, 1));
        }
        let law = |alpha: u64| Self::constant(size, alpha, GRID);
        let reported = |alpha: u64| rate::beta(&law(alpha));
        let rises = |alpha: u64| {
            let (a, d) = (u128::from(alpha), u128::from(GRID));
            let inner = if size == 2 {
                Dd::ZERO
            } else {
                Dd::ln_ratio(d - 2 * a, a) * Dd::from(u128::from(size - 2))
            };
            (Dd::ln_ratio(d - a, a) + inner).hi >= 0.0
        };
        let end = if size == 2 { GRID / 2 } else { GRID / 2 - 1 };
        let peak = calibrate::largest(1, end, rises);
        let most = reported(peak);
        if !(beta <= most) {
            return Err(Error::reach(
                "beta",
                format!("be at most {most} for one alpha at size {size}"),
                beta,
                Some(most),
            ));
        }
        Ok(law(calibrate::smallest(0, peak, |a| reported(a) >= beta)))
    }
}

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    arguments.exactly_one(&["alphas", "beta"])?;
    let size = arguments.whole("size", 1, lattice::MAX_SIZE)?;
    let need_size = || Error::type_("size", "be given with one alpha or a beta", "nothing");
    let Some(alphas) = arguments.take("alphas") else {
        let beta = arguments.beta()?.unwrap_or(0.0);
        let law = Tridiagonal::by_beta(size.ok_or_else(need_size)?, beta)?;
        return Ok(Arc::new(law));
    };
    let total = arguments.whole("total", 1, (1 << 63) - 1)?;
    let whole_total = total.unwrap_or(1);
    let whole = match &alphas {
        Value::Whole(_) | Value::Wholes(_) => true,
        Value::Reals(reals) => reals.is_empty(),
        _ => false,
    };
    if total.is_some() && !whole {
        return Err(Error::type_("total", "go with integers", alphas.kind()));
    }
    let law = match alphas {
        Value::Whole(n) => {
            let alpha = u64::try_from(n).map_err(|_| Error::value("alphas", MUST, n))?;
            constant(size.ok_or_else(need_size)?, alpha, whole_total)?
        }
        Value::Ratio(n, d) => {
            let (counts, total) = lattice::common_total("alphas", &[(n, d)])?;
            constant(size.ok_or_else(need_size)?, counts[0] as u64, total)?
        }
        Value::Real(x) => {
            let size = size.ok_or_else(need_size)?;
            let most = if size > 2 { 0.5 } else { 1.0 };
            if !(x >= 0.0 && x <= most + TOLERANCE / 2.0) {
                return Err(Error::value("alphas", MUST, x));
            }
            let mut alpha = lattice::round_number(x.min(most));
            // The diagonal between, 1 - 2 alpha, is not rounded away either.
            if size > 2 && x < 0.5 && 2 * alpha == GRID {
                alpha -= 1;
            }
            constant(size, alpha, GRID)?
        }
        Value::Wholes(counts) => vector(counts, whole_total)?,
        Value::Ratios(ratios) => {
            let (counts, total) = lattice::common_total("alphas", &ratios)?;
            vector(counts, total)?
        }
        // An empty list has no type; it is the matrix of size 1.
        Value::Reals(reals) => vector(round(&reals, arguments)?, GRID)?,
        Value::Table(..) | Value::Matrices(_) => {
            return Err(Error::type_(
                "alphas",
                "be one number or a vector",
                "a table",
            ));
        }
    };
    match size {
        Some(size) if size != law.size => Err(Error::value(
            "size",
            format!("be one more than the {} alphas", law.size - 1),
            size,
        )),
        _ => Ok(Arc::new(law)),
    }
}

fn constant(size: u64, alpha: u64, total: u64) -> Result<Tridiagonal> {
    let most = if size > 2 { total / 2 } else { total };
    if alpha > most {
        return Err(Error::value("alphas", MUST, format!("{alpha}/{total}")));
    }
    Ok(Tridiagonal::constant(size, alpha, total))
}

fn vector(alphas: Arc<[i64]>, total: u64) -> Result<Tridiagonal> {
    let size = alphas.len() as u64 + 1;
    let mut previous = 0;
    for (i, &alpha) in alphas.iter().enumerate() {
        match u64::try_from(alpha) {
            Ok(alpha) if alpha <= total - previous => previous = alpha,
            _ => {
                return Err(Error::value(
                    "alphas",
                    MUST,
                    format!("{alpha}/{total} at {i} after {previous}/{total}"),
                ));
            }
        }
    }
    // All equal is one alpha repeated, so that equal laws are equal.
    if let Some(&first) = alphas.first()
        && alphas.iter().all(|&alpha| alpha == first)
    {
        return Ok(Tridiagonal::constant(size, first as u64, total));
    }
    Ok(Tridiagonal {
        size,
        total: if size == 1 { 1 } else { total },
        alphas: Alphas::Vector(alphas),
    })
}

/// Given floats as counts of the grid. Neighbours that exceed 1 by rounding alone are trimmed.
fn round(reals: &[f64], arguments: &mut Arguments) -> Result<Arc<[i64]>> {
    let mut counts: Vec<i64> = memory::room(reals.len());
    let mut moved = 0.0f64;
    for (i, &x) in reals.iter().enumerate().paced() {
        let before = if i == 0 { 0.0 } else { reals[i - 1] };
        if !(x >= 0.0 && x + before <= 1.0 + TOLERANCE) {
            let got = if i == 0 {
                format!("{x} at 0")
            } else {
                format!("{x} at {i} after {before}")
            };
            return Err(Error::value("alphas", MUST, got));
        }
        let room = GRID as i64 - counts.last().copied().unwrap_or(0);
        let mut count = (lattice::round_number(x) as i64).min(room);
        if let Some(last) = counts.last_mut() {
            // A positive alpha, and a positive diagonal between two, take a unit from the larger.
            count = count.max(i64::from(x > 0.0));
            let inside = (Dd::sum(x, before) - Dd::ONE).hi < 0.0;
            let over = *last + count + i64::from(inside) - GRID as i64;
            if over > 0 && *last >= count {
                *last -= over;
            } else if over > 0 {
                count -= over;
            }
        }
        moved = moved.max((count as f64 / GRID as f64 - x).abs());
        counts.push(count);
    }
    arguments.note("moved", moved);
    Ok(memory::shared(counts))
}

impl Family for Tridiagonal {
    fn name(&self) -> &'static str {
        "tridiagonal"
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn parameters(&self) -> Parameters {
        let total = ("total", Value::Whole(self.total.into()));
        match &self.alphas {
            Alphas::Constant(alpha) => vec![
                ("alphas", Value::Whole((*alpha).into())),
                ("size", Value::Whole(self.size.into())),
                total,
            ],
            Alphas::Vector(alphas) => vec![("alphas", Value::Wholes(Arc::clone(alphas))), total],
        }
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        let count = match u.abs_diff(v) {
            0 => self.diagonal(u),
            1 => self.alpha(Some(u.min(v))),
            _ => 0,
        };
        Some((count.into(), self.total.into()))
    }

    fn structure(&self) -> Structure {
        Structure::Neighbours {
            size: self.size,
            alphas: self.alphas.clone(),
            total: self.total,
        }
    }

    fn canonical(&self) -> Option<Arc<dyn Family>> {
        None
    }

    fn total(&self) -> Option<u128> {
        Some(self.total.into())
    }

    fn fill_row(&self, u: u64, out: &mut [f64]) {
        out.fill(0.0);
        for v in u.saturating_sub(1)..(u + 2).min(self.size) {
            out[v as usize] = self.probability(u, v);
        }
    }

    /// Each alpha stands twice in the matrix, each diagonal entry once. With one alpha `a` that is
    /// `2 (size-1)` times `a`, twice `1-a` at the ends and `size-2` times `1-2a` between:
    /// `size * H = -2 (size-1) a log a - 2 (1-a) log (1-a) - (size-2) (1-2a) log (1-2a)`.
    fn entropy_rate(&self) -> Entropy {
        if self.size == 1 {
            return Entropy::Exact(LogSum::zero());
        }
        match &self.alphas {
            Alphas::Constant(alpha) => {
                let (a, d, n) = (
                    i128::from(*alpha),
                    i128::from(self.total),
                    i128::from(self.size),
                );
                let inside = if n > 2 { d - 2 * a } else { 0 };
                let terms = vec![
                    (n * d, d as u128),
                    (-2 * (n - 1) * a, a as u128),
                    (-2 * (d - a), (d - a) as u128),
                    (-(n - 2) * inside, inside as u128),
                ];
                Entropy::Exact(LogSum {
                    terms,
                    denominator: (n * d) as u128,
                })
            }
            Alphas::Vector(alphas) => {
                let n = self.size as usize;
                let steps = bits::of_counts(self.size, self.total, 2, n - 1, |i| alphas[i] as u64);
                let stays =
                    bits::of_counts(self.size, self.total, 1, n, |u| self.diagonal(u as u64));
                steps + stays
            }
        }
    }

    /// From size 4 on every column has a zero.
    fn extremes(&self) -> Option<(f64, f64)> {
        let high = match &self.alphas {
            _ if self.size < 4 => return None,
            Alphas::Constant(alpha) => self.total - *alpha,
            Alphas::Vector(alphas) => (0..self.size)
                .map(|u| self.diagonal(u))
                .chain(alphas.iter().map(|&a| a as u64))
                .fold(0, u64::max),
        };
        Some((
            0.0,
            lattice::nearest(high.into(), self.total.into()).next_up(),
        ))
    }

    /// From size 3 on, the end columns have a zero two steps from their diagonal; two codes have
    /// `1 - alpha` and `alpha` in each column.
    fn epsilon(&self) -> f64 {
        match self.size {
            1 => 0.0,
            2 => {
                let (a, b) = (self.alpha(Some(0)), self.diagonal(0));
                logarithms::log_ratio(a.max(b).into(), a.min(b).into())
            }
            _ => f64::INFINITY,
        }
    }

    fn truthfulness(&self) -> f64 {
        let all = u128::from(self.size) * u128::from(self.total);
        let steps = match &self.alphas {
            Alphas::Constant(alpha) => u128::from(self.size - 1) * u128::from(*alpha),
            Alphas::Vector(alphas) => alphas.iter().map(|&a| a as u128).sum(),
        };
        lattice::nearest(all - 2 * steps, all)
    }

    /// A zero alpha cuts the scale in two. Without one, an end stays put with `1 - alpha_1 > 0`
    /// (else its neighbour's alpha would be 0), which breaks every period; two codes that always
    /// swap are the exception.
    fn is_ergodic(&self) -> bool {
        match &self.alphas {
            Alphas::Constant(alpha) => *alpha > 0 && (self.size > 2 || *alpha < self.total),
            Alphas::Vector(alphas) => alphas.iter().all(|&alpha| alpha > 0),
        }
    }

    /// Symmetric, so columns are rows; three counts each. With one alpha repeated there are two kinds.
    fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        if self.size <= lines::SIZE {
            return None;
        }
        let kinds: Box<dyn Iterator<Item = (u64, u64)>> = match &self.alphas {
            Alphas::Constant(_) => Box::new([(0, 2), (1, self.size - 2)].into_iter()),
            Alphas::Vector(_) => Box::new((0..self.size).map(|u| (u, 1))),
        };
        let total = self.total as f64;
        let line = |u: u64| {
            let mut line = [
                self.alpha(u.checked_sub(1)),
                self.diagonal(u),
                self.alpha(Some(u)),
            ];
            line.sort_unstable();
            line
        };
        let bits = |u| {
            line(u)
                .map(|c| lines::term(c as f64 / total))
                .iter()
                .sum::<f64>()
        };
        let (mut worst, mut peaks, mut diagonal) = ((0, f64::INFINITY), 0, u64::MAX);
        let mut deniable = memory::filled(u64::MAX, gammas.len());
        for (u, times) in kinds.paced() {
            let counts = line(u);
            worst = if bits(u) < worst.1 {
                (u, bits(u))
            } else {
                worst
            };
            peaks += u128::from(counts[2]) * u128::from(times);
            diagonal = diagonal.min(self.diagonal(u));
            for (k, &gamma) in deniable.iter_mut().zip(gammas) {
                *k = (*k).min(lines::neighbours(&counts, gamma));
            }
        }
        let counts = line(worst.0);
        worst.1 = bits::of_counts(1, self.total, 1, 3, |k| counts[k]).bits_down();
        let row_bits = RowBits::each(self.size, || (0..self.size).map(bits));
        Some(Survey {
            worst_row: worst,
            worst_column: worst,
            worst_exact: true,
            row_bits,
            peaks: (peaks, self.total.into()),
            peaks_exact: true,
            least_diagonal: (diagonal.into(), self.total.into()),
            deniability: deniable.into_iter().map(|k| (k, true)).gather(),
            witness: Some((u64::from(self.diagonal(0) == 0), self.size - 1, 0)),
        })
    }
}
