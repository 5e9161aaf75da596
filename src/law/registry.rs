//! Every family by name.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::family::*;
use crate::law::parameters::{Arguments, Value};
use crate::law::{Family, Matrix};
use crate::system::memory::Gather;

/// A family: what it is called, what a caller may give and what its matrices hold.
#[derive(Debug)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// Names that a caller may give.
    pub takes: &'static [&'static str],
    /// The realised parameters, each with its form in the JSON Schema. An `optional` one may be left out.
    pub parameters: &'static [(&'static str, &'static str)],
    build: fn(&mut Arguments) -> Result<Arc<dyn Family>>,
}

macro_rules! registry {
    ($($name:ident($($taken:ident),*) => { $($parameter:ident: $($form:ident)+),* })*) => {
        /// Every family by name. Its schema, its rows in the pages and its tests are made from its line.
        pub const REGISTRY: &[Entry] = &[$(Entry {
            name: stringify!($name),
            takes: &[$(stringify!($taken)),*],
            parameters: &[$((stringify!($parameter), stringify!($($form)+))),*],
            build: $name::build,
        }),*];
    };
}

registry! {
    balance(array, counts, total) => { counts: table, total: whole }
    blocks(sizes) => { sizes: wholes }
    circulant(first_row, total) => { first_row: wholes, total: whole }
    dense(array, counts, total) => { counts: table, total: whole }
    difference_set(size, epsilon, beta, set, modulus, residues, counts) =>
        { size: whole, modulus: whole, residues: wholes, counts: wholes }
    geometric(size, temperature, beta, epsilon, kernel, total) => { kernel: wholes, total: whole }
    gibbs(cost, temperature, beta, counts, total) => { counts: table, total: whole }
    identity(size) => { size: whole }
    k_anonymous(size, k, beta, share) => { size: whole, k: whole }
    kron(matrices) => { matrices: places }
    mix(matrices, weights) => { matrices: places, weights: fractions }
    permutation(targets) => { targets: wholes }
    product(matrices) => { matrices: places }
    randomized_response(size, epsilon, beta, keep) => { size: whole, keep: fraction }
    reflected(kernel, total) => { kernel: wholes, total: whole }
    t_transform(size, i, j, keep) => { size: whole, i: whole, j: whole, keep: fraction }
    tridiagonal(alphas, size, beta, total) => { alphas: alphas, size: optional whole, total: whole }
    uniform(size) => { size: whole }
}

/// The matrix of `family` with these parameters.
///
/// # Errors
/// An unknown family or parameter; whatever the family refuses.
pub fn build(family: &str, given: Vec<(String, Value)>) -> Result<Matrix> {
    let entry = REGISTRY
        .iter()
        .find(|entry| entry.name == family)
        .ok_or_else(|| {
            let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).gather();
            Error::value(
                "family",
                format!("be one of {}", names.join(", ")),
                format!("{family:?}"),
            )
        })?;
    let mut arguments = Arguments::new(entry.name, given);
    arguments.known(entry.takes)?;
    let family = (entry.build)(&mut arguments)?;
    let requested = arguments.finish()?;
    let mut matrix = Matrix::new(family);
    matrix.requested = requested;
    Ok(matrix)
}
