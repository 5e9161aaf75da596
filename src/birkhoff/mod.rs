//! Birkhoff's theorem made usable: a bistochastic matrix as a weighted sum of permutations, exactly.

pub mod bottleneck;
pub mod control;
pub mod counts;
pub mod events;
pub mod matching;
pub mod queue;
pub mod sample;
pub mod split;
pub mod ties;

/// When to stop early.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Stop as soon as the weights sum to this many units.
    pub enough: u64,
    /// Stop after this many terms.
    pub terms: usize,
}

/// Weights and permutations one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Number of rows.
    pub size: usize,
    /// Weights out of the total of the matrix.
    pub weights: Vec<u64>,
    /// The column of each row, term by term.
    pub columns: Vec<u16>,
}

impl Listed {
    fn new(size: usize) -> Self {
        Listed {
            size,
            weights: Vec::new(),
            columns: Vec::new(),
        }
    }

    fn push(&mut self, weight: u64, columns: &[u32]) {
        self.weights.push(weight);
        self.columns.extend(columns.iter().map(|&v| v as u16));
    }
}
