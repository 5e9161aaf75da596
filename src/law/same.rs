//! Whether two matrices have the same probabilities, whatever families wrote them.
//!
//! Equal families with equal parameters are the same. Others are compared row by row as exact fractions, up to a size;
//! nothing goes through doubles.

use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::number::lattice::gcd;
use crate::system::stop;

/// Compare two matrices; `None` if rows of composites need integers longer than 128 bits, which are for the caller.
///
/// # Errors
/// They are too large to be compared row by row, and no difference is seen.
pub fn same(a: &Matrix, b: &Matrix) -> Result<Option<bool>> {
    let size = a.size();
    if size != b.size() {
        return Ok(Some(false));
    }
    if a == b {
        return Ok(Some(true));
    }
    let most = a.looked_at().min(b.looked_at());
    if size > most {
        let mut places = (0..most).flat_map(|v| [(0, v), (v, v)]);
        let simple = [a, b].iter().all(|m| m.law().parts().is_empty());
        if simple && places.any(|(u, v)| entries_match(a, b, u, v) == Some(false)) {
            return Ok(Some(false));
        }
        let must = format!("have size {most} at most to be compared row by row");
        return Err(Error::value("other", must, size));
    }
    let (Some(s), Some(t)) = (a.total(), b.total()) else {
        return Ok(by_entries(a, b));
    };
    let g = gcd(s, t);
    let (s_own, t_own) = (s / g, t / g);
    for u in 0..size {
        stop::point();
        let (Some(x), Some(y)) = (a.row::<u128>(u), b.row::<u128>(u)) else {
            return Ok(None);
        };
        // x/s = y/t if x t' = y s' with s' = s/g and t' = t/g, which have no common divisor: then x is a multiple of
        // s' and y one of t', by the same number.
        let alike =
            |(&x, &y): (&u128, &u128)| x % s_own == 0 && y % t_own == 0 && x / s_own == y / t_own;
        if !x.iter().zip(&y).all(alike) {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}

/// Compare entry by entry, as long as each has a fraction of 128 bits.
fn by_entries(a: &Matrix, b: &Matrix) -> Option<bool> {
    let size = a.size();
    for u in 0..size {
        stop::point();
        for v in 0..size {
            if !entries_match(a, b, u, v)? {
                return Some(false);
            }
        }
    }
    Some(true)
}

/// Whether two entries are the same fraction; `None` if one has no fraction of 128 bits.
fn entries_match(a: &Matrix, b: &Matrix, u: u64, v: u64) -> Option<bool> {
    let lowest = |(n, d): (u128, u128)| {
        let g = gcd(n, d);
        (n / g, d / g)
    };
    let (x, y) = (a.entry(u, v)?, b.entry(u, v)?);
    Some(match (x.0, y.0) {
        (0, _) | (_, 0) => x.0 == y.0,
        _ => x == y || lowest(x) == lowest(y),
    })
}
