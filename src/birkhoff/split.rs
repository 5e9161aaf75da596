//! Half a matrix, exactly: even entries are halved, odd ones go up or down by a half so that every
//! line sum stays right.

use super::counts::Counts;

/// Halve a matrix with an even line sum. Entries that become zero stay in the list.
///
/// # Law
/// An odd line sum of an even total cannot be, so every line holds an even number of odd entries: as
/// edges between rows and columns they fall into closed trails. Along a trail they go up and down in
/// turn, so that a line loses what it gains. `up` says for each trail how it begins; with a fair coin
/// each entry is halved in the mean, exactly.
///
/// # Cost
/// Two passes over the entries, one more over the odd ones.
pub fn halve(counts: &mut Counts, mut up: impl FnMut() -> bool) {
    let size = counts.size;
    let mut trails = Trails::new(counts);
    for value in &mut counts.values {
        *value /= 2;
    }
    counts.total /= 2;
    for start in 0..size {
        while trails.next_in_row(counts, start).is_some() {
            let up = up();
            let mut u = start;
            while let Some(i) = trails.next_in_row(counts, u) {
                let column = usize::from(counts.columns[i]);
                trails.pending[i] = false;
                let Some(j) = trails.next_in_column(column) else {
                    break;
                };
                trails.pending[j] = false;
                counts.values[if up { i } else { j }] += 1;
                u = usize::from(trails.row_of[j]);
                if u == start {
                    break;
                }
            }
        }
    }
}

/// Where the walks go on.
struct Trails {
    /// Odd entries not walked yet.
    pending: Vec<bool>,
    row_of: Vec<u16>,
    row_cursor: Vec<usize>,
    by_column: Vec<u32>,
    column_cursor: Vec<usize>,
    column_end: Vec<usize>,
}

impl Trails {
    fn new(counts: &Counts) -> Self {
        let size = counts.size;
        let pending: Vec<bool> = counts.values.iter().map(|value| value % 2 == 1).collect();
        let mut row_of = vec![0; counts.values.len()];
        for u in 0..size {
            row_of[counts.starts[u]..counts.starts[u + 1]].fill(u as u16);
        }
        let odd = || (0..pending.len()).filter(|&i| pending[i]);
        let mut column_end = vec![0; size];
        for i in odd() {
            column_end[usize::from(counts.columns[i])] += 1;
        }
        let mut column_cursor = Vec::with_capacity(size);
        let mut sum = 0;
        for end in &mut column_end {
            column_cursor.push(sum);
            sum += *end;
            *end = sum;
        }
        let mut by_column = vec![0; sum];
        let mut next = column_cursor.clone();
        for i in odd() {
            let next = &mut next[usize::from(counts.columns[i])];
            by_column[*next] = i as u32;
            *next += 1;
        }
        Trails {
            pending,
            row_of,
            row_cursor: counts.starts[..size].to_vec(),
            by_column,
            column_cursor,
            column_end,
        }
    }

    /// The next odd entry of row `u`.
    fn next_in_row(&mut self, counts: &Counts, u: usize) -> Option<usize> {
        let cursor = &mut self.row_cursor[u];
        while *cursor < counts.starts[u + 1] {
            if self.pending[*cursor] {
                return Some(*cursor);
            }
            *cursor += 1;
        }
        None
    }

    fn next_in_column(&mut self, v: usize) -> Option<usize> {
        let cursor = &mut self.column_cursor[v];
        while *cursor < self.column_end[v] {
            let i = self.by_column[*cursor] as usize;
            if self.pending[i] {
                return Some(i);
            }
            *cursor += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_floors_and_ceilings_with_exact_sums() {
        let mut seed = 3u64;
        let mut random = move |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % n
        };
        for size in 1..12 {
            let mut cells = vec![0u64; size * size];
            let mut total = 0;
            for _ in 0..5 {
                let weight = 1 + random(1000);
                let shift = random(size as u64) as usize;
                let step = random(2) == 1;
                for u in 0..size {
                    let v = if step {
                        (shift + u) % size
                    } else {
                        (shift + size - u) % size
                    };
                    cells[u * size + v] += weight;
                }
                total += weight;
            }
            if total % 2 == 1 {
                (0..size).for_each(|u| cells[u * size + u] += 1);
                total += 1;
            }
            let whole = Counts::from_dense(size, total, &cells);
            for fixed in [Some(true), Some(false), None] {
                let mut half = whole.clone();
                halve(&mut half, || fixed.unwrap_or_else(|| random(2) == 1));
                let half = half.to_dense();
                for u in 0..size {
                    let row: i64 = half[u * size..][..size].iter().sum();
                    let column: i64 = (0..size).map(|w| half[w * size + u]).sum();
                    assert_eq!((row, column), (total as i64 / 2, total as i64 / 2));
                }
                for (h, c) in half.iter().zip(&cells) {
                    assert!((2 * h - *c as i64).abs() <= 1);
                }
            }
        }
    }
}
