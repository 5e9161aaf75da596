//! T-transform: two codes are swapped with some probability, the others are left alone.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::lines::{self, RowBits, Survey};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::structure::Structure;
use crate::number::bits::Entropy;
use crate::number::lattice::{self, GRID, gcd, nearest};
use crate::number::logarithms::{self, LogSum};
use crate::system::memory;

/// # Law
/// `keep I + (1 - keep) Q`, Q the transposition of `i` and `j`: the smallest step of majorization. Not
/// every bistochastic matrix is a product of such steps from size 3 on.
///
/// # Cost
/// Four integers.
#[derive(Debug)]
pub struct TTransform {
    size: u64,
    i: u64,
    j: u64,
    /// `keep = stay / sum`, in lowest terms.
    stay: u128,
    sum: u128,
}

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let size = arguments.size()?;
    let i = arguments.required_whole("i", 0, size - 1)?;
    let j = arguments.required_whole("j", 0, size - 1)?;
    if i == j {
        return Err(Error::value("j", "differ from i", j));
    }
    let must = "be from 0 to 1";
    let (stay, sum) = match arguments.required("keep")? {
        Value::Real(x) if (0.0..=1.0).contains(&x) => {
            // As with an entry of any matrix, what is positive stays so, on both sides.
            let count = lattice::round_number(x).min(GRID - u64::from(x < 1.0));
            (count.into(), GRID.into())
        }
        Value::Real(x) => return Err(Error::value("keep", must, x)),
        Value::Whole(n @ (0 | 1)) => (n as u128, 1),
        Value::Whole(n) => return Err(Error::value("keep", must, n)),
        Value::Ratio(n, d) if n >= 0 && n <= d && d < 1 << 63 => (n as u128, d as u128),
        Value::Ratio(n, d) => {
            let must = "be from 0 to 1 with a denominator below 2^63";
            return Err(Error::value("keep", must, format!("{n}/{d}")));
        }
        _ => return Err(Error::type_("keep", "be a number", "a vector")),
    };
    Ok(Arc::new(TTransform::new(size, (i, j), (stay, sum))))
}

impl TTransform {
    /// Two codes that are swapped unless they stay, with probability `stay / sum`.
    pub fn new(size: u64, (i, j): (u64, u64), (stay, sum): (u128, u128)) -> Self {
        let g = gcd(stay, sum);
        TTransform {
            size,
            i: i.min(j),
            j: i.max(j),
            stay: stay / g,
            sum: sum / g,
        }
    }

    fn moves(&self, u: u64) -> bool {
        u == self.i || u == self.j
    }
}

impl Family for TTransform {
    fn name(&self) -> &'static str {
        "t_transform"
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("size", Value::Whole(self.size.into())),
            ("i", Value::Whole(self.i.into())),
            ("j", Value::Whole(self.j.into())),
            ("keep", Value::Ratio(self.stay as i128, self.sum as i128)),
        ]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        Some(match (self.moves(u), u == v) {
            (true, true) => (self.stay, self.sum),
            (true, false) if self.moves(v) => (self.sum - self.stay, self.sum),
            (false, true) => (1, 1),
            _ => (0, 1),
        })
    }

    fn canonical(&self) -> Option<Arc<dyn Family>> {
        None
    }

    fn structure(&self) -> Structure {
        Structure::Swap {
            size: self.size,
            i: self.i,
            j: self.j,
            stay: self.stay as u64,
            sum: self.sum as u64,
        }
    }

    fn total(&self) -> Option<u128> {
        Some(self.sum)
    }

    /// Two rows of `size` hold `keep` and `1 - keep`, the others are certain:
    /// `H = (2/size) h(keep)`.
    fn entropy_rate(&self) -> Entropy {
        let (a, d) = (self.stay, self.sum);
        Entropy::Exact(LogSum {
            terms: vec![
                (2 * d as i128, d),
                (-2 * a as i128, a),
                (-2 * (d - a) as i128, d - a),
            ],
            denominator: d * u128::from(self.size),
        })
    }

    /// Beyond two codes every column has a zero.
    fn epsilon(&self) -> f64 {
        if self.size > 2 {
            return f64::INFINITY;
        }
        let (a, b) = (self.stay, self.sum - self.stay);
        logarithms::log_ratio(a.max(b), a.min(b))
    }

    fn truthfulness(&self) -> f64 {
        let others = u128::from(self.size - 2);
        nearest(
            others * self.sum + 2 * self.stay,
            u128::from(self.size) * self.sum,
        )
    }

    fn is_ergodic(&self) -> bool {
        self.size == 2 && self.stay > 0 && self.stay < self.sum
    }

    /// Beyond the two codes every line is certain. Two codes alone are looked at.
    fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        let others = u128::from(self.size.checked_sub(3)?) + 1;
        let certain = (0..3).find(|&u| !self.moves(u))?;
        let (a, d) = (self.stay, self.sum);
        let p = nearest(a, d);
        let coin = lines::term(p) + lines::term(1.0 - p);
        let bits = |u| if self.moves(u) { coin } else { 0.0 };
        let row_bits = RowBits::each(self.size, || (0..self.size).map(bits));
        Some(Survey {
            worst_row: (certain, 0.0),
            worst_column: (certain, 0.0),
            worst_exact: true,
            row_bits,
            peaks: (others * d + 2 * a.max(d - a), d),
            peaks_exact: true,
            least_diagonal: (a, d),
            deniability: memory::filled((1, true), gammas.len()),
            witness: Some((certain, u64::from(certain == 0), certain)),
        })
    }
}
