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
//! The GIL is released by [`detached`] wherever the work grows with the size. Nothing here computes.

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
mod operator;
mod randomize;
mod secret;
mod supervise;
mod survey;

/// Work below this many numbers is done before another thread could have taken over.
const DETACH_FROM: u64 = 1 << 14;

/// Run `work` on `numbers` numbers, without the GIL where that is worth while.
fn detached<T: Send>(py: Python<'_>, numbers: u64, work: impl FnOnce() -> T + Send) -> T {
    if numbers < DETACH_FROM {
        work()
    } else {
        py.detach(work)
    }
}

#[pymodule]
mod _core {
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
    use super::matrix::{Matrix, arrays, build, entropy_rate, families, restore};
    #[pymodule_export]
    use super::operator::{
        along_axes, basis, column, keep_condition, known_condition, not_finite, operate, rank,
        spectrum, structure_is_singular,
    };
    #[pymodule_export]
    use super::randomize::bench_floor;
    #[pymodule_export]
    use super::survey::{metric_epsilon, of_lines, quick_rate};
}
