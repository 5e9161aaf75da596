//! A matrix: a law, its name and parameters, what was asked for, and what was found out about it, each number once.

use std::any::Any;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::draw::sampler::Sampler;
use crate::error::{Error, Result};
use crate::law::composite::{self, Measures};
use crate::law::families::difference_set::DifferenceSet;
use crate::law::parameters::{Parameters, Value};
use crate::law::{Law, Nesting, digest};
use crate::number::bits::Entropy;
use crate::number::dd::Dd;
use crate::system::kept::Kept;
use crate::system::memory::Gather;

/// A matrix and what was asked for to get it. Equal where family and parameters are.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// The request: numbers as given, and how far given vectors moved.
    pub requested: Vec<(String, Value)>,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: &'static str,
    parameters: Parameters,
    law: Law,
    size: u64,
    nesting: Nesting,
    /// What is known of truths that are fewer than the codes.
    difference_set: Option<DifferenceSet>,
    found: Found,
}

/// What is found out at the first question.
#[derive(Debug, Default)]
pub(crate) struct Found {
    total: Kept<Option<u128>>,
    entropy: Kept<Entropy>,
    truthfulness: Kept<f64>,
    is_ergodic: Kept<bool>,
    beta: Kept<f64>,
    epsilon: Kept<f64>,
    hash: Kept<u64>,
    digest: Kept<[u8; 32]>,
    sampler: Kept<Sampler>,
    notes: Kept<Box<dyn Any + Send + Sync>>,
    /// Of a mix or a product.
    pub measures: Kept<Measures>,
    /// Every entry of a small composite that holds many parts, and of the second matrix of a product.
    pub counts: Kept<Option<Vec<u128>>>,
    /// The same to 30 digits, if there is no common total.
    pub precise: Kept<Option<Vec<Dd>>>,
}

impl Matrix {
    /// The matrix of a law that is no composite.
    pub(super) fn new(name: &'static str, law: Law, parameters: Parameters) -> Self {
        let nesting = Nesting::none(law.size());
        Matrix::nested(name, law, parameters, nesting)
    }

    /// The matrix of a composite that is nested so.
    pub(super) fn nested(
        name: &'static str,
        law: Law,
        parameters: Parameters,
        nesting: Nesting,
    ) -> Self {
        let inner = Inner {
            name,
            size: law.size(),
            parameters,
            law,
            nesting,
            difference_set: None,
            found: Found::default(),
        };
        Matrix {
            inner: Arc::new(inner),
            requested: Vec::new(),
        }
    }

    /// The matrix of a difference set.
    pub(super) fn of_difference_set(law: Law, parameters: Parameters, set: DifferenceSet) -> Self {
        let mut matrix = Matrix::new("difference_set", law, parameters);
        if let Some(inner) = Arc::get_mut(&mut matrix.inner) {
            inner.difference_set = Some(set);
        }
        matrix
    }

    /// The name of the family.
    pub fn name(&self) -> &'static str {
        self.inner.name
    }

    /// Number of codes.
    pub fn size(&self) -> u64 {
        self.inner.size
    }

    /// Number of codes that can be true. The others are only reported.
    pub fn true_size(&self) -> u64 {
        match (&self.inner.difference_set, self.law()) {
            (Some(set), _) => set.size,
            (None, Law::Kron(factors)) => factors.iter().map(Matrix::true_size).product(),
            _ => self.size(),
        }
    }

    /// The realised parameters: [`build`](crate::law::build) with them gives the same matrix again.
    pub fn parameters(&self) -> &Parameters {
        &self.inner.parameters
    }

    /// What it is made of.
    pub fn law(&self) -> &Law {
        &self.inner.law
    }

    /// A total below 2^127 of which every entry is an integer, if there is one.
    pub fn total(&self) -> Option<u128> {
        *self.found().total.get_or_make(|| self.law().total())
    }

    /// How composites are nested in it.
    pub fn nesting(&self) -> Nesting {
        self.inner.nesting
    }

    /// Whether it has parts.
    pub fn is_composite(&self) -> bool {
        !self.law().parts().is_empty()
    }

    /// A number that two matrices share just where they are one and the same.
    pub fn place(&self) -> usize {
        Arc::as_ptr(&self.inner) as usize
    }

    pub(super) fn found(&self) -> &Found {
        &self.inner.found
    }

    pub(super) fn difference_set(&self) -> Option<&DifferenceSet> {
        self.inner.difference_set.as_ref()
    }

    /// The factors of a kron with more than one code; of the others there may be very many, and they say nothing.
    pub(super) fn wide(&self) -> impl Iterator<Item = &Matrix> {
        self.law().parts().iter().filter(|part| part.size() > 1)
    }

    /// The entropy rate in bits, Expression (4): never above the true value.
    pub fn entropy_rate(&self) -> f64 {
        self.entropy().round_down(2)
    }

    /// Definition 1: the entropy rate over log2 of the size, never above the true value. With one
    /// category there is nothing to hide, and beta is 1.
    pub fn beta(&self) -> f64 {
        let beta = || {
            let beta = composite::beta(&self.entropy(), self.true_size());
            beta.max(self.least_beta()).min(1.0)
        };
        *self.found().beta.get_or_make(beta)
    }

    /// The entropy rate, before it is rounded.
    pub fn entropy(&self) -> Entropy {
        let entropy = &self.found().entropy;
        entropy.get_or_make(|| self.measured_entropy()).clone()
    }

    /// Epsilon: `max over v of ln(max_u p_uv / min_u p_uv)`, rounded up; infinite if a column mixes zero
    /// and non-zero.
    pub fn epsilon(&self) -> f64 {
        let epsilon = &self.found().epsilon;
        *epsilon.get_or_make(|| self.measured_epsilon())
    }

    /// The mean of the diagonal, to nearest; not a number if it is too much to look at.
    pub fn truthfulness(&self) -> f64 {
        let truthfulness = &self.found().truthfulness;
        *truthfulness.get_or_make(|| self.measured_truthfulness())
    }

    /// Whether some power of the matrix is positive: irreducible and aperiodic.
    pub fn is_ergodic(&self) -> bool {
        let is_ergodic = &self.found().is_ergodic;
        *is_ergodic.get_or_make(|| self.decided_ergodic())
    }

    /// Codes below this can be given as true. Digits of a joint code are not looked at.
    pub fn truths(&self) -> u64 {
        match self.is_composite() {
            true => self.size(),
            false => self.true_size(),
        }
    }

    /// Refuse a composite that cannot be written out.
    ///
    /// # Errors
    /// Parts that are nested in each other so that every row takes too long.
    pub fn check_written(&self) -> Result<()> {
        let nesting = self.nesting();
        if nesting.can_be_written(self.size()) {
            return Ok(());
        }
        // Without sharing there is no more to do than there was to build.
        if nesting.parts / 4 <= self.below().len() as u64 {
            return Ok(());
        }
        let must = "take at most 2^31 steps to be written out";
        let got = format!("{} nested parts of {} rows", nesting.parts, self.size());
        Err(Error::value("matrix", must, got))
    }

    /// What the caller keeps with it, of one type, made at first use. Every copy of the matrix has it.
    ///
    /// # Panics
    /// Another type is kept.
    pub fn notes<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> &T {
        let notes = self.found().notes.get_or_make(|| Box::new(make()));
        notes.downcast_ref().expect("notes of one type")
    }

    /// The distinct matrices in a composite, parts first.
    pub fn below(&self) -> Vec<&Matrix> {
        let mut order = distinct(std::slice::from_ref(self));
        // Last comes this matrix itself.
        order.pop();
        order
    }

    /// What enters every derivation of random words: a hash of family and parameters.
    pub fn digest(&self) -> &[u8; 32] {
        let cell = &self.found().digest;
        cell.get_or_make(|| digest::of(self.name(), self.parameters()))
    }

    /// The tables to draw from, built at first use.
    pub fn sampler(&self) -> &Sampler {
        self.found()
            .sampler
            .get_or_make(|| Sampler::new(self.law()))
    }

    /// Whether the tables are built already.
    pub fn has_sampler(&self) -> bool {
        self.found().sampler.get().is_some()
    }
}

/// The matrices among these and in them, each once, parts first.
pub(super) fn distinct(matrices: &[Matrix]) -> Vec<&Matrix> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    let mut stack: Vec<(&Matrix, bool)> = matrices.iter().rev().map(|m| (m, false)).gather();
    while let Some((matrix, opened)) = stack.pop() {
        if opened {
            order.push(matrix);
        } else if seen.insert(matrix.place()) {
            stack.push((matrix, true));
            stack.extend(matrix.law().parts().iter().rev().map(|part| (part, false)));
        }
    }
    order
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.inner, &other.inner) {
            return true;
        }
        if self.name() != other.name() || self.size() != other.size() {
            return false;
        }
        // Two composites may hold equal parts many times each; their digests are made once a part.
        match self.is_composite() {
            true => self.digest() == other.digest(),
            false => self.parameters() == other.parameters(),
        }
    }
}

impl Hash for Matrix {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let own = self.found().hash.get_or_make(|| {
            let mut own = DefaultHasher::new();
            self.name().hash(&mut own);
            self.parameters().hash(&mut own);
            own.finish()
        });
        own.hash(state);
    }
}
