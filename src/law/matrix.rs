//! A matrix: a law, its name and parameters, what was asked for, and what was found out about it, each number once.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::draw::sampler::Sampler;
use crate::error::{Error, Result};
use crate::law::composite::{self, Measures};
use crate::law::families::difference_set::DifferenceSet;
use crate::law::parameters::{Parameters, Value};
use crate::law::{Law, digest};
use crate::number::bits::Entropy;
use crate::number::dd::Dd;
use crate::system::kept::Kept;

/// A bistochastic matrix: how likely each code is reported for each true one. A copy is as cheap as a pointer.
///
/// Numbers about it are found at the first question and kept. Two are equal if their family and parameters are.
///
/// ```
/// use bistochastic::{Matrix, Target};
/// let m = Matrix::randomized_response(4, Target::Keep(0.5))?;
/// assert_eq!((m.name(), m.size()), ("randomized_response", 4));
/// // 1/2 is three times 1/6, and 1.7925 of 2 bits are hidden.
/// assert!((m.epsilon() - 3f64.ln()).abs() < 1e-15);
/// assert!((m.entropy_rate() - 1.7925).abs() < 1e-4);
/// assert_eq!(m.beta(), m.entropy_rate() / 2.0);
/// # Ok::<(), bistochastic::Error>(())
/// ```
///
/// # Panics
/// A question that takes more memory than there is unwinds, as an allocation that fails would abort.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// What was asked for: numbers as given, and how far given vectors moved.
    pub(crate) requested: Vec<(String, Value)>,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: &'static str,
    parameters: Parameters,
    law: Law,
    size: u64,
    /// Levels of composites in each other, and all matrices in it, itself among them.
    depth: usize,
    parts: u64,
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
    is_ergodic: Kept<Option<bool>>,
    beta: Kept<f64>,
    epsilon: Kept<f64>,
    hash: Kept<u64>,
    digest: Kept<[u8; 32]>,
    sampler: Kept<Sampler>,
    notes: Kept<Box<dyn Any + Send + Sync>>,
    /// Of a mix or a product.
    pub measures: Kept<Measures>,
    /// Every entry of the second matrix of a product.
    pub counts: Kept<Option<Vec<u128>>>,
    /// The same to 30 digits, if there is no common total.
    pub precise: Kept<Option<Vec<Dd>>>,
}

impl Matrix {
    /// The matrix of a law.
    pub(super) fn new(name: &'static str, law: Law, parameters: Parameters) -> Self {
        let parts = law.parts().iter();
        let inner = Inner {
            name,
            size: law.size(),
            depth: parts
                .clone()
                .map(|part| part.inner.depth + 1)
                .max()
                .unwrap_or(0),
            parts: 1 + parts.map(Matrix::parts).sum::<u64>(),
            parameters,
            law,
            difference_set: None,
            found: Found::default(),
        };
        Matrix {
            inner: Arc::new(inner),
            requested: Vec::new(),
        }
    }

    /// The matrix of a composite.
    ///
    /// # Errors
    /// Nested too deep, or too many matrices in it.
    pub(super) fn nested(name: &'static str, law: Law, parameters: Parameters) -> Result<Self> {
        const DEPTH: usize = 16;
        const PARTS: u64 = 1024;
        let matrix = Matrix::new(name, law, parameters);
        let got = match (matrix.inner.depth, matrix.parts()) {
            (depth, _) if depth > DEPTH => format!("{depth} levels"),
            (_, parts) if parts > PARTS => format!("{parts} matrices"),
            _ => return Ok(matrix),
        };
        let must = format!("be nested at most {DEPTH} deep, with at most {PARTS} matrices in all");
        Err(Error::value("matrices", must, got))
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
    pub(crate) fn true_size(&self) -> u64 {
        match (&self.inner.difference_set, self.law()) {
            (Some(set), _) => set.size,
            (None, Law::Kron(factors)) => factors.iter().map(Matrix::true_size).product(),
            _ => self.size(),
        }
    }

    /// The realised parameters: [`build`](crate::law::build) with them gives the same matrix again.
    pub(crate) fn parameters(&self) -> &Parameters {
        &self.inner.parameters
    }

    /// What it is made of.
    pub(crate) fn law(&self) -> &Law {
        &self.inner.law
    }

    /// A total below 2^127 of which every entry is an integer, if there is one.
    pub(crate) fn total(&self) -> Option<u128> {
        *self.found().total.get_or_make(|| self.law().total())
    }

    /// How many matrices are in it, those that it holds several times so often, itself among them.
    pub(crate) fn parts(&self) -> u64 {
        self.inner.parts
    }

    /// Whether it has parts.
    pub(crate) fn is_composite(&self) -> bool {
        !self.law().parts().is_empty()
    }

    /// A number that two matrices share just where they are one and the same.
    pub(crate) fn place(&self) -> usize {
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
    pub(crate) fn entropy(&self) -> Entropy {
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
    pub(crate) fn truthfulness(&self) -> f64 {
        let truthfulness = &self.found().truthfulness;
        *truthfulness.get_or_make(|| self.measured_truthfulness())
    }

    /// Whether some power of the matrix is positive: irreducible and aperiodic; `None` if it is too much to look at.
    pub(crate) fn is_ergodic(&self) -> Option<bool> {
        let is_ergodic = &self.found().is_ergodic;
        *is_ergodic.get_or_make(|| self.decided_ergodic())
    }

    /// Codes below this can be given as true. Digits of a joint code are not looked at.
    pub(crate) fn truths(&self) -> u64 {
        match self.is_composite() {
            true => self.size(),
            false => self.true_size(),
        }
    }

    /// Size up to which all rows take seconds: every row of a product takes as many multiply-adds as it has entries.
    pub(crate) fn looked_at(&self) -> u64 {
        fn has_product(m: &Matrix) -> bool {
            matches!(m.law(), Law::Product(_)) || m.law().parts().iter().any(has_product)
        }
        self.largest(if has_product(self) { 1024 } else { 4096 })
    }

    /// The size up to which all entries of all matrices in it are no more than those of 128 matrices of size `most`.
    pub(super) fn largest(&self, most: u64) -> u64 {
        const PARTS: u64 = 128;
        (most * most * PARTS / self.parts().max(PARTS)).isqrt()
    }

    /// What the caller keeps with it, of one type, made at first use. Every copy of the matrix has it.
    ///
    /// # Panics
    /// Another type is kept.
    pub(crate) fn notes<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> &T {
        let notes = self.found().notes.get_or_make(|| Box::new(make()));
        notes.downcast_ref().expect("notes of one type")
    }

    /// The distinct matrices in a composite, parts first.
    pub(crate) fn below(&self) -> Vec<&Matrix> {
        fn visit<'a>(matrix: &'a Matrix, order: &mut Vec<&'a Matrix>) {
            for part in matrix.law().parts() {
                visit(part, order);
                if order.iter().all(|other| other.place() != part.place()) {
                    order.push(part);
                }
            }
        }
        let mut order = Vec::new();
        visit(self, &mut order);
        order
    }

    /// What enters every derivation of random words: a hash of family and parameters.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        let cell = &self.found().digest;
        cell.get_or_make(|| digest::of(self.name(), self.parameters()))
    }

    /// The tables to draw from, built at first use.
    pub(crate) fn sampler(&self) -> &Sampler {
        self.found()
            .sampler
            .get_or_make(|| Sampler::new(self.law()))
    }

    /// Whether the tables are built already.
    pub(crate) fn has_sampler(&self) -> bool {
        self.found().sampler.get().is_some()
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        let alike = || self.name() == other.name() && self.parameters() == other.parameters();
        Arc::ptr_eq(&self.inner, &other.inner) || alike()
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
