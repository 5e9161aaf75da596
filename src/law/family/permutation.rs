//! Permutation: code `u` is always reported as `targets[u]`. No bits, whatever it looks like.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::lines::{RowBits, Survey};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::structure::Structure;
use crate::number::bits::Entropy;
use crate::number::logarithms::LogSum;
use crate::system::memory;
use crate::system::stop::Paced;

/// # Law
/// `probability(u, targets[u]) = 1`; every code is the target of one other, so columns sum to 1 too.
///
/// # Cost
/// O(size) to build and to keep.
#[derive(Debug)]
pub struct Permutation {
    /// Where each code goes.
    pub targets: Arc<[i64]>,
}

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let must = "hold each code from 0 to size - 1 once";
    let targets = arguments.wholes("targets", must)?;
    let mut seen = memory::filled(false, targets.len());
    for (u, &v) in targets.iter().enumerate().paced() {
        match usize::try_from(v).ok().and_then(|v| seen.get_mut(v)) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(Error::value("targets", must, format!("{v} again at {u}"))),
            None => return Err(Error::value("targets", must, format!("{v} at {u}"))),
        }
    }
    Ok(Arc::new(Permutation { targets }))
}

impl Family for Permutation {
    fn name(&self) -> &'static str {
        "permutation"
    }

    fn size(&self) -> u64 {
        self.targets.len() as u64
    }

    fn parameters(&self) -> Parameters {
        vec![("targets", Value::Wholes(Arc::clone(&self.targets)))]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        Some((u128::from(self.targets[u as usize] as u64 == v), 1))
    }

    fn canonical(&self) -> Option<Arc<dyn Family>> {
        None
    }

    fn structure(&self) -> Structure {
        Structure::Certain(Some(Arc::clone(&self.targets)))
    }

    fn total(&self) -> Option<u128> {
        Some(1)
    }

    fn fill_row(&self, u: u64, out: &mut [f64]) {
        out.fill(0.0);
        out[self.targets[u as usize] as usize] = 1.0;
    }

    /// A row is certain of its target.
    fn entropy_rate(&self) -> Entropy {
        Entropy::Exact(LogSum::zero())
    }

    /// With two codes or more every column holds a 1 and a 0.
    fn epsilon(&self) -> f64 {
        if self.targets.len() == 1 {
            0.0
        } else {
            f64::INFINITY
        }
    }

    fn truthfulness(&self) -> f64 {
        let fixed = (0..).zip(&*self.targets).filter(|(u, v)| u == *v).count();
        fixed as f64 / self.targets.len() as f64
    }

    /// Powers of a permutation are permutations.
    fn is_ergodic(&self) -> bool {
        self.targets.len() == 1
    }

    fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        let n = self.size();
        let still = (0i64..).zip(&*self.targets).all(|(u, v)| u == *v);
        Some(Survey {
            worst_row: (0, 0.0),
            worst_column: (0, 0.0),
            worst_exact: true,
            row_bits: RowBits::Same(0.0),
            peaks: (n.into(), 1),
            peaks_exact: true,
            least_diagonal: (u128::from(still), 1),
            deniability: memory::filled((1, true), gammas.len()),
            witness: (n > 1).then(|| (0, 1, self.targets[0] as u64)),
        })
    }
}
