//! Weights and permutations one after the other, as the engines give them.

use crate::system::memory::{self, Gather};

/// # Law
/// Row `u` goes to `columns[j * size + u]` in term `j`, which weighs `weights[j]` units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Number of rows.
    pub size: usize,
    /// Weights in units of the matrix.
    pub weights: Vec<u64>,
    /// The column of each row, term by term.
    pub columns: Vec<u16>,
}

impl Listed {
    /// No terms.
    pub fn new(size: usize) -> Self {
        Listed {
            size,
            weights: Vec::new(),
            columns: Vec::new(),
        }
    }

    /// One more term.
    pub fn push(&mut self, weight: u64, columns: &[u32]) {
        memory::push(&mut self.weights, weight);
        let columns = columns.iter().map(|&v| v as u16);
        columns.for_each(|v| memory::push(&mut self.columns, v));
    }

    /// Largest weights first, otherwise as they were.
    pub fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.weights.len()).gather();
        order.sort_unstable_by_key(|&j| (std::cmp::Reverse(self.weights[j]), j));
        let columns = order
            .iter()
            .flat_map(|&j| &self.columns[j * self.size..][..self.size]);
        self.columns = columns.copied().gather();
        self.weights = order.iter().map(|&j| self.weights[j]).gather();
    }

    /// The terms of a matrix whose rows and columns were renamed, for the matrix itself: row `u` was
    /// called `rows[u]` and column `v` `columns[v]`.
    pub fn renamed_back(mut self, rows: &[u16], columns: &[u16]) -> Self {
        let mut old = memory::zeros::<u16>(self.size);
        (0..)
            .zip(columns)
            .for_each(|(v, &new)| old[usize::from(new)] = v);
        let mut term = memory::zeros(self.size);
        for part in self.columns.chunks_mut(self.size) {
            for (to, &row) in term.iter_mut().zip(rows) {
                *to = old[usize::from(part[usize::from(row)])];
            }
            part.copy_from_slice(&term);
        }
        self
    }
}
