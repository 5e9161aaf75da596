//! What `decompose` is asked, read and as labels; what it would cost.

use pyo3::prelude::*;

use crate::birkhoff::counts::MAX_SIZE;
use crate::birkhoff::{Options, Policy, realise};
use crate::draw::derive::Label;
use crate::error::Error;
use crate::law::{self, Structure};
use crate::py::convert::{self, whole};
use crate::py::law::Matrix;
use crate::py::memory;

/// What `decompose` and `decompose_all` are given.
pub fn read(
    policy: &Bound<'_, PyAny>,
    bits: Option<&Bound<'_, PyAny>>,
    mass: &Bound<'_, PyAny>,
    max_terms: Option<&Bound<'_, PyAny>>,
    restarts: &Bound<'_, PyAny>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Options> {
    let must = "be \"bottleneck\" or \"any\"";
    let policy = match convert::text("policy", must, policy)? {
        "bottleneck" => Policy::Bottleneck,
        "any" => Policy::Any,
        other => {
            return Err(Error::value("policy", must, format!("{other:?}")).into());
        }
    };
    let bits = bits.map(|bits| whole("bits", bits, 1, realise::MAX_BITS.into()));
    let mass = convert::as_real("mass", "be a number", mass)?;
    if !(mass > 0.0 && mass <= 1.0) {
        return Err(Error::value("mass", "be above 0 and at most 1", mass).into());
    }
    let max_terms = max_terms.map(|terms| whole("max_terms", terms, 1, u64::MAX));
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

/// Whether the work is over before anybody could stop it.
pub fn is_small(matrix: &Matrix, options: &Options) -> bool {
    let matrix = matrix.inner();
    let size = matrix.family.size();
    match matrix.structure() {
        Structure::Swap { .. } => true,
        structure if structure.two_valued(size).is_some() => true,
        Structure::Certain(_)
        | Structure::Circulant { .. }
        | Structure::Neighbours { .. }
        | Structure::Classes { .. }
            if options.bits.is_none() =>
        {
            size <= 1 << 16
        }
        Structure::Kron(_) | Structure::Mix { .. } | Structure::Product(_) => false,
        _ => size <= 32 && options.restarts == 1,
    }
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
