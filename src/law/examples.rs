//! Matrices for tests. That every law is what it says is tested from Python, in fractions: `tests/test_laws.py`.

#![cfg(test)]

use crate::error::Result;
use crate::law::parameters::Value;
use crate::law::{Matrix, build};

/// `build` for tests.
pub fn make(family: &str, given: &[(&str, Value)]) -> Result<Matrix> {
    let owned = |(name, value): &(&str, Value)| ((*name).to_owned(), value.clone());
    build(family, given.iter().map(owned).collect())
}

/// The matrix of a family with a size and nothing else.
pub fn sized(family: &str, size: i128) -> Matrix {
    make(family, &[("size", Value::Whole(size))]).unwrap()
}

/// The matrix of a family with a size and one more parameter.
pub fn with(family: &str, size: i128, name: &str, value: Value) -> Matrix {
    make(family, &[("size", Value::Whole(size)), (name, value)]).unwrap()
}

/// Randomized response by beta.
pub fn response(size: i128, beta: f64) -> Matrix {
    with("randomized_response", size, "beta", Value::Real(beta))
}

/// The matrix of a family whose one parameter is a vector of integers.
pub fn wholes(family: &str, name: &str, numbers: &[i64]) -> Matrix {
    make(family, &[(name, Value::Wholes(numbers.into()))]).unwrap()
}

/// A dense matrix of counts.
pub fn table(size: usize, cells: impl IntoIterator<Item = i64>) -> Matrix {
    let cells = Value::Wholes(cells.into_iter().collect());
    let array = Value::Table(size, size, Box::new(cells));
    make("dense", &[("array", array)]).unwrap()
}
