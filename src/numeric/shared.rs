//! What a whole column would share, and is refused for.
//!
//! A permutation with the right marginals may still be one for all: someone who knows a few people's values then
//! knows all values. Beta is about one person at a time and ignores it.
//!
//! | matrix | what is shared | who undoes it |
//! |---|---|---|
//! | kron of several axes | all classes are shuffled alike | who knows one class |
//! | mix | one part is drawn for all, maybe one that leaves all unchanged | who guesses the part |
//! | circulant | all are shifted alike | who knows one person |
//!
//! The one mixture that shares nothing in clear is of classes: each part shuffles all its classes, of two people
//! or more, each on its own. At shifted offsets that is a rank swap over the borders of classes.

use crate::error::{Error, Result};
use crate::law::{Law, Matrix};

const AXES: &str =
    "a kron, which shuffles all its classes alike, so that one known class gives all away";
const PART: &str =
    "a mix, which draws one part for all, so that a part in clear leaves everybody in clear";
const SHIFT: &str = "a circulant, which may shift all alike, so that one known pair undoes it";

/// What the permutation of a column shares; `None` if nothing is.
fn look(matrix: &Matrix) -> Option<&'static str> {
    match matrix.law() {
        Law::Kron(factors) => {
            let mut wide = factors.iter().filter(|factor| factor.size() > 1);
            match (wide.next(), wide.next()) {
                (Some(_), Some(_)) => Some(AXES),
                (only, _) => only.and_then(look),
            }
        }
        Law::Mix { parts, weights, .. } => {
            let pairs = parts.iter().zip(&**weights);
            let pairs = pairs.filter(|(_, weight)| **weight > 0);
            let drawn = || pairs.clone().map(|(part, _)| part);
            match drawn().count() {
                1 => drawn().next().and_then(look),
                _ if drawn().all(in_company) => None,
                _ => Some(PART),
            }
        }
        Law::Product(pair) => pair.iter().find_map(look),
        Law::Circulant { .. } => Some(SHIFT),
        _ => None,
    }
}

/// Whether it is of classes, and no class has one member.
pub fn in_company(matrix: &Matrix) -> bool {
    let classes = matrix.law().classes();
    classes.is_some_and(|runs| runs.iter().all(|run| run.class_size > 1))
}

/// Refuses what a column shares.
///
/// # Errors
/// It shares something.
pub fn check(matrix: &Matrix) -> Result<()> {
    let Some(got) = look(matrix) else {
        return Ok(());
    };
    let must = "move individuals apart from each other unless `allow_shift` is True";
    Err(Error::value("matrix", must, got))
}
