//! Rows as Python fractions. A composite's denominators may pass 128 bits, Python's integers do not mind.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::convert::fraction;
use super::work::guarded;
use crate::error::Error;
use crate::law::{Composition, Matrix};
use crate::system::memory;

/// Bits of a denominator beyond which the fractions of a row of `size` take longer than anyone waits: a
/// greatest common divisor takes the square of the bits.
fn most_bits(size: u64) -> u64 {
    ((1u64 << 42) / size).isqrt().max(1 << 16)
}

/// Row `u` of `matrix`, entry by entry.
pub fn row<'py>(py: Python<'py>, matrix: &Matrix, u: u64) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let family = &*matrix.family;
    let fraction = fraction(py)?;
    if family.composition().is_none() {
        return (0..family.size())
            .map(|v| match family.entry(u, v) {
                Some(entry) => fraction.call1(entry),
                None => Ok(py.None().into_bound(py)),
            })
            .collect();
    }
    matrix.check_written()?;
    let mut rows = Rows {
        py,
        lcm: py.import("math")?.getattr("lcm")?,
        made: HashMap::new(),
    };
    let row = rows.of(matrix, u)?;
    let fractions = row.counts.iter();
    fractions.map(|n| fraction.call1((n, &row.total))).collect()
}

/// A row as integers out of a total.
struct Row<'py> {
    counts: Vec<Bound<'py, PyAny>>,
    total: Bound<'py, PyAny>,
}

/// Rows of the parts of a composite, each made once: it may hold one matrix many times.
struct Rows<'py> {
    py: Python<'py>,
    lcm: Bound<'py, PyAny>,
    made: HashMap<(*const (), u64), Rc<Row<'py>>>,
}

impl<'py> Rows<'py> {
    fn whole(&self, n: u128) -> PyResult<Bound<'py, PyAny>> {
        Ok(n.into_pyobject(self.py)?.into_any())
    }

    fn of(&mut self, matrix: &Matrix, u: u64) -> PyResult<Rc<Row<'py>>> {
        let place = (Arc::as_ptr(&matrix.family).cast::<()>(), u);
        if let Some(row) = self.made.get(&place) {
            return Ok(Rc::clone(row));
        }
        // As counts, if the integers are short.
        let counted = guarded(|| {
            let (total, mut counts) = (
                matrix.total()?,
                memory::zeros(matrix.family.size() as usize),
            );
            let short = matrix.family.add_counts(u, total, 1, &mut counts);
            short.then_some((counts, total))
        })?;
        let row = Rc::new(match counted {
            Some((counts, total)) => {
                let counts: PyResult<Vec<_>> = counts.into_iter().map(|n| self.whole(n)).collect();
                Row {
                    counts: counts?,
                    total: self.whole(total)?,
                }
            }
            None => self.joined(matrix, u)?,
        });
        self.made.insert(place, Rc::clone(&row));
        Ok(row)
    }

    /// From the rows of the parts.
    fn joined(&mut self, matrix: &Matrix, u: u64) -> PyResult<Row<'py>> {
        let row = match matrix.family.composition() {
            None => self.plain(matrix, u),
            Some(Composition::Kron(factors)) => self.kron(factors, matrix.family.size(), u),
            Some(Composition::Mix(parts)) => {
                let (mut rows, mut shares) = (Vec::new(), Vec::new());
                for ((weight, _), part) in parts.iter().filter(|part| part.0.0 > 0) {
                    rows.push(self.of(part, u)?);
                    shares.push(self.whole(*weight as u128)?);
                }
                // The weights have one denominator.
                let of = parts.first().map_or(1, |part| part.0.1);
                self.summed(&rows, &shares, &self.whole(of as u128)?)
            }
            Some(Composition::Product(first, second)) => {
                let before = self.of(first, u)?;
                let (mut rows, mut shares) = (Vec::new(), Vec::new());
                for (w, count) in (0..).zip(&before.counts) {
                    if count.is_truthy()? {
                        rows.push(self.of(second, w)?);
                        shares.push(count.clone());
                    }
                }
                self.summed(&rows, &shares, &before.total)
            }
        };
        let (row, most) = (row?, most_bits(matrix.family.size()));
        let length: u64 = row.total.call_method0("bit_length")?.extract()?;
        if length > most {
            let must = format!("have denominators of at most {most} bits");
            return Err(Error::value("exact_row", must, format!("{length} bits")).into());
        }
        Ok(row)
    }

    fn plain(&mut self, matrix: &Matrix, u: u64) -> PyResult<Row<'py>> {
        let entries: Vec<(u128, u128)> = (0..matrix.family.size())
            .map(|v| matrix.family.entry(u, v).unwrap_or((0, 1)))
            .collect();
        let total = self
            .lcm
            .call1(PyTuple::new(self.py, entries.iter().map(|e| e.1))?)?;
        let counts: PyResult<Vec<_>> = entries
            .iter()
            .map(|&(n, d)| total.floor_div(self.whole(d)?)?.mul(self.whole(n)?))
            .collect();
        Ok(Row {
            counts: counts?,
            total,
        })
    }

    fn kron(&mut self, factors: &[Matrix], size: u64, u: u64) -> PyResult<Row<'py>> {
        // The joint code in C order: the last factor runs fastest.
        let mut place = size;
        let (mut counts, mut total) = (vec![self.whole(1)?], self.whole(1)?);
        for factor in factors.iter().filter(|factor| factor.family.size() > 1) {
            place /= factor.family.size();
            let part = self.of(factor, u / place % factor.family.size())?;
            let pairs = counts
                .iter()
                .flat_map(|a| part.counts.iter().map(move |b| a.mul(b)));
            counts = pairs.collect::<PyResult<_>>()?;
            total = total.mul(&part.total)?;
        }
        Ok(Row { counts, total })
    }

    /// The sum of rows, each so many times out of `of`.
    fn summed(
        &self,
        rows: &[Rc<Row<'py>>],
        shares: &[Bound<'py, PyAny>],
        of: &Bound<'py, PyAny>,
    ) -> PyResult<Row<'py>> {
        let totals = PyTuple::new(self.py, rows.iter().map(|row| &row.total))?;
        let common = self.lcm.call1(totals)?;
        let size = rows.first().map_or(0, |row| row.counts.len());
        let mut counts = vec![self.whole(0)?; size];
        for (row, share) in rows.iter().zip(shares) {
            self.py.check_signals()?;
            let times = share.mul(common.floor_div(&row.total)?)?;
            for (sum, n) in counts.iter_mut().zip(&row.counts) {
                *sum = sum.add(n.mul(&times)?)?;
            }
        }
        let total = of.mul(common)?;
        Ok(Row { counts, total })
    }
}
