//! Passes of conjugate gradients over NumPy's vectors, changed in place.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use super::work::detached;
use crate::gradients;

type Given<'py> = PyReadonlyArray1<'py, f64>;
type Mine<'a, 'py> = &'a Bound<'py, PyArray1<f64>>;

/// ``direction = inverse * rest + keep * direction`` and ``work = root * direction``.
#[pyfunction]
pub fn gradients_turn<'py>(
    py: Python<'py>,
    keep: f64,
    inverse: Given<'py>,
    rest: Given<'py>,
    root: Given<'py>,
    direction: Mine<'_, 'py>,
    work: Mine<'_, 'py>,
) -> PyResult<()> {
    let given = [inverse.as_slice()?, rest.as_slice()?, root.as_slice()?];
    let (mut direction, mut work) = (direction.readwrite(), work.readwrite());
    let (direction, work) = (direction.as_slice_mut()?, work.as_slice_mut()?);
    detached(py, work.len() as u64, || {
        gradients::turn(keep, given, direction, work);
    })
}

/// ``image = root * work + z * direction``; its product with ``direction``.
#[pyfunction]
pub fn gradients_image<'py>(
    py: Python<'py>,
    z: Given<'py>,
    root: Given<'py>,
    work: Given<'py>,
    direction: Given<'py>,
    image: Mine<'_, 'py>,
) -> PyResult<f64> {
    let given = [
        z.as_slice()?,
        root.as_slice()?,
        work.as_slice()?,
        direction.as_slice()?,
    ];
    let mut image = image.readwrite();
    let image = image.as_slice_mut()?;
    detached(py, image.len() as u64, || gradients::image(given, image))
}

/// ``found += length * direction`` and ``rest -= length * image``; the square of ``rest``, and its product
/// with itself preconditioned.
#[pyfunction]
pub fn gradients_advance<'py>(
    py: Python<'py>,
    length: f64,
    inverse: Given<'py>,
    direction: Given<'py>,
    image: Given<'py>,
    found: Mine<'_, 'py>,
    rest: Mine<'_, 'py>,
) -> PyResult<(f64, f64)> {
    let given = [
        inverse.as_slice()?,
        direction.as_slice()?,
        image.as_slice()?,
    ];
    let (mut found, mut rest) = (found.readwrite(), rest.readwrite());
    let (found, rest) = (found.as_slice_mut()?, rest.as_slice_mut()?);
    detached(py, rest.len() as u64, || {
        gradients::advance(length, given, found, rest)
    })
}
