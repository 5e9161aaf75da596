//! Expected releases `P^T x`, to one unit in the last place of the exact rational number.
//!
//! # How
//! Sums are taken in two doubles, with a bound of what is lost beside them. Where the bound shows that the result
//! is the nearest double or one beside it, that is it. Elsewhere (numbers that cancel, or lie at the ends of the
//! range) it is found again without any rounding ([`exact`](super::exact)).
//!
//! # What is lost
//! With `u = 2^-53`: adding up n doubles with Knuth's exact sum leaves n errors of at most `n u A` together, where A
//! is the sum of the absolute values; adding those up in turn loses at most `n u` of it. So `(n u)^2 A` is lost in a
//! stretch of n = 4096, below `2^-81 A`, and stretches are added up in double-double, which loses less. A product
//! in two doubles is exact but for underflow; weights of two doubles are good to `2^-104`.

use super::exact::Sum;
use super::shuffle::workers;
use crate::law::structure::{Run, Structure};
use crate::law::{Alphas, Matrix};
use crate::number::dd::Dd;
use crate::system::pool;
use crate::system::stop::{self, Paced};

/// Numbers that are summed at a time.
const STRETCH: usize = 1 << 12;

/// Numbers in a task.
const TASK: usize = 1 << 15;

/// `2^e`.
const fn power(e: i32) -> f64 {
    f64::from_bits(((1023 + e) as u64) << 52)
}

/// A sum in two doubles, the sum of the absolute values beside it.
#[derive(Debug, Clone, Copy)]
struct Near {
    value: Dd,
    size: f64,
}

/// Whether a value of this magnitude is good to `2^-58` of it, if `lost` is lost: then it rounds to one unit in the last
/// place. Not where doubles underflow, nor where anything is not finite.
#[inline]
fn is_good(value: f64, lost: f64) -> bool {
    let size = value.abs();
    // Without branches, so that many are asked at a time.
    (lost <= size * power(-58)) & (size >= power(-960)) & (size <= power(990))
}

#[inline]
fn stretch(x: &[f64]) -> Near {
    let (mut sum, mut errors, mut size) = (0.0, 0.0, 0.0);
    for &x in x {
        let both = Dd::sum(sum, x);
        (sum, errors, size) = (both.hi, errors + both.lo, size + x.abs());
    }
    Near {
        value: Dd::sum(sum, errors),
        size,
    }
}

/// The sum of many, in fixed stretches, on all threads.
fn long(x: &[f64]) -> Near {
    let tasks = x.len().div_ceil(TASK);
    let parts = pool::map(tasks, tasks < 4, |i| {
        let x = &x[i * TASK..x.len().min((i + 1) * TASK)];
        joined(x.chunks(STRETCH).map(stretch))
    });
    joined(parts.into_iter())
}

fn joined(parts: impl Iterator<Item = Near>) -> Near {
    let none = Near {
        value: Dd::ZERO,
        size: 0.0,
    };
    parts.fold(none, |a, b| Near {
        value: a.value + b.value,
        size: a.size + b.size,
    })
}

/// What a sum in stretches may have lost, of its size.
const LOST: f64 = power(-78);

fn exactly(x: &[f64]) -> Sum {
    let mut sum = Sum::default();
    x.iter().paced().for_each(|&x| sum.add(x, 1));
    sum
}

/// The mean of a sum, where it is good.
#[inline]
fn mean(sum: Near, n: f64) -> Option<f64> {
    if sum.size == 0.0 {
        return Some(0.0);
    }
    if !is_good(sum.value.hi, sum.size * LOST) {
        return None;
    }
    // One division, and what it left over.
    let first = sum.value.hi / n;
    let product = Dd::product(first, n);
    let left = (sum.value.hi - product.hi) - product.lo + sum.value.lo;
    Some(first + left / n)
}

fn class(x: &[f64]) -> f64 {
    let sum = if x.len() > 4 * TASK {
        long(x)
    } else {
        joined(x.chunks(STRETCH).map(stretch))
    };
    mean(sum, x.len() as f64).unwrap_or_else(|| exactly(x).over(&[x.len() as u64]))
}

/// Every class its mean.
pub fn classes(runs: &[Run], x: &[f64], out: &mut [f64]) {
    let mut rest = out;
    for run in runs {
        let n = run.class_size as usize;
        let start = run.start as usize;
        let places = n * run.classes as usize;
        let (out, later) = std::mem::take(&mut rest).split_at_mut(places);
        rest = later;
        let x = &x[start..start + places];
        match n {
            1 => out.copy_from_slice(x),
            n if n > TASK => {
                for (x, out) in x.chunks(n).zip(out.chunks_mut(n)) {
                    let mean = class(x);
                    pool::for_each_chunk(out, TASK, n < 4 * TASK, |_, out| out.fill(mean));
                }
            }
            n => {
                let each = TASK / n * n;
                let small = workers(places, 2) == 1;
                pool::for_each_chunk(out, each, small, |i, out| {
                    let x = &x[i * each..][..out.len()];
                    few(n, x, out);
                });
            }
        }
    }
}

/// Classes of `n`, one after the other.
fn few(n: usize, x: &[f64], out: &mut [f64]) {
    let size = n as f64;
    for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        let found = if n <= STRETCH {
            mean(stretch(x), size).unwrap_or_else(|| exactly(x).over(&[n as u64]))
        } else {
            class(x)
        };
        out.fill(found);
    }
}

/// A weight in two doubles.
fn weight(count: i128, total: u128) -> Dd {
    let share = Dd::from(count.unsigned_abs()) / Dd::from(total);
    if count < 0 { -share } else { share }
}

/// The sum of weights times numbers, where it is good.
#[inline]
fn dot<const N: usize>(terms: [(Dd, f64); N]) -> Option<f64> {
    let (mut sum, mut errors, mut size) = (0.0, 0.0, 0.0);
    for (weight, x) in terms {
        let product = Dd::product(weight.hi, x);
        let both = Dd::sum(sum, product.hi);
        sum = both.hi;
        errors += both.lo + (product.lo + weight.lo * x);
        size += product.hi.abs();
    }
    let value = sum + errors;
    let zero = terms
        .iter()
        .all(|(weight, x)| *x == 0.0 || weight.hi == 0.0);
    (is_good(value, size * power(-97)) || zero).then_some(if zero { 0.0 } else { value })
}

/// The same of two neighbours with one weight and of what is between them, so that many are done at a time. What is
/// not good is NaN, as no number that is given is.
#[inline]
fn between(side: Dd, own: Dd, [p, q, r]: [f64; 3]) -> f64 {
    let pair = Dd::sum(p, r);
    let (outer, inner) = (Dd::product(side.hi, pair.hi), Dd::product(own.hi, q));
    let both = Dd::sum(outer.hi, inner.hi);
    let rest = side.hi * pair.lo + side.lo * pair.hi + own.lo * q;
    let value = both.hi + (both.lo + (outer.lo + inner.lo + rest));
    let size = side.hi * (p.abs() + r.abs()) + inner.hi.abs();
    let zero = p.abs() + q.abs() + r.abs() == 0.0;
    if is_good(value, size * power(-97)) | zero {
        value
    } else {
        f64::NAN
    }
}

/// The counts that come to a place from before, from itself and from behind.
fn counts(alphas: &Alphas, total: u64, i: usize, n: usize) -> [u64; 3] {
    let before = if i > 0 { alphas.at(i as u64 - 1) } else { 0 };
    let behind = if i + 1 < n { alphas.at(i as u64) } else { 0 };
    [before, total - before - behind, behind]
}

/// Every place the mean of itself and its neighbours, weighted.
pub fn neighbours(alphas: &Alphas, total: u64, x: &[f64], out: &mut [f64]) {
    let n = x.len();
    let weights = |i: usize| counts(alphas, total, i, n).map(|c| weight(c.into(), total.into()));
    let around = |i: usize| [x[i.saturating_sub(1)], x[i], x[(i + 1).min(n - 1)]];
    let alone = |i: usize| {
        stop::point();
        let mut sum = Sum::default();
        for (count, x) in counts(alphas, total, i, n).into_iter().zip(around(i)) {
            sum.add(x, count.into());
        }
        sum.over(&[total])
    };
    let find = |i: usize, [a, b, c]: [Dd; 3]| {
        let [p, q, r] = around(i);
        dot([(a, p), (b, q), (c, r)]).unwrap_or_else(|| alone(i))
    };
    pool::for_each_chunk(out, TASK, workers(n, 2) == 1, |task, out| {
        let first = task * TASK;
        let last = first + out.len() - 1;
        let end = out.len() - 1;
        out[0] = find(first, weights(first));
        out[end] = find(last, weights(last));
        if end < 2 {
            return;
        }
        let inner = &mut out[1..end];
        match alphas {
            Alphas::Constant(_) => {
                // Between its ends a task has no end of the path.
                let [side, own, _] = weights(first + 1);
                let x = &x[first..=last];
                for (out, (p, (q, r))) in inner
                    .iter_mut()
                    .zip(x.iter().zip(x[1..].iter().zip(&x[2..])))
                {
                    *out = between(side, own, [*p, *q, *r]);
                }
                for (out, i) in inner.iter_mut().zip(first + 1..) {
                    if out.is_nan() {
                        *out = alone(i);
                    }
                }
            }
            Alphas::Vector(_) => {
                for (out, i) in inner.iter_mut().zip(first + 1..) {
                    *out = find(i, weights(i));
                }
            }
        }
    });
}

/// Everybody's own value and the mean of all others, weighted: `keep = n/d` for one's own.
pub fn lies((n, d): (u64, u64), x: &[f64], out: &mut [f64]) {
    let size = x.len() as u64;
    // ((d - n) S + (n (size - 1) - (d - n)) x) / (d (size - 1)), S the sum of all.
    let off = i128::from(d - n);
    let own = i128::from(n) * i128::from(size - 1) - off;
    let total = u128::from(d) * u128::from(size - 1);
    let fast = long(x);
    let all = if is_good(fast.value.hi, fast.size * LOST * power(8)) {
        fast.value
    } else {
        // Two doubles of the exact sum.
        let mut sum = exactly(x);
        let hi = sum.over(&[1]);
        if hi.is_finite() {
            sum.add(hi, -1);
        }
        Dd::sum(hi, sum.over(&[1]))
    };
    let lost = if all.hi == fast.value.hi && all.lo == fast.value.lo {
        fast.size * LOST
    } else {
        all.hi.abs() * power(-104)
    };
    let (q, a) = (weight(off, total), weight(own, total));
    let shared = q * all;
    let lost = q.hi * lost + shared.hi.abs() * power(-98);
    pool::for_each_chunk(out, TASK, workers(x.len(), 2) == 1, |task, out| {
        for (out, &x) in out.iter_mut().zip(&x[task * TASK..]) {
            let product = Dd::product(a.hi, x);
            let both = Dd::sum(shared.hi, product.hi);
            let errors = both.lo + (shared.lo + (product.lo + a.lo * x));
            let value = both.hi + errors;
            let lost = lost + (product.hi.abs() + both.hi.abs()) * power(-97);
            // What is not good is marked, as no number that is given is.
            *out = if is_good(value, lost) {
                value
            } else {
                f64::NAN
            };
        }
    });
    if out.iter().any(|out| out.is_nan()) {
        let mut base = Sum::default();
        x.iter().paced().for_each(|&x| base.add(x, off));
        for (out, &x) in out
            .iter_mut()
            .zip(x)
            .filter(|(out, _)| out.is_nan())
            .paced()
        {
            let mut sum = base.clone();
            sum.add(x, own);
            *out = sum.over(&[d, size - 1]);
        }
    }
}

/// `P^T x`, where it is known to the last place: classes, neighbours, randomized response. False for all others.
pub fn average(matrix: &Matrix, x: &[f64], out: &mut [f64]) -> bool {
    let size = x.len() as u64;
    let structure = matrix.structure();
    if let Some(runs) = structure.classes(size) {
        classes(&runs, x, out);
        return true;
    }
    match structure {
        Structure::Neighbours { alphas, total, .. } => neighbours(alphas, *total, x, out),
        Structure::Lies { keep, .. } => lies(*keep, x, out),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, spread: i32) -> Vec<f64> {
        let mut seed = 17u64;
        let mut next = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let exponent = (seed >> 50) as i32 % (2 * spread + 1) - spread;
            ((seed >> 20) as u32 as f64 / 2f64.powi(31) - 1.0) * 2f64.powi(exponent)
        };
        (0..n).map(|_| next()).collect()
    }

    fn within_one_place(got: f64, want: f64) {
        let apart = got.to_bits().abs_diff(want.to_bits());
        assert!(apart <= 1 || got == want, "{got:e} for {want:e}");
    }

    /// Numbers that cancel, that are tiny, that are large.
    fn hard() -> Vec<Vec<f64>> {
        let mut cancelling = numbers(999, 3);
        let back: Vec<f64> = cancelling.iter().map(|x| -x).collect();
        cancelling.extend(back);
        cancelling.push(1e-30);
        vec![
            numbers(5, 0),
            numbers(2000, 300),
            numbers(2001, 2),
            cancelling,
            vec![0.0; 12],
            vec![f64::MAX; 7],
            vec![
                f64::MAX,
                -f64::MAX,
                3.0,
                f64::from_bits(1),
                -2.9999999999999996,
            ],
            (1..50).map(|i| f64::from_bits(i * 3)).collect(),
        ]
    }

    #[test]
    fn class_means_are_good_to_the_last_place() {
        for x in hard() {
            for n in [1, 2, 3, 5, x.len()] {
                let classes_of = x.len() / n;
                let run = Run {
                    start: 0,
                    class_size: n as u64,
                    classes: classes_of as u64,
                };
                let x = &x[..n * classes_of];
                let mut out = vec![f64::NAN; x.len()];
                classes(&[run], x, &mut out);
                for (x, out) in x.chunks(n).zip(out.chunks(n)) {
                    let want = exactly(x).over(&[n as u64]);
                    out.iter().for_each(|&out| within_one_place(out, want));
                }
            }
        }
    }

    #[test]
    fn long_classes_are_summed_in_parts() {
        let x = numbers(300_001, 5);
        let mut out = vec![0.0; x.len()];
        let run = Run {
            start: 0,
            class_size: x.len() as u64,
            classes: 1,
        };
        classes(&[run], &x, &mut out);
        let want = exactly(&x).over(&[x.len() as u64]);
        assert!(out.iter().all(|&mean| mean == out[0]));
        within_one_place(out[0], want);
    }

    #[test]
    fn neighbours_are_weighed_to_the_last_place() {
        for x in hard() {
            let alphas = (0..x.len() as i64 - 1)
                .map(|i| 1 + i % 3)
                .collect::<Vec<_>>();
            for (alphas, total) in [
                (Alphas::Constant(3), 10),
                (Alphas::Constant(1 << 52), 1 << 53),
                (Alphas::Constant(2_702_159_776_422_298), 1 << 53),
                (Alphas::Vector(alphas.into()), 7),
            ] {
                let mut out = vec![f64::NAN; x.len()];
                neighbours(&alphas, total, &x, &mut out);
                for (i, &out) in out.iter().enumerate() {
                    let mut sum = Sum::default();
                    let counts = counts(&alphas, total, i, x.len());
                    let at = [i.saturating_sub(1), i, (i + 1).min(x.len() - 1)];
                    for (count, at) in counts.into_iter().zip(at) {
                        sum.add(x[at], count.into());
                    }
                    within_one_place(out, sum.over(&[total]));
                }
            }
        }
    }

    #[test]
    fn randomized_response_is_weighed_to_the_last_place() {
        for x in hard() {
            for (n, d) in [
                (1, 2),
                (1, 1),
                (0, 1),
                (1, 3),
                (835_723_902_779, 3_074_456_951_558_260_451),
            ] {
                let mut out = vec![f64::NAN; x.len()];
                lies((n, d), &x, &mut out);
                let off = i128::from(d - n);
                let size = x.len() as u64;
                let mut all = Sum::default();
                x.iter().for_each(|&x| all.add(x, off));
                for (&own, &out) in x.iter().zip(&out) {
                    let mut sum = all.clone();
                    sum.add(own, i128::from(n) * i128::from(size - 1) - off);
                    within_one_place(out, sum.over(&[d, size - 1]));
                }
            }
        }
    }
}
