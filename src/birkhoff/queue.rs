//! A queue of entries that only goes down: pushes are never above the last one popped.

/// An entry: its value, row and column.
pub type Item = (u64, u32, u32);

/// Largest first. A radix heap: bucket `i` holds the values that differ from the last one popped in
/// bit `i - 1` and none above, so an item moves at most 64 times, mostly two or three, and no
/// comparison of two items is ever made.
#[derive(Debug)]
pub struct Queue {
    buckets: Vec<Vec<Item>>,
    /// Buckets that are not empty, as bits.
    filled: u64,
    last: u64,
}

/// Empty, for values below 2^63, the first of which may be anything.
impl Default for Queue {
    fn default() -> Self {
        Queue {
            buckets: vec![Vec::new(); 64],
            filled: 0,
            last: (1 << 63) - 1,
        }
    }
}

impl Queue {
    fn bucket(&self, value: u64) -> usize {
        (64 - (value ^ self.last).leading_zeros()) as usize
    }

    /// Add an item not above the last one popped.
    pub fn push(&mut self, item: Item) {
        let i = self.bucket(item.0);
        self.buckets[i].push(item);
        self.filled |= 1 << i;
    }

    /// The value that comes next.
    pub fn peek(&self) -> Option<u64> {
        let bucket = self.buckets.get(self.filled.trailing_zeros() as usize)?;
        bucket.iter().map(|item| item.0).max()
    }

    /// The largest item.
    pub fn pop(&mut self) -> Option<Item> {
        if self.filled & 1 == 0 {
            if self.filled == 0 {
                return None;
            }
            let i = self.filled.trailing_zeros() as usize;
            self.filled &= !(1 << i);
            let mut items = std::mem::take(&mut self.buckets[i]);
            self.last = items.iter().map(|item| item.0).max().unwrap_or(0);
            for &item in &items {
                self.push(item);
            }
            // The room is kept for later.
            items.clear();
            self.buckets[i] = items;
        }
        let item = self.buckets[0].pop();
        if self.buckets[0].is_empty() {
            self.filled &= !1;
        }
        item
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pops_in_order_whatever_is_pushed_between() {
        let mut queue = Queue::default();
        let mut mirror = std::collections::BinaryHeap::new();
        let mut seed = 5u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 1
        };
        for i in 0..500 {
            let value = random() >> ((random() >> 40) % 60);
            queue.push((value, i, 0));
            mirror.push(value);
        }
        let mut last = u64::MAX;
        while let Some(next) = queue.peek() {
            let Some((value, ..)) = queue.pop() else {
                panic!("nothing where {next} was");
            };
            assert_eq!(value, next);
            assert_eq!(Some(value), mirror.pop());
            assert!(value <= last);
            last = value;
            if random() >> 40 & 3 != 0 {
                let smaller = if value == 0 {
                    0
                } else {
                    random() % (value + 1) / 2
                };
                if smaller > 0 {
                    queue.push((smaller, 0, 0));
                    mirror.push(smaller);
                }
            }
        }
        assert!(mirror.is_empty());
    }
}
