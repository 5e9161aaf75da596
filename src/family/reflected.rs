//! Reflected kernel: a step drawn from one even law, folded back at the ends of an ordinal scale.

use std::sync::{Arc, OnceLock};

use crate::dd::Dd;
use crate::entropy::{self, Summer};
use crate::error::{Error, Result};
use crate::family::Family;
use crate::lattice::{self, gcd};
use crate::measure::{self, Bits, Entropy, LogSum};
use crate::parameters::{Arguments, Parameters, Value};
use crate::pool;

/// # Law
/// With an even law `c` on the cycle of length `2r` (`c_j = c_{2r-j}`), draw `j`, go to `u + j`, and
/// fold: `probability(u, v) = c_{v-u} + c_{u+v+1}`. As `v` runs over `0..r`, the indices `v - u` and
/// `-(u+v+1)` run once over the whole cycle, so rows sum to 1; the matrix is symmetric. Turning the
/// scale round (`u -> r-1-u`) changes nothing.
///
/// # Cost
/// O(r) numbers. The entropy has no closed form, as rows are no permutations of each other. Where the
/// kernel is constant from `W <= r/2` on, rows further than `W` from both ends hold the same numbers,
/// and near an end only `W^2/4` entries feel both images: those are streamed. Otherwise all `r^2/4`
/// that the symmetries leave are. Beyond 2^30 of them the rows near the ends are bounded.
#[derive(Debug)]
pub struct Reflected {
    name: &'static str,
    kernel: Arc<[i64]>,
    total: u64,
    entropy: OnceLock<Entropy>,
}

/// Terms up to which sums are taken in full.
const TERMS: u128 = 1 << 30;

pub fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    Ok(Arc::new(Reflected::given("reflected", arguments)?))
}

impl Reflected {
    /// From a kernel as a caller gives it, or as it stands in the parameters.
    pub fn given(name: &'static str, arguments: &mut Arguments) -> Result<Self> {
        let must = "hold c_0 to c_r for a size r of at least 1";
        let vector = arguments.required("kernel")?;
        let total = arguments.whole("total", 1, (1 << 63) - 1)?;
        let (kernel, total): (Arc<[i64]>, i128) = match vector {
            Value::Wholes(kernel) => {
                let total = total.map_or_else(|| mass(&kernel), i128::from);
                (kernel, total)
            }
            _ if total.is_some() => {
                return Err(Error::type_("total", "go with whole numbers", "others"));
            }
            Value::Ratios(ratios) => {
                let (counts, total) = lattice::common_total("kernel", &ratios)?;
                (counts.iter().map(|&k| k as i64).collect(), total.into())
            }
            Value::Reals(reals) if reals.len() >= 2 => {
                let rounded = lattice::round_even("kernel", &reals)?;
                arguments.note("sum", rounded.sum);
                arguments.note("moved", rounded.moved);
                let counts = rounded.counts.iter().map(|&k| k as i64).collect();
                return Ok(Reflected::new(name, counts, lattice::GRID));
            }
            Value::Reals(_) => (Arc::new([]), 1),
            _ => return Err(Error::type_("kernel", must, "no vector")),
        };
        if kernel.len() < 2 {
            return Err(Error::value(
                "kernel",
                must,
                format!("{} numbers", kernel.len()),
            ));
        }
        if let Some(i) = kernel.iter().position(|&k| k < 0) {
            let got = format!("{} at {i}", kernel[i]);
            return Err(Error::value("kernel", "hold non-negative numbers", got));
        }
        match u64::try_from(total) {
            Ok(total) if (1..1 << 63).contains(&total) && mass(&kernel) == i128::from(total) => {
                Ok(Reflected::new(name, kernel, total))
            }
            _ => Err(Error::value(
                "kernel",
                format!(
                    "have c_0 + 2 (c_1 + ... + c_{{r-1}}) + c_r = {total}, from 1 to below 2^63"
                ),
                mass(&kernel),
            )),
        }
    }

    /// From counts whose mass is `total`.
    pub fn new(name: &'static str, kernel: Arc<[i64]>, total: u64) -> Self {
        Reflected {
            name,
            kernel,
            total,
            entropy: OnceLock::new(),
        }
    }

    fn r(&self) -> usize {
        self.kernel.len() - 1
    }

    /// The count of entry `(u, v)`.
    fn count(&self, u: usize, v: usize) -> u64 {
        let mirror = (u + v + 1).min(2 * self.r() - u - v - 1);
        self.kernel[u.abs_diff(v)] as u64 + self.kernel[mirror] as u64
    }

    /// The index from which on the kernel is constant.
    fn flat_from(&self) -> usize {
        let tail = self.kernel[self.r()];
        let flat = self.kernel.iter().rev().take_while(|&&k| k == tail).count();
        self.kernel.len() - flat
    }

    /// The kernel index from which on it counts as constant, where that saves work, and the terms to
    /// stream.
    fn plan(&self) -> (Option<usize>, u128) {
        let (r, w) = (self.r() as u128, self.flat_from() as u128);
        if 2 * w <= r {
            (Some(w as usize), w * w / 4)
        } else {
            (None, r * r / 4)
        }
    }

    fn bits(&self) -> Entropy {
        let r = self.r();
        if r * r <= 1024 {
            return measure::of_counts(r as u64, self.total, 1, r * r, |i| {
                self.count(i / r, i % r)
            });
        }
        let (flat, terms) = self.plan();
        if flat == Some(0) {
            // Constant throughout: perfect secrecy.
            return Entropy::Exact(LogSum {
                terms: vec![(1, r as u128)],
                denominator: 1,
            });
        }
        let sum = match flat {
            Some(w) => self.with_flat_tail(w, terms <= TERMS),
            None if terms <= TERMS => self.streamed(),
            None => self.kernel_bits_less_one() * Dd::from(r as f64),
        };
        let value = sum / Dd::from(r as f64);
        let exact = self.total.is_power_of_two() && self.total <= lattice::GRID;
        let slack = if exact { 0.0 } else { 2f64.powi(-50) };
        Entropy::Within(Bits {
            value,
            error: value.hi.abs() * entropy::RELATIVE_ERROR + slack,
        })
    }

    /// `H(c) - 1`: folding maps at most two places of the cycle to one.
    fn kernel_bits_less_one(&self) -> Dd {
        let scale = 1.0 / self.total as f64;
        let kernel = &self.kernel;
        let all = entropy::sum_of_terms(kernel.len(), |start, out| {
            for (x, &k) in out.iter_mut().zip(&kernel[start..]) {
                *x = k as f64 * scale;
            }
        });
        let term = |k: i64| Summer::new().term(k as f64 * scale);
        let bits = all + all - term(kernel[0]) - term(kernel[self.r()]) - Dd::ONE;
        if bits.hi > 0.0 { bits } else { Dd::ZERO }
    }

    /// The sum over all rows of their bits. By symmetry and by turning the scale round, four entries
    /// are alike, except on the two diagonals: with `t = v - u`, the terms of
    /// `c_t + c_{2u+1+t}` for `t = 0..r-2u` count 2 at both ends and 4 between.
    fn streamed(&self) -> Dd {
        let r = self.r();
        let summer = Summer::new();
        let scale = 1.0 / self.total as f64;
        let parts = pool::map(r.div_ceil(2), false, |u| {
            let (near, far) = (&self.kernel[..], &self.kernel[2 * u + 1..]);
            let len = r - 2 * u;
            let inner = summer.sum(1..len.max(2) - 1, |start, out| {
                for ((x, a), b) in out.iter_mut().zip(&near[start..]).zip(&far[start..]) {
                    *x = (a + b) as f64 * scale;
                }
            });
            let end = |t: usize| summer.term((near[t] + far[t]) as f64 * scale);
            let two = Dd::from(2.0);
            if len == 1 {
                end(0)
            } else {
                inner * Dd::from(4.0) + (end(0) + end(len - 1)) * two
            }
        });
        parts.into_iter().fold(Dd::ZERO, |a, b| a + b)
    }

    /// The same where the kernel is the constant `f` from `w <= r/2` on.
    ///
    /// A row `w` or more from both ends holds `c_0 + f` once, `c_t + f` twice for `0 < t < w`, and `2f`
    /// elsewhere. A row `u < w` is counted with its mirror image, and by symmetry an entry `v < w` right
    /// of the diagonal twice: `c_t + c_{2u+1+t}` for `t = v - u < w`, which is `c_t + f` from
    /// `t = w - 2u - 1` on (prefix sums), then `2f`.
    fn with_flat_tail(&self, w: usize, exact: bool) -> Dd {
        let r = self.r();
        let summer = Summer::new();
        let scale = 1.0 / self.total as f64;
        let kernel = &self.kernel;
        let f = kernel[r];
        let term = |count: i64| summer.term(count as f64 * scale);
        let number = |n: usize| Dd::from(n as f64);
        // prefix[t] = sum of the terms of c_0 + f, ..., c_{t-1} + f.
        let mut prefix = Vec::with_capacity(w + 1);
        let mut sum = Dd::ZERO;
        prefix.push(sum);
        for &k in &kernel[..w] {
            sum = sum + term(k + f);
            prefix.push(sum);
        }
        let flat = term(2 * f);
        let inside = prefix[w] + prefix[w] - prefix[1] + flat * number(r - 2 * w + 1);
        let inside = inside * number(r - 2 * w);
        let two = Dd::from(2.0);
        if !exact {
            return inside + self.kernel_bits_less_one() * number(2 * w);
        }
        let near_end = pool::map(w, w < 256, |u| {
            let far = &kernel[2 * u + 1..];
            // Entries that feel both images, the first of them on the diagonal.
            let both = w.saturating_sub(2 * u + 1);
            let streamed = summer.sum(1..both.max(1), |start, out| {
                for ((x, a), b) in out.iter_mut().zip(&kernel[start..]).zip(&far[start..]) {
                    *x = (a + b) as f64 * scale;
                }
            });
            let diagonal = if both > 0 {
                term(kernel[0] + far[0])
            } else {
                prefix[1]
            };
            let from = both.max(1);
            let twice = streamed + prefix[(w - u).max(from)] - prefix[from];
            let once = prefix[w] - prefix[(w - u).max(from)];
            diagonal + twice * two + once + flat * number(r - u - w)
        });
        let ends = near_end.into_iter().fold(Dd::ZERO, |a, b| a + b);
        inside + ends * two
    }

    /// Smallest and largest count of row `u`, the same as of column `u`.
    fn extremes(&self, u: usize) -> (u64, u64) {
        (0..self.r())
            .map(|v| self.count(u, v))
            .fold((u64::MAX, 0), |(low, high), c| (low.min(c), high.max(c)))
    }

    /// The same where the kernel is constant from `w <= r/2` on, for rows `u <= w`: of the entries
    /// that feel one image only, the extremes of kernel prefixes and suffixes say all.
    fn extremes_near_end(&self, u: usize, w: usize, ranges: &Ranges) -> (u64, u64) {
        let r = self.r();
        let f = self.kernel[r] as u64;
        let join = |a: (u64, u64), b: (u64, u64)| (a.0.min(b.0), a.1.max(b.1));
        let shifted = |range: (u64, u64)| (range.0.saturating_add(f), range.1 + f);
        // Right of the diagonal: t = v - u below w - 2u - 1 feels both images, later ones do not.
        let both = w.saturating_sub(2 * u + 1);
        let mut found = (u..u + both).fold((u64::MAX, 0), |a, v| {
            let c = self.count(u, v);
            join(a, (c, c))
        });
        if both < w {
            found = join(found, shifted(ranges.suffix[both]));
        }
        // Left of it: t = u - v up to 2u + 1 - w does not, later ones do.
        let alone = (2 * u + 1).saturating_sub(w).min(u);
        if alone > 0 {
            found = join(found, shifted(ranges.prefix[alone]));
        }
        found = (0..u - alone).fold(found, |a, v| {
            let c = self.count(u, v);
            join(a, (c, c))
        });
        if u + w < r {
            join(found, (2 * f, 2 * f))
        } else {
            found
        }
    }
}

/// Extremes of `c_1..c_t` and of `c_t..c_{w-1}`, by t.
struct Ranges {
    prefix: Vec<(u64, u64)>,
    suffix: Vec<(u64, u64)>,
}

impl Ranges {
    fn new(kernel: &[i64], w: usize) -> Self {
        let join = |a: &mut (u64, u64), &k: &i64| {
            *a = (a.0.min(k as u64), a.1.max(k as u64));
            Some(*a)
        };
        let mut prefix = vec![(u64::MAX, 0)];
        prefix.extend(kernel[1..=w].iter().scan((u64::MAX, 0), join));
        let mut suffix: Vec<_> = kernel[..w].iter().rev().scan((u64::MAX, 0), join).collect();
        suffix.reverse();
        Ranges { prefix, suffix }
    }
}

/// `k_0 + 2 (k_1 + ... + k_{r-1}) + k_r`.
fn mass(kernel: &[i64]) -> i128 {
    let sum: i128 = kernel.iter().map(|&k| i128::from(k)).sum();
    let end = |k: Option<&i64>| i128::from(k.copied().unwrap_or(0));
    2 * sum - end(kernel.first()) - end(kernel.last())
}

impl Family for Reflected {
    fn name(&self) -> &'static str {
        self.name
    }

    fn size(&self) -> u64 {
        self.r() as u64
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("kernel", Value::Wholes(Arc::clone(&self.kernel))),
            ("total", Value::Whole(self.total.into())),
        ]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        Some((self.count(u as usize, v as usize).into(), self.total.into()))
    }

    fn total(&self) -> Option<u128> {
        Some(self.total.into())
    }

    fn entropy_rate(&self) -> Entropy {
        self.entropy.get_or_init(|| self.bits()).clone()
    }

    /// Symmetric, so the extremes of a column are those of a row, and those of `u` those of `r-1-u`.
    fn epsilon(&self) -> f64 {
        let r = self.r();
        let (flat, terms) = self.plan();
        if terms > TERMS {
            // An entry is a sum of two kernel entries.
            let low = self.kernel.iter().min().map_or(0, |&k| k as u64);
            let high = self.kernel.iter().max().map_or(0, |&k| k as u64);
            return measure::log_ratio(high.into(), low.into());
        }
        match flat {
            Some(w) if w > 0 => {
                let ranges = Ranges::new(&self.kernel, w);
                measure::widest(pool::map((w + 1).min(r), w < 256, |u| {
                    self.extremes_near_end(u, w, &ranges)
                }))
            }
            _ => measure::widest(pool::map(r.div_ceil(2), r < 128, |u| self.extremes(u))),
        }
    }

    /// The diagonal is `c_0 + c_{2u+1}`.
    fn truthfulness(&self) -> f64 {
        let r = self.r();
        let diagonal = (0..r).map(|u| u128::from(self.count(u, u))).sum();
        lattice::nearest(diagonal, r as u128 * u128::from(self.total))
    }

    /// Steps `j` lead from `u` to all codes just when `g = gcd(steps, 2r)` is 1, or 2, as folding swaps
    /// the residues. A symmetric chain has period 1 or 2. A colouring that every step flips is a
    /// character of the cycle: for `g = 1` it would be `(-1)^z` with all steps odd, which folding
    /// (`z -> -1-z`) contradicts; for `g = 2` it is `(-1)^{z/2}`, possible just when r is even and all
    /// steps are 2 mod 4.
    fn is_ergodic(&self) -> bool {
        let r = self.r() as u128;
        let steps = || {
            (0u128..)
                .zip(&*self.kernel)
                .filter(|(_, k)| **k > 0)
                .map(|(j, _)| j)
        };
        match steps().fold(2 * r, gcd) {
            _ if r == 1 => true,
            1 => true,
            2 => !(r.is_multiple_of(2) && steps().all(|j| j % 4 == 2)),
            _ => false,
        }
    }

    fn is_exact(&self) -> bool {
        self.plan().1 <= TERMS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Matrix;
    use crate::family::laws::{check_laws, make};

    fn reflected(kernel: &[f64]) -> Result<Matrix> {
        make("reflected", &[("kernel", Value::Reals(kernel.into()))])
    }

    fn wholes(kernel: &[i64]) -> Matrix {
        make("reflected", &[("kernel", Value::Wholes(kernel.into()))]).unwrap()
    }

    #[test]
    fn laws() {
        for kernel in [
            &[1.0, 0.0][..],
            &[0.3, 0.7],
            &[0.4, 0.3, 0.0],
            &[0.0, 0.5, 0.0],
            &[0.0, 0.0, 0.5, 0.0, 0.0],
            &[0.0, 0.5, 0.0, 0.0, 0.0, 0.0],
            &[0.5, 0.1, 0.1, 0.05, 0.0],
        ] {
            check_laws(&reflected(kernel).unwrap());
        }
        for kernel in [
            &[1, 1, 1, 1][..],
            &[0, 0, 0, 1],
            &[5, 3, 2, 1, 1, 1, 1, 1],
            &[0, 0, 1, 0, 1],
        ] {
            check_laws(&wholes(kernel));
        }
    }

    /// Every way to take the sums, on sizes where entries can still be counted one by one.
    #[test]
    fn all_ways_to_sum_agree() {
        for (r, w) in [
            (40usize, 3usize),
            (41, 20),
            (64, 1),
            (65, 32),
            (50, 40),
            (51, 51),
            (33, 16),
        ] {
            let kernel: Vec<i64> = (0..=r)
                .map(|j| {
                    if j < w {
                        1000 / (1 + j as i64) + (j as i64 * 37) % 11
                    } else {
                        3
                    }
                })
                .collect();
            let m = wholes(&kernel);
            let family = Reflected::new("reflected", kernel.clone().into(), mass(&kernel) as u64);
            let n = (r * r) as u64;
            let bits = |e: &Entropy| match e {
                Entropy::Within(bits) => bits.value.hi,
                Entropy::Exact(_) => f64::NAN,
            };
            let got = bits(&family.entropy_rate());
            let scale = family.total as f64;
            let want: f64 = (0..n as usize)
                .map(|i| {
                    let p = family.count(i / r, i % r) as f64 / scale;
                    -p * p.log2()
                })
                .sum::<f64>()
                / r as f64;
            assert!((got - want).abs() < 1e-12, "{r} {w}: {got} {want}");
            let epsilon = measure::widest((0..r).map(|u| family.extremes(u)));
            assert_eq!(m.family.epsilon(), epsilon, "{r} {w}");
        }
    }

    #[test]
    fn a_bound_is_below_the_sum() {
        let r = 200;
        let kernel: Vec<i64> = (0..=r).map(|j| if j < 30 { 40 - j } else { 1 }).collect();
        let family = Reflected::new("reflected", kernel.clone().into(), mass(&kernel) as u64);
        let (exact, bound) = (
            family.with_flat_tail(30, true),
            family.with_flat_tail(30, false),
        );
        assert!(bound.hi < exact.hi && exact.hi - bound.hi < 60.0);
        let all = family.streamed();
        assert!((all - exact).abs().hi < 1e-9);
    }

    #[test]
    fn refuses_what_is_no_kernel() {
        for kernel in [
            &[][..],
            &[1.0],
            &[0.5, 0.5, 0.5],
            &[f64::NAN, 0.5],
            &[2.0, -1.0],
        ] {
            assert!(reflected(kernel).is_err(), "{kernel:?}");
        }
    }
}
