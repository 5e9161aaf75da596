//! Classes of `l` different values (Anatomy, Xiao and Tao 2006), and everything in a random order.

use std::collections::BinaryHeap;

use super::columns;
use crate::draw::uniform::{More, by_remainder};
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

/// Numbers below `n` in a random order, each as likely.
pub fn shuffled(n: usize, words: &mut impl More) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).gather();
    for i in (1..n).rev().paced() {
        order.swap(i, by_remainder(i as u64 + 1, words) as usize);
    }
    order
}

/// The class of each record: `l` records of different values in each, and a few with one more.
///
/// # Law
/// While `l` values have records left, one random record of each of the `l` values that have most left is a class. Each
/// record that is left over then joins a random class without its value.
///
/// Every class has each value at most once, as long as no value has more than `n/l` of the records: then at most one
/// record of a value is left over, and some class lacks it.
///
/// # Cost
/// O(n log v) for `v` values.
pub fn classes(codes: &[u32], values: usize, l: usize, words: &mut impl More) -> Vec<u32> {
    let mut counts: Vec<u32> = memory::zeros(values);
    for &code in codes.iter().paced() {
        counts[code as usize] += 1;
    }
    // The records value by value; those of value v that are left are the first ones of its stretch.
    let records = columns::by_class(codes, &counts);
    let starts = columns::starts(&counts);
    let mut left = memory::copied(&records);
    let mut classes = memory::filled(u32::MAX, codes.len());
    let full = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let full = full.map(|(code, &count)| (count, std::cmp::Reverse(code)));
    let mut largest = BinaryHeap::from(full.gather());
    let mut taken = Vec::with_capacity(l);
    let mut made = 0;
    while largest.len() >= l {
        for _ in (0..l).paced() {
            let Some((count, code)) = largest.pop() else {
                break;
            };
            let stretch = &mut left[starts[code.0] as usize..][..count as usize];
            let at = by_remainder(count.into(), words) as usize;
            classes[stretch[at] as usize] = made;
            stretch.swap(at, count as usize - 1);
            taken.push((count - 1, code));
        }
        largest.extend(taken.drain(..).filter(|(count, _)| *count > 0));
        made += 1;
    }
    for (count, code) in largest.into_sorted_vec() {
        let own = &records[starts[code.0] as usize..][..counts[code.0] as usize];
        for &record in &left[starts[code.0] as usize..][..count as usize] {
            let mut with: Vec<u32> = own
                .iter()
                .map(|&record| classes[record as usize])
                .filter(|&class| class != u32::MAX)
                .collect();
            with.sort_unstable();
            with.dedup();
            // The one at this place among the classes without it, of which there is one: see above.
            let mut class = by_remainder(u64::from(made) - with.len() as u64, words) as u32;
            for &other in &with {
                class += u32::from(other <= class);
            }
            classes[record as usize] = class;
        }
    }
    classes
}
