//! Metric privacy of a table of doubles.

use crate::system::pool;

/// The metric epsilon of a table of probabilities: the least e with
/// `ln p_uv - ln p_wv <= e cost(u, w)` for all u, w, v. Costs of 0 between different rows make it infinite.
/// The difference of near numbers is exact, so `ln(1 + (p - q)/q)` is good where a difference of
/// logarithms would not be.
pub fn metric_epsilon(dense: &[f64], cost: &[f64], size: usize) -> f64 {
    let worst = pool::map(size, size < 64, |u| {
        let mine = &dense[u * size..(u + 1) * size];
        (0..size).filter(|&w| w != u).fold(0.0, |worst: f64, w| {
            let theirs = &dense[w * size..(w + 1) * size];
            let mut lanes = [0.0f64; 8];
            let chunks = mine.chunks(8).zip(theirs.chunks(8));
            for (a, b) in chunks {
                for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
                    // Two zeros are equal: 0/0 is nan, which `max` drops.
                    *lane = lane.max((a - b) / b);
                }
            }
            let widest = lanes.iter().fold(0.0, |a: f64, b| a.max(*b));
            // Off the grid a double is within a part in 2^53 of its probability.
            let gap = if widest > 0.0 {
                widest.ln_1p() + 4.5e-16
            } else {
                0.0
            };
            let distance = cost[u * size + w];
            if gap == 0.0 {
                worst
            } else if distance == f64::INFINITY && gap == f64::INFINITY {
                // Nothing is promised between rows that are infinitely far apart.
                worst
            } else {
                worst.max(gap / distance)
            }
        })
    });
    worst.into_iter().fold(0.0, f64::max)
}
