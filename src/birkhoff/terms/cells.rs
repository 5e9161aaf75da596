//! What a sum of permutations adds up to, row by row.

/// What a sum of permutations adds up to, row by row.
#[derive(Debug, Clone)]
pub enum Cells {
    /// Integers out of a total.
    Units(Vec<u64>, u64),
    /// Fractions.
    Ratios(Vec<(u128, u128)>),
}

impl Cells {
    /// One cell as a fraction.
    pub fn ratio(&self, i: usize) -> (u128, u128) {
        match self {
            Cells::Units(units, total) => (units[i].into(), (*total).into()),
            Cells::Ratios(ratios) => ratios[i],
        }
    }
}
