//! Reflected kernel: a step drawn from one even law, folded back at the ends of an ordinal scale.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::Family;
use crate::law::lines::{self, Survey};
use crate::law::parameters::{Arguments, Parameters, Value};
use crate::law::shared::kernel::Kernel;
use crate::law::structure::Structure;
use crate::number::bits::Entropy;
use crate::number::lattice::{self, gcd};
use crate::system::kept::Kept;

/// # Law
/// With an even law `c` on the cycle of length `2r` (`c_j = c_{2r-j}`), draw `j`, go to `u + j`, and
/// fold: `probability(u, v) = c_{v-u} + c_{u+v+1}`. As `v` runs over `0..r`, the indices `v - u` and
/// `-(u+v+1)` run once over the whole cycle, so rows sum to 1; the matrix is symmetric. Turning the
/// scale round (`u -> r-1-u`) changes nothing.
///
/// # Cost
/// O(r) numbers. The entropy has no closed form, as rows are not permutations of each other. If the
/// kernel is constant from `W <= r/2` on, rows further than `W` from both ends hold the same numbers,
/// and near an end only `W^2/4` entries feel both images: those are streamed. Otherwise all `r^2/4`
/// that the symmetries leave are. Beyond 2^30 of them the rows near the ends are bounded.
#[derive(Debug)]
pub struct Reflected {
    name: &'static str,
    kernel: Arc<[i64]>,
    total: u64,
    entropy: Kept<Entropy>,
}

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
            other if total.is_some() => {
                return Err(Error::type_("total", "go with integers", other.kind()));
            }
            Value::Ratios(ratios) => {
                let (counts, total) = lattice::common_total("kernel", &ratios)?;
                (counts, total.into())
            }
            Value::Reals(reals) if reals.len() >= 2 => {
                let rounded = lattice::round_even("kernel", &reals)?;
                arguments.note("sum", rounded.sum);
                arguments.note("moved", rounded.moved);
                return Ok(Reflected::new(name, rounded.counts, lattice::GRID));
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
            entropy: Kept::new(),
        }
    }

    fn kernel(&self) -> Kernel<'_, i64> {
        Kernel {
            counts: &self.kernel,
            total: self.total.into(),
        }
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
        self.kernel().r() as u64
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("kernel", Value::Wholes(Arc::clone(&self.kernel))),
            ("total", Value::Whole(self.total.into())),
        ]
    }

    fn entry(&self, u: u64, v: u64) -> Option<(u128, u128)> {
        Some((
            self.kernel().count(u as usize, v as usize),
            self.total.into(),
        ))
    }

    fn canonical(&self) -> Option<Arc<dyn Family>> {
        None
    }

    fn structure(&self) -> Structure {
        Structure::Even {
            kernel: Arc::clone(&self.kernel),
            total: self.total,
        }
    }

    fn total(&self) -> Option<u128> {
        Some(self.total.into())
    }

    fn entropy_rate(&self) -> Entropy {
        self.entropy
            .get_or_make(|| self.kernel().entropy_rate())
            .clone()
    }

    /// If the kernel never rises, column 0 holds the two largest of the cycle together, and the two
    /// smallest.
    fn extremes(&self) -> Option<(f64, f64)> {
        let (first, r) = (&self.kernel[..2], self.kernel.len() - 1);
        if self.kernel.windows(2).any(|pair| pair[0] < pair[1]) {
            return None;
        }
        let of_total = |a: i64, b: i64| lattice::nearest((a + b) as u128, self.total.into());
        Some((
            of_total(self.kernel[r - 1], self.kernel[r])
                .next_down()
                .max(0.0),
            of_total(first[0], first[1]).next_up(),
        ))
    }

    fn epsilon(&self) -> f64 {
        self.kernel().epsilon()
    }

    /// The diagonal is `c_0 + c_{2u+1}`.
    fn truthfulness(&self) -> f64 {
        let r = self.kernel().r();
        let diagonal = (0..r).map(|u| self.kernel().count(u, u)).sum();
        lattice::nearest(diagonal, r as u128 * u128::from(self.total))
    }

    /// Steps `j` lead from `u` to all codes just when `g = gcd(steps, 2r)` is 1, or 2, as folding swaps
    /// the residues. A symmetric chain has period 1 or 2. A colouring that every step flips is a
    /// character of the cycle: for `g = 1` it would be `(-1)^z` with all steps odd, which folding
    /// (`z -> -1-z`) contradicts; for `g = 2` it is `(-1)^{z/2}`, possible just when r is even and all
    /// steps are 2 mod 4.
    fn is_ergodic(&self) -> bool {
        let r = u128::from(self.size());
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
        self.kernel().is_exact()
    }

    fn short_survey(&self, gammas: &[f64]) -> Option<Survey> {
        (self.size() > lines::SIZE).then(|| self.kernel().lines(gammas))
    }
}
