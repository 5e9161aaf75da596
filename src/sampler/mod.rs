//! How each structure is drawn: from a record's first word to a report, or to "undecided".
//!
//! A family says what it is made of ([`Structure`]); a [`Sampler`] is that with its tables, built once.
//! [`Kind::decide`] takes a first word and a code; [`Kind::resolve`] takes further words for the few
//! records that the first one leaves undecided. Both follow the scheme of [`alias`](crate::alias): slots
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
//! | kron, mix, `@` | those of the parts | as in the parts | as in the parts; digits through divisions |
//!
//! One file a structure, or several: [`one`] for a law that serves all codes, [`lies`], [`classes`],
//! [`neighbours`], [`rows`]. [`Structure`] is what families hand in, [`kind`] what a first word decides.

use std::sync::Arc;

use crate::alias::More;
use crate::error::{Error, Result};
use crate::family::Matrix;
use crate::word::Width;

pub mod classes;
pub mod kind;
pub mod lies;
pub mod neighbours;
pub mod one;
pub mod rows;

#[cfg(test)]
mod counted;

pub use crate::family::structure::{self, Alphas, Structure};
pub use kind::Kind;

/// A structure with its tables.
#[derive(Debug)]
pub enum Sampler {
    /// Every code has one report.
    Certain(Option<Arc<[i64]>>),
    /// One draw a record, from a first word of two bytes.
    Two(Kind<u16>),
    /// Of four.
    Four(Kind<u32>),
    /// Of eight.
    Eight(Kind<u64>),
    /// Several draws a record.
    Composite(Composite),
}

/// A composite and the number of draws that it takes.
#[derive(Debug)]
pub struct Composite {
    /// How the parts go together.
    pub form: Form,
    /// Draws a record, saturating.
    pub draws: u64,
    /// Matrices in it, those that draw nothing among them, saturating.
    pub parts: u64,
}

/// How parts go together.
#[derive(Debug)]
pub enum Form {
    /// Factors.
    Kron(Arc<[Matrix]>),
    /// Parts, and the draw of one.
    Mix(Box<Sampler>, Arc<[Matrix]>),
    /// Two in turn.
    Product(Arc<[Matrix]>),
}

/// More draws a record than anyone waits for.
const DRAWS: u64 = 1 << 16;

impl Sampler {
    /// The sampler of `structure` in a matrix of `size` codes.
    pub fn new(structure: Structure, size: u64) -> Self {
        let composite = |form, parts: &[Matrix], own: u64| {
            let draws = parts
                .iter()
                .fold(own, |sum, part| sum.saturating_add(part.sampler().draws()));
            let all = parts.iter().fold(1, |sum: u64, part| {
                sum.saturating_add(part.sampler().parts())
            });
            let parts = all;
            Sampler::Composite(Composite { form, draws, parts })
        };
        match structure {
            Structure::Certain(targets) => Sampler::Certain(targets),
            Structure::Kron(parts) => composite(Form::Kron(Arc::clone(&parts)), &parts, 0),
            Structure::Product(parts) => composite(Form::Product(Arc::clone(&parts)), &parts, 0),
            Structure::Mix {
                parts,
                weights,
                sum,
            } => {
                // The width follows what is drawn here: the number of parts.
                let pick = Box::new(match Width::of(parts.len() as u64) {
                    Width::Two => Sampler::Two(Kind::pick(weights, sum)),
                    Width::Four => Sampler::Four(Kind::pick(weights, sum)),
                    Width::Eight => Sampler::Eight(Kind::pick(weights, sum)),
                });
                composite(Form::Mix(pick, Arc::clone(&parts)), &parts, 1)
            }
            leaf => match Width::of(size) {
                Width::Two => Sampler::Two(Kind::new(leaf)),
                Width::Four => Sampler::Four(Kind::new(leaf)),
                Width::Eight => Sampler::Eight(Kind::new(leaf)),
            },
        }
    }

    /// Draws a record.
    pub fn draws(&self) -> u64 {
        match self {
            Sampler::Certain(_) => 0,
            Sampler::Composite(composite) => composite.draws,
            _ => 1,
        }
    }

    /// Matrices in it, itself among them.
    fn parts(&self) -> u64 {
        match self {
            Sampler::Composite(composite) => composite.parts,
            _ => 1,
        }
    }

    /// Refuse a composite that nests too many draws.
    ///
    /// # Errors
    /// More than 65,536 draws a record, or four times as many matrices.
    pub fn check(&self) -> Result<()> {
        match self.draws() {
            draws if draws > DRAWS || self.parts() > 4 * DRAWS => Err(Error::value(
                "matrix",
                format!("take at most {DRAWS} draws a record"),
                "more in nested composites",
            )),
            _ => Ok(()),
        }
    }

    /// One answer, all its words from one source that is never used again.
    pub fn respond(&self, u: u64, source: &mut impl More) -> u64 {
        match self {
            Sampler::Certain(targets) => certain(targets.as_deref(), u),
            Sampler::Two(kind) => kind.respond(u, source),
            Sampler::Four(kind) => kind.respond(u, source),
            Sampler::Eight(kind) => kind.respond(u, source),
            Sampler::Composite(composite) => match &composite.form {
                Form::Kron(factors) => {
                    let (mut rest, mut place, mut v) = (u, 1, 0);
                    for factor in factors.iter().rev() {
                        let n = factor.family.size();
                        v += place * factor.sampler().respond(rest % n, source);
                        (rest, place) = (rest / n, place * n);
                    }
                    v
                }
                Form::Mix(pick, parts) => {
                    let part = pick.respond(0, source);
                    parts[part as usize].sampler().respond(u, source)
                }
                Form::Product(pair) => pair
                    .iter()
                    .fold(u, |u, part| part.sampler().respond(u, source)),
            },
        }
    }
}

/// The report of a certain matrix.
#[inline]
pub fn certain(targets: Option<&[i64]>, u: u64) -> u64 {
    targets.map_or(u, |targets| targets[u as usize] as u64)
}

#[cfg(test)]
mod tests {
    use super::counted::whole;
    use crate::family::laws::make;
    use crate::parameters::Value;

    #[test]
    fn refuses_more_draws_than_anyone_waits_for() {
        let mut m = make(
            "randomized_response",
            &[("size", whole(2)), ("beta", Value::Real(0.5))],
        )
        .unwrap();
        for _ in 0..17 {
            m = make(
                "product",
                &[("matrices", Value::Matrices([m.clone(), m].into()))],
            )
            .unwrap();
        }
        let error = m.sampler().check().unwrap_err().to_string();
        assert!(
            error.starts_with("`matrix` must take at most 65536 draws"),
            "{error}"
        );
    }
}
