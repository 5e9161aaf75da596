//! A vector of doubles onto the grid, with an exact sum.

use std::sync::Arc;

use super::{GRID, TOLERANCE};
use crate::error::{Error, Result};
use crate::number::dd::Dd;
use crate::system::memory::{self, Gather};
use crate::system::pool;
use crate::system::stop::{self, Paced};

/// Numbers a task when a vector is worked on in parallel.
const TASK: usize = 1 << 16;

/// A vector on the grid, and what it took to get it there.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounded {
    /// Counts that sum to [`GRID`].
    pub counts: Arc<[i64]>,
    /// The sum of the numbers given.
    pub sum: f64,
    /// The largest change of an entry, as a probability.
    pub moved: f64,
}

/// Sum of doubles, to more than 80 bits.
fn sum(p: &[f64]) -> Dd {
    pool::map(p.len().div_ceil(TASK), p.len() < TASK, |i| {
        // Kahan and Babuska: the high parts are added exactly, what they leave in plain doubles, so
        // that 2^16 of them are good to 2^-90.
        let part = &p[i * TASK..p.len().min((i + 1) * TASK)];
        let (mut high, mut low) = (0.0, 0.0);
        for &x in part {
            let s = Dd::sum(high, x);
            high = s.hi;
            low += s.lo;
        }
        Dd::sum(high, low)
    })
    .into_iter()
    .fold(Dd::ZERO, |a, b| a + b)
}

/// Move the probability vector `p`, named `name` in errors, onto the grid.
///
/// # Law
/// The counts sum to 2^53. A zero stays zero and a positive entry is at least one unit. A vector
/// that is on the grid already is not touched. Otherwise every entry is the floor of its scaled
/// value or one more, for those that lost most; only where raising entries below one unit takes more
/// than there is to spare, the difference is levelled off the largest entries, which adds entropy.
///
/// # Errors
/// An empty vector, an entry that is not a non-negative number, a sum off by more than 1e-9.
pub fn round_vector(name: &str, p: &[f64]) -> Result<Rounded> {
    let must = "hold non-negative numbers that sum to 1";
    if p.is_empty() {
        return Err(Error::value(name, must, "no numbers"));
    }
    let sum = sum(p);
    if let Some(i) = p.iter().position(|x| !(*x >= 0.0 && x.is_finite())) {
        return Err(Error::value(name, must, format!("{} at {i}", p[i])));
    }
    let off = (sum - Dd::ONE).hi;
    if !(off.abs() <= TOLERANCE) {
        return Err(Error::value(
            name,
            must,
            format!("a sum of {}, off by {off:.1e}", sum.hi),
        ));
    }
    // The whole and the fractional part of an entry in units. If the sum is 1 they are exact,
    // since 2^53 only moves the exponent; elsewhere the scale is good to a double, which moves all
    // of the mass by two units at most. Truncation is the floor of what is not negative.
    let scale = (Dd::ONE / sum).hi;
    let parts = |x: f64| -> (u64, f64) {
        let scaled = x * scale * GRID as f64;
        let whole = scaled as i64;
        (whole as u64, scaled - whole as f64)
    };
    let mut counts = memory::zeros::<u64>(p.len());
    pool::for_each_chunk(&mut counts, TASK, p.len() < TASK, |i, part| {
        for (c, &x) in part.iter_mut().zip(&p[i * TASK..]) {
            let faint = x > 0.0;
            *c = parts(x).0.max(u64::from(faint));
        }
    });
    // Each count is at most 2^53 and a vector is shorter than 2^64, so 128 bits hold the sum.
    let used: u128 = counts.iter().map(|&c| u128::from(c)).sum();
    match u128::from(GRID).checked_sub(used) {
        Some(spare) => hand_out(&mut counts, spare as u64, |i| {
            let (whole, fraction) = parts(p[i]);
            // An entry that was raised to one unit is above its value already.
            (whole >= 1).then_some(fraction)
        }),
        None => level_off(&mut counts, used - u128::from(GRID)),
    }
    let moved = pool::map(p.len().div_ceil(TASK), p.len() < TASK, |i| {
        let range = i * TASK..p.len().min((i + 1) * TASK);
        range.fold(0.0, |m: f64, i| {
            m.max((counts[i] as f64 / GRID as f64 - p[i]).abs())
        })
    })
    .into_iter()
    .fold(0.0, f64::max);
    Ok(Rounded {
        counts: counts.into_iter().map(|c| c as i64).gather_shared(),
        sum: sum.hi,
        moved,
    })
}

/// Move the even probability vector `c_0, c_1, ..., c_r`, of which `c_0` and `c_r` stand once on a
/// cycle of length `2r` and the others twice, onto the grid: `k_0 + 2 (k_1 + ...) + k_r = 2^53`.
///
/// The law is that of [`round_vector`]; the unit that an odd remainder leaves goes to an end.
///
/// # Errors
/// As there.
pub fn round_even(name: &str, c: &[f64]) -> Result<Rounded> {
    let last = c.len() - 1;
    let must = "hold non-negative numbers with c_0 + 2 (c_1 + ... + c_{r-1}) + c_r = 1";
    if let Some(i) = c.iter().position(|x| !(*x >= 0.0 && x.is_finite())) {
        return Err(Error::value(name, must, format!("{} at {i}", c[i])));
    }
    let ends = Dd::sum(c[0], c[last]);
    let sum = sum(c) + sum(c) - ends;
    let off = (sum - Dd::ONE).hi;
    if !(off.abs() <= TOLERANCE) {
        let got = format!("a sum of {}, off by {off:.1e}", sum.hi);
        return Err(Error::value(name, must, got));
    }
    let scale = (Dd::ONE / sum).hi;
    let scaled = |i: usize| c[i] * scale * GRID as f64;
    let mut counts: Vec<u64> = (0..=last)
        .map(|i| (scaled(i) as i64 as u64).max(u64::from(c[i] > 0.0)))
        .gather();
    let weight = |i: usize| if i == 0 || i == last { 1 } else { 2 };
    let used: i128 = counts
        .iter()
        .enumerate()
        .map(|(i, &k)| weight(i) * i128::from(k))
        .sum();
    let mut spare = i128::from(GRID) - used;
    while spare < 0 {
        // Off the largest entry; one unit too many may come back below.
        let Some(i) = (0..=last).max_by_key(|&i| (counts[i], std::cmp::Reverse(i))) else {
            break;
        };
        let needed = (-spare + weight(i) - 1) / weight(i);
        let take = needed.min(i128::from(counts[i] / 2).max(1));
        counts[i] -= take as u64;
        spare += take * weight(i);
    }
    let end = if c[0] > 0.0 { 0 } else { last };
    if spare % 2 == 1 {
        // Where both ends are zero the sum is even, like 2^53, and nothing is odd.
        counts[end] += 1;
        spare -= 1;
    }
    if counts[1..last.max(1)].iter().any(|&k| k > 0) {
        let inner = &mut counts[1..last];
        hand_out(inner, (spare / 2) as u64, |i| {
            let x = scaled(i + 1);
            (x >= 1.0).then_some(x - x as i64 as f64)
        });
    } else {
        counts[end] += spare as u64;
    }
    let moved = (0..=last).fold(0.0, |m: f64, i| {
        m.max((counts[i] as f64 / GRID as f64 - c[i]).abs())
    });
    Ok(Rounded {
        counts: counts.into_iter().map(|c| c as i64).gather_shared(),
        sum: sum.hi,
        moved,
    })
}

/// Add `spare` units, one each, to the entries that lost most, so that every entry stays within one unit.
/// `fraction(i)` is what entry `i` lost, `None` if it lost nothing.
fn hand_out(
    counts: &mut [u64],
    mut spare: u64,
    fraction: impl Fn(usize) -> Option<f64> + Sync + Send,
) {
    while spare > 0 {
        // Larger keys come first. A fraction below 1 becomes an integer of 63 bits. An entry that
        // lost nothing comes last, and a zero stays zero: some positive entry is always there, since
        // the sum is 1, and is served again in the next round.
        let key = |i: usize, count: u64| match fraction(i) {
            _ if count == 0 => None,
            None => Some(0),
            Some(f) => Some((f * (1u64 << 63) as f64) as i64 as u64),
        };
        let cut = {
            let counts = &*counts;
            Cut::of_largest(counts.len(), spare, |i| key(i, counts[i]))
        };
        let mut ties = cut.ties;
        for (task, part) in counts.chunks_mut(TASK).enumerate() {
            stop::point();
            for (i, count) in (task * TASK..).zip(part) {
                // Which entries are served is as good as random, so nothing branches on it.
                if let Some(key) = key(i, *count) {
                    let tie = u64::from(key == cut.key && ties > 0);
                    let served = u64::from(key > cut.key) + tie;
                    ties -= tie;
                    *count += served;
                    spare -= served;
                }
            }
        }
    }
}

/// Where the largest keys end: those above `key` belong to them, and of those equal to it the first
/// `ties` in order.
struct Cut {
    key: u64,
    ties: u64,
}

impl Cut {
    /// The cut below the `wanted` largest of `len` keys, or below all of them if they are fewer. The
    /// leading byte is counted first, so that only the keys that share it with the cut are compared.
    fn of_largest(
        len: usize,
        wanted: u64,
        key: impl Fn(usize) -> Option<u64> + Sync + Send,
    ) -> Cut {
        let tasks = len.div_ceil(TASK);
        let range = |task: usize| task * TASK..len.min((task + 1) * TASK);
        let byte = |key: u64| (key >> 56) as usize;
        let histograms = pool::map(tasks, len < TASK, |task| {
            let mut histogram = [0u64; 256];
            range(task)
                .filter_map(&key)
                .for_each(|key| histogram[byte(key)] += 1);
            histogram
        });
        let count = |byte: usize| histograms.iter().map(|h| h[byte]).sum::<u64>();
        let (mut wanted, mut leading) = (wanted, 255);
        while leading > 0 && count(leading) < wanted {
            wanted -= count(leading);
            leading -= 1;
        }
        let mut keys: Vec<u64> = (0..tasks)
            .filter(|&task| histograms[task][leading] > 0)
            .flat_map(|task| range(task).filter_map(&key))
            .filter(|&key| byte(key) == leading)
            .gather();
        if wanted > keys.len() as u64 || keys.is_empty() {
            return Cut {
                key: 0,
                ties: wanted.min(keys.len() as u64),
            };
        }
        let (above, cut, _) = keys.select_nth_unstable_by(wanted as usize - 1, |a, b| b.cmp(a));
        let cut = *cut;
        let above = above.iter().filter(|&&key| key > cut).count() as u64;
        Cut {
            key: cut,
            ties: wanted - above,
        }
    }
}

/// Take `excess` units off the largest entries, down to a common level.
fn level_off(counts: &mut [u64], excess: u128) {
    let mut order: Vec<usize> = (0..counts.len()).gather();
    let pace = stop::Tick::default();
    order.sort_unstable_by(|&a, &b| {
        pace.tick();
        counts[b].cmp(&counts[a]).then(a.cmp(&b))
    });
    // The first `n` entries come down to `level` when what stands above it is just enough.
    let mut above: u128 = 0;
    for n in (1..=order.len()).paced() {
        above += u128::from(counts[order[n - 1]]);
        let next = order.get(n).map_or(1, |&i| u128::from(counts[i]));
        if above - next * n as u128 >= excess || n == order.len() {
            let left = above - excess;
            let (level, extra) = (left / n as u128, (left % n as u128) as usize);
            for (rank, &i) in order[..n].iter().enumerate() {
                counts[i] = level as u64 + u64::from(rank < extra);
            }
            return;
        }
    }
}

/// The count of units nearest to the probability `x`, at least one where `x` is positive.
pub fn round_number(x: f64) -> u64 {
    let scaled = x * GRID as f64;
    (scaled.round_ties_even() as u64).max(u64::from(x > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: i64 = GRID as i64;

    fn rounded(p: &[f64]) -> Arc<[i64]> {
        let counts = round_vector("p", p).unwrap().counts;
        assert_eq!(counts.iter().sum::<i64>(), ALL);
        for (c, x) in counts.iter().zip(p) {
            assert_eq!(*c > 0, *x > 0.0);
        }
        counts
    }

    #[test]
    fn a_vector_on_the_grid_is_not_touched() {
        let counts = [ALL - 12, 5, 7, 0];
        let p = counts.map(|c| c as f64 / GRID as f64);
        assert_eq!(*rounded(&p), counts);
    }

    #[test]
    fn nearest_moves_no_entry_by_a_unit() {
        let p: Vec<f64> = (1..=1000).map(|i| f64::from(i) / 500_500.0).collect();
        let r = round_vector("p", &p).unwrap();
        assert!(r.moved < 1.0 / GRID as f64);
    }

    #[test]
    fn tiny_entries_survive_at_the_cost_of_the_largest() {
        let mut p = vec![1e-300; 1000];
        p[3] = 0.5;
        p[4] = 0.5;
        let counts = rounded(&p);
        assert_eq!(counts[0], 1);
        assert_eq!(counts[3..5], [ALL / 2 - 499; 2]);
        assert_eq!(*rounded(&[1.0, 1e-300]), [ALL - 1, 1]);
    }
}
