//! The Python boundary: convert, detach, call, convert back.
//!
//! | Python | Rust | how |
//! |---|---|---|
//! | `int`, anything with `__index__` | [`Value::Whole`](crate::parameters::Value) | by value |
//! | `float`, anything with `__float__` | `Value::Real` | by value; `numpy.longdouble` as the nearest double |
//! | `Fraction` | `Value::Ratio` | by value, exactly |
//! | `complex`, `bool`, text | none | refused |
//! | sequence, array, series, frame, Arrow | `Value::Wholes`, `Reals`, `Ratios` | through `bistochastic.vectors.array`, copied |
//! | array of integers, any layout | `&[u8]` to `&[u64]` | borrowed; copied into the answer where strided or swapped |
//! | `ndarray` of float64, two axes | `&[f64]` | borrowed, copied only where not contiguous |
//!
//! The GIL is released by [`work::detached`] wherever the work grows with the size; it also catches what stops
//! work before its end. Nothing here computes.

use pyo3::prelude::*;

mod birkhoff;
mod convert;
mod count;
mod estimate;
mod exact;
mod gradients;
mod key;
mod law;
mod matrix;
mod memory;
mod operator;
mod processor;
mod randomize;
mod secret;
mod supervise;
mod survey;
mod work;

#[pymodule]
mod _core {
    use numpy::{PyArray1, PyArrayMethods};
    use pyo3::prelude::*;

    /// The bridge to NumPy looks up NumPy's functions when it first needs them, and panics if a signal is pending
    /// then. So it needs them now.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        py.import("numpy")?;
        py.check_signals()?;
        drop(PyArray1::<u8>::zeros(py, 1, false).readwrite());
        Ok(())
    }

    #[pymodule_export]
    use super::birkhoff::{_draw_terms, _sample_permutation, Decomposition, decompose_all};
    #[pymodule_export]
    use super::convert::{as_flag, as_real, as_whole};
    #[pymodule_export]
    use super::count::count;
    #[pymodule_export]
    use super::gradients::{gradients_advance, gradients_image, gradients_turn};
    #[pymodule_export]
    use super::key::Key;
    #[pymodule_export]
    use super::matrix::{
        Matrix, arrays, build, entropy_rate, families, identity_of, parts_in, restore,
        restore_parts,
    };
    #[pymodule_export]
    use super::memory::require_memory;
    #[pymodule_export]
    use super::operator::{
        along_axes, basis, column, keep_condition, known_condition, not_finite, operate, rank,
        spectrum, structure_is_singular,
    };
    #[pymodule_export]
    use super::processor::processor;
    #[pymodule_export]
    use super::processor::processor;
    #[pymodule_export]
    use super::randomize::bench_floor;
    #[pymodule_export]
    use super::survey::{metric_epsilon, of_lines, quick_rate};
}
