//! Perfect secrecy inside classes of consecutive codes: what identity, uniform, blocks and
//! k_anonymous have in common.

use std::sync::Arc;

use crate::law::Family;
use crate::law::lines::{RowBits, Survey};
use crate::law::parameters::Parameters;
use crate::law::structure::{Run, Structure};
use crate::number::bits::Entropy;
use crate::number::lattice::{gcd, nearest};
use crate::number::logarithms::LogSum;
use crate::system::memory::{self, Gather};

/// # Law
/// `probability(u, v) = 1/n` where `u` and `v` lie in one class of `n` codes, else 0: block-diagonal,
/// Expression (3). Every line holds `n` entries of `1/n`.
///
/// # Cost
/// Equal neighbouring classes are one run, so that a million classes of five are two numbers. An
/// entry takes O(log runs).
#[derive(Debug)]
pub struct Classes {
    name: &'static str,
    parameters: Parameters,
    runs: Vec<Run>,
    size: u64,
    classes: u64,
}

impl Classes {
    /// From `(class size, how many of them)`, in order, all positive with a total up to 2^53.
    pub fn new(
        name: &'static str,
        parameters: Parameters,
        lengths: impl IntoIterator<Item = (u64, u64)>,
    ) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        let (mut size, mut count) = (0, 0);
        for (class_size, classes) in lengths {
            match runs.last_mut() {
                Some(last) if last.class_size == class_size => last.classes += classes,
                _ => memory::push(
                    &mut runs,
                    Run {
                        start: size,
                        class_size,
                        classes,
                    },
                ),
            }
            size += class_size * classes;
            count += classes;
        }
        Classes {
            name,
            parameters,
            runs,
            size,
            classes: count,
        }
    }

    /// First code and size of the class of `u`.
    pub fn class_of(&self, u: u64) -> (u64, u64) {
        let run = self.runs[self.runs.partition_point(|run| run.start <= u) - 1];
        let within = (u - run.start) / run.class_size;
        (run.start + within * run.class_size, run.class_size)
    }
}

impl Family for Classes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn parameters(&self) -> Parameters {
        self.parameters.clone()
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        let (start, n) = self.class_of(u);
        let inside = v >= start && v - start < n;
        Some((u128::from(inside), u128::from(n)))
    }

    fn canonical(&self) -> Option<Arc<dyn Family>> {
        None
    }

    fn structure(&self) -> Structure {
        if self.runs.iter().all(|run| run.class_size == 1) {
            return Structure::Certain(None);
        }
        Structure::Classes {
            size: self.size,
            runs: self
                .runs
                .iter()
                .map(|run| (run.start, run.class_size))
                .gather(),
        }
    }

    fn total(&self) -> Option<u128> {
        self.runs.iter().try_fold(1u128, |total, run| {
            let n = u128::from(run.class_size);
            (total / gcd(total, n))
                .checked_mul(n)
                .filter(|&t| t < 1 << 127)
        })
    }

    fn fill_row(&self, u: u64, out: &mut [f64]) {
        let (start, n) = self.class_of(u);
        out.fill(0.0);
        out[start as usize..(start + n) as usize].fill(1.0 / n as f64);
    }

    /// A row in a class of `n` has `log2 n` bits, and `n` rows share that class:
    /// `H = (sum over classes of n log2 n) / size`.
    fn entropy_rate(&self) -> Entropy {
        let mut terms: Vec<(i128, u128)> = Vec::new();
        let mut runs: Vec<&Run> = self.runs.iter().gather();
        runs.sort_unstable_by_key(|run| run.class_size);
        for equal in runs.chunk_by(|a, b| a.class_size == b.class_size) {
            let n = equal[0].class_size;
            let classes: u64 = equal.iter().map(|run| run.classes).sum();
            terms.push((i128::from(n) * i128::from(classes), u128::from(n)));
        }
        Entropy::Exact(LogSum {
            terms,
            denominator: u128::from(self.size),
        })
    }

    fn extremes(&self) -> Option<(f64, f64)> {
        let smallest = self.runs.iter().map(|run| run.class_size).min()?;
        let high = 1.0 / smallest as f64;
        Some((
            if self.classes == 1 {
                high.next_down()
            } else {
                0.0
            },
            high.next_up(),
        ))
    }

    /// A column is constant with one class, and mixes zero and non-zero with more.
    fn epsilon(&self) -> f64 {
        if self.classes == 1 {
            0.0
        } else {
            f64::INFINITY
        }
    }

    /// The diagonal of a class of `n` adds up to 1.
    fn truthfulness(&self) -> f64 {
        nearest(self.classes.into(), self.size.into())
    }

    /// Nothing leaves its class, and one class is positive.
    fn is_ergodic(&self) -> bool {
        self.classes == 1
    }

    /// A line of a class of `n` codes holds `n` times `1/n`, so its bits, its peak and its deniability
    /// are those of `n`, whatever gamma; the peaks of a class add up to 1.
    fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        let smallest = self.runs.iter().min_by_key(|run| run.class_size)?;
        let largest = self.runs.iter().map(|run| run.class_size).max()?;
        let bits = Entropy::perfect(smallest.class_size).bits_down();
        let worst = (smallest.start, bits);
        let row_bits = if smallest.class_size == largest {
            RowBits::Same(worst.1)
        } else {
            let each = |run: &Run| {
                let n = (run.class_size * run.classes) as usize;
                std::iter::repeat_n((run.class_size as f64).log2(), n)
            };
            RowBits::each(self.size, || self.runs.iter().flat_map(each))
        };
        Some(Survey {
            worst_row: worst,
            worst_column: worst,
            worst_exact: true,
            row_bits,
            peaks: (self.classes.into(), 1),
            peaks_exact: true,
            least_diagonal: (1, largest.into()),
            deniability: memory::filled((smallest.class_size, true), gammas.len()),
            witness: (self.classes > 1).then(|| (0, self.runs[0].class_size, 0)),
        })
    }
}
