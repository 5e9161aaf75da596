//! Balance: the bistochastic matrix nearest in relative entropy to given non-negative numbers.

use crate::error::Result;
use crate::law::Matrix;
use crate::law::families::dense;
use crate::law::parameters::Arguments;
use crate::law::scaling::potentials::Potentials;
use crate::law::scaling::{DONE, support};
use crate::number::entropy;
use crate::system::memory::Gather;

/// `diag(x) A diag(y)` with all lines summing to 1, then on the grid: minimises
/// `sum p_uv ln(p_uv / a_uv)` over the bistochastic matrices. It exists, with the support of A, just
/// when every positive entry lies on a positive diagonal.
pub fn build(arguments: &mut Arguments) -> Result<Matrix> {
    if let Some(law) = dense::realised(arguments)? {
        return Ok(dense::made("balance", law));
    }
    let (size, reals) = arguments.real_square("array")?;
    entropy::refuse_negative("hold non-negative numbers", &reals, size)?;
    support::check("array", size, |u, v| reals[u * size + v] > 0.0)?;
    // A table is the Gibbs kernel of the costs -ln a at temperature 1; a row's largest entry is free.
    let rows = reals.chunks(size).flat_map(|row| {
        let most = row.iter().fold(0.0, |m: f64, &p| m.max(p));
        row.iter().map(move |p| (most.ln() - p.ln()).max(0.0))
    });
    let cost: Vec<f64> = rows.gather();
    let mut potentials = Potentials::new(size, &cost);
    potentials.settle(1.0, DONE);
    arguments.note("off", potentials.off);
    arguments.note("passes", potentials.passes as f64);
    let (law, _) = dense::settled("array", &potentials)?;
    Ok(dense::made("balance", law))
}
