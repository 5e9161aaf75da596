//! What `decompose` is asked, read and as labels; what it would cost.

use pyo3::prelude::*;

use crate::birkhoff::counts::MAX_SIZE;
use crate::birkhoff::{Options, Policy, realise};
use crate::draw::derive::Label;
use crate::error::Error;
use crate::law::{self, Structure};
use crate::py::convert::{self, whole};
use crate::py::memory;

/// Policy, bits, mass, most terms and restarts, as `decompose` and `decompose_all` are given them.
pub type Given<'py> = (
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
);

/// Read the options of a decomposition.
pub fn read(given: &Given<'_>, progress: Option<&Bound<'_, PyAny>>) -> PyResult<Options> {
    let (policy, bits, mass, max_terms, restarts) = given;
    let must = "be \"bottleneck\" or \"any\"";
    let policy = match convert::text("policy", must, policy)? {
        "bottleneck" => Policy::Bottleneck,
        "any" => Policy::Any,
        other => {
            return Err(Error::value("policy", must, format!("{other:?}")).into());
        }
    };
    let bits = bits
        .as_ref()
        .map(|bits| whole("bits", bits, 1, realise::MAX_BITS.into()));
    let mass = convert::as_real("mass", "be a number", mass)?;
    if !(mass > 0.0 && mass <= 1.0) {
        return Err(Error::value("mass", "be above 0 and at most 1", mass).into());
    }
    let max_terms = max_terms
        .as_ref()
        .map(|terms| whole("max_terms", terms, 1, u64::MAX));
    let restarts = whole("restarts", restarts, 1, 1 << 16)?;
    if let Some(progress) = progress
        && !progress.is_callable()
    {
        let must = "be a function of the share that is done";
        return Err(Error::type_("progress", must, convert::type_name(progress)).into());
    }
    Ok(Options {
        policy,
        bits: bits.transpose()?.map(|bits| bits as u32),
        mass,
        max_terms: max_terms.transpose()?,
        restarts: restarts as u32,
    })
}

/// Refuse a matrix without zeros whose entries, copied and queued, would not fit in memory.
pub fn fits(matrix: &law::Matrix) -> Result<(), Error> {
    let size = matrix.family.size();
    match matrix.structure() {
        Structure::Rows { .. } | Structure::Even { .. } if size <= MAX_SIZE => {
            memory::require("decompose", size, size, 32)
        }
        _ => Ok(()),
    }
}

/// The options of a decomposition as labels; the matrix and they decide its terms.
pub fn labels(options: &Options) -> Vec<Label> {
    let policy = match options.policy {
        Policy::Bottleneck => "bottleneck",
        Policy::Any => "any",
    };
    // No option is negative, so -1 is one that was not given.
    vec![
        Label::Text(policy.into()),
        Label::Integer(options.bits.map_or(-1, i128::from)),
        Label::Integer(options.mass.to_bits().into()),
        Label::Integer(options.max_terms.map_or(-1, i128::from)),
        Label::Integer(options.restarts.into()),
    ]
}
