//! Scaling in the log domain: `exp((row + column - cost) / T)` with every line summing to 1.
//!
//! The kernel of a low temperature leaves the range of a double, that of the potentials of a warmer one
//! does not: so cool down by halves, carrying the potentials along.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::law::scaling::{DONE, Scaling};
use crate::number::entropy;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop;

/// Deviation at which a temperature is settled well enough to go on searching.
pub const COARSE: f64 = 1e-7;

/// Deviation up to which a scaling has come to its end: some units of the grid.
pub const SETTLED: f64 = 64.0 * DONE;

/// Smallest entry of a kernel.
const LEAST: f64 = 1e-300;

/// Mass on entries that were raised to [`LEAST`] up to which they change nothing: the law without them is
/// within its square root.
const RAISED: f64 = 1e-36;

/// The potentials at some temperature, and the matrix they make.
pub struct Potentials<'a> {
    /// Number of rows.
    pub size: usize,
    cost: &'a [f64],
    /// `kernel = exp((row + column - cost) / temperature)`, lines summing to 1 once settled.
    row: Vec<f64>,
    column: Vec<f64>,
    kernel: Vec<f64>,
    temperature: f64,
    /// The largest finite cost.
    pub largest: f64,
    /// Mass on entries that were kept positive by raising them.
    raised: f64,
    /// Passes over the matrix so far.
    pub passes: usize,
    /// What the lines were off by when last settled.
    pub off: f64,
}

impl<'a> Potentials<'a> {
    /// Before any temperature; `cost` is non-negative, infinite where nothing is allowed.
    pub fn new(size: usize, cost: &'a [f64]) -> Self {
        let finite = cost.iter().copied().filter(|c| c.is_finite());
        Potentials {
            size,
            cost,
            row: memory::zeros(size),
            column: memory::zeros(size),
            kernel: memory::zeros(size * size),
            temperature: f64::INFINITY,
            largest: finite.fold(0.0, f64::max),
            raised: 0.0,
            passes: 0,
            off: f64::INFINITY,
        }
    }

    /// Scale at temperature `t`. From far above, cool down by halves: the potentials of one
    /// temperature keep the next kernel within the range of a double.
    pub fn settle(&mut self, t: f64, target: f64) {
        self.approach(t, target);
        // Entries were kept positive that are smaller: from the potentials so far they come out as they are.
        for _ in 0..100 {
            if self.raised <= RAISED {
                break;
            }
            self.scale(t, target);
        }
    }

    fn approach(&mut self, t: f64, target: f64) {
        if t.is_infinite() {
            return self.scale(t, target);
        }
        // From a warmer kernel, the square of its entries; from scratch one that spans exp(30) at most,
        // and if that is too much for it, less.
        if self.temperature.is_finite() {
            self.cool(self.temperature / 2.0, t, target);
        }
        for span in [30.0, 6.0, 1.0] {
            if self.off <= target.max(SETTLED) && self.temperature == t {
                return;
            }
            self.restart();
            self.cool(self.largest / span, t, target);
        }
    }

    fn cool(&mut self, from: f64, t: f64, target: f64) {
        let mut now = from;
        while now > t {
            stop::point();
            self.scale(now, COARSE);
            now /= 2.0;
        }
        self.scale(t, target);
    }

    /// Each row from its cheapest report, so that its largest entry is 1.
    fn restart(&mut self) {
        for (row, costs) in self.row.iter_mut().zip(self.cost.chunks(self.size)) {
            *row = costs.iter().fold(f64::INFINITY, |m, &c| m.min(c));
        }
        self.column.fill(0.0);
    }

    /// Scale the kernel of temperature `t` as it is, from the potentials of the last.
    pub fn scale(&mut self, t: f64, target: f64) {
        let (size, cost) = (self.size, self.cost);
        let (row, column) = (&self.row, &self.column);
        pool::for_each_chunk(&mut self.kernel, size, cost.len() < 1 << 12, |u, cells| {
            let costs = &cost[u * size..][..size];
            for ((cell, &c), column) in cells.iter_mut().zip(costs).zip(column) {
                // What is allowed stays positive, whatever a double makes of it.
                *cell = if t.is_infinite() {
                    f64::from(u8::from(c.is_finite()))
                } else if c.is_finite() {
                    ((row[u] + column - c) / t).exp().max(LEAST)
                } else {
                    0.0
                };
            }
        });
        let mut scaling = Scaling::new(&self.kernel, size);
        self.off = scaling.run(target);
        self.passes += scaling.passes;
        let (x, y) = (scaling.x, scaling.y);
        self.raised = 0.0;
        if t.is_finite() {
            let rows = self.kernel.chunks(size).enumerate();
            // Most rows have none, which is quickly seen.
            for (u, cells) in rows.filter(|(_, cells)| cells.contains(&LEAST)) {
                let raised = cells.iter().zip(&y).filter(|(cell, _)| **cell == LEAST);
                self.raised += raised.map(|(cell, y)| cell * x[u] * y).sum::<f64>();
            }
        }
        pool::for_each_chunk(&mut self.kernel, size, cost.len() < 1 << 12, |u, cells| {
            for (cell, y) in cells.iter_mut().zip(&y) {
                *cell *= x[u] * y;
            }
        });
        if t.is_finite() {
            for (f, x) in self.row.iter_mut().zip(&x) {
                *f += t * x.ln();
            }
            for (g, y) in self.column.iter_mut().zip(&y) {
                *g += t * y.ln();
            }
        }
        self.temperature = t;
    }

    /// Whether doubles held every entry that counts.
    pub fn is_held(&self) -> bool {
        self.raised <= RAISED
    }

    /// Refuse what came nowhere near its end, naming the parameter.
    ///
    /// # Errors
    /// Line sums off by more than 1e-12, or entries that doubles cannot hold.
    pub fn check(&self, name: &str) -> Result<()> {
        let must = "be balanced by scaling its rows and columns";
        if !self.is_held() {
            let got = "numbers too far apart for doubles";
            return Err(Error::value(name, must, got));
        }
        if self.off <= 1e-12 {
            return Ok(());
        }
        let got = format!("sums off by {:.1e} after {} passes", self.off, self.passes);
        Err(Error::value(name, must, got))
    }

    /// Entropy rate in bits, as floating point has it.
    pub fn bits(&self) -> f64 {
        let kernel = &self.kernel;
        let sum = entropy::sum_of_terms(kernel.len(), |start, out| {
            out.copy_from_slice(&kernel[start..start + out.len()]);
        });
        sum.hi / self.size as f64
    }

    /// The matrix, with what is allowed positive.
    pub fn cells(&self) -> Arc<[f64]> {
        self.kernel
            .iter()
            .zip(self.cost)
            .map(|(&p, c)| if c.is_finite() { p.max(LEAST) } else { 0.0 })
            .gather_shared()
    }
}
