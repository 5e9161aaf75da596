//! T-transform: two codes are swapped with some probability, the others are left alone.

use crate::error::{Error, Result};
use crate::law::parameters::{Arguments, Value};
use crate::law::{Law, Matrix};
use crate::number::lattice::{self, GRID, gcd};

/// `keep I + (1 - keep) Q`, Q the transposition of `i` and `j`.
pub fn build(arguments: &mut Arguments) -> Result<Matrix> {
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
    let g = gcd(stay, sum);
    let (stay, sum) = (stay / g, sum / g);
    let (i, j) = (i.min(j), i.max(j));
    let parameters = vec![
        ("size", size.into()),
        ("i", i.into()),
        ("j", j.into()),
        ("keep", Value::Ratio(stay as i128, sum as i128)),
    ];
    let law = Law::TTransform {
        size,
        i,
        j,
        stay: stay as u64,
        sum: sum as u64,
    };
    Ok(Matrix::new("t_transform", law, parameters))
}
