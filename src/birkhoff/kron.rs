//! A kron, decomposed by its factors; if it is cut short, the largest terms are chosen.

use super::{Decomposition, Options, Sum};
use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::number::dd::Dd;
use crate::system::memory::{self, Gather};
use crate::system::progress::Progress;

/// Terms of a kron among which the largest can be chosen.
const CHOICE: u128 = 1 << 22;

/// Decompose a kron of `factors`. `share` of the progress is its.
///
/// # Errors
/// As for its factors; too many terms.
pub fn decompose(
    matrix: &Matrix,
    factors: &[Matrix],
    options: &Options,
    share: f64,
    progress: &Progress,
) -> Result<Decomposition> {
    let each = Options {
        mass: 1.0,
        max_terms: None,
        ..*options
    };
    let share = share / factors.len() as f64;
    let part = |factor| super::decompose(factor, &each, share, progress);
    let parts = factors.iter().map(part).collect::<Result<Vec<_>>>()?;
    let counted = parts.iter().map(Decomposition::terms);
    let terms = counted.fold(1, u128::saturating_mul);
    if terms >= 1 << 127 {
        let got = format!("a product of {} counts above that", factors.len());
        let must = "have fewer than 2^127 terms together";
        return Err(Error::value("matrices", must, got));
    }
    let mut whole = Decomposition {
        matrix: matrix.clone(),
        sum: Sum::Kron(parts, None),
        complete: true,
    };
    if options.mass < 1.0 || options.max_terms.is_some_and(|n| u128::from(n) < terms) {
        if terms > CHOICE {
            let must = format!("be left out for a kron of more than {CHOICE} terms");
            let name = if options.mass < 1.0 {
                "mass"
            } else {
                "max_terms"
            };
            return Err(Error::value(name, must, terms));
        }
        let mut order: Vec<(Dd, u64)> = (0..terms as u64)
            .map(|j| (whole.precise_weight(j.into()), j))
            .gather();
        order.sort_unstable_by(|(a, i), (b, j)| {
            b.hi.total_cmp(&a.hi)
                .then(b.lo.total_cmp(&a.lo))
                .then(i.cmp(j))
        });
        let mut sum = Dd::ZERO;
        let mut chosen = Vec::new();
        for (weight, j) in order {
            let enough = (sum - Dd::from(options.mass)).hi >= 0.0;
            let many = options.max_terms.is_some_and(|n| chosen.len() as u64 >= n);
            if many || (enough && options.mass < 1.0) {
                break;
            }
            sum = sum + weight;
            memory::push(&mut chosen, j);
        }
        if (chosen.len() as u128) < terms {
            whole.complete = false;
            if let Sum::Kron(_, listed) = &mut whole.sum {
                *listed = Some(chosen);
            }
        }
    }
    Ok(whole)
}
