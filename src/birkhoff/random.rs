//! Numbers that look random and are the same every time, for labellings. Nothing secret comes from here.

use crate::draw::uniform::by_upper_half;

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence number `seed`.
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, up to 2^32.
    pub fn below(&mut self, n: u64) -> u64 {
        by_upper_half(n, self.word())
    }

    /// The numbers below `n` in some order.
    pub fn order(&mut self, n: usize) -> Vec<u16> {
        let mut order: Vec<u16> = (0..n).map(|i| i as u16).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i as u64 + 1) as usize);
        }
        order
    }
}
