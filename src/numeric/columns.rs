//! Columns on one scale, class means, and how much of the spread classes lose.
//!
//! Sums are double-doubles, so that means do not depend on the order of the records beyond their last bit.

use crate::number::dd::Dd;
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

const ZERO: Dd = Dd { hi: 0.0, lo: 0.0 };

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Numbers that are put on a scale of mean 0 and standard deviation 1 (`n - 1` below the root).
    Number,
    /// Numbers that stay as they are.
    Scaled,
    /// Codes from 0 to below this; two of them are 0 or 1 apart.
    Nominal(usize),
}

/// Number of codes of each column; 0 if it holds numbers.
pub fn levels(kinds: &[Kind]) -> Vec<usize> {
    kinds
        .iter()
        .map(|kind| match kind {
            Kind::Nominal(levels) => *levels,
            _ => 0,
        })
        .gather()
}

/// 2 to a power from -1022 to 1023.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// How numbers up to `most` are brought below 1 without losing a bit: by a power of 2, which takes two factors where
/// it is none of a double's.
fn factors(most: f64) -> (f64, f64) {
    if most == 0.0 {
        return (1.0, 1.0);
    }
    // Numbers that are not normal have the least exponent; that is near enough.
    let exponent = ((most.to_bits() >> 52) & 0x7ff) as i32 - 1022;
    let half = exponent / 2;
    (power(-half), power(half - exponent))
}

/// All columns on one scale, row by row: see [`Kind`]. A constant column becomes 0 everywhere.
pub fn on_one_scale(rows: &[f64], kinds: &[Kind]) -> Vec<f64> {
    let d = kinds.len();
    let n = rows.len() / d;
    let mut scaled = memory::copied(rows);
    let mut least = memory::filled(f64::INFINITY, d);
    let mut most = memory::filled(f64::NEG_INFINITY, d);
    for row in rows.chunks_exact(d).paced() {
        for ((low, high), &x) in least.iter_mut().zip(&mut most).zip(row) {
            (*low, *high) = (low.min(x), high.max(x));
        }
    }
    let numbers = (0..d).filter(|&j| kinds[j] == Kind::Number).gather();
    for &j in &numbers {
        let (a, b) = factors(least[j].abs().max(most[j].abs()));
        let mut sum = ZERO;
        for row in scaled.chunks_exact_mut(d).paced() {
            row[j] = row[j] * a * b;
            sum = sum + row[j].into();
        }
        let mean = (sum / (n as f64).into()).hi;
        let mut squares = ZERO;
        for row in scaled.chunks_exact(d).paced() {
            let gap = row[j] - mean;
            squares = squares + Dd::product(gap, gap);
        }
        let deviation = (squares.hi / (n as f64 - 1.0)).sqrt();
        let constant = least[j] == most[j];
        for row in scaled.chunks_exact_mut(d).paced() {
            row[j] = if constant {
                0.0
            } else {
                (row[j] - mean) / deviation
            };
        }
    }
    scaled
}

/// The mean of each class in each column, a row for each class. Class ids are below the number of sizes.
pub fn means(rows: &[f64], columns: usize, classes: &[u32], sizes: &[u32]) -> Vec<f64> {
    let mut most: Vec<f64> = memory::zeros(columns);
    for row in rows.chunks_exact(columns).paced() {
        for (most, &x) in most.iter_mut().zip(row) {
            *most = most.max(x.abs());
        }
    }
    // Sums of numbers this large would be infinite; in such a column the lowest bits do not matter.
    let large = |&most: &f64| if most > power(900) { 64 } else { 0 };
    let down: Vec<f64> = most.iter().map(|most| power(-large(most))).gather();
    let up: Vec<f64> = most.iter().map(|most| power(large(most))).gather();
    let mut sums = memory::filled(ZERO, sizes.len() * columns);
    for (row, &class) in rows.chunks_exact(columns).zip(classes).paced() {
        let sums = &mut sums[class as usize * columns..][..columns];
        for ((sum, &x), down) in sums.iter_mut().zip(row).zip(&down) {
            *sum = *sum + (x * down).into();
        }
    }
    let mean = |(cell, sum): (usize, Dd)| {
        let size = f64::from(sizes[cell / columns]);
        (sum / size.into()).hi * up[cell % columns]
    };
    sums.into_iter().enumerate().map(mean).gather()
}

/// 100 times the sum of squared distances to the class means, over that to the mean of all; 0 if all records are
/// alike. `scaled` is what [`on_one_scale`] gave.
///
/// Codes count as corners that are 1 apart: of shares `p` in a class, a record is `(1 - sum p^2) / 2` away on average.
pub fn information_loss(scaled: &[f64], kinds: &[Kind], classes: &[u32], sizes: &[u32]) -> f64 {
    let d = kinds.len();
    let n = scaled.len() / d;
    let centres = means(scaled, d, classes, sizes);
    let centre = means(scaled, d, &memory::zeros(n), &[n as u32]);
    let (mut within, mut whole) = (ZERO, ZERO);
    let numbers = (0..d).filter(|&j| !matches!(kinds[j], Kind::Nominal(_)));
    let numbers: Vec<usize> = numbers.gather();
    for (row, &class) in scaled.chunks_exact(d).zip(classes).paced() {
        for &j in &numbers {
            let own = row[j] - centres[class as usize * d + j];
            let all = row[j] - centre[j];
            within = within + (own * own).into();
            whole = whole + (all * all).into();
        }
    }
    let order = by_class(classes, sizes);
    for (j, kind) in kinds.iter().enumerate() {
        let Kind::Nominal(levels) = *kind else {
            continue;
        };
        let mut counts: Vec<u32> = memory::zeros(levels);
        let code = |record: u32| scaled[record as usize * d + j] as usize;
        let mut start = 0;
        for &size in sizes.iter().paced() {
            let members = &order[start..start + size as usize];
            start += size as usize;
            // What a class of m holds c times adds c^2/m to its sum of m p^2.
            let mut alike = 0u64;
            for &record in members {
                let count = &mut counts[code(record)];
                alike += 2 * u64::from(*count) + 1;
                *count += 1;
            }
            for &record in members {
                counts[code(record)] = 0;
            }
            let size = f64::from(size);
            within = within + ((size - alike as f64 / size) / 2.0).into();
        }
        for &record in &order {
            counts[code(record)] += 1;
        }
        let alike = counts.iter().map(|&c| f64::from(c) * f64::from(c));
        let alike = alike.fold(0.0, |sum, square| sum + square);
        whole = whole + ((n as f64 - alike / n as f64) / 2.0).into();
    }
    if whole.hi > 0.0 {
        (100.0 * within.hi.max(0.0)) / whole.hi
    } else {
        0.0
    }
}

/// The records class by class, in the order of the file in each.
pub fn by_class(classes: &[u32], sizes: &[u32]) -> Vec<u32> {
    let mut start = 0;
    let mut next = sizes
        .iter()
        .map(|&size| {
            start += size;
            start - size
        })
        .gather();
    let mut order = memory::zeros(classes.len());
    for (record, &class) in (0..).zip(classes).paced() {
        let place = &mut next[class as usize];
        order[*place as usize] = record;
        *place += 1;
    }
    order
}

/// Class ids in the order in which classes first occur in the file, and how many records each has.
pub fn numbered(classes: &mut [u32]) -> Vec<u32> {
    let most = classes.iter().copied().max().map_or(0, |c| c as usize + 1);
    let mut ids = memory::filled(u32::MAX, most);
    let mut sizes: Vec<u32> = memory::room(most);
    for class in classes.iter_mut().paced() {
        let id = &mut ids[*class as usize];
        if *id == u32::MAX {
            *id = sizes.len() as u32;
            sizes.push(0);
        }
        sizes[*id as usize] += 1;
        *class = *id;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_scale_of_numbers_gives_the_same() {
        let plain = [1.0, 2.0, 4.0, 8.0];
        let want = on_one_scale(&plain, &[Kind::Number]);
        assert!((want.iter().sum::<f64>()).abs() < 1e-15);
        let square = want.iter().map(|z| z * z).sum::<f64>();
        assert!((square - 3.0).abs() < 1e-14);
        for factor in [1e300, 2.2e307, 1e-300, -1.0] {
            let rows = plain.map(|x| x * factor);
            let got = on_one_scale(&rows, &[Kind::Number]);
            for (a, b) in got.iter().zip(&want) {
                assert!((a.abs() - b.abs()).abs() < 1e-14, "{factor}");
            }
        }
        let tiny = plain.map(|x| x * 5e-324);
        assert_eq!(on_one_scale(&tiny, &[Kind::Number]), want);
    }

    #[test]
    fn classes_are_numbered_as_they_occur() {
        let mut classes = [3, 1, 3, 0, 1];
        assert_eq!(numbered(&mut classes), [2, 2, 1]);
        assert_eq!(classes, [0, 1, 0, 2, 1]);
        assert_eq!(by_class(&classes, &[2, 2, 1]), [0, 2, 1, 4, 3]);
    }

    /// Codes as corners, one column for each code, say the same.
    #[test]
    fn codes_lose_as_much_as_their_corners() {
        let codes = [0, 1, 2, 1, 1, 0, 2, 2];
        let (classes, sizes) = ([0, 0, 0, 1, 1, 1, 0, 1], [4, 4]);
        let rows = codes.map(f64::from);
        let got = information_loss(&rows, &[Kind::Nominal(3)], &classes, &sizes);
        let half = 0.5f64.sqrt();
        let corners: Vec<f64> = codes
            .iter()
            .flat_map(|&code| (0..3).map(move |c| if c == code { half } else { 0.0 }))
            .collect();
        let want = information_loss(&corners, &[Kind::Scaled; 3], &classes, &sizes);
        assert!((got - want).abs() < 1e-12, "{got} {want}");
    }
}
