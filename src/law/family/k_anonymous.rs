//! k-anonymity, Expression (3): classes of at least `k` consecutive codes, as many as fit.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::parameters::{Arguments, Value};
use crate::law::rate;
use crate::law::shared::classes::Classes;
use crate::number::calibrate;

/// `size // k` classes; the first `size mod classes` of them are one larger.
fn with_k(size: u64, k: u64) -> Classes {
    let classes = size / k;
    let (n, larger) = (size / classes, size % classes);
    let parameters = vec![
        ("size", Value::Whole(size.into())),
        ("k", Value::Whole(k.into())),
    ];
    let lengths = [(n + 1, larger), (n, classes - larger)];
    Classes::new(
        "k_anonymous",
        parameters,
        lengths.into_iter().filter(|run| run.1 > 0),
    )
}

/// By beta the smallest `k` that reaches it. More codes a class is more entropy: the sizes of fewer
/// balanced classes majorize those of more, and `n log n` is convex. The reported beta of a closed
/// form is the largest double not above the true one, so it reaches a double just when that does. By share the
/// smallest `k` that is that share of the size, both as doubles: 0.07 of 100 is 7, though the double 0.07 is more.
pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let size = arguments.size()?;
    arguments.exactly_one(&["k", "beta", "share"])?;
    let k = match (arguments.whole("k", 1, size)?, arguments.real("share")?) {
        (Some(k), _) => k,
        (None, Some(share)) if !(share > 0.0 && share <= 1.0) => {
            return Err(Error::value("share", "be above 0 and at most 1", share));
        }
        (None, Some(share)) => calibrate::smallest(1, size, |k| k as f64 / size as f64 >= share),
        (None, None) => {
            let beta = arguments.beta()?.unwrap_or(0.0);
            calibrate::smallest(1, size, |k| rate::beta(&with_k(size, k)) >= beta)
        }
    };
    Ok(Arc::new(with_k(size, k)))
}
