//! Any matrix as steps on vectors, one after the other: a composite is taken apart here and nowhere else.
//!
//! # Law
//! A matrix with a structure is one step. Else a kron goes axis by axis, a product factor by factor and a
//! mixture part by part; a mixture with perfect secrecy is undone by what that leaves of the rest. What is
//! left, matrices without any structure, is [`Step::Dense`]: the caller does it, by LAPACK or
//! by [`super::dense::product`].

use std::sync::Arc;

use super::joint::{Joint, axes_of, transpose};
use super::map::{Operator, Way, run};
use super::spectral::Spectrum;
use crate::error::{Error, Result};
use crate::law::{Composition, Matrix};
use crate::number::lattice;
use crate::system::memory;

/// Most parts of a composite that are taken one by one: if it can be written down, and if it cannot.
const FEW: u64 = 1 << 12;
const MANY: u64 = 1 << 18;
/// Size up to which a composite of more parts is written down.
const WRITTEN: u64 = 1024;

/// What happens to all rows.
#[derive(Debug)]
enum Step {
    /// Through a map that takes a vector at a time.
    Map(Arc<dyn Operator>),
    /// Tables through the matrices of their axes; of those that it leaves, see `Turn`.
    Axes(Joint),
    /// An axis with `after` cells after it is moved to the end, so that rows are its vectors, or back. Before,
    /// every table has `columns` columns.
    Turn { after: usize, columns: usize },
    /// What `weight` of a matrix and the rest of perfect secrecy took them to, without the latter: sums are
    /// kept, so that what it adds is known, a share of the mean.
    Unmix { weight: f64 },
    /// What is here is kept, and a sum begins.
    Open,
    /// So many times what is here is added, and what was kept is here again.
    Add(f64),
    /// The sum is here, and nothing is kept.
    Close,
    /// A matrix without a structure, which is done elsewhere.
    Dense(usize),
}

/// A matrix as steps.
#[derive(Debug)]
pub struct Program {
    way: Way,
    inverse: bool,
    /// Each with the length of the rows that it takes.
    steps: Vec<(usize, Step)>,
    /// The matrices that `Step::Dense` names, each once.
    pub dense: Vec<Matrix>,
    /// Matrices that must not be singular for the inverse to mean anything; the matrix itself among them where
    /// it is a composite.
    pub asked: Vec<Matrix>,
}

/// The part of a mixture beside perfect secrecy, with its weight, if there is one such part.
pub fn beside_uniform(matrix: &Matrix) -> Option<(f64, &Matrix)> {
    let Some(Composition::Mix(parts)) = matrix.family.composition() else {
        return None;
    };
    let flat = |part: &Matrix| matches!(part.spectrum().map(|s| &**s), Some(Spectrum::Flat(0.0)));
    let mut rest = parts.iter().filter(|((n, _), part)| *n != 0 && !flat(part));
    let (&(n, d), part) = rest.next().map(|(weight, part)| (weight, *part))?;
    (rest.next().is_none() && n < d).then(|| (nearest(n, d), part))
}

/// A weight as the nearest double.
fn nearest(numerator: i64, denominator: i64) -> f64 {
    lattice::nearest(
        u128::from(numerator.unsigned_abs()),
        u128::from(denominator.unsigned_abs()),
    )
}

/// Whether there are too many parts, so that the matrix is better written down.
fn is_crowded(matrix: &Matrix) -> Result<bool> {
    let (parts, size) = (matrix.family.nesting().parts, matrix.family.size());
    if parts > MANY && size > WRITTEN {
        let must = format!("hold at most {MANY} parts to be taken one by one");
        return Err(Error::value("matrix", must, parts));
    }
    Ok(parts > FEW && size <= WRITTEN)
}

impl Program {
    /// The steps of `matrix`, or of its inverse.
    pub fn new(matrix: &Matrix, way: Way, inverse: bool) -> Result<Self> {
        let mut program = Program {
            way,
            inverse,
            steps: Vec::new(),
            dense: Vec::new(),
            asked: Vec::new(),
        };
        program.of(matrix, true)?;
        Ok(program)
    }

    fn add(&mut self, size: usize, step: Step) {
        memory::push(&mut self.steps, (size, step));
    }

    /// Adds the steps of `matrix`. Composites are not nested deeper than a few hundred. A product `within` a
    /// product is not asked for itself.
    fn of(&mut self, matrix: &Matrix, asked: bool) -> Result<()> {
        let size = matrix.family.size() as usize;
        if let Some(operator) = matrix.operator() {
            if self.inverse && operator.is_singular() {
                memory::push(&mut self.asked, matrix.clone());
            }
            self.add(size, Step::Map(Arc::clone(operator)));
            return Ok(());
        }
        let composite = matrix.family.composition();
        if self.inverse && asked && composite.is_some() {
            memory::push(&mut self.asked, matrix.clone());
        }
        match composite {
            Some(Composition::Kron(_)) => self.axes(matrix, size)?,
            Some(Composition::Product(first, second)) if !is_crowded(matrix)? => {
                // P^T of a product takes the first factor first, P the second; inverses the other way round.
                let pair = if (self.way == Way::Forth) != self.inverse {
                    [first, second]
                } else {
                    [second, first]
                };
                for factor in pair {
                    let inside = factor.operator().is_none()
                        && matches!(
                            factor.family.composition(),
                            Some(Composition::Product(_, _))
                        );
                    self.of(factor, !inside)?;
                }
            }
            Some(Composition::Mix(parts)) if !self.inverse && !is_crowded(matrix)? => {
                self.add(size, Step::Open);
                for ((n, d), part) in parts.into_iter().filter(|((n, _), _)| *n != 0) {
                    self.of(part, true)?;
                    self.add(size, Step::Add(nearest(n, d)));
                }
                self.add(size, Step::Close);
            }
            _ => match beside_uniform(matrix) {
                Some((weight, part)) if self.inverse => {
                    self.add(size, Step::Unmix { weight });
                    self.of(part, true)?;
                }
                _ => self.written(matrix, size),
            },
        }
        Ok(())
    }

    fn written(&mut self, matrix: &Matrix, size: usize) {
        let known = self.dense.iter().position(|m| is_same(m, matrix));
        let index = known.unwrap_or(self.dense.len());
        if known.is_none() {
            memory::push(&mut self.dense, matrix.clone());
        }
        self.add(size, Step::Dense(index));
    }

    fn axes(&mut self, kron: &Matrix, size: usize) -> Result<()> {
        let joint = Joint::new(kron, self.way, self.inverse);
        let left = memory::copied(&joint.left);
        let mut each = Vec::new();
        axes_of(kron, &mut each);
        if left.len() < each.len() {
            self.add(size, Step::Axes(joint));
        }
        for axis in left {
            let after = each[axis + 1..].iter().map(|m| m.family.size() as usize);
            let (after, factor) = (after.product(), each[axis]);
            let mine = factor.family.size() as usize;
            if after > 1 {
                let columns = after;
                self.add(mine, Step::Turn { after, columns });
            }
            self.of(factor, true)?;
            if after > 1 {
                let columns = mine;
                self.add(mine, Step::Turn { after, columns });
            }
        }
        Ok(())
    }
}

/// Whether both are one and the same matrix.
pub fn is_same(a: &Matrix, b: &Matrix) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(&a.family), Arc::as_ptr(&b.family))
}

/// Rows on their way through the steps of a matrix.
#[derive(Debug)]
pub struct Walk {
    /// What is here now.
    pub rows: Vec<f64>,
    other: Vec<f64>,
    /// What was kept, and the sums that were begun.
    kept: Vec<(Vec<f64>, Vec<f64>)>,
    at: usize,
}

impl Walk {
    /// Rows one after the other, before the first step.
    pub fn new(rows: Vec<f64>) -> Self {
        Walk {
            rows,
            other: Vec::new(),
            kept: Vec::new(),
            at: 0,
        }
    }

    /// Back to the first step, with the rows that are here now.
    pub fn restart(&mut self) {
        self.at = 0;
        self.kept.clear();
    }

    /// Goes on to the next step that is not done here: which of the matrices without a structure, and the
    /// length of the rows. None at the end. Called again it takes that step for done.
    pub fn resume(&mut self, program: &Program) -> Option<(usize, usize)> {
        while let Some((size, step)) = program.steps.get(self.at) {
            self.at += 1;
            if let Step::Dense(index) = step {
                return Some((*index, *size));
            }
            self.step(program, *size, step);
        }
        None
    }

    /// All steps, the dense ones by `tables`, in the order of the program's.
    pub fn run(&mut self, program: &Program, tables: &[&[f64]]) {
        self.restart();
        while let Some((index, size)) = self.resume(program) {
            self.spare();
            let out = &mut self.other;
            super::dense::product(tables[index], program.way, size, &self.rows, out);
            std::mem::swap(&mut self.rows, &mut self.other);
        }
    }

    /// Room for all rows in another form.
    fn spare(&mut self) {
        if self.other.len() != self.rows.len() {
            self.other = memory::zeros(self.rows.len());
        }
    }

    fn step(&mut self, program: &Program, size: usize, step: &Step) {
        match step {
            Step::Map(map) => {
                self.spare();
                let (way, inverse) = (program.way, program.inverse);
                run(map, way, inverse, size, &self.rows, &mut self.other);
                std::mem::swap(&mut self.rows, &mut self.other);
            }
            Step::Axes(joint) => joint.run(&mut self.rows),
            Step::Turn { after, columns } => {
                self.spare();
                let cells = size * after;
                let tables = self.rows.chunks(cells).zip(self.other.chunks_mut(cells));
                tables.for_each(|(from, to)| transpose(from, *columns, to));
                std::mem::swap(&mut self.rows, &mut self.other);
            }
            Step::Unmix { weight } => {
                for row in self.rows.chunks_mut(size) {
                    let mean = pairwise(row) / size as f64;
                    let added = (1.0 - weight) * mean;
                    row.iter_mut().for_each(|x| *x = (*x - added) / weight);
                }
            }
            Step::Open => {
                let pair = (memory::copied(&self.rows), memory::zeros(self.rows.len()));
                self.kept.push(pair);
            }
            Step::Add(weight) => {
                if let Some((kept, sum)) = self.kept.last_mut() {
                    sum.iter_mut()
                        .zip(&self.rows)
                        .for_each(|(sum, x)| *sum += weight * x);
                    self.rows.copy_from_slice(kept);
                }
            }
            Step::Close => {
                if let Some((_, sum)) = self.kept.pop() {
                    self.rows = sum;
                }
            }
            Step::Dense(_) => {}
        }
    }
}

/// The sum by halves, down to a few numbers eight at a time: NumPy's order, so that its numbers come out.
fn pairwise(x: &[f64]) -> f64 {
    let n = x.len();
    if n < 8 {
        return x.iter().sum();
    }
    if n > 128 {
        let half = n / 2 - n / 2 % 8;
        return pairwise(&x[..half]) + pairwise(&x[half..]);
    }
    let (eights, rest) = x.as_chunks::<8>();
    let mut r = eights[0];
    for eight in &eights[1..] {
        r = std::array::from_fn(|i| r[i] + eight[i]);
    }
    let sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    rest.iter().fold(sum, |sum, x| sum + x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::battery::{joined, make, mix, response, sized, table, wholes, with, written};
    use crate::law::parameters::Value;

    fn dense(size: usize) -> Matrix {
        // A circulant that only its entries show: no structure of its own.
        let law: Vec<i64> = (0..size as i64).map(|j| 1 + j * j % 7).collect();
        table(
            size,
            (0..size * size).map(|i| law[(i % size + size - i / size) % size]),
        )
    }

    fn rr(size: i128) -> Matrix {
        response(size, 0.5)
    }

    fn composites() -> Vec<Matrix> {
        let kron = |factors: &[Matrix]| joined("kron", factors);
        let circle = wholes("circulant", "first_row", &[5, 2, 1]);
        let swap = wholes("permutation", "targets", &[1, 2, 0]);
        let ordinal = with("geometric", 20, "temperature", Value::Real(0.7));
        let alphas = Value::Reals([0.1, 0.2, 0.05].into());
        let steps = make("tridiagonal", &[("alphas", alphas)]).unwrap();
        let product = joined("product", &[dense(5), rr(5)]);
        let mixed = mix(&[product.clone(), dense(5)]);
        vec![
            joined("product", &[product.clone(), dense(5)]),
            mix(&[sized("uniform", 5), dense(5)]),
            kron(&[rr(3), dense(131)]),
            kron(&[dense(131), mixed.clone(), rr(2)]),
            mixed,
            product,
            dense(600),
            kron(&[rr(2), rr(3), rr(2)]),
            kron(&[circle.clone(), swap.clone(), rr(5)]),
            kron(&[ordinal.clone(), rr(2), rr(2)]),
            kron(&[rr(3), ordinal]),
            kron(&[steps.clone(), sized("identity", 4), circle.clone()]),
            kron(&[kron(&[rr(2), circle]), kron(&[swap, steps])]),
        ]
    }

    #[test]
    fn steps_give_what_the_entries_give() {
        let sum = |row: &[f64], entry: &dyn Fn(usize) -> f64| -> f64 {
            row.iter().enumerate().map(|(u, x)| x * entry(u)).sum()
        };
        for (matrix, vectors) in composites()
            .into_iter()
            .flat_map(|m| [(m.clone(), 1), (m, 2)])
        {
            let n = matrix.family.size() as usize;
            let rows: Vec<f64> = (0..vectors * n)
                .map(|i| ((i * 37) % 11) as f64 - 4.0)
                .collect();
            let entries = written(&matrix);
            for way in [Way::Forth, Way::Back] {
                let program = Program::new(&matrix, way, false).unwrap();
                let tables: Vec<Vec<f64>> = program.dense.iter().map(written).collect();
                let tables: Vec<&[f64]> = tables.iter().map(|t| &t[..]).collect();
                let mut walk = Walk::new(rows.clone());
                // Twice, as gradients do.
                walk.run(&program, &tables);
                walk.rows.copy_from_slice(&rows);
                walk.run(&program, &tables);
                for (row, got) in rows.chunks(n).zip(walk.rows.chunks(n)) {
                    for (v, got) in got.iter().enumerate() {
                        let want = match way {
                            Way::Forth => sum(row, &|u| entries[u * n + v]),
                            Way::Back => sum(row, &|u| entries[v * n + u]),
                        };
                        assert!((got - want).abs() < 1e-11, "{matrix:?} {got} {want}");
                    }
                }
                if tables.is_empty() {
                    let inverse = Program::new(&matrix, way, true).unwrap();
                    walk.run(&inverse, &[]);
                    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-8;
                    assert!(walk.rows.iter().zip(&rows).all(near), "{matrix:?}");
                }
            }
        }
    }
}
