//! The Python boundary: convert, detach, call, convert back.
//!
//! | Python | Rust | how |
//! |---|---|---|
//! | `int`, anything with `__index__` | [`Value::Whole`](crate::law::parameters::Value) | by value |
//! | `float`, anything with `__float__` | `Value::Real` | by value; `numpy.longdouble` as the nearest double |
//! | `Fraction` | `Value::Ratio` | by value, exactly |
//! | `complex`, `bool`, text | none | refused |
//! | sequence, array, series, frame, Arrow | `Value::Wholes`, `Reals`, `Ratios` | through [`package::ARRAY`], copied |
//! | array of integers, any layout | `&[u8]` to `&[u64]` | borrowed; copied into the answer where strided or swapped |
//! | `ndarray` of float64, two axes | `&[f64]` | borrowed, copied only where not contiguous |
//!
//! The GIL is released by [`work::detached`] wherever the work grows with the size; it also catches what stops
//! work before its end. Nothing here computes, and nothing here imports the package: it hands in its classes,
//! exceptions and readers by [`package::register`].

use pyo3::prelude::*;

mod birkhoff;
mod convert;
mod count;
mod ids;
mod key;
mod linear;
mod matrix;
mod memory;
mod microaggregate;
mod numeric;
mod package;
mod plan;
mod randomize;
mod rebuild;
mod scalar;
mod structure;
mod widths;
mod work;

// Nothing here is known to need the GIL. But no free-threaded interpreter has run it so far, so it claims nothing:
// such an interpreter switches the GIL on, and says so.
#[pymodule(gil_used = true)]
mod _core {
    use numpy::{PyArray1, PyArrayMethods};
    use pyo3::prelude::*;

    use super::package;

    /// The bridge to NumPy looks up NumPy's functions when it first needs them, and panics if a signal is pending
    /// then. So it needs them now.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        package::CORE.hold(module.as_any().clone());
        py.import("numpy")?;
        py.check_signals()?;
        drop(PyArray1::<u8>::zeros(py, 1, false).readwrite());
        Ok(())
    }

    #[pymodule_export]
    use super::{
        birkhoff::{Decomposition, decompose_all, decompose_one},
        convert::as_path,
        count::count,
        ids::{SpelledIds, hold_ids, joined_ids, spelled_ids},
        key::Key,
        linear::{Tridiagonal, column, flat_axes, notes},
        matrix::{Matrix, build, families, identity_of, parts_in, short_row},
        memory::require_memory,
        microaggregate::{anatomy, class_means, group},
        numeric::{origins, permute_into, shuffle_ties},
        package::register,
        plan::{
            Tally, digest_of, plan_blocks, plan_column_key, plan_ids, plan_key, plan_pseudonyms,
            plan_respond,
        },
        rebuild::{arrays, restore, restore_parts},
        scalar::{as_real, as_whole, code, flag},
        structure::{
            counts_rank, entropy_rate, has_rows, is_certain, metric_epsilon, of_lines, structure_of,
        },
    };
}
