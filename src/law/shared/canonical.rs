//! From a structure to the family that knows its closed forms: what every other family of the same
//! structure is measured, solved and surveyed by.

use std::sync::Arc;

use crate::law::family::circulant::Circulant;
use crate::law::family::dense::Dense;
use crate::law::family::permutation::Permutation;
use crate::law::family::randomized_response::RandomizedResponse;
use crate::law::family::reflected::Reflected;
use crate::law::family::t_transform::TTransform;
use crate::law::family::tridiagonal::Tridiagonal;
use crate::law::parameters::Value;
use crate::law::shared::classes::Classes;
use crate::law::structure::Structure;
use crate::law::{Family, build};
use crate::system::memory::Gather;

/// The family of `structure` on `size` codes; `None` if its numbers do not make a matrix.
pub fn of(structure: Structure, size: u64) -> Option<Arc<dyn Family>> {
    if let Some(runs) = structure.classes(size) {
        let lengths = runs.iter().map(|run| (run.class_size, run.classes));
        return Some(Arc::new(Classes::new("blocks", Vec::new(), lengths)));
    }
    let composite = |name: &str, given: Vec<(&str, Value)>| {
        let given = given.into_iter().map(|(n, v)| (n.to_owned(), v)).gather();
        build(name, given).ok().map(|matrix| matrix.family)
    };
    let matrices = |parts| ("matrices", Value::Matrices(parts));
    Some(match structure {
        Structure::Certain(targets) => Arc::new(Permutation { targets: targets? }),
        Structure::Lies { keep: (n, d), .. } => {
            Arc::new(RandomizedResponse::by_fraction(size, n.into(), d.into()))
        }
        Structure::Circulant { first_row, total } => Arc::new(Circulant { first_row, total }),
        Structure::Neighbours { alphas, total, .. } => {
            Arc::new(Tridiagonal::new(size, alphas, total).ok()?)
        }
        Structure::Even { kernel, total } => Arc::new(Reflected::new("reflected", kernel, total)),
        Structure::Rows {
            counts,
            total,
            size,
        } => Arc::new(Dense::new("dense", size, counts, total)),
        Structure::Swap {
            i, j, stay, sum, ..
        } => Arc::new(TTransform::new(size, (i, j), (stay.into(), sum.into()))),
        Structure::Kron(parts) => composite("kron", vec![matrices(parts)])?,
        Structure::Product(parts) => composite("product", vec![matrices(parts)])?,
        Structure::Mix {
            parts,
            weights,
            sum,
        } => {
            let weights = weights.iter().map(|&w| (w.into(), sum.into()));
            let weights = Value::Ratios(weights.gather_shared());
            composite("mix", vec![matrices(parts), ("weights", weights)])?
        }
        // Done above.
        Structure::Classes { .. } => return None,
    })
}
