//! Every family by name.

use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::law::families::*;
use crate::law::parameters::{Arguments, Value};

/// A family: what it is called, what a caller may give and what its matrices hold.
#[derive(Debug)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// Names that a caller may give.
    pub takes: &'static [&'static str],
    /// The realised parameters, each with its form in the JSON Schema. An `optional` one may be left out.
    pub parameters: &'static [(&'static str, &'static str)],
    build: fn(&mut Arguments) -> Result<Matrix>,
}

macro_rules! registry {
    ($($name:ident($($taken:ident),*) => { $($parameter:ident: $($form:ident)+),* } $build:path;)*) => {
        /// Every family by name. Its schema, its rows in the pages and its tests are made from its line.
        pub const REGISTRY: &[Entry] = &[$(Entry {
            name: stringify!($name),
            takes: &[$(stringify!($taken)),*],
            parameters: &[$((stringify!($parameter), stringify!($($form)+))),*],
            build: $build,
        }),*];
    };
}

registry! {
    balance(array, counts, total) => { counts: table, total: whole } dense::balance;
    blocks(sizes) => { sizes: wholes } classes::blocks;
    circulant(first_row, total) => { first_row: wholes, total: whole } shifts::circulant;
    dense(array, counts, total) => { counts: table, total: whole } dense::build;
    difference_set(size, epsilon, beta, set, modulus, residues, counts) =>
        { size: whole, modulus: whole, residues: wholes, counts: wholes } difference_set::build;
    geometric(size, temperature, beta, epsilon, kernel, total) => { kernel: wholes, total: whole } geometric::build;
    gibbs(cost, temperature, beta, counts, total) => { counts: table, total: whole } gibbs::build;
    identity(size) => { size: whole } classes::identity;
    k_anonymous(size, k, beta, share) => { size: whole, k: whole } classes::k_anonymous;
    kron(matrices) => { matrices: places } composites::kron;
    mix(matrices, weights) => { matrices: places, weights: fractions } composites::mix;
    permutation(targets) => { targets: wholes } shifts::permutation;
    product(matrices) => { matrices: places } composites::product;
    randomized_response(size, epsilon, beta, keep) => { size: whole, keep: fraction } randomized_response::build;
    reflected(kernel, total) => { kernel: wholes, total: whole } reflected::build;
    t_transform(size, i, j, keep) => { size: whole, i: whole, j: whole, keep: fraction } t_transform::build;
    tridiagonal(alphas, size, beta, total) => { alphas: alphas, size: optional whole, total: whole } tridiagonal::build;
    uniform(size) => { size: whole } classes::uniform;
}

/// The matrix of `family` with these parameters.
///
/// # Errors
/// An unknown family or parameter; whatever the family refuses.
pub fn build(family: &str, given: Vec<(String, Value)>) -> Result<Matrix> {
    let Some(entry) = REGISTRY.iter().find(|entry| entry.name == family) else {
        let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        let must = format!("be one of {}", names.join(", "));
        return Err(Error::value("family", must, format!("{family:?}")));
    };
    let mut arguments = Arguments::new(entry.name, given);
    arguments.known(entry.takes)?;
    let mut matrix = (entry.build)(&mut arguments)?;
    matrix.requested = arguments.finish()?;
    Ok(matrix)
}
