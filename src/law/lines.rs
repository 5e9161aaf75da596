//! Which lines of a matrix hold the same numbers, and what follows from it: bits, epsilon, truthfulness; the rest is in
//! [`survey`](super::survey). In every law that says its [`Line`]s the columns hold what the rows hold.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::law::kernel::Kernel;
use crate::law::{Alphas, Law};
use crate::number::bits::{self, Entropy};
use crate::number::lattice::{gcd, nearest};
use crate::number::logarithms::{self, LogSum};
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop::Paced;

/// Lines that hold the same numbers in some order.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// The first of them.
    pub first: u64,
    /// How many there are.
    pub alike: u64,
    /// The sum of the counts.
    pub total: u128,
    /// The count on the diagonal.
    pub diagonal: u128,
    /// The counts.
    runs: Runs<'a>,
}

/// The counts of a line, in some order.
#[derive(Debug, Clone)]
enum Runs<'a> {
    /// Each so many times.
    Few([(u128, u64); 4]),
    /// One by one.
    Each(&'a [i64]),
}

impl Line<'_> {
    /// Counts, and how often each stands there, at least once.
    pub fn runs(&self) -> impl Iterator<Item = (u128, u64)> + '_ {
        let (few, each) = match &self.runs {
            Runs::Few(few) => (&few[..], &[][..]),
            Runs::Each(each) => (&[][..], *each),
        };
        let few = few.iter().copied().filter(|run| run.1 > 0);
        few.chain(each.iter().map(|&c| (c as u128, 1)))
    }

    /// What is made of the counts in rising order, and of how often each stands there, or once each.
    pub(super) fn in_order(&self, mut made: impl FnMut(&[u64], &[u64])) {
        match &self.runs {
            Runs::Each(each) => {
                let mut counts: Vec<u64> = each.iter().map(|&c| c as u64).gather();
                counts.sort_unstable();
                made(&counts, &[]);
            }
            Runs::Few(few) => {
                let (mut counts, mut times, mut all) = ([0; 4], [0; 4], *few);
                all.sort_unstable();
                let there = all.into_iter().filter(|run| run.1 > 0);
                let len = there.clone().count();
                for (i, (c, n)) in there.enumerate() {
                    (counts[i], times[i]) = (c as u64, n);
                }
                made(&counts[..len], &times[..len]);
            }
        }
    }

    /// Smallest and largest count.
    pub(super) fn range(&self) -> (u128, u128) {
        self.runs().fold((u128::MAX, 0), |(low, high), (c, _)| {
            (low.min(c), high.max(c))
        })
    }

    /// The same line, few counts rising: sums of doubles depend on their order.
    fn sorted(&self) -> Self {
        let mut line = self.clone();
        if let Runs::Few(few) = &mut line.runs {
            few.sort_unstable();
        }
        line
    }

    /// Bits, near the true number.
    pub(super) fn near_bits(&self) -> f64 {
        let total = self.total as f64;
        self.sorted().runs().fold(0.0, |sum, (c, n)| match c {
            // Perfect secrecy among n codes.
            1 if u128::from(n) == self.total => (n as f64).log2(),
            _ => sum + n as f64 * term(c as f64 / total),
        })
    }

    /// Bits, not above the true number.
    pub(super) fn bits_down(&self) -> f64 {
        entropy_of(&[self.sorted()], self.alike, 0).bits_down()
    }
}

/// `-p log2 p`, 0 for 0.
pub fn term(p: f64) -> f64 {
    if p > 0.0 { -p * p.log2() } else { 0.0 }
}

/// Bits of lines that are all those of a matrix of `size` codes, in closed form: a line that holds `n` times `c` out of `t`
/// has `log2 t - (sum of n c log2 c) / t`. Lines with other counts than 0 and 1 have one total.
/// The bound on the error of a sum grows with its terms: up to `least` of them have no weight, so that searches by beta
/// go on finding what they found.
fn entropy_of(lines: &[Line<'_>], size: u64, least: usize) -> Entropy {
    let alike = lines.iter().map(|line| u128::from(line.alike));
    let g = alike.fold(size.into(), gcd);
    let counted = |line: &&Line<'_>| line.runs().any(|(c, _)| c > 1);
    let over = lines.iter().find(counted).map_or(1, |line| line.total);
    let mut terms: Vec<(i128, u128)> = Vec::new();
    let mut places: HashMap<u128, usize> = HashMap::new();
    let mut add = |weight: i128, base: u128| match places.entry(base) {
        Entry::Occupied(place) => terms[*place.get()].0 += weight,
        Entry::Vacant(place) => {
            place.insert(terms.len());
            terms.push((weight, base));
        }
    };
    for line in lines.iter().filter(|line| line.total > 1) {
        let alike = u128::from(line.alike) / g;
        add((alike * over) as i128, line.total);
        for (c, n) in line.runs().filter(|(c, _)| *c > 0 && over > 1) {
            add(-((alike * u128::from(n) * c) as i128), c);
        }
    }
    while terms.len() < least {
        terms.push((0, 1));
    }
    Entropy::Exact(LogSum {
        terms,
        denominator: u128::from(size) / g * over,
    })
}

/// A sum of counts out of totals: integers, and what is out of the one total that is not met.
#[derive(Default)]
pub(super) struct Sum {
    whole: u128,
    part: u128,
    total: u128,
}

impl Sum {
    pub(super) fn add(&mut self, times: u64, count: u128, total: u128) {
        let sum = u128::from(times) * count;
        if sum.is_multiple_of(total) {
            self.whole += sum / total;
        } else {
            self.part += sum;
            self.total = total;
        }
    }

    pub(super) fn fraction(&self) -> (u128, u128) {
        let total = self.total.max(1);
        (self.whole * total + self.part, total)
    }
}

impl Law {
    /// The lines, those that hold the same numbers once; `None` where they all may differ.
    pub fn lines(&self) -> Option<Box<dyn Iterator<Item = Line<'_>> + '_>> {
        let size = self.size();
        Some(match self {
            Law::Permutation(targets) => {
                let stays = |(u, v): &(i64, &i64)| u == *v;
                let still = (0..).zip(&**targets).filter(stays).count() as u64;
                let first = |found: bool| (0..).zip(&**targets).position(|at| stays(&at) == found);
                let line = move |alike, stays, first: Option<usize>| Line {
                    first: first.unwrap_or(0) as u64,
                    alike,
                    total: 1,
                    diagonal: u128::from(stays),
                    runs: Runs::Few([(1, 1), (0, size - 1), (0, 0), (0, 0)]),
                };
                let mut lines = [
                    line(still, true, first(true)),
                    line(size - still, false, first(false)),
                ];
                lines.sort_unstable_by_key(|line| line.first);
                Box::new(lines.into_iter().filter(|line| line.alike > 0))
            }
            Law::Circulant { first_row, total } => Box::new(std::iter::once(Line {
                first: 0,
                alike: size,
                total: (*total).into(),
                diagonal: first_row[0] as u128,
                runs: Runs::Each(first_row),
            })),
            Law::RandomizedResponse { law, .. } => Box::new(std::iter::once(Line {
                first: 0,
                alike: size,
                total: law.total,
                diagonal: law.diag,
                runs: Runs::Few([(law.diag, 1), (law.off, size - 1), (0, 0), (0, 0)]),
            })),
            Law::Classes { runs, .. } => Box::new(runs.iter().map(move |run| Line {
                first: run.start,
                alike: run.codes(),
                total: run.class_size.into(),
                diagonal: 1,
                runs: Runs::Few([
                    (1, run.class_size),
                    (0, size - run.class_size),
                    (0, 0),
                    (0, 0),
                ]),
            })),
            Law::Tridiagonal { alphas, .. } => match alphas {
                Alphas::Constant(_) => {
                    let kinds = [(0, size.min(2)), (1, size.saturating_sub(2))];
                    let kinds = kinds.into_iter().filter(|kind| kind.1 > 0);
                    Box::new(kinds.map(|(u, alike)| self.step_line(u, alike)))
                }
                Alphas::Vector(_) => Box::new((0..size).map(|u| self.step_line(u, 1))),
            },
            Law::TTransform {
                i, j, stay, sum, ..
            } => {
                let certain = (0..3).find(|u| u != i && u != j).unwrap_or(0);
                let (stay, sum) = (u128::from(*stay), u128::from(*sum));
                let line = move |first, alike, total, diagonal, other| Line {
                    first,
                    alike,
                    total,
                    diagonal,
                    runs: Runs::Few([(diagonal, 1), (other, 1), (0, size - 2), (0, 0)]),
                };
                let lines = [
                    line(certain, size - 2, 1, 1, 0),
                    line(*i, 2, sum, stay, sum - stay),
                ];
                Box::new(lines.into_iter().filter(|line| line.alike > 0))
            }
            _ => return None,
        })
    }

    /// The counts of the step down, of none and of the step up from `u`, of steps between neighbours.
    pub(super) fn steps(&self, u: u64) -> [u64; 3] {
        let Law::Tridiagonal {
            size,
            alphas,
            total,
        } = self
        else {
            return [0; 3];
        };
        let down = if u > 0 { alphas.at(u - 1) } else { 0 };
        let up = if u + 1 < *size { alphas.at(u) } else { 0 };
        [down, total - down - up, up]
    }

    /// Line `u` of steps between neighbours.
    pub(super) fn step_line(&self, u: u64, alike: u64) -> Line<'_> {
        let size = self.size();
        let [down, stay, up] = self.steps(u).map(u128::from);
        let (below, above) = (u64::from(u > 0), u64::from(u + 1 < size));
        let runs = [
            (down, below),
            (up, above),
            (stay, 1),
            (0, size - 1 - below - above),
        ];
        Line {
            first: u,
            alike,
            total: down + stay + up,
            diagonal: stay,
            runs: Runs::Few(runs),
        }
    }

    /// The entropy rate, Expression (4), of a law that is no composite.
    pub fn entropy(&self) -> Entropy {
        let size = self.size();
        match self {
            Law::Circulant { first_row, total } => {
                let first = first_row[0];
                if first_row.iter().all(|&c| c == first) {
                    // Perfect secrecy, said without rounding at any length.
                    return Entropy::perfect(size);
                }
                bits::of_counts(1, *total, 1, first_row.len(), |i| first_row[i] as u64)
            }
            Law::Dense { counts, total, .. } => {
                bits::of_counts(size, *total, 1, counts.len(), |i| counts[i] as u64)
            }
            Law::Reflected { kernel, total } => Kernel::new(kernel, *total).entropy_rate(),
            // Each alpha stands twice in the matrix, each diagonal entry once.
            Law::Tridiagonal {
                alphas: Alphas::Vector(alphas),
                total,
                ..
            } if size > 1 => {
                let n = size as usize;
                let steps = bits::of_counts(size, *total, 2, n - 1, |i| alphas[i] as u64);
                steps + bits::of_counts(size, *total, 1, n, |u| self.steps(u as u64)[1])
            }
            Law::Classes { runs, .. } if runs.len() > 1 => {
                let mut sizes: Vec<(u64, u64)> = runs
                    .iter()
                    .map(|run| (run.class_size, run.classes))
                    .gather();
                sizes.sort_unstable();
                let merged = Law::classes_of(sizes);
                let lines = merged.lines().map_or_else(Vec::new, Gather::gather);
                entropy_of(&lines, size, 0)
            }
            _ => match self.lines() {
                Some(lines) => {
                    let least = 3 + usize::from(matches!(self, Law::Tridiagonal { .. }));
                    entropy_of(&lines.gather(), size, least)
                }
                None => Entropy::Exact(LogSum::zero()),
            },
        }
    }

    /// `max over v of ln(max_u p_uv / min_u p_uv)`, rounded up, of a law that is no composite.
    pub fn epsilon(&self) -> f64 {
        match self {
            Law::Dense { counts, size, .. } => logarithms::widest(column_extremes(counts, *size)),
            Law::Reflected { kernel, total } => Kernel::new(kernel, *total).epsilon(),
            _ => {
                let mut most: f64 = 0.0;
                for line in self.lines().into_iter().flatten().paced() {
                    let (low, high) = line.range();
                    most = most.max(logarithms::log_ratio(high, low));
                    if most == f64::INFINITY {
                        break;
                    }
                }
                most
            }
        }
    }

    /// The mean of the diagonal, to nearest, of a law that is no composite.
    pub fn truthfulness(&self) -> f64 {
        let size = u128::from(self.size());
        let of_diagonal = |sum: u128, total: u64| nearest(sum, size * u128::from(total));
        match self {
            Law::Dense {
                counts,
                total,
                size,
            } => {
                let trace = counts.iter().step_by(size + 1).map(|&c| c as u128);
                of_diagonal(trace.sum(), *total)
            }
            // The diagonal is `c_0 + c_{2u+1}`.
            Law::Reflected { kernel, total } => {
                let (kernel, r) = (Kernel::new(kernel, *total), kernel.len() - 1);
                of_diagonal((0..r).map(|u| kernel.count(u, u)).sum(), *total)
            }
            _ => {
                let mut sum = Sum::default();
                for line in self.lines().into_iter().flatten().paced() {
                    if u128::from(line.alike) == size {
                        return nearest(line.diagonal, line.total);
                    }
                    sum.add(line.alike, line.diagonal, line.total);
                }
                let (n, d) = sum.fraction();
                nearest(n, size * d)
            }
        }
    }

    /// Bounds of the smallest and the largest entry, where they are cheap, for laws in which some
    /// column holds both.
    pub(super) fn extremes(&self) -> Option<(f64, f64)> {
        let ends = |(low, high): (f64, f64)| (low.next_down().max(0.0), high.next_up());
        match self {
            Law::Permutation(_) | Law::TTransform { .. } => None,
            Law::Tridiagonal { size, .. } if *size < 4 => None,
            // If the kernel never rises, column 0 holds the two largest of the cycle together, and the two smallest.
            Law::Reflected { kernel, total } => {
                let r = kernel.len() - 1;
                let falls = kernel.windows(2).all(|pair| pair[0] >= pair[1]);
                let of_total = |i: usize| {
                    let sum = kernel[i] + kernel[i + 1];
                    nearest(sum as u128, (*total).into())
                };
                falls.then(|| ends((of_total(r - 1), of_total(0))))
            }
            _ => Some(ends(self.lines()?.paced().fold(
                (1.0, 0.0),
                |(low, high): (f64, f64), line| {
                    let range = line.range();
                    let (least, most) =
                        (nearest(range.0, line.total), nearest(range.1, line.total));
                    (low.min(least), high.max(most))
                },
            ))),
        }
    }
}

/// Smallest and largest count of each column.
fn column_extremes(counts: &[i64], size: usize) -> Vec<(u64, u64)> {
    const BAND: usize = 64;
    let bands = size.div_ceil(BAND);
    let mut all = memory::filled((u64::MAX, 0u64), bands * size);
    pool::for_each_chunk(&mut all, size, counts.len() < 1 << 14, |band, columns| {
        for row in counts[band * BAND * size..].chunks(size).take(BAND) {
            for (column, &c) in columns.iter_mut().zip(row) {
                column.0 = column.0.min(c as u64);
                column.1 = column.1.max(c as u64);
            }
        }
    });
    let (first, rest) = all.split_at_mut(size);
    for band in rest.chunks(size) {
        for (a, b) in first.iter_mut().zip(band) {
            *a = (a.0.min(b.0), a.1.max(b.1));
        }
    }
    first.to_vec()
}
