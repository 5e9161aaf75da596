//! `-p log2 p` over many numbers at once: the one hot loop of the reports.
//!
//! Bytes: each number is read once; about thirty vector operations hide behind that read. There is
//! no table, no branch and no fused operation, so the compiler vectorises the same source for every
//! instruction set and the result has the same bits on all of them.
//!
//! # Accuracy
//! With `u = 2^-53`: `p = 2^k m`, m between sqrt(1/2) and sqrt(2), `s = (m - 1)/(m + 1)` is good to
//! 2u, the series to 4u, the sum `k + log2 m` never cancels by more than half (it is at least 1/2 in
//! magnitude unless k = 0), so one term is good to 10u. A chunk of `CHUNK` numbers is added up in
//! `LANES` lanes, 128 additions each, and the chunks in double-double. All terms have one sign, so
//! the relative error of the whole is below 10u + 128u < [`RELATIVE_ERROR`].

use std::ops::Range;

use crate::error::{Error, Result};
use crate::number::bits::max_bits;
use crate::number::dd::Dd;
use crate::number::lattice::TOLERANCE;
use crate::system::memory;
use crate::system::pool;
#[cfg(target_arch = "x86_64")]
use crate::system::processor::{Level, level};

/// Bound on the relative error of a sum of terms of one sign.
pub const RELATIVE_ERROR: f64 = 1.0 / (1u64 << 45) as f64;

const LANES: usize = 8;
const CHUNK: usize = 1024;

/// log2 of a positive normal number; 0 and subnormal numbers give a finite value that a factor 0
/// (or 1e-308) makes vanish.
#[inline(always)]
fn log2(x: f64) -> f64 {
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const EXPONENT: u64 = 0xfff << 52;
    const BIAS: u64 = 1023 << 52;
    let bits = x.to_bits();
    // The exponent of x relative to sqrt(1/2), kept non-negative by the bias because vector units
    // shift unsigned integers only.
    let steps = bits.wrapping_sub(SQRT_HALF).wrapping_add(BIAS);
    let m = f64::from_bits(bits.wrapping_sub((steps & EXPONENT).wrapping_sub(BIAS)));
    // An integer below 2^52 becomes a double by borrowing the bits of 2^52.
    const TWO_52: u64 = 0x433 << 52;
    let k = f64::from_bits((steps >> 52) | TWO_52) - (4_503_599_627_370_496.0 + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    // 2 atanh(s) / ln 2 = (2 / ln 2) s (1 + z/3 + z^2/5 + ...): z < 0.0295, so the first term left
    // out is below 2^-57 of the sum.
    let mut sum = 1.0 / 21.0;
    sum = sum * z + 1.0 / 19.0;
    sum = sum * z + 1.0 / 17.0;
    sum = sum * z + 1.0 / 15.0;
    sum = sum * z + 1.0 / 13.0;
    sum = sum * z + 1.0 / 11.0;
    sum = sum * z + 1.0 / 9.0;
    sum = sum * z + 1.0 / 7.0;
    sum = sum * z + 1.0 / 5.0;
    sum = sum * z + 1.0 / 3.0;
    sum *= z;
    let c = 2.0 * std::f64::consts::LOG2_E * s;
    k + (c + c * sum)
}

/// What one pass over a run of numbers learns.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scan {
    /// `sum of -p log2 p`.
    pub entropy: f64,
    /// `sum of p`.
    pub sum: f64,
    /// Whether a sign bit is set; a NaN or an infinity shows in `sum`.
    pub signed: bool,
}

/// One pass over at most [`CHUNK`] numbers; if there are columns, `columns[j] += p[j]` on the way.
#[inline(always)]
fn scan_any(p: &[f64], columns: &mut [f64]) -> Scan {
    let mut entropy = [0.0; LANES];
    let mut sum = [0.0; LANES];
    let mut bits = [0u64; LANES];
    let mut step = |x: &[f64; LANES]| {
        for i in 0..LANES {
            entropy[i] -= x[i] * log2(x[i]);
            sum[i] += x[i];
            bits[i] |= x[i].to_bits();
        }
    };
    let (groups, rest) = p.as_chunks::<LANES>();
    if !columns.is_empty() {
        let (totals, tail) = columns.as_chunks_mut::<LANES>();
        for (x, total) in groups.iter().zip(totals) {
            step(x);
            for i in 0..LANES {
                total[i] += x[i];
            }
        }
        for (x, total) in rest.iter().zip(tail) {
            *total += x;
        }
    } else {
        groups.iter().for_each(&mut step);
    }
    let mut last = [0.0; LANES];
    last[..rest.len()].copy_from_slice(rest);
    step(&last);
    Scan {
        entropy: entropy.iter().sum(),
        sum: sum.iter().sum(),
        signed: bits.iter().any(|b| b >> 63 == 1),
    }
}

/// The pass, compiled for each level of processor from one source.
fn scan(p: &[f64], columns: &mut [f64]) -> Scan {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn avx2(p: &[f64], columns: &mut [f64]) -> Scan {
            scan_any(p, columns)
        }
        #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
        fn avx512(p: &[f64], columns: &mut [f64]) -> Scan {
            scan_any(p, columns)
        }
        let level = level();
        if level >= Level::Avx2 {
            // SAFETY: the level is one that the processor has.
            return unsafe {
                match level {
                    Level::Avx512 => avx512(p, columns),
                    _ => avx2(p, columns),
                }
            };
        }
    }
    scan_any(p, columns)
}

/// `sum of -p log2 p` over `len` numbers that `fill(start, buffer)` produces chunk by chunk.
pub fn sum_of_terms(len: usize, fill: impl Fn(usize, &mut [f64]) + Sync + Send) -> Dd {
    /// Numbers a task: enough to hide the hand-over, few enough to share out.
    const TASK: usize = 1 << 16;
    let parts = pool::map(len.div_ceil(TASK), len < TASK, |task| {
        sum(task * TASK..len.min((task + 1) * TASK), &fill)
    });
    parts.into_iter().fold(Dd::ZERO, |a, b| a + b)
}

/// The same over a range of numbers on one thread, for callers that share out the work themselves.
pub fn sum(range: Range<usize>, fill: impl Fn(usize, &mut [f64])) -> Dd {
    let mut buffer = [0.0; CHUNK];
    let mut total = Dd::ZERO;
    for start in range.clone().step_by(CHUNK) {
        let part = &mut buffer[..CHUNK.min(range.end - start)];
        fill(start, part);
        total = total + Dd::from(scan(part, &mut []).entropy);
    }
    total
}

/// `-p log2 p` of one number.
pub fn term(p: f64) -> Dd {
    Dd::from(scan(&[p], &mut []).entropy)
}

/// One pass over a square matrix in row-major order: a [`Scan`] a row, and the column sums.
pub fn scan_matrix(matrix: &[f64], size: usize) -> (Vec<Scan>, Vec<f64>) {
    /// Bands of rows, each with column sums of its own. Their number depends on the size alone, so
    /// that the sums do not depend on the threads.
    const BANDS: usize = 32;
    let height = size.div_ceil(BANDS).max(1);
    let bands = size.div_ceil(height);
    let mut columns = memory::zeros(bands * size);
    let mut rows = memory::filled(Scan::default(), size);
    let mut work: Vec<(&[f64], &mut [f64], &mut [Scan])> = matrix
        .chunks(height * size)
        .zip(columns.chunks_mut(size))
        .zip(rows.chunks_mut(height))
        .map(|((m, c), r)| (m, c, r))
        .collect();
    pool::for_each_chunk(&mut work, 1, matrix.len() < 1 << 16, |_, part| {
        for (band, columns, rows) in part {
            for (row, out) in band.chunks(size).zip(rows.iter_mut()) {
                for (p, c) in row.chunks(CHUNK).zip(columns.chunks_mut(CHUNK)) {
                    let s = scan(p, c);
                    out.entropy += s.entropy;
                    out.sum += s.sum;
                    out.signed |= s.signed;
                }
            }
        }
    });
    let mut sums = memory::zeros(size);
    for band in columns.chunks(size) {
        sums.iter_mut().zip(band).for_each(|(s, x)| *s += x);
    }
    (rows, sums)
}

/// The same of numbers whose lines sum to 1: a [`Scan`] a row, and what a sum is off by at most.
///
/// # Errors
/// An entry that is not a non-negative number; a row or column whose sum is off by more than 1e-9.
pub fn scan_bistochastic(array: &[f64], size: usize) -> Result<(Vec<Scan>, f64)> {
    let must = "hold non-negative numbers whose rows and columns sum to 1";
    let (rows, columns) = scan_matrix(array, size);
    if rows.iter().any(|r| r.signed || !r.sum.is_finite()) {
        refuse_negative(must, array, size)?;
    }
    let rows_first = rows.iter().map(|r| r.sum).enumerate().map(|s| ("row", s));
    let sums = rows_first.chain(columns.into_iter().enumerate().map(|s| ("column", s)));
    let mut most = 0.0f64;
    for (line, (i, sum)) in sums {
        let off = sum - 1.0;
        if !(off.abs() <= TOLERANCE) {
            let got = format!("a sum of {sum} in {line} {i}, off by {off:.1e}");
            return Err(Error::value("array", must, got));
        }
        most = most.max(off.abs());
    }
    Ok((rows, most))
}

/// `-sum of p log2 p / size` of a plain array in row-major order.
///
/// # Errors
/// An entry that is not a non-negative number; a row or column whose sum is off by more than 1e-9.
pub fn entropy_rate(array: &[f64], size: usize) -> Result<f64> {
    let (rows, _) = scan_bistochastic(array, size)?;
    let total = rows
        .iter()
        .fold(Dd::ZERO, |sum, r| sum + Dd::from(r.entropy));
    // The vectorised sum may leave a hair of the wrong sign or above the maximum.
    Ok((total / Dd::from(size as f64))
        .hi
        .clamp(0.0, max_bits(size as u64)))
}

/// An error that names the first entry of `array` that is not a non-negative number.
pub fn refuse_negative(must: &str, array: &[f64], size: usize) -> Result<()> {
    let Some(i) = (array.iter()).position(|x| !(*x >= 0.0 && x.is_finite())) else {
        return Ok(());
    };
    let got = format!("{} at ({}, {})", array[i], i / size, i % size);
    Err(Error::value("array", must, got))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers over the whole range of magnitudes, dense near 1.
    fn numbers() -> Vec<f64> {
        let mut x = 1u64;
        (0..1000)
            .map(|i| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let unit = (x >> 11) as f64 / (1u64 << 53) as f64;
                match i % 3 {
                    0 => unit,
                    1 => 1.0 - unit * 1e-9,
                    _ => unit * 1e-300,
                }
            })
            .chain([0.0, 1.0, 0.5, 2f64.powi(-53), 1.0 - 2f64.powi(-53)])
            .collect()
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for p in [&numbers()[..], &numbers()[..7], &[]] {
            let (mut columns, mut want_columns) = (vec![0.25; p.len()], vec![0.25; p.len()]);
            let (got, want) = (scan(p, &mut columns), scan_any(p, &mut want_columns));
            assert_eq!(got.entropy.to_bits(), want.entropy.to_bits());
            assert_eq!(got.sum.to_bits(), want.sum.to_bits());
            assert_eq!(columns, want_columns);
        }
    }
}
