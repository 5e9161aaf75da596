//! Small matrices with fewer terms: steps that are shorter than they could be and empty more entries.

use super::Limits;
use super::counts::Counts;
use super::listed::Listed;
use super::random::Random;
use super::ties::{Assignment, FORBIDDEN};
use crate::law::scaling::matching::Matching;
use crate::system::memory::{self, Gather};
use crate::system::progress::Progress;
use crate::system::stop;

/// Sizes for which this is worth its time.
pub const MAX_SIZE: usize = 32;

/// Thresholds tried in one step.
const TRIED: usize = 12;

/// Like the bottleneck greedy, but of several thresholds down to a share of the largest, a share that
/// `random` draws, the one is taken whose matching empties most entries. Terms are sorted at the end.
pub fn decompose(
    counts: &Counts,
    limits: &Limits,
    mut random: Random,
    share: f64,
    progress: &Progress,
) -> Listed {
    let size = counts.size;
    let mut values: Vec<u64> = counts.to_dense().iter().map(|&c| c as u64).gather();
    let mut lap = Assignment::new(size);
    let mut out = Listed::new(size);
    let mut best = memory::zeros::<u32>(size);
    let divisor = 1 + random.below(8);
    let mut left = counts.total;
    let stop_at = counts.total - limits.enough.min(counts.total);
    while left > stop_at && out.weights.len() < limits.terms {
        stop::point();
        let mut levels: Vec<u64> = values.iter().copied().filter(|&x| x > 0).gather();
        levels.sort_unstable();
        levels.dedup();
        let matched = |level| Matching::of(size, |u, v| values[u * size + v] >= level).complete();
        let top = levels.partition_point(|&x| matched(x));
        let Some(&largest) = levels[..top].last() else {
            break;
        };
        let low = levels.partition_point(|&x| x < largest / divisor);
        let near = &levels[low..top];
        let (mut most, mut weight, mut ways) = (0, 0, 0);
        for tried in 0..TRIED.min(near.len()) {
            // All of them from the largest, or some of them.
            let level = if near.len() <= TRIED || tried == 0 {
                near[near.len() - 1 - tried]
            } else {
                near[random.below(near.len() as u64) as usize]
            };
            for (cost, &x) in lap.costs.iter_mut().zip(&values) {
                *cost = match x.cmp(&level) {
                    std::cmp::Ordering::Less => FORBIDDEN,
                    std::cmp::Ordering::Equal => 0,
                    std::cmp::Ordering::Greater => (1 << 40) + random.below(1 << 20) as i64,
                };
            }
            lap.solve();
            let matched = lap.column_of.iter().enumerate();
            let emptied = matched
                .filter(|&(u, &v)| values[u * size + v as usize] == level)
                .count();
            ways = if emptied > most {
                1
            } else {
                ways + u64::from(emptied == most)
            };
            if emptied > most || (emptied == most && random.below(ways) == 0) {
                (most, weight) = (emptied, level);
                best.copy_from_slice(&lap.column_of);
            }
        }
        out.push(weight, &best);
        for (u, &v) in best.iter().enumerate() {
            values[u * size + v as usize] -= weight;
        }
        left -= weight;
        progress.advance(share * weight as f64 / counts.total as f64);
    }
    out.sort();
    out
}
