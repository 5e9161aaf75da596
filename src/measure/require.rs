//! Reported numbers against what was asked.

use crate::error::{Error, Result};

/// Raise unless reported numbers keep what is asked, each given as `(asked, reported)`.
///
/// # Errors
/// [`Error::Guarantee`] where one is not kept; [`Error::Value`] where nothing is asked or a number
/// is none.
pub fn require(beta: Option<(f64, f64)>, epsilon: Option<(f64, f64)>) -> Result<()> {
    if beta.is_none() && epsilon.is_none() {
        return Err(Error::value("require", "be given beta or epsilon", "none"));
    }
    if let Some((asked, reported)) = beta {
        if !(0.0..=1.0).contains(&asked) {
            return Err(Error::value("beta", "be from 0 to 1", asked));
        }
        if reported < asked {
            return Err(Error::guarantee(
                "beta",
                format!("be at least {asked}"),
                reported,
            ));
        }
    }
    if let Some((asked, reported)) = epsilon {
        if !(asked >= 0.0) {
            return Err(Error::value("epsilon", "be at least 0", asked));
        }
        if reported > asked {
            return Err(Error::guarantee(
                "epsilon",
                format!("be at most {asked}"),
                reported,
            ));
        }
    }
    Ok(())
}
