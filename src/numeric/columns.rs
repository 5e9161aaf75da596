//! Columns on one scale, class means, and how much of the spread classes lose.
//!
//! Sums are double-doubles, so that means do not depend on the order of the records beyond their last bit.

use crate::number::dd::Dd;
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

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
        .collect()
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
    let n = (rows.len() / d) as f64;
    let mut scaled = memory::copied(rows);
    for j in (0..d).filter(|&j| kinds[j] == Kind::Number) {
        let column = rows[j..].iter().step_by(d).paced();
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (least, most) = column.fold(ends, |(a, b), &x| (a.min(x), b.max(x)));
        let (a, b) = factors(least.abs().max(most.abs()));
        let mut sum = Dd::ZERO;
        for x in scaled[j..].iter_mut().step_by(d).paced() {
            *x = *x * a * b;
            sum = sum + (*x).into();
        }
        let mean = (sum / n.into()).hi;
        let mut squares = Dd::ZERO;
        for x in scaled[j..].iter().step_by(d).paced() {
            squares = squares + Dd::product(x - mean, x - mean);
        }
        let deviation = (squares.hi / (n - 1.0)).sqrt();
        for x in scaled[j..].iter_mut().step_by(d).paced() {
            *x = if least == most {
                0.0
            } else {
                (*x - mean) / deviation
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
    let down: Vec<f64> = most.iter().map(|most| power(-large(most))).collect();
    let up: Vec<f64> = most.iter().map(|most| power(large(most))).collect();
    let mut sums = memory::filled(Dd::ZERO, sizes.len() * columns);
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
    let (mut within, mut whole) = (Dd::ZERO, Dd::ZERO);
    let numbers = (0..d).filter(|&j| !matches!(kinds[j], Kind::Nominal(_)));
    let numbers: Vec<usize> = numbers.collect();
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

/// Where each class starts if they follow each other.
pub fn starts(sizes: &[u32]) -> Vec<u32> {
    let mut end = 0;
    let start = |size: &u32| {
        end += size;
        end - size
    };
    sizes.iter().map(start).gather()
}

/// The records class by class, in the order of the file in each.
pub fn by_class(classes: &[u32], sizes: &[u32]) -> Vec<u32> {
    let mut next = starts(sizes);
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
