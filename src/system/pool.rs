//! The threads: one pool a process, built at first use. The only file that names rayon.
//!
//! rayon's global pool does not survive `fork`: the child inherits locks whose owners are gone and
//! its first parallel call never returns. So the pool is [`PerProcess`]: a child leaves its parent's untouched
//! (dropping it would wait for threads that do not exist) and builds its own.
//!
//! Every task is a [`point`](stop::point) where work may stop. The caller's thread works as well, and asks at its
//! points whether it should.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};
use crate::system::fork::PerProcess;
use crate::system::kept::Kept;
use crate::system::memory::Gather;
use crate::system::stop;

/// Most threads that a call may ask for.
pub const MOST: usize = 1024;

/// Threads to use: all cores, unless `BISTOCHASTIC_THREADS` names another number, which is read once.
///
/// # Errors
/// It names none, or more than four times the cores: a typing error that would be felt everywhere and seen nowhere.
pub fn checked() -> Result<usize> {
    static ASKED: Kept<Result<usize>> = Kept::new();
    let read = || {
        let name = "BISTOCHASTIC_THREADS";
        let Some(asked) = std::env::var_os(name) else {
            return Ok(cores());
        };
        let most = 4 * cores();
        let number = asked.to_str().and_then(|text| text.trim().parse().ok());
        number.filter(|n| (1..=most).contains(n)).ok_or_else(|| {
            let must = format!("be an integer from 1 to {most}, four times the processors");
            Error::value(name, must, asked.to_string_lossy())
        })
    };
    ASKED.get_or_make(read).clone()
}

/// The same; all cores where the number is none, of which the boundary has told the caller.
pub fn threads() -> usize {
    checked().unwrap_or_else(|_| cores())
}

/// Asked once: the answer takes reading files of the system, longer than many a small job.
fn cores() -> usize {
    static CORES: Kept<usize> = Kept::new();
    *CORES.get_or_make(|| std::thread::available_parallelism().map_or(1, Into::into))
}

/// This process's pool. It has one thread fewer than are used, since the caller works too; `None` if that leaves none.
fn current() -> Option<&'static ThreadPool> {
    static CURRENT: PerProcess<Option<ThreadPool>> = PerProcess::new();
    // A machine that refuses threads still computes, on the caller's, which is one of the threads asked for: one
    // more than there are cores would keep the others from working while it looks for work.
    let make = || match threads() {
        1 => None,
        n => ThreadPoolBuilder::new()
            .num_threads(n - 1)
            .thread_name(|i| format!("bistochastic-{i}"))
            .build()
            .ok(),
    };
    CURRENT.get(make, |_| ()).as_ref()
}

/// `f(i)` for every `i` below `tasks`, in order. `small` work stays on the caller's thread.
pub fn map<T: Send>(tasks: usize, small: bool, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    let mut found = (0..tasks).map(|_| None).gather();
    for_each_chunk(&mut found, 1, small, |i, place| place[0] = Some(f(i)));
    found.into_iter().flatten().collect()
}

/// `f(i, chunk)` for the consecutive chunks of `out`, the last possibly shorter.
pub fn for_each_chunk<T: Send>(
    out: &mut [T],
    chunk: usize,
    small: bool,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    let tasks = out.len().div_ceil(chunk);
    let threads = if small {
        1
    } else {
        threads().min(tasks).max(1)
    };
    // Several at a time: a task may be shorter than it takes to agree on the next.
    let turns = if threads > 1 { 16 * threads } else { 1 };
    let some = (tasks / turns).max(1);
    let parts = out.chunks_mut(chunk * some).enumerate();
    share_out(parts, &mut vec![(); threads], |(), (part, out)| {
        for (i, chunk) in out.chunks_mut(chunk).enumerate() {
            stop::point();
            f(part * some + i, chunk);
        }
    });
}

/// `f(state, part)` for every part, on at most as many threads as there are states, the caller's among them. A
/// state is one thread's own, so that nothing has to be allocated on the way.
pub fn share_out<T: Send, S: Send>(
    parts: impl Iterator<Item = T> + Send,
    states: &mut [S],
    f: impl Fn(&mut S, T) + Sync,
) {
    let threads = states.len();
    let (parts, states) = (Mutex::new(parts), Mutex::new(states.iter_mut()));
    // A thread that panicked has taken its own item with it; the others can go on.
    fn next<I: Iterator>(queue: &Mutex<I>) -> Option<I::Item> {
        queue.lock().unwrap_or_else(PoisonError::into_inner).next()
    }
    side_by_side(threads, &|| {
        let Some(state) = next(&states) else {
            return;
        };
        while let Some(part) = next(&parts) {
            stop::point();
            f(state, part);
        }
    });
}

/// `work` on up to `threads` threads at once, the caller's among them. It is the same code whatever the work is, so that
/// the many kinds of columns and addresses do not each compile it.
fn side_by_side(threads: usize, work: &(dyn Fn() + Sync)) {
    let alone = threads == 1 || SHARED.get();
    let Some(pool) = (if alone { None } else { current() }) else {
        return work();
    };
    let handed = &stop::handed();
    pool.in_place_scope(|scope| {
        for _ in 1..threads.min(pool.current_num_threads() + 1) {
            scope.spawn(move |_| handed.with(|| part(work)));
        }
        part(work);
    });
}

thread_local! {
    /// Whether this thread does a part of shared work. What is inside of a part is not shared once more: a caller would
    /// wait for helpers that are busy with other parts.
    static SHARED: Cell<bool> = const { Cell::new(false) };
}

/// Do a part of shared work.
fn part(work: &(dyn Fn() + Sync)) {
    SHARED.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    SHARED.set(false);
    done.unwrap_or_else(|payload| resume_unwind(payload));
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

    #[test]
    fn what_is_inside_of_a_part_stays_on_its_thread() {
        let (mut parts, here) = ([false; 8], || Some(std::thread::current().id()));
        for_each_chunk(&mut parts, 1, false, |_, part| {
            let mut inside = [None; 64];
            for_each_chunk(&mut inside, 1, false, |_, at| at[0] = here());
            part[0] = inside.iter().all(|at| *at == here());
        });
        assert!(parts.into_iter().all(|same| same) && !SHARED.get());
    }
}
