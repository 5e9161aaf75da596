//! What the processor can do, believed after it has agreed with the plain function.

use std::sync::atomic::{AtomicU8, Ordering};

use super::{BLOCK, Keystream};

/// What the processor can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// One block at a time, on any machine.
    Plain = 1,
    /// Eight.
    Avx2 = 2,
    /// Sixteen.
    Avx512 = 3,
}

/// The best level that this processor has and that agrees with the plain one. `BISTOCHASTIC_CPU` may
/// name a lower one (`plain`, `avx2`), for tests.
pub fn level() -> Level {
    static SEEN: AtomicU8 = AtomicU8::new(0);
    match SEEN.load(Ordering::Relaxed) {
        1 => Level::Plain,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => {
            let most = match std::env::var("BISTOCHASTIC_CPU").as_deref() {
                Ok("plain") => Level::Plain,
                Ok("avx2") => Level::Avx2,
                _ => Level::Avx512,
            };
            let best = [Level::Avx512, Level::Avx2]
                .into_iter()
                .find(|&level| level <= most && has(level) && agrees(level))
                .unwrap_or(Level::Plain);
            SEEN.store(best as u8, Ordering::Relaxed);
            best
        }
    }
}

/// Whether the processor has what the level needs.
pub fn has(level: Level) -> bool {
    #[cfg(target_arch = "x86_64")]
    match level {
        Level::Plain => true,
        Level::Avx2 => is_x86_feature_detected!("avx2"),
        Level::Avx512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx2"),
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        level == Level::Plain
    }
}

/// Whether the level computes what the plain function does, over a carry of the counter.
pub(super) fn agrees(level: Level) -> bool {
    let stream = |level| Keystream {
        key: Box::new(std::array::from_fn(|i| 0x0102_0304 * i as u32).into()),
        level,
    };
    let mut got = [[0u8; 16 * BLOCK]; 2];
    let mut words = [[0u64; 16]; 2];
    let counters: [u64; 16] = std::array::from_fn(|i| (i as u64) << (4 * i));
    let nonces: [u64; 16] = std::array::from_fn(|i| (i as u64) << (60 - 3 * i));
    for (i, level) in [Level::Plain, level].into_iter().enumerate() {
        stream(level).fill(0x0123_4567_89ab_cdef, u64::from(u32::MAX) - 3, &mut got[i]);
        stream(level).first_words(&counters, &nonces, &mut words[i]);
    }
    got[0] == got[1] && words[0] == words[1]
}
