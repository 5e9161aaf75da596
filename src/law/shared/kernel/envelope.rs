//! The lower convex envelope of a reflected kernel.

use super::{Count, Kernel};
use crate::system::memory::{self};
use crate::system::stop::Paced;

impl<K: Count> Kernel<'_, K> {
    /// The lower convex envelope of the kernel, rounded down to counts, and how far the kernel stands
    /// above that at most; `None` if the envelope rises somewhere.
    pub(super) fn envelope(&self) -> Option<(Vec<u128>, u128)> {
        let r = self.r();
        let at = |j: usize| self.counts[j].whole() as i128;
        // The envelope's corners, by the usual turn test.
        let mut corners: Vec<usize> = Vec::new();
        for j in (0..=r).paced() {
            while let [.., a, b] = corners[..] {
                let rise = (at(b) - at(a)).checked_mul((j - a) as i128)?;
                let chord = (at(j) - at(a)).checked_mul((b - a) as i128)?;
                if rise < chord {
                    break;
                }
                corners.pop();
            }
            memory::push(&mut corners, j);
        }
        let mut below = memory::room(r + 1);
        for pair in corners.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            let (fall, run) = (at(a) - at(b), (b - a) as i128);
            if fall < 0 {
                return None;
            }
            for j in (0..run).paced() {
                let down = fall.checked_mul(j)?;
                below.push((at(a) - (down + run - 1) / run) as u128);
            }
        }
        below.push(self.counts[r].whole());
        let above = self.counts.iter().zip(&below);
        let bulge = above.map(|(c, b)| c.whole() - b).max().unwrap_or(0);
        Some((below, bulge))
    }
}
