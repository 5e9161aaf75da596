//! The threads: one pool a process, built at first use. The only file that names rayon.
//!
//! rayon's global pool does not survive `fork`: the child inherits locks whose owners are gone and
//! its first parallel call never returns. So the pool is keyed by process id. A child finds a
//! stranger's pool, leaves it untouched (dropping it would wait for threads that do not exist) and
//! builds its own.

use std::sync::atomic::{AtomicPtr, Ordering};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

struct Owned {
    process: u32,
    pool: Option<ThreadPool>,
}

static CURRENT: AtomicPtr<Owned> = AtomicPtr::new(std::ptr::null_mut());

/// Threads to use: `BISTOCHASTIC_THREADS` where it is a positive number, else all cores.
pub fn threads() -> usize {
    std::env::var("BISTOCHASTIC_THREADS")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .filter(|&n: &usize| n > 0)
        .or_else(|| std::thread::available_parallelism().ok().map(Into::into))
        .unwrap_or(1)
}

fn current() -> &'static Owned {
    let process = std::process::id();
    let seen = CURRENT.load(Ordering::Acquire);
    // SAFETY: the pointer is null or came from `Box::into_raw` below, and is never freed.
    if let Some(owned) = unsafe { seen.as_ref() }
        && owned.process == process
    {
        return owned;
    }
    // A machine that refuses threads still computes, on the caller's.
    let pool = match threads() {
        1 => None,
        n => ThreadPoolBuilder::new()
            .num_threads(n)
            .thread_name(|i| format!("bistochastic-{i}"))
            .build()
            .ok(),
    };
    let fresh = Box::into_raw(Box::new(Owned { process, pool }));
    match CURRENT.compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: `fresh` was made just above and is never freed once published.
        Ok(_) => unsafe { &*fresh },
        Err(other) => {
            // SAFETY: another thread of this process won; `fresh` was not published, so it is ours
            // to drop, and `other` is published and so never freed.
            unsafe {
                drop(Box::from_raw(fresh));
                &*other
            }
        }
    }
}

/// `f(i)` for every `i` below `tasks`, in order. `small` work stays on the caller's thread.
pub fn map<T: Send>(tasks: usize, small: bool, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    match &current().pool {
        Some(pool) if !small && tasks > 1 => {
            pool.install(|| (0..tasks).into_par_iter().map(f).collect())
        }
        _ => (0..tasks).map(f).collect(),
    }
}

/// `f(i, chunk)` for the consecutive chunks of `out`, the last possibly shorter.
pub fn for_each_chunk<T: Send>(
    out: &mut [T],
    chunk: usize,
    small: bool,
    f: impl Fn(usize, &mut [T]) + Sync + Send,
) {
    let run = |(i, part): (usize, &mut [T])| f(i, part);
    match &current().pool {
        Some(pool) if !small && out.len() > chunk => {
            pool.install(|| out.par_chunks_mut(chunk).enumerate().for_each(run));
        }
        _ => out.chunks_mut(chunk).enumerate().for_each(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_every_chunk_is_seen() {
        assert_eq!(
            map(100, false, |i| i * i),
            (0..100).map(|i| i * i).collect::<Vec<_>>()
        );
        let mut out = vec![0usize; 1003];
        for_each_chunk(&mut out, 10, false, |i, part| part.fill(i));
        assert!(out.iter().enumerate().all(|(j, &i)| i == j / 10));
    }
}
