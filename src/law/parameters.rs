//! The parameters of a family by name: what a caller gives, and what a matrix gives back.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::number::dd::{Dd, RELATIVE_ERROR};
use crate::number::lattice::{self, MAX_SIZE, Rounded};
use crate::system::memory::Gather;

/// One parameter of a family. Integers and fractions are exact; doubles are moved to fractions that sum to exactly 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer.
    Whole(i128),
    /// A fraction in lowest terms, with a positive denominator.
    Ratio(i128, i128),
    /// A double.
    Real(f64),
    /// A vector of integers.
    Wholes(Arc<[i64]>),
    /// A vector of fractions.
    Ratios(Arc<[(i128, i128)]>),
    /// A vector of doubles.
    Reals(Arc<[f64]>),
    /// A table: its rows and columns, and its numbers row by row as a vector.
    Table(usize, usize, Box<Value>),
    /// Matrices, of a composite.
    Matrices(Arc<[Matrix]>),
}

impl Value {
    /// What it is, for a sentence.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Whole(_) => "an integer",
            Value::Ratio(..) => "a fraction",
            Value::Real(_) => "a float",
            Value::Wholes(_) => "a vector of integers",
            Value::Ratios(_) => "a vector of fractions",
            Value::Reals(_) => "a vector of floats",
            Value::Table(..) => "a table",
            Value::Matrices(_) => "matrices",
        }
    }
}

impl From<u64> for Value {
    fn from(n: u64) -> Self {
        Value::Whole(n.into())
    }
}

/// The vector itself, shared.
impl From<&Arc<[i64]>> for Value {
    fn from(wholes: &Arc<[i64]>) -> Self {
        Value::Wholes(Arc::clone(wholes))
    }
}

/// By the bits of doubles, as realised parameters hold none.
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Value::Whole(n) => n.hash(state),
            Value::Ratio(n, d) => (n, d).hash(state),
            Value::Real(x) => x.to_bits().hash(state),
            Value::Wholes(v) => v.hash(state),
            Value::Ratios(v) => v.hash(state),
            Value::Reals(v) => v.iter().for_each(|x| x.to_bits().hash(state)),
            Value::Table(rows, columns, cells) => {
                (rows, columns).hash(state);
                cells.hash(state);
            }
            Value::Matrices(matrices) => matrices.hash(state),
        }
    }
}

/// Parameters in the order in which they are shown.
pub type Parameters = Vec<(&'static str, Value)>;

/// What a caller gave for one family. A builder takes what it knows; [`Arguments::finish`] refuses
/// the rest.
#[derive(Debug, Clone)]
pub struct Arguments {
    family: &'static str,
    given: Vec<(String, Value)>,
    taken: Vec<String>,
    requested: Vec<(String, Value)>,
}

impl Arguments {
    /// Arguments of `family` by name.
    pub fn new(family: &'static str, given: Vec<(String, Value)>) -> Self {
        // Numbers stand in `requested` by value. Vectors do not: they may be long, and the builder
        // notes by how much they moved.
        let requested = given
            .iter()
            .filter(|(_, v)| matches!(v, Value::Whole(_) | Value::Ratio(..) | Value::Real(_)))
            .cloned()
            .collect();
        Arguments {
            family,
            given,
            taken: Vec::new(),
            requested,
        }
    }

    /// Refuse a name that the family does not have, before anything else is said.
    pub fn known(&self, names: &[&str]) -> Result<()> {
        let unknown = |(name, _): &&(String, Value)| !names.contains(&name.as_str());
        let Some((name, _)) = self.given.iter().find(unknown) else {
            return Ok(());
        };
        let must = format!("be a parameter of {} ({})", self.family, names.join(", "));
        Err(Error::type_(name, must, "a name it does not have"))
    }

    /// Add a fact to what stands in `requested`.
    pub fn note(&mut self, name: &str, value: f64) {
        self.requested.push((name.to_owned(), Value::Real(value)));
    }

    /// Whether an argument was given, and no one took it yet.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(n, _)| n == name)
    }

    /// Remove and return an argument.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let i = self.given.iter().position(|(n, _)| n == name)?;
        let (name, value) = self.given.remove(i);
        self.taken.push(name);
        Some(value)
    }

    /// The same, if it has to be there.
    pub fn required(&mut self, name: &str) -> Result<Value> {
        let missing = self.missing(name);
        self.take(name).ok_or(missing)
    }

    fn missing(&self, name: &str) -> Error {
        Error::type_(name, format!("be given for {}", self.family), "nothing")
    }

    /// An integer from `low` to `high`, if it is given.
    pub fn whole(&mut self, name: &str, low: u64, high: u64) -> Result<Option<u64>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Whole(n)) => match u64::try_from(n) {
                Ok(n) if (low..=high).contains(&n) => Ok(Some(n)),
                _ => Err(Error::value(name, format!("be from {low} to {high}"), n)),
            },
            Some(other) => Err(Error::type_(name, "be an integer", other.kind())),
        }
    }

    /// The same, if it has to be there.
    pub fn required_whole(&mut self, name: &str, low: u64, high: u64) -> Result<u64> {
        let missing = self.missing(name);
        self.whole(name, low, high)?.ok_or(missing)
    }

    /// The number of categories.
    pub fn size(&mut self) -> Result<u64> {
        self.required_whole("size", 1, MAX_SIZE)
    }

    /// A number as a double, if it is given. A fraction between two doubles is asked for by the
    /// stricter one: the next beta above, the next epsilon or temperature below.
    pub fn real(&mut self, name: &str) -> Result<Option<f64>> {
        Ok(match self.take(name) {
            None => None,
            Some(Value::Real(x)) => Some(x),
            Some(Value::Whole(n)) => Some(n as f64),
            Some(Value::Ratio(n, d)) => {
                let quotient = Dd::from(n.unsigned_abs()) / Dd::from(d.unsigned_abs());
                let quotient = if n < 0 { -quotient } else { quotient };
                let error = quotient.hi.abs() * RELATIVE_ERROR;
                Some(match name {
                    "beta" if n == d => 1.0,
                    "beta" => quotient.round_up(error),
                    _ => quotient.round_down(error),
                })
            }
            Some(other) => return Err(Error::type_(name, "be a number", other.kind())),
        })
    }

    /// A beta from 0 to 1, if it is given.
    pub fn beta(&mut self) -> Result<Option<f64>> {
        match self.real("beta")? {
            Some(beta) if !(0.0..=1.0).contains(&beta) => {
                Err(Error::value("beta", "be from 0 to 1", beta))
            }
            beta => Ok(beta),
        }
    }

    /// A probability vector as counts and their total. Integers are taken as they are, out of what they make up, which is
    /// `mass` of them; fractions over their common denominator; floats are moved onto the grid by `round`, and what that
    /// moved is noted.
    pub fn distribution(
        &mut self,
        name: &str,
        must: &str,
        mass: impl Fn(&[i64]) -> i128,
        round: impl FnOnce(&str, &[f64]) -> Result<Rounded>,
    ) -> Result<(Arc<[i64]>, u64)> {
        let vector = self.required(name)?;
        let total = self.whole("total", 1, (1 << 63) - 1)?;
        let (counts, total) = match vector {
            Value::Wholes(counts) => {
                let total = total.map_or_else(|| mass(&counts), i128::from);
                (counts, total)
            }
            other if total.is_some() => {
                return Err(Error::type_("total", "go with integers", other.kind()));
            }
            Value::Ratios(ratios) => {
                let (counts, total) = lattice::common_total(name, &ratios)?;
                (counts, i128::from(total))
            }
            Value::Reals(reals) => {
                let rounded = round(name, &reals)?;
                self.note("sum", rounded.sum);
                self.note("moved", rounded.moved);
                return Ok((rounded.counts, lattice::GRID));
            }
            other => return Err(Error::type_(name, must, other.kind())),
        };
        if counts.is_empty() {
            return Err(Error::value(name, must, "no numbers"));
        }
        if let Some(i) = counts.iter().position(|&c| c < 0) {
            return Err(Error::value(name, must, format!("{} at {i}", counts[i])));
        }
        let sum = mass(&counts);
        match u64::try_from(total) {
            Ok(total) if sum == i128::from(total) && (1..1 << 63).contains(&total) => {
                Ok((counts, total))
            }
            _ => {
                let must = format!("{must}, as integers out of a total from 1 to below 2^63");
                Err(Error::value(name, must, format!("a sum of {sum}/{total}")))
            }
        }
    }

    /// At least one matrix.
    pub fn matrices(&mut self) -> Result<Arc<[Matrix]>> {
        match self.required("matrices")? {
            Value::Matrices(matrices) if !matrices.is_empty() => Ok(matrices),
            Value::Matrices(_) => Err(Error::value("matrices", "hold matrices", "none")),
            Value::Reals(empty) if empty.is_empty() => {
                Err(Error::value("matrices", "hold matrices", "none"))
            }
            other => Err(Error::type_("matrices", "hold matrices", other.kind())),
        }
    }

    /// A square table: its size, and its numbers row by row.
    pub fn square(&mut self, name: &str) -> Result<(usize, Value)> {
        let must = "be a square table of numbers";
        match self.required(name)? {
            Value::Table(rows, columns, cells) if rows == columns && rows > 0 => Ok((rows, *cells)),
            Value::Table(rows, columns, _) => {
                Err(Error::value(name, must, format!("{rows} x {columns}")))
            }
            other => Err(Error::type_(name, must, other.kind())),
        }
    }

    /// The same with its numbers as doubles.
    pub fn real_square(&mut self, name: &str) -> Result<(usize, Arc<[f64]>)> {
        let (size, cells) = self.square(name)?;
        let reals = match cells {
            Value::Reals(reals) => reals,
            Value::Wholes(wholes) => wholes.iter().map(|&n| n as f64).gather_shared(),
            Value::Ratios(ratios) => {
                let doubles = ratios.iter().map(|&(n, d)| n as f64 / d as f64);
                doubles.gather_shared()
            }
            other => return Err(Error::type_(name, "be a table of numbers", other.kind())),
        };
        Ok((size, reals))
    }

    /// A vector of integers. An empty list has no type, and is one.
    pub fn wholes(&mut self, name: &str, must: &str) -> Result<Arc<[i64]>> {
        match self.required(name)? {
            Value::Wholes(wholes) if !wholes.is_empty() => Ok(wholes),
            Value::Wholes(_) => Err(Error::value(name, must, "no numbers")),
            Value::Reals(reals) if reals.is_empty() => Err(Error::value(name, must, "no numbers")),
            other => Err(Error::type_(name, must, other.kind())),
        }
    }

    /// Check that exactly one of `names` was given.
    pub fn exactly_one(&self, names: &[&str]) -> Result<()> {
        let given: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| self.has(name))
            .collect();
        if given.len() == 1 {
            return Ok(());
        }
        let got = match given[..] {
            [] => "none".to_owned(),
            _ => given.join(" and "),
        };
        let must = format!("be given exactly one of {}", names.join(", "));
        Err(Error::value(self.family, must, got))
    }

    /// Refuse what no one took; else what was asked for, as it stands in `requested`.
    pub fn finish(self) -> Result<Vec<(String, Value)>> {
        let Some((name, _)) = self.given.first() else {
            return Ok(self.requested);
        };
        let must = format!("be left out where {} are given", self.taken.join(" and "));
        Err(Error::type_(name, must, "both"))
    }
}
