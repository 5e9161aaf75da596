//! Perfect secrecy inside classes of consecutive codes, Expression (3): identity, uniform, blocks and k-anonymity.

use crate::error::{Error, Result};
use crate::law::composite::beta;
use crate::law::parameters::Arguments;
use crate::law::{Law, Matrix};
use crate::number::calibrate;
use crate::number::lattice::MAX_SIZE;

/// Everything is reported as it is. No bits, the start of every scale.
pub fn identity(arguments: &mut Arguments) -> Result<Matrix> {
    let size = arguments.size()?;
    let parameters = vec![("size", size.into())];
    Ok(Matrix::new("identity", Law::identity(size), parameters))
}

/// Perfect secrecy, the report says nothing of the truth. All the bits.
pub fn uniform(arguments: &mut Arguments) -> Result<Matrix> {
    let size = arguments.size()?;
    let parameters = vec![("size", size.into())];
    Ok(Matrix::new(
        "uniform",
        Law::classes_of([(size, 1)]),
        parameters,
    ))
}

/// Classes of given sizes, each a perfect secret (Anatomy).
pub fn blocks(arguments: &mut Arguments) -> Result<Matrix> {
    let must = "hold integers from 1 that add up to at most 2^53";
    let sizes = arguments.wholes("sizes", must)?;
    let mut size: u64 = 0;
    for (i, &n) in sizes.iter().enumerate() {
        size = match u64::try_from(n) {
            Ok(n) if n > 0 && n <= MAX_SIZE - size => size + n,
            _ => return Err(Error::value("sizes", must, format!("{n} at {i}"))),
        };
    }
    let law = Law::classes_of(sizes.iter().map(|&n| (n as u64, 1)));
    let parameters = vec![("sizes", (&sizes).into())];
    Ok(Matrix::new("blocks", law, parameters))
}

/// `size // k` classes; the first `size mod classes` of them are one larger.
fn with_k(size: u64, k: u64) -> Law {
    let classes = size / k;
    let (n, larger) = (size / classes, size % classes);
    let lengths = [(n + 1, larger), (n, classes - larger)];
    Law::classes_of(lengths.into_iter().filter(|run| run.1 > 0))
}

/// Classes of at least `k` codes, as many as fit.
///
/// By beta the smallest `k` that reaches it. More codes a class is more entropy: the sizes of fewer
/// balanced classes majorize those of more, and `n log n` is convex. The reported beta of a closed
/// form is the largest double not above the true one, so it reaches a double just when that does. By share the
/// smallest `k` that is that share of the size, both as doubles: 0.07 of 100 is 7, though the double 0.07 is more.
pub fn k_anonymous(arguments: &mut Arguments) -> Result<Matrix> {
    let size = arguments.size()?;
    arguments.exactly_one(&["k", "beta", "share"])?;
    let k = match (arguments.whole("k", 1, size)?, arguments.real("share")?) {
        (Some(k), _) => k,
        (None, Some(share)) if !(share > 0.0 && share <= 1.0) => {
            return Err(Error::value("share", "be above 0 and at most 1", share));
        }
        (None, Some(share)) => calibrate::smallest(1, size, |k| k as f64 / size as f64 >= share),
        (None, None) => {
            let wanted = arguments.beta()?.unwrap_or(0.0);
            let reaches = |k| beta(&with_k(size, k).entropy(), size) >= wanted;
            calibrate::smallest(1, size, reaches)
        }
    };
    let parameters = vec![("size", size.into()), ("k", k.into())];
    Ok(Matrix::new("k_anonymous", with_k(size, k), parameters))
}
