//! A law a row: alias tables one after the other.

use std::sync::Arc;

use crate::draw::alias::{self, left_over, share};
use crate::draw::code::Word;
use crate::draw::uniform::{More, by_digits as below};
use crate::system::memory;
use crate::system::{pool, stop};

/// A law a row: tables one after the other.
#[derive(Debug)]
pub struct Dense<W> {
    /// Columns a row are `2^k`.
    pub k: u32,
    /// Row by row, and one entry more that lets a vector of four bytes be read anywhere.
    pub table: Box<[W]>,
    /// The last decided word of each row.
    last: Box<[W]>,
    /// The smallest of them.
    pub least: u64,
    counts: Arc<[i64]>,
    total: u64,
    size: usize,
    /// Left-over mass before every [`MARK`]-th outcome, row by row; `None` if the rest is so rare that
    /// it may be added up.
    marks: Box<[u128]>,
}

/// Outcomes between two marks of a row.
const MARK: usize = 32;

impl<W: Word> Dense<W> {
    pub(super) fn new(counts: Arc<[i64]>, total: u64, size: usize) -> Self {
        let k = alias::columns(size);
        let columns = 1usize << k;
        let marks_in = if W::BITS == 16 { size } else { 0 };
        let per_row = marks_in.div_ceil(MARK);
        let mut table = alias::zeros(size * columns + 1);
        let mut last = memory::filled(W::low(0), size).into_boxed_slice();
        let mut marks = memory::zeros::<u128>(size * per_row).into_boxed_slice();
        let mut marked = marks.chunks_mut(per_row.max(1));
        let entries = table[..size * columns].chunks_mut(columns);
        let mut rows: Vec<(&mut [W], &mut W, &mut [u128])> = entries
            .zip(&mut last)
            .map(|(table, last)| (table, last, marked.next().unwrap_or_default()))
            .collect();
        let band = size.div_ceil(32);
        pool::for_each_chunk(&mut rows, band, counts.len() < 1 << 14, |i, rows| {
            let mut mass = memory::filled(W::low(0), columns);
            let counts = counts[i * band * size..].chunks_exact(size);
            for ((table, last, marks), row) in rows.iter_mut().zip(counts) {
                stop::point();
                mass.fill(W::low(0));
                let mut sum = 0;
                for (v, (mass, &count)) in mass.iter_mut().zip(row).enumerate() {
                    *mass = W::low(share::<W>(count as u64, total));
                    if per_row > 0 {
                        if v % MARK == 0 {
                            marks[v / MARK] = sum;
                        }
                        sum += left_over::<W>(count as u64, total);
                    }
                }
                **last = W::low(alias::fill(&mut mass, table));
            }
        });
        drop(rows);
        let lasts = || last.iter().map(|last| last.get());
        Dense {
            k,
            table,
            least: lasts().min().unwrap_or(0),
            last,
            counts,
            total,
            size,
            marks,
        }
    }

    #[inline(always)]
    pub(super) fn decide(&self, x: u64, u: u64) -> (u64, bool) {
        let start = (u as usize) << self.k;
        let table = &self.table[start..start + (1 << self.k)];
        (
            alias::look_up(table, self.k, x),
            x > self.last[u as usize].get(),
        )
    }

    pub(super) fn resolve(&self, x: u64, u: u64, more: &mut impl More) -> u64 {
        // Vectors compare with the smallest of all rows' last words, so some are decided after all.
        let Some(i) = x.checked_sub(self.last[u as usize].get() + 1) else {
            return self.decide(x, u).0;
        };
        let t = u128::from(below(self.total, more));
        self.find(u, u128::from(i) * u128::from(self.total) + t)
    }

    fn find(&self, u: u64, t: u128) -> u64 {
        let row = &self.counts[u as usize * self.size..][..self.size];
        let per_row = self.marks.len() / self.size;
        let marks = &self.marks[u as usize * per_row..][..per_row];
        let block = marks.partition_point(|&mark| mark <= t).saturating_sub(1);
        let start = block * MARK;
        let before = marks.get(block).copied().unwrap_or(0);
        let end = if per_row == 0 {
            self.size
        } else {
            self.size.min(start + MARK)
        };
        let counts = row[start..end].iter().map(|&c| c as u64);
        start as u64 + alias::scan::<W>(counts, self.total, t - before)
    }
}

#[cfg(test)]
mod tests {
    use crate::draw::alias::left_over;
    use crate::draw::sampler::counted::{Script, total, word};
    use crate::draw::sampler::{Kind, Leaf, Sampler};
    use crate::law::examples::{make, table};
    use crate::law::parameters::Value;

    /// On the grid 2^-53 the further numbers are too many to count: the slots are counted one by one,
    /// and the intervals of the rest by their ends.
    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn slots_and_intervals_of_rows_on_the_grid_make_the_law() {
        for size in [12usize, 40, 100] {
            let cost = (0..size * size).map(|i| (i / size).abs_diff(i % size) as f64);
            let cost = Value::Table(size, size, Box::new(Value::Reals(cost.collect())));
            let m = make(
                "gibbs",
                &[("cost", cost), ("temperature", Value::Real(3.0))],
            )
            .unwrap();
            let Sampler::Leaf(Leaf::Two(Kind::Dense(rows))) = m.sampler() else {
                panic!("{m:?}");
            };
            for u in 0..size as u64 {
                let mut slots = vec![0u128; size];
                let mut undecided = 0u128;
                for x in 0..1 << 16 {
                    match rows.decide(x, u) {
                        (v, false) => slots[v as usize] += 1,
                        (_, true) => undecided += 1,
                    }
                }
                let mut before = 0;
                for v in 0..size as u64 {
                    let (count, total) = m.entry(u, v).unwrap();
                    let rest = (count << 16) - slots[v as usize] * total;
                    if rest > 0 {
                        assert_eq!(rows.find(u, before), v);
                        assert_eq!(rows.find(u, before + rest - 1), v);
                    }
                    before += rest;
                }
                assert_eq!(before, undecided << 53);
            }
        }
    }
    /// Beyond 256 outcomes a row has no marks: written words at both ends of every interval.
    #[test]
    fn undecided_words_of_a_long_row_find_their_owner() {
        let size = 257;
        let cells = (0..size * size).map(|i| ((i / size + i % size) % size) as i64 + 1);
        let m = table(size, cells);
        let Sampler::Leaf(Leaf::Four(Kind::Dense(rows))) = m.sampler() else {
            panic!("{m:?}");
        };
        let total = total(&m);
        for u in [0, 1, 256] {
            let mut before = 0;
            for v in 0..size as u64 {
                let (count, _) = m.entry(u, v).unwrap();
                let rest = left_over::<u32>(count as u64, total);
                for case in [before, before + rest.max(1) - 1] {
                    let (i, t) = (case / u128::from(total), case % u128::from(total));
                    let x = rows.last[u as usize] as u64 + 1 + i as u64;
                    let words = &[word(t as u64, total)];
                    let found = rows.resolve(x, u, &mut Script { words, asked: 0 });
                    assert!(found == v || rest == 0, "{found} for {v} in row {u}");
                }
                before += rest;
            }
            let undecided = u64::from(u32::MAX - rows.last[u as usize]);
            assert_eq!(before, u128::from(undecided) * u128::from(total));
        }
    }
}
