//! How far long work has come.

use std::sync::atomic::{AtomicU64, Ordering};

/// The share of some work that is done. The worker and the caller have it together.
#[derive(Debug, Default)]
pub struct Progress(AtomicU64);

impl Progress {
    /// The share that is done, from 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed)).min(1.0)
    }

    /// Add to the share that is done. Several workers may, each for its part.
    pub fn advance(&self, by: f64) {
        let add = |bits| Some((f64::from_bits(bits) + by).to_bits());
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}
