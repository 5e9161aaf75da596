//! Gibbs: the least expected cost at a given beta.

use crate::error::{Error, Result};
use crate::law::composite::beta;
use crate::law::families::{dense, randomized_response};
use crate::law::parameters::Arguments;
use crate::law::scaling::potentials::{COARSE, Potentials};
use crate::law::scaling::{DONE, support};
use crate::law::{Law, Matrix};
use crate::number::bits;
use crate::system::memory::Gather;

/// # Law
/// `p_uv = x_u y_v exp(-cost_uv / T)` with all lines summing to 1, then on the grid. Among all
/// bistochastic matrices of that entropy it has the least `(1/size) sum p_uv cost_uv`, uniquely: the
/// objective is linear, the set convex, and stationarity reads `ln p_uv = -cost_uv/T + a_u + b_v`. The
/// temperature is the price of a nat: `d(cost)/d(bits) = T ln 2`. An infinite cost forbids a report.
///
/// Equal costs off the diagonal give randomized response with `epsilon = cost/T`, and then its very
/// integers; costs 0 and infinite give blocks.
///
/// # Cost
/// A temperature takes one exponential an entry and some tens of passes over the matrix.
pub fn build(arguments: &mut Arguments) -> Result<Matrix> {
    let law = match dense::realised(arguments)? {
        Some(law) => law,
        None => asked(arguments)?,
    };
    Ok(dense::made("gibbs", law))
}

fn asked(arguments: &mut Arguments) -> Result<Law> {
    let (size, cost) = arguments.real_square("cost")?;
    arguments.exactly_one(&["temperature", "beta"])?;
    let known = |c: &f64| *c == f64::INFINITY || (0.0..=*SCALE.end()).contains(c);
    if let Some(i) = cost.iter().position(|c| !known(c)) {
        let got = format!("{:?} at ({}, {})", cost[i], i / size, i % size);
        let must = "hold numbers from 0 to 1e150, or inf";
        return Err(Error::value("cost", must, got));
    }
    support::check("cost", size, |u, v| cost[u * size + v].is_finite())?;
    let wanted = match arguments.real("temperature")? {
        Some(t) if !(t == f64::INFINITY || SCALE.contains(&t)) => {
            let must = "be from 1e-150 to 1e150, or inf";
            return Err(Error::value("temperature", must, format!("{t:?}")));
        }
        Some(t) => Wanted::Temperature(t),
        None => Wanted::Beta(arguments.beta()?.unwrap_or(0.0)),
    };
    if let Some(law) = as_randomized_response(size, &cost, &wanted) {
        return Ok(law);
    }
    match wanted {
        Wanted::Temperature(t) => {
            let most = largest(&cost);
            if most / t > NEAR {
                let must = format!(
                    "be at least the largest finite cost over 2^14, {}",
                    most / NEAR
                );
                return Err(Error::value("temperature", must, t));
            }
            let mut state = Potentials::new(size, &cost);
            state.settle(t, DONE);
            rounded(&state)
        }
        Wanted::Beta(wanted) => by_beta(arguments, size, &cost, wanted),
    }
}

/// Temperatures and largest costs that are far enough from the ends of doubles.
const SCALE: std::ops::RangeInclusive<f64> = 1e-150..=1e150;

/// Temperatures that costs may span: their exponentials are then off by less than 1e-11.
const NEAR: f64 = (1 << 14) as f64;

/// The same if a temperature is searched for.
const SEARCHED: f64 = (1 << 17) as f64;

fn largest(cost: &[f64]) -> f64 {
    cost.iter()
        .filter(|c| c.is_finite())
        .fold(0.0, |m, &c| m.max(c))
}

enum Wanted {
    Temperature(f64),
    Beta(f64),
}

/// If all lies cost the same and all truths, the law of the family that this is; perfect secrecy
/// if the temperature says so and nothing is forbidden.
fn as_randomized_response(size: usize, cost: &[f64], wanted: &Wanted) -> Option<Law> {
    let truth = cost[0];
    let lie = cost.get(1).copied().unwrap_or(truth);
    let on_diagonal = |i: usize| i / size == i % size;
    let expected = |i: usize| if on_diagonal(i) { truth } else { lie };
    let alike = cost.iter().enumerate().all(|(i, &c)| c == expected(i));
    let by_epsilon = |epsilon| randomized_response::by_epsilon(size as u64, epsilon);
    let law = match *wanted {
        _ if cost.iter().any(|c| c.is_infinite()) => return None,
        Wanted::Beta(1.0) | Wanted::Temperature(f64::INFINITY) => by_epsilon(0.0),
        _ if !alike || lie < truth => return None,
        // Finite costs leave every report possible, so not the identity.
        Wanted::Temperature(t) => by_epsilon(((lie - truth) / t).min(800.0)),
        Wanted::Beta(_) if lie == truth => by_epsilon(0.0),
        Wanted::Beta(0.0) => by_epsilon(800.0),
        Wanted::Beta(beta) => randomized_response::by_beta(size as u64, beta),
    };
    let (diag, total) = law.count(0, 0);
    let (off, _) = law.count(0, (size > 1).into());
    let count = |i: usize| if on_diagonal(i) { diag } else { off } as i64;
    let counts = (0..size * size).map(count).gather_shared();
    Some(Law::Dense {
        counts,
        total: total as u64,
        size,
    })
}

fn rounded(state: &Potentials<'_>) -> Result<Law> {
    dense::settled("cost", state).map(|settled| settled.0)
}

/// The coldest law whose reported beta reaches the one asked for.
///
/// Bits rise with the temperature: the root is bracketed and narrowed by regula falsi in its logarithm on
/// coarsely settled kernels, each starting from the potentials of the last, then polished by secants on
/// fully settled ones.
fn by_beta(arguments: &mut Arguments, size: usize, cost: &[f64], wanted: f64) -> Result<Law> {
    let too_cold = || {
        let must = "be reached at a temperature of at least the largest finite cost over 2^17";
        Error::reach("beta", must, wanted, None)
    };
    let of_law = |law: &Law| beta(&law.entropy(), size as u64);
    let goal = wanted * bits::max_bits(size as u64);
    let mut tried = 0.0;
    let mut at = |state: &mut Potentials<'_>, t: f64, target: f64| {
        tried += 1.0;
        state.settle(t, target);
        state.bits() - goal
    };
    let mut state = Potentials::new(size, cost);
    let largest = state.largest;
    if !(largest == 0.0 || SCALE.contains(&largest)) {
        let must = "have a largest finite number from 1e-150 up, or 0, with a beta";
        return Err(Error::value("cost", must, format!("{largest:?}")));
    }
    let forbidden = cost.iter().any(|c| c.is_infinite());
    if forbidden || largest == 0.0 {
        // The hottest law is the most that the allowed reports can hold.
        state.scale(f64::INFINITY, DONE);
        let hottest = rounded(&state)?;
        let most = of_law(&hottest);
        if !(wanted <= most) {
            let must = format!("be at most {most} for the reports that `cost` allows");
            return Err(Error::reach("beta", must, wanted, Some(most)));
        }
        if largest == 0.0 || wanted == most {
            return Ok(hottest);
        }
        state = Potentials::new(size, cost);
    }
    let mut low = (largest / 8.0, at(&mut state, largest / 8.0, COARSE));
    let mut high = low;
    while high.1 < 0.0 && high.0 < largest * 1e9 {
        low = high;
        high.0 *= 4.0;
        high.1 = at(&mut state, high.0, COARSE);
    }
    while low.1 > 0.0 && low.0 > largest / SEARCHED {
        high = low;
        low.0 /= 4.0;
        low.1 = at(&mut state, low.0, COARSE);
    }
    // The coldest law will do if it has no bits left to lose: one assignment is the cheapest.
    if !state.is_held() || low.1 > 0.0 && low.1 + goal > 1e-12 {
        return Err(too_cold());
    }
    let (mut below, mut above, mut side) = (low.1, high.1, 0);
    // Bits a unit of ln T, for the polish.
    let mut slope = ((high.1 - low.1) / (high.0 / low.0).ln()).max(1e-9);
    let mut t = if low.1 > 0.0 { low.0 } else { high.0 };
    while low.1 <= 0.0 && high.0 / low.0 > 1.0 + 1e-9 {
        let share = (below / (below - above)).clamp(0.02, 0.98);
        t = (low.0.ln() + share * (high.0 / low.0).ln()).exp();
        let bits = at(&mut state, t, COARSE);
        let end = if bits >= 0.0 { &mut low } else { &mut high };
        let seen = (bits - end.1) / (t / end.0).ln();
        if seen > 0.0 {
            slope = seen;
        }
        if bits.abs() <= 1e-5 * goal {
            break;
        }
        if bits >= 0.0 {
            high = (t, bits);
            above = bits;
            below /= if side == 1 { 2.0 } else { 1.0 };
            side = 1;
        } else {
            low = (t, bits);
            below = bits;
            above /= if side == -1 { 2.0 } else { 1.0 };
            side = -1;
        }
    }
    // Secants, aimed a hair above so that the last step lands on the safe side.
    let hair = 1e-13 * goal.max(1e-3);
    let mut bits = at(&mut state, t, DONE);
    for _ in 0..8 {
        if (0.0..=10.0 * hair).contains(&bits) || low.1 > 0.0 {
            break;
        }
        let next = t * ((3.0 * hair - bits) / slope).clamp(-0.5, 0.5).exp();
        let now = at(&mut state, next, DONE);
        let seen = (now - bits) / (next / t).ln();
        if seen.is_finite() && seen > 0.0 {
            slope = seen;
        }
        (t, bits) = (next, now);
    }
    // What is reported is what was rounded: warm up by hairs until it keeps the request.
    for k in 0..60 {
        if !state.is_held() {
            return Err(too_cold());
        }
        let law = rounded(&state)?;
        if of_law(&law) >= wanted {
            arguments.note("temperature", t);
            arguments.note("temperatures_tried", tried);
            return Ok(law);
        }
        t *= 1.0 + 1e-14 * f64::from(1u32 << k.min(30));
        at(&mut state, t, DONE);
    }
    // Perfect secrecy on what is allowed is never below.
    state.scale(f64::INFINITY, DONE);
    rounded(&state)
}
