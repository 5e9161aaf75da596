//! How each structure is drawn: from a record's first word to a report, or to "undecided".
//!
//! A [`Law`] says what a matrix is made of; a [`Sampler`] is that with its tables, built once.
//! [`Kind::decide`] takes a first word and a code; [`Kind::resolve`] takes further words for the few
//! records that the first one leaves undecided. Both follow the scheme of [`alias`](crate::draw::alias): slots
//! that are decided, and integer intervals for the rest, which together are the law exactly.
//!
//! | structure | first word | code enters by | timing shows the code |
//! |---|---|---|---|
//! | circulant, randomized response | one table or two numbers | a shift | no |
//! | reflected, geometric | one table | a shift and a fold | no |
//! | uniform | a product | not at all | no |
//! | T-transform | one table of two outcomes | a comparison | no |
//! | blocks, k-anonymity | a product with the class size | its class | the class, through the cache |
//! | tridiagonal | two thresholds | its thresholds, if they differ | thresholds, through the cache |
//! | dense, balance, Gibbs | a table a row | its row | the row, through the cache |
//! | identity, permutation | none | a look-up | through the cache |
//! | kron, mix, `@` | those of the parts | as in the parts | as in the parts |
//!
//! [`kind`] is what a first word of some width decides; [`classes`], [`tridiagonal`] and [`dense`] have a file each.

use std::sync::Arc;

use crate::draw::alias::Outcomes;
use crate::draw::code::{WordWidth, each_word};
use crate::law::{Law, Matrix};
use classes::Classes;
use dense::Dense;
use kind::{One, Then};
use tridiagonal::Tridiagonal;

pub mod classes;
pub mod dense;
pub mod kind;
pub mod tridiagonal;

#[cfg(test)]
mod counted;

pub use kind::{Kind, Leaf};

/// A structure with its tables.
#[derive(Debug)]
pub enum Sampler {
    /// Every code has one report.
    Permutation(Option<Arc<[i64]>>),
    /// One draw per record.
    Leaf(Leaf),
    /// Several draws per record.
    Composite(Composite),
}

/// A composite and the number of draws that it takes.
#[derive(Debug)]
pub struct Composite {
    /// How the parts go together.
    pub joined: Parts,
    /// Number of draws per record.
    pub draws: u64,
}

/// How parts go together.
#[derive(Debug)]
pub enum Parts {
    /// Factors.
    Kron(Arc<[Matrix]>),
    /// Parts, and the draw of one.
    Mix(Leaf, Arc<[Matrix]>),
    /// Two in turn.
    Product(Box<[Matrix; 2]>),
}

impl Parts {
    /// All of them.
    fn matrices(&self) -> &[Matrix] {
        match self {
            Parts::Kron(parts) | Parts::Mix(_, parts) => parts,
            Parts::Product(pair) => &**pair,
        }
    }
}

impl Sampler {
    /// The sampler of a law.
    ///
    /// # Panics
    /// A product of other than two matrices, which no family is.
    pub fn new(law: &Law) -> Self {
        Self::with(law, WordWidth::of(law.size()))
    }

    /// With a first word of this width, if there is one draw.
    pub(crate) fn with(law: &Law, width: WordWidth) -> Self {
        let one = |width, law, total: &u64, then| each_word!(width, leaf, () => leaf(Kind::One(One::new(law, *total, then))));
        Sampler::Leaf(match law {
            Law::Permutation(targets) => return Sampler::Permutation(Some(Arc::clone(targets))),
            Law::Classes { .. } if law.is_certain() => return Sampler::Permutation(None),
            Law::Classes { size, runs } => {
                let runs = runs.iter().map(|run| (run.start, run.class_size));
                each_word!(width, leaf, () => leaf(Kind::Classes(Classes::new(*size, runs.collect()))))
            }
            Law::Circulant { first_row, total } => {
                let then = Then::Shift(first_row.len() as u64);
                one(width, Outcomes::Row(Arc::clone(first_row)), total, then)
            }
            Law::Reflected { kernel, total } => {
                let then = Then::Fold(kernel.len() as u64 - 1);
                one(width, Outcomes::Even(Arc::clone(kernel)), total, then)
            }
            Law::TTransform {
                i, j, stay, sum, ..
            } => {
                let law = Outcomes::Row([*stay as i64, (sum - stay) as i64].into());
                one(width, law, sum, Then::Swap(*i, *j))
            }
            Law::RandomizedResponse { size, keep, .. } => {
                each_word!(width, leaf, () => leaf(Kind::lies(*size, *keep)))
            }
            Law::Tridiagonal {
                size,
                alphas,
                total,
            } => {
                let alphas = alphas.clone();
                each_word!(width, leaf, () => leaf(Kind::Tridiagonal(Tridiagonal::new(*size, alphas, *total))))
            }
            Law::Dense {
                counts,
                total,
                size,
            } => {
                let counts = Arc::clone(counts);
                each_word!(width, leaf, () => leaf(Kind::Dense(Dense::new(counts, *total, *size))))
            }
            Law::Kron(parts) => return Self::composite(Parts::Kron(Arc::clone(parts)), 0),
            Law::Product(parts) => {
                let [first, second] = &**parts else {
                    unreachable!("a product is of two matrices");
                };
                let pair = Box::new([first.clone(), second.clone()]);
                return Self::composite(Parts::Product(pair), 0);
            }
            Law::Mix {
                parts,
                weights,
                sum,
            } => {
                // The width follows what is drawn here: the number of parts.
                let width = WordWidth::of(parts.len() as u64);
                let pick = Outcomes::Row(Arc::clone(weights));
                let pick = one(width, pick, sum, Then::Pick);
                return Self::composite(Parts::Mix(pick, Arc::clone(parts)), 1);
            }
        })
    }

    /// With `own` draws beside those of the parts.
    fn composite(joined: Parts, own: u64) -> Self {
        let parts = joined.matrices().iter();
        let draws = own + parts.map(|part| part.sampler().draws()).sum::<u64>();
        Sampler::Composite(Composite { joined, draws })
    }

    /// Hand the path of each draw to `enter`, in the order of their numbers: those of the parts, then the choice of one.
    pub(super) fn each_draw(&self, path: &mut Vec<u64>, enter: &mut dyn FnMut(&[u64])) {
        if let Sampler::Composite(composite) = self {
            for (i, part) in (0..).zip(composite.joined.matrices()) {
                path.push(i);
                part.sampler().each_draw(path, enter);
                path.pop();
            }
        }
        if let Sampler::Leaf(_)
        | Sampler::Composite(Composite {
            joined: Parts::Mix(..),
            ..
        }) = self
        {
            enter(path);
        }
    }

    /// Number of draws per record.
    pub fn draws(&self) -> u64 {
        match self {
            Sampler::Permutation(_) => 0,
            Sampler::Composite(composite) => composite.draws,
            Sampler::Leaf(_) => 1,
        }
    }

    /// The answer for the code `u` by one `draw` after the other, in the order that blocks of records have. Each gets its
    /// leaf, the path to it and its code.
    pub fn respond<D: FnMut(&Leaf, Option<&Path<'_>>, u64) -> u64>(
        &self,
        u: u64,
        path: Option<&Path<'_>>,
        draw: &mut D,
    ) -> u64 {
        let composite = match self {
            Sampler::Permutation(targets) => return certain(targets.as_deref(), u),
            Sampler::Leaf(leaf) => return draw(leaf, path, u),
            Sampler::Composite(composite) => composite,
        };
        let part = |matrix: &Matrix, i, u, draw: &mut D| {
            let sampler = matrix.sampler();
            sampler.respond(u, Some(&Path(i, path)), draw)
        };
        match &composite.joined {
            Parts::Kron(factors) => {
                let (mut rest, mut place, mut v) = (u, 1, 0);
                for (i, factor) in factors.iter().enumerate().rev() {
                    let n = factor.size();
                    v += place * part(factor, i as u64, rest % n, draw);
                    (rest, place) = (rest / n, place * n);
                }
                v
            }
            Parts::Mix(pick, parts) => {
                // The draw of a part is the mixture's own, and no code enters it but by its address.
                let i = draw(pick, path, 0);
                part(&parts[i as usize], i, u, draw)
            }
            Parts::Product(pair) => (0..)
                .zip(pair.iter())
                .fold(u, |u, (i, matrix)| part(matrix, i, u, draw)),
        }
    }
}

/// The number of a matrix in a composite, and the path to that; none is the matrix itself.
pub struct Path<'a>(u64, Option<&'a Path<'a>>);

impl Path<'_> {
    /// The numbers from the outermost composite on.
    pub fn numbers(path: Option<&Path<'_>>) -> Vec<u64> {
        let upward = std::iter::successors(path, |path| path.1);
        let mut numbers: Vec<u64> = upward.map(|path| path.0).collect();
        numbers.reverse();
        numbers
    }
}

/// The report of a certain matrix.
#[inline]
pub fn certain(targets: Option<&[i64]>, u: u64) -> u64 {
    targets.map_or(u, |targets| targets[u as usize] as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic = "a product is of two matrices"]
    fn a_product_of_nothing_does_not_become_the_truth() {
        Sampler::with(&Law::Product([].into()), WordWidth::Two(()));
    }
}
