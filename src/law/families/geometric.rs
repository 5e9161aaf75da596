//! Geometric: the reflected kernel that falls by one factor a step, for ordered categories.

use crate::error::{Error, Result};
use crate::law::composite::beta;
use crate::law::families::reflected::{self, made};
use crate::law::parameters::Arguments;
use crate::law::{Law, Matrix};
use crate::number::bits;
use crate::number::calibrate;
use crate::number::dd::Dd;
use crate::number::lattice::GRID;
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

/// # Law
/// `c_j` proportional to `q^j + floor` with `q = exp(-1/T)`, reflected. Neighbouring kernel entries have
/// a ratio of at most `exp(1/T)`, exactly, in the integers that are sampled, so that any report is at
/// most `exp(|u - w| / T)` times as likely under truth `u` as under `w`: metric epsilon 1/T.
///
/// The floor keeps that true under rounding: with `a_j = F + g_j` and `g_j = rho g_{j+1}`,
/// `rho floor(a_{j+1}) >= rho (a_{j+1} - 1) = rho F + g_j - rho >= floor(a_j)` as soon as
/// `F >= rho / (rho - 1)`, about `T + 1/2` units. It adds `2 size F` units of uniform mass.
pub fn build(arguments: &mut Arguments) -> Result<Matrix> {
    if let Some(kernel) = arguments.take("kernel") {
        let total = arguments.required("total")?;
        let given = vec![("kernel".to_owned(), kernel), ("total".to_owned(), total)];
        let law = reflected::given(&mut Arguments::new("geometric", given))?;
        return Ok(made("geometric", law));
    }
    let size = arguments.size()?;
    if size > 1 << 32 {
        return Err(Error::value("size", "be at most 2^32 for geometric", size));
    }
    arguments.exactly_one(&["temperature", "beta", "epsilon"])?;
    let size = size as usize;
    for name in ["temperature", "epsilon"] {
        let law = match arguments.real(name)? {
            None => continue,
            Some(x) if !(x >= 0.0) => return Err(Error::value(name, "be at least 0", x)),
            Some(t) if name == "temperature" => at_temperature(size, t),
            Some(epsilon) => {
                let (t, law) = by_epsilon(size, epsilon);
                arguments.note("temperature", t);
                law
            }
        };
        return Ok(made("geometric", law));
    }
    let wanted = arguments.beta()?.unwrap_or(0.0);
    let (t, tried, law) = by_beta(size, wanted);
    arguments.note("temperature", t);
    arguments.note("temperatures_tried", tried);
    Ok(made("geometric", law))
}

fn of_kernel(kernel: Vec<i64>, total: u64) -> Law {
    let kernel = memory::shared(kernel);
    Law::Reflected { kernel, total }
}

/// Perfect secrecy: every kernel entry the same.
fn uniform(size: usize) -> Law {
    of_kernel(memory::filled(1, size + 1), 2 * size as u64)
}

fn at_temperature(size: usize, t: f64) -> Law {
    if t == 0.0 || size == 1 {
        let mut kernel = memory::zeros(size + 1);
        kernel[0] = 1;
        return of_kernel(kernel, 1);
    }
    // Twice what rounding asks for, and room for the error of `exp` in the head.
    let floor = (32.0 * (t + 2.0)).ceil();
    let uniform_mass = 2.0 * size as f64 * floor;
    if !(uniform_mass <= GRID as f64 / 2.0) {
        return uniform(size);
    }
    let Some(rho) = ratio_below(t) else {
        return uniform(size);
    };
    let q = (-1.0 / t).exp();
    let mut head = (GRID as f64 - uniform_mass) * -(-1.0 / t).exp_m1()
        / ((1.0 + q) * -(-(size as f64) / t).exp_m1());
    loop {
        let mut kernel: Vec<i64> = (0..=size)
            .map(|j| (floor + head * (-(j as f64) / t).exp()) as i64)
            .gather();
        // The certificate: no entry above rho times the next.
        for j in (0..size).rev().paced() {
            kernel[j] = kernel[j].min(most_before(kernel[j + 1], rho));
        }
        let used: i128 = 2 * kernel.iter().map(|&k| i128::from(k)).sum::<i128>()
            - i128::from(kernel[0])
            - i128::from(kernel[size]);
        let spare = i128::from(GRID) - used;
        if spare >= 0 {
            share_out(&mut kernel, spare as u64, rho);
            return of_kernel(kernel, GRID);
        }
        head *= 1.0 - 2f64.powi(-45);
    }
}

/// A double not above `exp(1/t)`, certified by its logarithm; `None` if it is not above 1.
fn ratio_below(t: f64) -> Option<f64> {
    let wanted = 1.0 / t;
    let mut rho = wanted.min(700.0).exp();
    while rho > 1.0 && Dd::from(rho).ln().round_up(1e-29) > wanted {
        rho = rho.next_down();
    }
    (rho > 1.0).then_some(rho)
}

/// The largest entry that may stand before `next`.
fn most_before(next: i64, rho: f64) -> i64 {
    // Beyond what an i64 holds nothing is asked for; the floor of a much larger number would wrap.
    if next as f64 * rho >= (1u64 << 63) as f64 {
        return i64::MAX;
    }
    let most = Dd::product(next as f64, rho).floor();
    most.min(i128::from(i64::MAX)) as i64
}

/// Add `spare` units. What rounding down took, less than one unit an entry, goes back to the entries
/// before the constant tail, which leaves the tail constant: the floor has room for some units each.
/// Should that break a ratio, they go to all entries from some index on, which breaks none: the whole
/// kernel takes `2r` units, the entries from `j >= 1` on take `2 (r - j) + 1`, an odd number.
fn share_out(kernel: &mut [i64], spare: u64, rho: f64) {
    let r = kernel.len() - 1;
    let tail = kernel[r];
    let head = kernel.iter().take_while(|&&k| k > tail).count().min(r);
    let before = memory::copied(kernel);
    kernel[0] += (spare % 2) as i64;
    if head > 1 {
        let (each, rest) = (spare / 2 / (head as u64 - 1), spare / 2 % (head as u64 - 1));
        for (j, k) in kernel[1..head].iter_mut().enumerate() {
            *k += (each + u64::from((j as u64) < rest)) as i64;
        }
    } else {
        kernel[0] += (spare - spare % 2) as i64;
    }
    let holds =
        |pair: &[i64]| pair[0] <= most_before(pair[1], rho) && pair[1] <= most_before(pair[0], rho);
    if kernel.windows(2).all(holds) {
        return;
    }
    kernel.copy_from_slice(&before);
    let r = r as u64;
    let add = |kernel: &mut [i64], from: u64, units: u64| {
        kernel[from as usize..]
            .iter_mut()
            .for_each(|k| *k += units as i64);
    };
    add(kernel, 0, spare / (2 * r));
    let mut left = spare % (2 * r);
    if left > 0 && left.is_multiple_of(2) {
        add(kernel, r, 1);
        left -= 1;
    }
    if left > 0 {
        add(kernel, r - (left - 1) / 2, 1);
    }
}

/// The coldest law found whose reported beta reaches the one asked for. Bits rise with the
/// temperature, and what is searched is what will be reported: secants in `ln T`, kept inside the
/// bracket, until it is met and exceeded by no more than 1e-9.
fn by_beta(size: usize, wanted: f64) -> (f64, f64, Law) {
    if wanted == 1.0 {
        return (f64::INFINITY, 0.0, uniform(size));
    }
    if wanted == 0.0 || size == 1 {
        return (0.0, 0.0, at_temperature(size, 0.0));
    }
    const SLACK: f64 = 1e-9;
    let max_bits = bits::max_bits(size as u64);
    // Start where the geometric law on the whole line has the wanted bits, about log2(2 e T), which
    // also says how they grow: one bit a doubling.
    let mut ln_t = (wanted * max_bits - 1.0 - std::f64::consts::LOG2_E) * std::f64::consts::LN_2;
    let mut slope = std::f64::consts::LOG2_E / max_bits;
    let (mut low, mut high) = ((1e-3f64).ln(), (1e18f64).ln());
    let mut best = (f64::INFINITY, uniform(size));
    let mut last = None;
    for tried in 1..=80 {
        ln_t = if ln_t > low && ln_t < high {
            ln_t
        } else {
            (low + high) / 2.0
        };
        let law = at_temperature(size, ln_t.exp());
        let off = beta(&law.entropy(), size as u64).min(1.0) - wanted;
        if off >= 0.0 {
            high = ln_t;
            best = (ln_t.exp(), law);
        } else {
            low = ln_t;
        }
        if (0.0..=SLACK).contains(&off) || high - low <= 1e-12 {
            return (best.0, f64::from(tried), best.1);
        }
        if let Some((before, then)) = last {
            let seen: f64 = (off - then) / (ln_t - before);
            // A slope of nothing or the wrong sign does not help; halve the bracket instead.
            slope = if seen > 1e-12 {
                seen
            } else {
                f64::MIN_POSITIVE
            };
        }
        last = Some((ln_t, off));
        ln_t += (SLACK / 2.0 - off) / slope;
    }
    (best.0, 80.0, best.1)
}

/// The coldest law whose reported epsilon is not above the one asked for: the smallest double `t`,
/// found by halving, as doubles are ordered as their bits are.
///
/// A report is at most `exp((size - 1) / t)` times as likely under one truth as under another, so
/// `(size - 1) / epsilon` is warm enough; a hair more, as what is reported is rounded up. The floor makes
/// colder laws serve, too. At `COLDEST`, where `2^53 exp(-1/t) < 1`, the floor alone is left beside the
/// truth: no other law with a finite epsilon has a larger one.
fn by_epsilon(size: usize, epsilon: f64) -> (f64, Law) {
    const COLDEST: f64 = 1.0 / 40.0;
    if epsilon == 0.0 {
        return (f64::INFINITY, uniform(size));
    }
    if epsilon == f64::INFINITY || size == 1 {
        return (0.0, at_temperature(size, 0.0));
    }
    let holds = |t: f64| at_temperature(size, t).epsilon() <= epsilon;
    let warm = ((size - 1) as f64 / epsilon * (1.0 + 1e-9)).clamp(COLDEST, f64::MAX);
    let t = f64::from_bits(calibrate::smallest(
        COLDEST.to_bits(),
        warm.to_bits(),
        |bits| holds(f64::from_bits(bits)),
    ));
    (t, at_temperature(size, t))
}
