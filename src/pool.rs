//! The threads: one pool a process, built at first use. The only file that names rayon.
//!
//! rayon's global pool does not survive `fork`: the child inherits locks whose owners are gone and
//! its first parallel call never returns. So the pool is keyed by process id. A child finds a
//! stranger's pool, leaves it untouched (dropping it would wait for threads that do not exist) and
//! builds its own.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

struct Owned {
    process: u32,
    pool: Option<ThreadPool>,
}

static CURRENT: AtomicPtr<Owned> = AtomicPtr::new(std::ptr::null_mut());

/// Most threads that can be asked for; more are taken as so many.
pub const MOST: usize = 1024;

/// Threads to use: `BISTOCHASTIC_THREADS` where it is a positive number, up to [`MOST`], else all cores.
pub fn threads() -> usize {
    std::env::var("BISTOCHASTIC_THREADS")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .filter(|&n: &usize| n > 0)
        .unwrap_or_else(cores)
        .min(MOST)
}

/// Asked once: the answer takes reading files of the system, longer than many a small job.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, Into::into))
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

/// `f(state, part)` for every part, on as many threads as there are states, the caller's among them. A
/// state is one thread's own, so that nothing has to be allocated on the way.
pub fn share_out<T: Send, S: Send>(
    parts: impl Iterator<Item = T> + Send,
    states: &mut [S],
    f: impl Fn(&mut S, T) + Sync,
) {
    let queue = Mutex::new(parts);
    let work = |state: &mut S| {
        loop {
            // A thread that panicked has taken its part with it; the others can go on.
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            match next {
                Some(part) => f(state, part),
                None => return,
            }
        }
    };
    let work = &work;
    let Some((own, others)) = states.split_first_mut() else {
        return;
    };
    if others.is_empty() {
        return work(own);
    }
    match &current().pool {
        Some(pool) if others.len() < pool.current_num_threads() => pool.in_place_scope(|scope| {
            for state in others {
                scope.spawn(move |_| work(state));
            }
            work(own);
        }),
        // More threads than the pool has, by request. One that cannot start is done without.
        _ => std::thread::scope(|scope| {
            for state in others {
                let _ = std::thread::Builder::new().spawn_scoped(scope, move || work(state));
            }
            work(own);
        }),
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
    #[test]
    fn every_part_is_done_once_on_any_number_of_threads() {
        for threads in [1, 2, 7, 40] {
            let mut out = vec![0u32; 1000];
            let mut states = vec![0usize; threads];
            share_out(out.iter_mut(), &mut states, |done, cell| {
                *cell += 1;
                *done += 1;
            });
            assert!(out.iter().all(|&cell| cell == 1));
            assert_eq!(states.iter().sum::<usize>(), 1000);
        }
    }
}
