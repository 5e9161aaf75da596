//! Balance: the bistochastic matrix nearest in relative entropy to given non-negative numbers.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::family::dense::{Dense, check_support, refuse_negative};
use crate::law::parameters::{Arguments, Value};
use crate::law::scaling::DONE;
use crate::law::scaling::potentials::Potentials;
use crate::system::memory::{self, Gather};

/// # Law
/// `diag(x) A diag(y)` with all lines summing to 1, then on the grid: minimises
/// `sum p_uv ln(p_uv / a_uv)` over the bistochastic matrices. It exists, with the support of A, just
/// when every positive entry lies on a positive diagonal.
pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    arguments.known(&["array", "counts", "total"])?;
    if let Some(law) = Dense::realised("balance", arguments)? {
        return Ok(Arc::new(law));
    }
    let (size, cells) = arguments.square("array")?;
    let reals: Vec<f64> = match cells {
        Value::Reals(reals) => memory::copied(&reals),
        Value::Wholes(wholes) => wholes.iter().map(|&n| n as f64).gather(),
        Value::Ratios(ratios) => ratios.iter().map(|&(n, d)| n as f64 / d as f64).gather(),
        other => return Err(Error::type_("array", "be a table of numbers", other.kind())),
    };
    refuse_negative("array", "hold non-negative numbers", &reals, size)?;
    check_support("array", &reals, size)?;
    // A table is the Gibbs kernel of the costs -ln a at temperature 1; a row's largest entry is free.
    let mut cost = reals;
    for row in cost.chunks_mut(size) {
        let most = row.iter().fold(0.0, |m: f64, &p| m.max(p));
        row.iter_mut()
            .for_each(|p| *p = (most.ln() - p.ln()).max(0.0));
    }
    let mut potentials = Potentials::new(size, &cost);
    potentials.settle(1.0, DONE);
    potentials.check("array")?;
    arguments.note("off", potentials.off);
    arguments.note("passes", potentials.passes as f64);
    let (cells, ones) = (potentials.cells(), memory::filled(1.0, size));
    Dense::rounded("balance", "array", arguments, size, cells, &ones, &ones)
        .map(|law| Arc::new(law) as Arc<dyn Family>)
}
