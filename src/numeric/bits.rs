//! Bits of a random permutation as a whole, for classes shuffled in themselves: `log2` of the product of their
//! factorials, never above the truth.

use std::collections::BTreeMap;

use crate::law::Matrix;
use crate::law::Run;
use crate::number::bits::Entropy;
use crate::number::dd::{self, Dd};
use crate::number::logarithms::LogSum;
use crate::system::memory::Gather;

/// Bits of the permutation that is drawn for a matrix of classes; `None` for all others.
pub fn entropy(matrix: &Matrix) -> Option<f64> {
    let size = matrix.size();
    let composed = matrix.is_composite() || size > u64::from(u32::MAX);
    let runs = (!composed).then(|| matrix.law().classes())?;
    runs.map(of_classes)
}

/// Every class of n in one of n! orders, all as likely.
fn of_classes(runs: &[Run]) -> f64 {
    let mut classes: BTreeMap<u64, u64> = BTreeMap::new();
    for run in runs {
        *classes.entry(run.class_size).or_default() += run.classes;
    }
    let largest = classes.keys().next_back().copied().unwrap_or(1);
    if largest <= SHORT {
        // log2 k for every class of at least k codes.
        let weight = |k| classes.range(k..).map(|(_, &n)| i128::from(n)).sum();
        let sum = LogSum {
            terms: (2..=largest).map(|k| (weight(k), k.into())).gather(),
            denominator: 1,
        };
        return Entropy::Exact(sum).bits_down();
    }
    let mut logs = Factorials::FIRST;
    let mut sum = Dd::ZERO;
    for (n, classes) in classes {
        sum = sum + logs.log2(n) * Dd::from(u128::from(classes));
    }
    // Of every sum and logarithm an error below 2^-97 of the whole, and there are fewer than 2^17.
    sum.round_down(sum.hi * dd::RELATIVE_ERROR * f64::from(1 << 18))
}

/// Largest class whose bits are a closed form.
const SHORT: u64 = 256;

/// Largest number whose factorial is a product; beyond, Stirling's series is closer than doubles are.
const PRODUCT: u64 = 1 << 16;

/// `log2 n!` of growing `n`, not above it.
struct Factorials {
    n: u64,
    log2: Dd,
}

/// `ln(2 pi)`.
const LN_2_PI: Dd = Dd {
    hi: 1.837_877_066_409_345_6,
    lo: -7.756_588_316_134_483e-17,
};

impl Factorials {
    const FIRST: Factorials = Factorials {
        n: 1,
        log2: Dd::ZERO,
    };

    fn log2(&mut self, n: u64) -> Dd {
        if n <= PRODUCT {
            while self.n < n {
                self.n += 1;
                self.log2 = self.log2 + Dd::from(u128::from(self.n)).log2();
            }
            return self.log2;
        }
        // ln n! = n ln n - n + ln(2 pi n)/2 + 1/(12 n) - 1/(360 n^3) + less than 1/(1260 n^5).
        let x = Dd::from(u128::from(n));
        let whole = x * x.ln() - x;
        let half = (LN_2_PI + x.ln()) * Dd::from(0.5);
        let series = Dd::ONE / (x * Dd::from(12.0)) - Dd::ONE / (x * x * x * Dd::from(360.0));
        (whole + half + series) / Dd::from(2.0).ln()
    }
}
