//! The families: what a bistochastic matrix is, their registry, and the laws they all obey.
//!
//! To add one: its file, a `mod` line and a line in [`REGISTRY`]. It says its name, its size, its parameters
//! and its [`Structure`]; all else follows from the structure, unless the family knows better.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::draw::derive;
use crate::draw::sampler::Sampler;
use crate::error::{Error, Result};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::measure::survey::{self, Survey};
use crate::measure::{self, Entropy, LogSum};
use crate::number::dd::Dd;
use crate::number::lattice;
use crate::operator::{Operator, Spectrum};
use crate::system::kept::Kept;
use crate::system::memory::{self, Gather};

mod family;
pub mod parameters;
pub mod same;
pub mod scaling;
mod shared;
pub mod structure;

use family::*;
use shared::{closed, composite};

pub use shared::composite::{Nesting, Written};
pub use structure::{Alphas, Structure};

/// A bistochastic matrix as exact rational laws, one a row, by its structure.
///
/// The first four methods are what a new family has to say. The others have defaults that its
/// [`Structure`] gives.
pub trait Family: Debug + Send + Sync {
    /// The name in the registry.
    fn name(&self) -> &'static str;

    /// Number of categories.
    fn size(&self) -> u64;

    /// The realised parameters: [`build`] with them gives the same matrix again.
    fn parameters(&self) -> Parameters;

    /// What it is made of: what a draw from it takes, and which closed forms it has.
    fn structure(&self) -> Structure;

    /// The family that knows the closed forms of this structure; none of those that are it themselves.
    fn closed(&self) -> Option<Arc<dyn Family>> {
        closed::of(self.structure(), self.size())
    }

    /// What a composite is made of, as parts that can be borrowed; none for all others. A family whose structure
    /// has parts says so here too, or it is taken entry by entry where its parts could be.
    fn composition(&self) -> Option<Composition<'_>> {
        None
    }

    /// `Pr(report v | truth u)` as numerator and denominator below 2^127, for `u` and `v` below the
    /// size. None where a composite needs larger ones.
    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        self.closed()?.entry(u, v)
    }

    /// The same to 30 digits.
    fn precise(&self, u: u64, v: u64) -> Dd {
        if let Some(closed) = self.closed() {
            return closed.precise(u, v);
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
        if let Some(closed) = self.closed() {
            return closed.fill_row(u, out);
        }
        for (v, x) in out.iter_mut().enumerate() {
            *x = self.probability(u, v as u64);
        }
    }

    /// A total below 2^127 of which every entry is a whole number, if there is one.
    fn total(&self) -> Option<u128> {
        self.closed()?.total()
    }

    /// Bounds of the smallest and the largest entry, where they are cheap, for families in which some
    /// column holds both.
    fn extremes(&self) -> Option<(f64, f64)> {
        self.closed()?.extremes()
    }

    /// How composites are nested in it.
    fn nesting(&self) -> Nesting {
        match self.closed() {
            Some(closed) => closed.nesting(),
            None => Nesting::none(self, survey::SIZE),
        }
    }

    /// Where the entries of a composite are written out.
    fn written(&self) -> Option<&Written> {
        None
    }

    /// Adds `weight * count of (u, v) out of total` to each number, where `total` is a multiple of every
    /// denominator. False where an entry has no 128-bit fraction.
    fn add_counts(&self, u: u64, total: u128, weight: u128, out: &mut [u128]) -> bool {
        if let Some(closed) = self.closed() {
            return closed.add_counts(u, total, weight, out);
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
        if let Some(closed) = self.closed() {
            return closed.add_counts_through(weights, total, out);
        }
        let mut rows = (0..).zip(weights).filter(|(_, weight)| **weight > 0);
        rows.all(|(w, &weight)| self.add_counts(w, total, weight, out))
    }

    /// The sum of all rows with a weight each, to 30 digits.
    fn precise_through(&self, weights: &[Dd]) -> Vec<Dd> {
        if let Some(closed) = self.closed() {
            return closed.precise_through(weights);
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
        if let Some(closed) = self.closed() {
            return closed.precise_row(u);
        }
        (0..self.size()).map(|v| self.precise(u, v)).gather()
    }

    /// Whether [`Family::is_ergodic`] was decided, or was too much to look at.
    fn knows_ergodic(&self) -> bool {
        self.closed().is_none_or(|closed| closed.knows_ergodic())
    }

    /// A beta that this one cannot be below, whatever rounding says.
    fn least_beta(&self) -> f64 {
        self.closed().map_or(0.0, |closed| closed.least_beta())
    }

    /// The entropy rate, Expression (4). No bits are promised where there is no closed form.
    fn entropy_rate(&self) -> Entropy {
        match self.closed() {
            Some(closed) => closed.entropy_rate(),
            None => Entropy::Exact(LogSum::zero()),
        }
    }

    /// A lower bound of it, where [`Family::entropy_rate`] is known only after a second or more.
    fn quick_entropy_rate(&self) -> Option<Entropy> {
        self.closed()?.quick_entropy_rate()
    }

    /// `max over v of ln(max_u p_uv / min_u p_uv)`, rounded up; infinite where a column mixes zero
    /// and non-zero.
    fn epsilon(&self) -> f64 {
        self.closed()
            .map_or(f64::INFINITY, |closed| closed.epsilon())
    }

    /// The mean of the diagonal, to nearest; not a number where it is too much to look at.
    fn truthfulness(&self) -> f64 {
        self.closed()
            .map_or(f64::NAN, |closed| closed.truthfulness())
    }

    /// Whether some power of the matrix is positive: irreducible and aperiodic.
    fn is_ergodic(&self) -> bool {
        self.closed().is_some_and(|closed| closed.is_ergodic())
    }

    /// Whether bits and epsilon are those of the law, or certified bounds of them.
    fn is_exact(&self) -> bool {
        self.closed().is_none_or(|closed| closed.is_exact())
    }

    /// What the single lines say, deniability for each of `gammas`, where that takes no look at every
    /// entry.
    fn survey(&self, gammas: &[f64]) -> Option<Survey> {
        self.closed()?.survey(gammas)
    }

    /// The eigenvalues, where a transform that other matrices share makes it diagonal.
    fn spectrum(&self) -> Option<Spectrum> {
        self.closed()?.spectrum()
    }

    /// The matrix as a linear map, where its structure gives a way shorter than the dense one.
    fn operator(&self) -> Option<Arc<dyn Operator>> {
        if let Some(closed) = self.closed() {
            return closed.operator();
        }
        let size = self.size();
        self.spectrum().map(|spectrum| spectrum.operator(size))
    }
}

/// The parts of a composite, from which it is drawn in turn.
#[derive(Debug)]
pub enum Composition<'a> {
    /// Independent factors of a joint domain in C order.
    Kron(&'a [Matrix]),
    /// One of several, chosen with these weights.
    Mix(Vec<((i64, i64), &'a Matrix)>),
    /// First one, then the other.
    Product(&'a Matrix, &'a Matrix),
}

/// A matrix and what was asked for to get it. Equal where family and parameters are.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// The law.
    pub family: Arc<dyn Family>,
    /// The request: numbers as given, and how far given vectors moved.
    pub requested: Vec<(String, Value)>,
    reported: Arc<Reported>,
}

/// Reported numbers, each measured once.
#[derive(Debug, Default)]
struct Reported {
    entropy: Kept<Entropy>,
    truthfulness: Kept<f64>,
    is_ergodic: Kept<bool>,
    knows_ergodic: Kept<bool>,
    entropy_rate: Kept<f64>,
    beta: Kept<f64>,
    epsilon: Kept<f64>,
    total: Kept<Option<u128>>,
    is_exact: Kept<bool>,
    hash: Kept<u64>,
    spectrum: Kept<Option<Spectrum>>,
    operator: Kept<Option<Arc<dyn Operator>>>,
    least: Kept<Option<(f64, u64)>>,
    condition: Kept<f64>,
    digest: Kept<[u8; 32]>,
    structure: Kept<Structure>,
    sampler: Kept<Sampler>,
}

impl Matrix {
    /// The matrix of any family, in the registry or not.
    pub fn new(family: Arc<dyn Family>) -> Self {
        Matrix {
            family,
            requested: Vec::new(),
            reported: Arc::default(),
        }
    }

    /// [`Family::structure`], handed in once.
    pub fn structure(&self) -> &Structure {
        let structure = &self.reported.structure;
        structure.get_or_make(|| self.family.structure())
    }

    /// Whether everything is reported as it is, where that is seen at once.
    pub fn is_identity(&self) -> bool {
        self.structure().is_identity(self.family.size())
    }

    /// Whether every code is as likely, where that is seen at once.
    pub fn is_uniform(&self) -> bool {
        self.structure().is_uniform(self.family.size())
    }

    /// The entropy rate in bits, as reported.
    pub fn entropy_rate(&self) -> f64 {
        let cell = &self.reported.entropy_rate;
        *cell.get_or_make(|| measure::entropy_rate(&*self.family))
    }

    /// Beta, as reported.
    pub fn beta(&self) -> f64 {
        *self
            .reported
            .beta
            .get_or_make(|| measure::beta(&*self.family))
    }

    /// [`Family::entropy_rate`]. A composite may hold one matrix many times, so it asks here.
    pub fn entropy(&self) -> Entropy {
        self.reported
            .entropy
            .get_or_make(|| self.family.entropy_rate())
            .clone()
    }

    /// [`Family::truthfulness`], likewise.
    pub fn truthfulness(&self) -> f64 {
        *self
            .reported
            .truthfulness
            .get_or_make(|| self.family.truthfulness())
    }

    /// [`Family::is_ergodic`], likewise.
    pub fn is_ergodic(&self) -> bool {
        *self
            .reported
            .is_ergodic
            .get_or_make(|| self.family.is_ergodic())
    }

    /// [`Family::knows_ergodic`], likewise.
    pub fn knows_ergodic(&self) -> bool {
        *self
            .reported
            .knows_ergodic
            .get_or_make(|| self.family.knows_ergodic())
    }

    /// Refuse a composite that cannot be written out.
    ///
    /// # Errors
    /// Parts that are nested in each other so that every row takes too long.
    pub fn check_written(&self) -> Result<()> {
        let nesting = self.family.nesting();
        if nesting.can_be_written(self.family.size()) {
            return Ok(());
        }
        // Without sharing there is no more to do than there was to build.
        if nesting.parts / 4 <= self.below(|_| false).len() as u64 {
            return Ok(());
        }
        let must = "take at most 2^31 steps to be written out";
        Err(Error::value("matrix", must, "more in nested composites"))
    }

    /// [`Family::total`]. A composite may hold one matrix many times, so it asks here.
    pub fn total(&self) -> Option<u128> {
        *self.reported.total.get_or_make(|| self.family.total())
    }

    /// [`Family::is_exact`], likewise.
    pub fn is_exact(&self) -> bool {
        *self
            .reported
            .is_exact
            .get_or_make(|| self.family.is_exact())
    }

    /// What the single lines say; none where there are too many to look at. `full` looks at all.
    pub fn survey(&self, gammas: &[f64], full: bool) -> Option<Survey> {
        let family = &*self.family;
        family.survey(gammas).or_else(|| {
            let nesting = family.nesting();
            let quick = family.size() <= nesting.look && nesting.is_quick(family.size());
            let look = quick || full && nesting.can_be_written(family.size());
            look.then(|| survey::by_table(family, gammas))
        })
    }

    /// [`Family::spectrum`], found once, as a composite may hold one matrix many times.
    pub fn spectrum(&self) -> Option<Spectrum> {
        let spectrum = &self.reported.spectrum;
        spectrum.get_or_make(|| self.family.spectrum()).clone()
    }

    /// [`Family::operator`], made once.
    pub fn operator(&self) -> Option<&Arc<dyn Operator>> {
        let operator = &self.reported.operator;
        operator.get_or_make(|| self.family.operator()).as_ref()
    }

    /// Least singular value and rank, where the structure tells.
    pub fn least_and_rank(&self) -> Option<(f64, u64)> {
        *self.reported.least.get_or_make(|| {
            let operator = self.operator()?;
            Some((operator.least(), operator.rank()))
        })
    }

    /// A condition that was found elsewhere, kept for the next who asks.
    pub fn condition(&self) -> &Kept<f64> {
        &self.reported.condition
    }

    /// Epsilon, as reported.
    pub fn epsilon(&self) -> f64 {
        *self.reported.epsilon.get_or_make(|| self.family.epsilon())
    }

    /// The distinct matrices in a composite, parts first and without recursion, but for those that are `done`
    /// and what only they hold.
    pub fn below(&self, done: impl Fn(&Matrix) -> bool) -> Vec<&Matrix> {
        let mut order = Vec::new();
        let mut seen = HashSet::new();
        let mut stack = vec![(self, false)];
        while let Some((matrix, opened)) = stack.pop() {
            if opened {
                order.push(matrix);
            } else if seen.insert(Arc::as_ptr(&matrix.family).cast::<()>()) && !done(matrix) {
                stack.push((matrix, true));
                let parts = composite::parts_of(&*matrix.family);
                stack.extend(parts.into_iter().rev().map(|part| (part, false)));
            }
        }
        // Last comes this matrix itself.
        order.pop();
        order
    }

    /// The tables to draw from, built at first use.
    pub fn sampler(&self) -> &Sampler {
        let family = &*self.family;
        let cell = &self.reported.sampler;
        cell.get_or_make(|| {
            for part in self.below(Matrix::has_sampler) {
                part.sampler();
            }
            Sampler::new(family.structure(), family.size())
        })
    }

    /// Whether the tables are built already.
    pub fn has_sampler(&self) -> bool {
        self.reported.sampler.get().is_some()
    }

    /// What enters every derivation of random words: a hash of family and parameters.
    pub fn digest(&self) -> &[u8; 32] {
        let family = &*self.family;
        let cell = &self.reported.digest;
        cell.get_or_make(|| {
            // Parts first: hundreds of hashes in each other would fill a small stack.
            for part in self.below(|part| part.reported.digest.get().is_some()) {
                part.digest();
            }
            derive::digest(family.name(), &family.parameters())
        })
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.family, &other.family);
        if Arc::ptr_eq(a, b) {
            return true;
        }
        if a.name() != b.name() || a.size() != b.size() {
            return false;
        }
        // Two composites may hold equal parts many times each; their digests are made once a part.
        match (a.composition(), b.composition()) {
            (Some(_), Some(_)) => self.digest() == other.digest(),
            _ => a.parameters() == b.parameters(),
        }
    }
}

impl Hash for Matrix {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let own = self.reported.hash.get_or_make(|| {
            let mut own = DefaultHasher::new();
            self.family.name().hash(&mut own);
            self.family.parameters().hash(&mut own);
            own.finish()
        });
        own.hash(state);
    }
}

/// Builds a family from what a caller gave.
pub type Builder = fn(&mut Arguments) -> Result<Arc<dyn Family>>;

/// Every family by name.
pub const REGISTRY: &[(&str, Builder)] = &[
    ("balance", balance::build),
    ("blocks", blocks::build),
    ("circulant", circulant::build),
    ("dense", dense::build),
    ("geometric", geometric::build),
    ("gibbs", gibbs::build),
    ("identity", identity::build),
    ("k_anonymous", k_anonymous::build),
    ("kron", kron::build),
    ("mix", mix::build),
    ("permutation", permutation::build),
    ("product", product::build),
    ("randomized_response", randomized_response::build),
    ("reflected", reflected::build),
    ("t_transform", t_transform::build),
    ("tridiagonal", tridiagonal::build),
    ("uniform", uniform::build),
];

/// The matrix of `family` with these parameters.
///
/// # Errors
/// An unknown family or parameter; whatever the family refuses.
pub fn build(family: &str, given: Vec<(String, Value)>) -> Result<Matrix> {
    let (name, builder) = REGISTRY
        .iter()
        .find(|(name, _)| *name == family)
        .ok_or_else(|| {
            let names: Vec<&str> = REGISTRY.iter().map(|(name, _)| *name).gather();
            Error::value(
                "family",
                format!("be one of {}", names.join(", ")),
                format!("{family:?}"),
            )
        })?;
    let mut arguments = Arguments::new(name, given);
    let family = builder(&mut arguments)?;
    let requested = arguments.finish()?;
    Ok(Matrix {
        requested,
        ..Matrix::new(family)
    })
}

#[cfg(test)]
pub(crate) mod laws {
    //! The battery that every family passes, from its entries alone.

    use super::*;
    use crate::number::dd::Dd;
    use crate::number::lattice::gcd;

    /// `build` for tests.
    pub fn make(family: &str, given: &[(&str, Value)]) -> Result<Matrix> {
        build(
            family,
            given
                .iter()
                .map(|(n, v)| ((*n).to_owned(), v.clone()))
                .collect(),
        )
    }

    fn add((a, b): (u128, u128), (c, d): (u128, u128)) -> (u128, u128) {
        let g = gcd(b, d);
        let (n, d) = (a * (d / g) + c * (b / g), b / g * d);
        let g = gcd(n, d).max(1);
        (n / g, d / g)
    }

    fn less((a, b): (u128, u128), (c, d): (u128, u128)) -> bool {
        a * d < c * b
    }

    /// Sums, bits, epsilon, truthfulness, ergodicity, the linear map and the round trip, for sizes up to
    /// some 30.
    pub fn check_laws(matrix: &Matrix) {
        crate::operator::laws::check_operator(matrix);
        survey::laws::check_survey(matrix);
        let f = &*matrix.family;
        let size = f.size();
        let entry = |u, v| f.entry(u, v).unwrap();
        let mut bits = Dd::ZERO;
        let mut epsilon: f64 = 0.0;
        let mut trace = (0, 1);
        for u in 0..size {
            let row = (0..size).fold((0, 1), |s, v| add(s, entry(u, v)));
            let column = (0..size).fold((0, 1), |s, v| add(s, entry(v, u)));
            assert_eq!((row, column), ((1, 1), (1, 1)), "line {u}");
            trace = add(trace, entry(u, u));
            let (mut low, mut high) = (entry(0, u), entry(0, u));
            for v in 0..size {
                let p = entry(v, u);
                if less(p, low) {
                    low = p;
                }
                if less(high, p) {
                    high = p;
                }
                if p.0 > 0 {
                    let x = Dd::from(p.0) / Dd::from(p.1);
                    bits = bits - x * x.log2();
                }
            }
            epsilon = epsilon.max(measure::log_ratio(high.0 * low.1, low.0 * high.1));
            let mut doubles = vec![f64::NAN; size as usize];
            f.fill_row(u, &mut doubles);
            for v in 0..size {
                let (n, d) = entry(u, v);
                assert_eq!(doubles[v as usize], lattice::nearest(n, d));
                assert!(f.total().is_none_or(|total| total % d == 0));
            }
        }
        let bits = (bits / Dd::from(u128::from(size))).hi;
        let reported = measure::entropy_rate(f);
        assert!(
            (0.0..1e-13).contains(&(bits - reported + 1e-15)),
            "{bits} {reported}"
        );
        if size > 1 {
            let beta = measure::beta(f);
            let want = bits / measure::max_bits(size);
            assert!(
                (0.0..1e-13).contains(&(want - beta + 1e-15)),
                "{want} {beta}"
            );
        } else {
            assert_eq!(measure::beta(f), 1.0);
        }
        assert_eq!(f.epsilon(), epsilon);
        let mean = lattice::nearest(trace.0, trace.1 * u128::from(size));
        assert!((f.truthfulness() - mean).abs() <= 2f64.powi(-52), "{mean}");
        assert_eq!(f.is_ergodic(), some_power_is_positive(f));
        let again = build(
            f.name(),
            f.parameters()
                .into_iter()
                .map(|(n, v)| (n.to_owned(), v))
                .collect(),
        )
        .unwrap();
        assert_eq!(again.family.parameters(), f.parameters());
    }

    /// Wielandt: a primitive matrix has a positive power at (size - 1)^2 + 1.
    fn some_power_is_positive(f: &dyn Family) -> bool {
        let n = f.size() as usize;
        let step: Vec<Vec<bool>> = (0..n)
            .map(|u| {
                (0..n)
                    .map(|v| f.entry(u as u64, v as u64).unwrap().0 > 0)
                    .collect()
            })
            .collect();
        let mut power = step.clone();
        for _ in 0..(n - 1) * (n - 1) {
            power = power
                .iter()
                .map(|row| {
                    (0..n)
                        .map(|v| (0..n).any(|w| row[w] && step[w][v]))
                        .collect()
                })
                .collect();
        }
        power.iter().flatten().all(|&x| x)
    }

    #[test]
    fn refuses_an_unknown_family_and_an_unknown_parameter() {
        let error = make("gaussian", &[]).unwrap_err().to_string();
        assert!(
            error.starts_with("`family` must be one of balance, "),
            "{error}"
        );
        let error = make(
            "uniform",
            &[("size", Value::Whole(3)), ("k", Value::Whole(1))],
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "`k` must be a parameter of uniform (size); got a name it does not have"
        );
        let error = make("uniform", &[]).unwrap_err().to_string();
        assert_eq!(error, "`size` must be given for uniform; got nothing");
    }
}
