//! Every family by name.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::family::*;
use crate::law::parameters::{Arguments, Value};
use crate::law::{Family, Matrix};
use crate::system::memory::Gather;

/// Builds a family from what a caller gave.
pub type Builder = fn(&mut Arguments) -> Result<Arc<dyn Family>>;

/// Every family by name.
pub const REGISTRY: &[(&str, Builder)] = &[
    ("balance", balance::build),
    ("blocks", blocks::build),
    ("circulant", circulant::build),
    ("dense", dense::build),
    ("difference_set", difference_set::build),
    ("geometric", geometric::build),
    ("gibbs", gibbs::build),
    ("identity", identity::build),
    ("k_anonymous", k_anonymous::build),
    ("kron", kron::build),
    ("mix", mix::build),
    ("permutation", permutation::build),
    ("product", product::build),
    ("randomized_response", randomized_response::build),
    ("reflected", reflected::build),
    ("t_transform", t_transform::build),
    ("tridiagonal", tridiagonal::build),
    ("uniform", uniform::build),
];

/// The matrix of `family` with these parameters.
///
/// # Errors
/// An unknown family or parameter; whatever the family refuses.
pub fn build(family: &str, given: Vec<(String, Value)>) -> Result<Matrix> {
    let (name, builder) = REGISTRY
        .iter()
        .find(|(name, _)| *name == family)
        .ok_or_else(|| {
            let names: Vec<&str> = REGISTRY.iter().map(|(name, _)| *name).gather();
            Error::value(
                "family",
                format!("be one of {}", names.join(", ")),
                format!("{family:?}"),
            )
        })?;
    let mut arguments = Arguments::new(name, given);
    let family = builder(&mut arguments)?;
    let requested = arguments.finish()?;
    let mut matrix = Matrix::new(family);
    matrix.requested = requested;
    Ok(matrix)
}
