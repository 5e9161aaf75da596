//! A matrix: a family, what was asked for, and what was found out about it, each number once.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::parameters::Value;
use crate::law::shared::composite;
use crate::law::{Family, Structure, digest, rate};
use crate::number::bits::Entropy;
use crate::system::kept::Kept;

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
    digest: Kept<[u8; 32]>,
    structure: Kept<Structure>,
    shelves: [Kept<Thing>; Shelf::COUNT],
}

/// Places for what layers above find out about a matrix, so that no law has to know what a table
/// to draw from is.
#[derive(Debug, Clone, Copy)]
pub enum Shelf {
    /// What Python keeps: the linear map.
    Notes,
    /// Tables to draw from.
    Sampler,
}

impl Shelf {
    const COUNT: usize = Shelf::Sampler as usize + 1;
}

/// What lies on a shelf: one type each.
pub trait Shelved: Any + Send + Sync {
    /// Which.
    const SHELF: Shelf;
}

type Thing = Box<dyn Any + Send + Sync>;

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

    /// Whether everything is reported as it is, if that is seen at once.
    pub fn is_identity(&self) -> bool {
        self.structure().is_identity(self.family.size())
    }

    /// Whether every code is as likely, if that is seen at once.
    pub fn is_uniform(&self) -> bool {
        self.structure().is_uniform(self.family.size())
    }

    /// The entropy rate in bits, as reported.
    pub fn entropy_rate(&self) -> f64 {
        once(&self.reported.entropy_rate, || {
            rate::entropy_rate(&*self.family)
        })
    }

    /// Beta, as reported.
    pub fn beta(&self) -> f64 {
        once(&self.reported.beta, || rate::beta(&*self.family))
    }

    /// [`Family::entropy_rate`]. A composite may hold one matrix many times, so it asks here.
    pub fn entropy(&self) -> Entropy {
        once(&self.reported.entropy, || self.family.entropy_rate())
    }

    /// [`Family::truthfulness`], likewise.
    pub fn truthfulness(&self) -> f64 {
        once(&self.reported.truthfulness, || self.family.truthfulness())
    }

    /// [`Family::is_ergodic`], likewise.
    pub fn is_ergodic(&self) -> bool {
        once(&self.reported.is_ergodic, || self.family.is_ergodic())
    }

    /// [`Family::knows_ergodic`], likewise.
    pub fn knows_ergodic(&self) -> bool {
        once(&self.reported.knows_ergodic, || self.family.knows_ergodic())
    }

    /// Codes below this can be given as true. Digits of a joint code are not looked at.
    pub fn truths(&self) -> u64 {
        match self.family.composition() {
            None => self.family.true_size(),
            Some(_) => self.family.size(),
        }
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
        if nesting.parts / 4 <= self.below().len() as u64 {
            return Ok(());
        }
        let must = "take at most 2^31 steps to be written out";
        let got = format!(
            "{} nested parts of {} rows",
            nesting.parts,
            self.family.size()
        );
        Err(Error::value("matrix", must, got))
    }

    /// [`Family::total`]. A composite may hold one matrix many times, so it asks here.
    pub fn total(&self) -> Option<u128> {
        once(&self.reported.total, || self.family.total())
    }

    /// [`Family::is_exact`], likewise.
    pub fn is_exact(&self) -> bool {
        once(&self.reported.is_exact, || self.family.is_exact())
    }

    /// Epsilon, as reported.
    pub fn epsilon(&self) -> f64 {
        once(&self.reported.epsilon, || self.family.epsilon())
    }

    /// The distinct matrices in a composite, parts first.
    pub fn below(&self) -> Vec<&Matrix> {
        let mut order = composite::distinct(std::slice::from_ref(self));
        // Last comes this matrix itself.
        order.pop();
        order
    }

    /// What enters every derivation of random words: a hash of family and parameters.
    pub fn digest(&self) -> &[u8; 32] {
        let family = &*self.family;
        let cell = &self.reported.digest;
        cell.get_or_make(|| digest::of(family.name(), &family.parameters()))
    }

    /// What a layer above keeps on this shelf, made at first use. Every copy of the matrix has it.
    ///
    /// # Panics
    /// Where two types share a shelf.
    pub fn keep<T: Shelved>(&self, make: impl FnOnce() -> T) -> &T {
        let shelf = &self.reported.shelves[T::SHELF as usize];
        unpacked(shelf.get_or_make(|| Box::new(make())))
    }

    /// The same, but only if it is there already.
    pub fn kept<T: Shelved>(&self) -> Option<&T> {
        let shelf = &self.reported.shelves[T::SHELF as usize];
        shelf.get().map(unpacked)
    }
}

/// A number that is measured at the first question.
fn once<T: Clone>(cell: &Kept<T>, make: impl FnOnce() -> T) -> T {
    cell.get_or_make(make).clone()
}

fn unpacked<T: Shelved>(thing: &Thing) -> &T {
    thing.downcast_ref().expect("one type a shelf")
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
