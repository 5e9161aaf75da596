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
    arguments.known(&["size", "k", "beta", "share"])?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Matrix;
    use crate::law::battery::{check_laws, make};

    fn k_anonymous(size: i128, name: &str, value: Value) -> Result<Matrix> {
        make(
            "k_anonymous",
            &[("size", Value::Whole(size)), (name, value)],
        )
    }

    #[test]
    fn laws() {
        for (size, k) in [(1, 1), (12, 3), (11, 4), (11, 5), (7, 7), (13, 2)] {
            check_laws(&k_anonymous(size, "k", Value::Whole(k)).unwrap());
        }
    }

    #[test]
    fn every_class_has_at_least_k_codes() {
        for size in 1..40 {
            for k in 1..=size {
                let family = with_k(size, k);
                assert!((0..size).all(|u| family.class_of(u).1 >= k));
                assert_eq!(family.size(), size);
            }
        }
    }

    #[test]
    fn by_share_the_smallest_class_that_is_one() {
        for (size, share, k) in [
            (100, 0.07, 7),
            (100, 0.05, 5),
            (101, 0.05, 6),
            (3, 1.0, 3),
            (9, 1e-9, 1),
            (1080, 0.1, 108),
        ] {
            let m = k_anonymous(size, "share", Value::Real(share)).unwrap();
            assert_eq!(
                m.family.parameters()[1].1,
                Value::Whole(k),
                "{share} of {size}"
            );
        }
        let m = k_anonymous(9, "share", Value::Ratio(1, 3)).unwrap();
        assert_eq!(m.family.parameters()[1].1, Value::Whole(3));
        for share in [0.0, -0.5, 1.5, f64::NAN] {
            let error = k_anonymous(9, "share", Value::Real(share)).unwrap_err();
            let text = error.to_string();
            assert!(
                text.starts_with("`share` must be above 0 and at most 1"),
                "{text}"
            );
        }
    }
}
