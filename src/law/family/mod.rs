//! What a family says of its matrix; one file a family.

use std::fmt::Debug;
use std::sync::Arc;

use crate::law::lines::Survey;
use crate::law::parameters::Parameters;
use crate::law::shared::canonical;
use crate::law::{Composition, Nesting, Structure};
use crate::number::bits::Entropy;
use crate::number::dd::Dd;
use crate::number::lattice;
use crate::number::logarithms::LogSum;
use crate::system::memory::{self, Gather};

pub mod balance;
pub mod blocks;
pub mod circulant;
pub mod dense;
pub mod difference_set;
pub mod geometric;
pub mod gibbs;
pub mod identity;
pub mod k_anonymous;
pub mod kron;
pub mod mix;
pub mod permutation;
pub mod product;
pub mod randomized_response;
pub mod reflected;
pub mod t_transform;
pub mod tridiagonal;
pub mod uniform;

/// A bistochastic matrix as exact rational laws, one per row, by its structure.
///
/// The first four methods are what a new family has to say. The others have defaults that its
/// [`Structure`] gives.
pub trait Family: Debug + Send + Sync {
    /// The name in the registry.
    fn name(&self) -> &'static str;

    /// Number of categories.
    fn size(&self) -> u64;

    /// Number of codes that can be true. The others are only reported.
    fn true_size(&self) -> u64 {
        self.size()
    }

    /// The realised parameters: `build` with them gives the same matrix again.
    fn parameters(&self) -> Parameters;

    /// What it is made of: what a draw from it takes, and which closed forms it has.
    fn structure(&self) -> Structure;

    /// The family that knows the closed forms of this structure; `None` if this is that family.
    fn canonical(&self) -> Option<Arc<dyn Family>> {
        canonical::of(self.structure(), self.size())
    }

    /// What a composite is made of, as parts that can be borrowed; `None` for all others. A family whose structure
    /// has parts says so here too, or it is taken entry by entry if its parts could be.
    fn composition(&self) -> Option<Composition<'_>> {
        None
    }

    /// `Pr(report v | truth u)` as numerator and denominator below 2^127, for `u` and `v` below the
    /// size. `None` if a composite needs larger ones.
    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        self.canonical()?.entry(u, v)
    }

    /// The same to 30 digits.
    fn precise(&self, u: u64, v: u64) -> Dd {
        if let Some(known) = self.canonical() {
            return known.precise(u, v);
        }
        self.entry(u, v)
            .map_or(Dd::from(f64::NAN), |(n, d)| Dd::from(n) / Dd::from(d))
    }

    /// The same as the nearest double.
    fn probability(&self, u: u64, v: u64) -> f64 {
        match self.entry(u, v) {
            Some((n, d)) => lattice::nearest(n, d),
            None => self.precise(u, v).hi,
        }
    }

    /// Row `u` as the nearest doubles.
    fn fill_row(&self, u: u64, out: &mut [f64]) {
        if let Some(known) = self.canonical() {
            return known.fill_row(u, out);
        }
        for (v, x) in out.iter_mut().enumerate() {
            *x = self.probability(u, v as u64);
        }
    }

    /// A total below 2^127 of which every entry is an integer, if there is one.
    fn total(&self) -> Option<u128> {
        self.canonical()?.total()
    }

    /// Bounds of the smallest and the largest entry, where they are cheap, for families in which some
    /// column holds both.
    fn extremes(&self) -> Option<(f64, f64)> {
        self.canonical()?.extremes()
    }

    /// How composites are nested in it.
    fn nesting(&self) -> Nesting {
        match self.canonical() {
            Some(known) => known.nesting(),
            None => Nesting::none(self),
        }
    }

    /// Adds `weight * count of (u, v) out of total` to each number, where `total` is a multiple of every
    /// denominator. False if an entry has no 128-bit fraction.
    fn add_counts(&self, u: u64, total: u128, weight: u128, out: &mut [u128]) -> bool {
        if let Some(known) = self.canonical() {
            return known.add_counts(u, total, weight, out);
        }
        out.iter_mut().enumerate().all(|(v, out)| {
            self.entry(u, v as u64).is_some_and(|(n, d)| {
                if n > 0 {
                    *out += weight * (n * (total / d));
                }
                true
            })
        })
    }

    /// The same for the sum of all rows with a weight each.
    fn add_counts_through(&self, weights: &[u128], total: u128, out: &mut [u128]) -> bool {
        if let Some(known) = self.canonical() {
            return known.add_counts_through(weights, total, out);
        }
        let mut rows = (0..).zip(weights).filter(|(_, weight)| **weight > 0);
        rows.all(|(w, &weight)| self.add_counts(w, total, weight, out))
    }

    /// The sum of all rows with a weight each, to 30 digits.
    fn precise_through(&self, weights: &[Dd]) -> Vec<Dd> {
        if let Some(known) = self.canonical() {
            return known.precise_through(weights);
        }
        let mut sum = memory::filled(Dd::ZERO, weights.len());
        for (w, &a) in (0..).zip(weights).filter(|(_, a)| a.hi > 0.0) {
            for (s, b) in sum.iter_mut().zip(self.precise_row(w)) {
                *s = *s + a * b;
            }
        }
        sum
    }

    /// Row `u` to 30 digits.
    fn precise_row(&self, u: u64) -> Vec<Dd> {
        if let Some(known) = self.canonical() {
            return known.precise_row(u);
        }
        (0..self.size()).map(|v| self.precise(u, v)).gather()
    }

    /// Whether [`Family::is_ergodic`] was decided, or was too much to look at.
    fn knows_ergodic(&self) -> bool {
        self.canonical().is_none_or(|known| known.knows_ergodic())
    }

    /// A beta that this one cannot be below, whatever rounding says.
    fn least_beta(&self) -> f64 {
        self.canonical().map_or(0.0, |known| known.least_beta())
    }

    /// The entropy rate, Expression (4). No bits are promised if there is no closed form.
    fn entropy_rate(&self) -> Entropy {
        match self.canonical() {
            Some(known) => known.entropy_rate(),
            None => Entropy::Exact(LogSum::zero()),
        }
    }

    /// `max over v of ln(max_u p_uv / min_u p_uv)`, rounded up; infinite if a column mixes zero
    /// and non-zero.
    fn epsilon(&self) -> f64 {
        self.canonical()
            .map_or(f64::INFINITY, |known| known.epsilon())
    }

    /// The mean of the diagonal, to nearest; not a number if it is too much to look at.
    fn truthfulness(&self) -> f64 {
        self.canonical()
            .map_or(f64::NAN, |known| known.truthfulness())
    }

    /// Whether some power of the matrix is positive: irreducible and aperiodic.
    fn is_ergodic(&self) -> bool {
        self.canonical().is_some_and(|known| known.is_ergodic())
    }

    /// Whether bits and epsilon are those of the law, or certified bounds of them.
    fn is_exact(&self) -> bool {
        self.canonical().is_none_or(|known| known.is_exact())
    }

    /// What the single lines say, deniability for each of `gammas`, if that takes no look at every
    /// entry.
    fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        self.canonical()?.short_survey(gammas)
    }
}
