//! What can go wrong, and the one sentence that says it.
//!
//! | category | variant | when | in Python |
//! |---|---|---|---|
//! | input | [`Error::Value`] | a parameter has the right type and a wrong value | `Refused`, a `ValueError` |
//! | input | [`Error::Type`] | a parameter has the wrong type, or is unknown | `RefusedType`, a `TypeError` |
//! | input | [`Error::Reach`] | a wanted number that no parameter of the family gives | `OutOfReachError` |
//! | index | [`Error::Index`] | a category outside `0..size` | `IndexError` |
//! | machine | [`Error::Memory`] | the answer does not fit in memory | `OutOfMemoryError` |
//!
//! The form is `` `name` must <requirement>; got <fact> ``: lower case, no full stop. A fact is a
//! parameter, a position or a count, never a respondent's value.

use std::fmt::{self, Display};

/// What a refusal says: `` `name` must <requirement>; got <fact> ``, in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The parameter.
    pub name: String,
    /// What it must do or be.
    pub must: String,
    /// What was found.
    pub got: String,
}

impl Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` must {}; got {}", self.name, self.must, self.got)
    }
}

/// What was refused, in one sentence, by categories that are exceptions in Python.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The right type with a wrong value.
    #[error("{0}")]
    Value(Sentence),
    /// The wrong type, or a name that is not a parameter.
    #[error("{0}")]
    Type(Sentence),
    /// A wanted number that is out of reach.
    #[error("{sentence}")]
    Reach {
        /// The sentence.
        sentence: Sentence,
        /// The most that can be reached, if it is known.
        most: Option<f64>,
    },
    /// A category outside the domain.
    #[error("{0}")]
    Index(Sentence),
    /// More bytes than there are.
    #[error("{0}")]
    Memory(Sentence),
}

// What can be reached is a number, never NaN.
impl Eq for Error {}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

fn sentence(name: &str, must: impl Display, got: impl Display) -> Sentence {
    Sentence {
        name: name.to_owned(),
        must: must.to_string(),
        got: got.to_string(),
    }
}

impl Error {
    /// `` `name` must <requirement>; got <fact> `` about a value.
    pub(crate) fn value(name: &str, requirement: impl Display, got: impl Display) -> Self {
        Error::Value(sentence(name, requirement, got))
    }

    /// The same about a type.
    pub(crate) fn type_(name: &str, requirement: impl Display, got: impl Display) -> Self {
        Error::Type(sentence(name, requirement, got))
    }

    /// The same about a number that cannot be reached, and the most that can, if it is known.
    pub(crate) fn reach(
        name: &str,
        requirement: impl Display,
        got: impl Display,
        most: Option<f64>,
    ) -> Self {
        Error::Reach {
            sentence: sentence(name, requirement, got),
            most,
        }
    }

    /// The same about memory.
    pub(crate) fn memory(name: &str, requirement: impl Display, got: impl Display) -> Self {
        Error::Memory(sentence(name, requirement, got))
    }

    /// The same about a position.
    pub(crate) fn index(name: &str, requirement: impl Display, got: impl Display) -> Self {
        Error::Index(sentence(name, requirement, got))
    }
}
