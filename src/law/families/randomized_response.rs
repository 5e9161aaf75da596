//! Randomized response, Expression (2): the truth with one probability, each lie with another.

use crate::error::{Error, Result};
use crate::law::composite::beta;
use crate::law::parameters::{Arguments, Value};
use crate::law::{Law, Matrix, TwoValued};
use crate::number::calibrate;
use crate::number::dd::Dd;
use crate::number::lattice::GRID;

/// Sizes up to this one live on the grid.
const GRID_SIZES: u64 = 1 << 16;

/// Beyond the grid `diag + (size - 1) off` stays below 2^63.
const TOTAL: u64 = (1 << 63) - 1;

/// The law `diag : off`. All of it is O(1) at any size.
fn law_of(size: u64, diag: u128, off: u128) -> Law {
    let law = TwoValued::new(size, diag, off);
    if size == 1 {
        return Law::identity(1);
    }
    // The denominator is below 2^63, or is a total that stays below 2^64.
    let keep = (law.keep().0 as u64, law.keep().1 as u64);
    Law::RandomizedResponse { size, keep, law }
}

/// The law with this `off` on the grid.
fn on_grid(size: u64, off: u64) -> Law {
    let diag = GRID - (size - 1) * off;
    law_of(size, diag.into(), off.into())
}

/// On the grid the smallest `off`, hence the most truth, for which `holds`. Close to perfect
/// secrecy the grid may have no such law with `diag >= off`; 1/size itself always serves.
fn most_truthful_on_grid(size: u64, holds: impl Fn(&Law) -> bool) -> Law {
    let off = calibrate::smallest(1, GRID / size, |off| holds(&on_grid(size, off)));
    let law = on_grid(size, off);
    if holds(&law) { law } else { law_of(size, 1, 1) }
}

/// Beyond the grid: `off` as large as `diag = off * odds` allows, then the largest `diag` for
/// which `holds`. The odds only set the scale, so a power of two above them will do, and the
/// relative step of `diag` stays below `(size + 2 odds) / (odds 2^63)`.
fn most_truthful_off_grid(size: u64, log2_odds: f64, holds: impl Fn(&Law) -> bool) -> Law {
    let off = off_for(size, log2_odds);
    let law = |diag: u64| law_of(size, diag.into(), off.into());
    let most = TOTAL - (size - 1) * off;
    law(calibrate::largest(off, most, |diag| holds(&law(diag))))
}

/// The most truthful law whose epsilon is not above this one.
pub fn by_epsilon(size: u64, epsilon: f64) -> Law {
    let holds = |law: &Law| law.epsilon() <= epsilon;
    if epsilon == 0.0 {
        law_of(size, 1, 1)
    } else if epsilon == f64::INFINITY || size == 1 {
        law_of(size, 1, 0)
    } else if size <= GRID_SIZES {
        most_truthful_on_grid(size, holds)
    } else {
        most_truthful_off_grid(size, epsilon * std::f64::consts::LOG2_E, holds)
    }
}

/// The most truthful law whose beta is not below this one.
pub fn by_beta(size: u64, wanted: f64) -> Law {
    let holds = |law: &Law| beta(&law.entropy(), size) >= wanted;
    if wanted == 1.0 {
        law_of(size, 1, 1)
    } else if wanted == 0.0 || size == 1 {
        law_of(size, 1, 0)
    } else if size <= GRID_SIZES {
        most_truthful_on_grid(size, holds)
    } else {
        most_truthful_off_grid(size, log2_odds(size, wanted), holds)
    }
}

/// `keep` as a double: towards 1/size, so never less private than asked. 0 and 1 are exact.
fn near_keep(size: u64, keep: f64) -> Law {
    if keep == 0.0 || keep == 1.0 {
        return law_of(size, u128::from(keep == 1.0), u128::from(keep == 0.0));
    }
    let others = u128::from(size - 1);
    let truthful = (Dd::product(keep, size as f64) - Dd::ONE).hi >= 0.0;
    let (diag, off) = if size <= GRID_SIZES {
        let scaled = keep * GRID as f64;
        let diag = if truthful {
            scaled.floor()
        } else {
            scaled.ceil()
        } as u128;
        let lies = u128::from(GRID) - diag;
        let off = if truthful {
            lies.div_ceil(others)
        } else {
            lies / others
        };
        (u128::from(GRID) - others * off, off)
    } else {
        let odds = Dd::from(keep) * Dd::from(others) / (Dd::ONE - Dd::from(keep));
        let off = off_for(size, odds.hi.log2().max(0.0));
        let diag = odds * Dd::from(u128::from(off));
        let diag = if truthful {
            (diag.floor() as u128).min(u128::from(TOTAL) - others * u128::from(off))
        } else {
            diag.floor() as u128 + 1
        };
        (diag, off.into())
    };
    // Rounding must not step over perfect secrecy.
    if (diag >= off) == truthful || diag == off {
        law_of(size, diag, off)
    } else {
        law_of(size, 1, 1)
    }
}

/// `keep = n/d` exactly: `diag : off = n (size - 1) : (d - n)`.
pub fn by_fraction(size: u64, n: u128, d: u128) -> Law {
    law_of(size, n * u128::from(size - 1), d - n)
}

/// The largest `off` that leaves room for `diag = off 2^ceil(log2_odds)` in the total.
fn off_for(size: u64, log2_odds: f64) -> u64 {
    let odds = match log2_odds.ceil() {
        e if e < 63.0 => 1u64 << e as u32,
        _ => TOTAL,
    };
    (u128::from(TOTAL) / (u128::from(size - 1) + u128::from(odds))).max(1) as u64
}

/// log2 of `diag/off` near the given beta, by bisection of
/// `H = e (1 - p) + ln(1 + (size - 1) exp(-e))` nats with `p = 1/(1 + (size - 1) exp(-e))`.
fn log2_odds(size: u64, beta: f64) -> f64 {
    let others = (size - 1) as f64;
    let (mut low, mut high) = (0.0, 44.0);
    for _ in 0..60 {
        let e: f64 = (low + high) / 2.0;
        let lies = others * (-e).exp();
        let entropy = e * lies / (1.0 + lies) + lies.ln_1p();
        if entropy >= beta * (size as f64).ln() {
            low = e;
        } else {
            high = e;
        }
    }
    high * std::f64::consts::LOG2_E
}

/// The truth with one probability, each lie with another.
pub fn build(arguments: &mut Arguments) -> Result<Matrix> {
    let size = arguments.size()?;
    arguments.exactly_one(&["epsilon", "beta", "keep"])?;
    if let Some(keep) = arguments.take("keep") {
        return by_keep(size, keep).map(made);
    }
    let law = match arguments.real("epsilon")? {
        Some(epsilon) if !(epsilon >= 0.0) => {
            return Err(Error::value("epsilon", "be at least 0", epsilon));
        }
        Some(epsilon) => by_epsilon(size, epsilon),
        None => by_beta(size, arguments.beta()?.unwrap_or(0.0)),
    };
    Ok(made(law))
}

/// `keep = diag/total` and the size give `diag : off` back.
fn made(law: Law) -> Matrix {
    let (n, d) = match &law {
        Law::RandomizedResponse { law, .. } => law.keep(),
        _ => (1, 1),
    };
    let parameters = vec![
        ("size", law.size().into()),
        ("keep", Value::Ratio(n as i128, d as i128)),
    ];
    Matrix::new("randomized_response", law, parameters)
}

fn by_keep(size: u64, keep: Value) -> Result<Law> {
    let must = if size == 1 {
        "be 1 where size is 1"
    } else {
        "be from 0 to 1"
    };
    let inside = |x: f64| (0.0..=1.0).contains(&x) && (size > 1 || x == 1.0);
    match keep {
        Value::Real(keep) if inside(keep) => Ok(near_keep(size, keep)),
        Value::Real(keep) => Err(Error::value("keep", must, keep)),
        Value::Whole(n @ (0 | 1)) if inside(n as f64) => Ok(by_fraction(size, n as u128, 1)),
        Value::Whole(n) => Err(Error::value("keep", must, n)),
        Value::Ratio(n, d) if n < 0 || n > d || (size == 1 && n != d) => {
            Err(Error::value("keep", must, format!("{n}/{d}")))
        }
        Value::Ratio(n, d) if d < 1 << 63 => Ok(by_fraction(size, n as u128, d as u128)),
        Value::Ratio(_, d) => Err(Error::value("keep", "have a denominator below 2^63", d)),
        _ => Err(Error::type_("keep", "be a number", "a vector")),
    }
}
