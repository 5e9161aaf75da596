//! Rows as Python fractions. A composite's denominators may pass 128 bits, Python's integers do not mind.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::convert::fraction;
use crate::family::{Composition, Matrix};

/// Row `u` of `matrix`, entry by entry.
pub fn row<'py>(py: Python<'py>, matrix: &Matrix, u: u64) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let family = &*matrix.family;
    let fraction = fraction(py)?;
    let Some(composition) = family.composition() else {
        return (0..family.size())
            .map(|v| match family.entry(u, v) {
                Some(entry) => fraction.call1(entry),
                None => Ok(py.None().into_bound(py)),
            })
            .collect();
    };
    match composition {
        Composition::Kron(factors) => {
            // The joint code in C order: the last factor runs fastest.
            let mut place = family.size();
            let mut product = vec![fraction.call1((1,))?];
            for factor in factors {
                place /= factor.family.size();
                let part = row(py, factor, u / place % factor.family.size())?;
                let mut next = Vec::with_capacity(product.len() * part.len());
                for a in &product {
                    for b in &part {
                        next.push(a.mul(b)?);
                    }
                }
                product = next;
            }
            Ok(product)
        }
        Composition::Mix(parts) => {
            let mut sum = vec![fraction.call1((0,))?; family.size() as usize];
            for (weight, part) in parts {
                let weight = fraction.call1(weight)?;
                for (s, p) in sum.iter_mut().zip(row(py, part, u)?) {
                    *s = s.add(p.mul(&weight)?)?;
                }
            }
            Ok(sum)
        }
        Composition::Product(first, second) => {
            let zero = fraction.call1((0,))?;
            let mut sum = vec![zero.clone(); family.size() as usize];
            for (w, a) in row(py, first, u)?.into_iter().enumerate() {
                if a.eq(&zero)? {
                    continue;
                }
                for (s, b) in sum.iter_mut().zip(row(py, second, w as u64)?) {
                    *s = s.add(b.mul(&a)?)?;
                }
            }
            Ok(sum)
        }
    }
}

/// A list of matrices for Python.
pub fn list<'py>(
    py: Python<'py>,
    matrices: impl Iterator<Item = super::matrix::Matrix>,
) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for matrix in matrices {
        list.append(Bound::new(py, matrix)?)?;
    }
    Ok(list.into_any())
}
