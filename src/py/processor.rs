//! Which processor level the core keeps to.

use pyo3::prelude::*;

use crate::system::processor::level;

/// The level that every vectorised loop keeps to: "plain", "base", "avx2" or "avx512". For tests.
///
/// >>> bs._core.processor() in ("plain", "base", "avx2", "avx512")
/// True
#[pyfunction]
pub fn processor() -> &'static str {
    level().name()
}
