//! Which process this is: one that was forked into being is another one.
//!
//! A forked child has a copy of its parent's memory and none of its threads. What threads share (a pool, a
//! buffer of random words) must not be used there: its locks may be held by threads that do not exist, and
//! its words were given out by the parent. Process ids do not tell a child from its parent, since a child in
//! a new namespace may have the same one. So forks are counted, by a handler that the system runs in the
//! child before anything else.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::kept::Kept;

/// How often this process, or one it came from, has been forked into being.
static FORKS: AtomicU64 = AtomicU64::new(0);

#[cfg(unix)]
extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The number of this process in its line of forks, once they are watched.
fn generation() -> u64 {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Acquire) {
        // Two threads may both get here and a fork be counted twice, which does no harm. A lock would: a
        // child forked while it is held could never open it.
        #[cfg(unix)]
        // SAFETY: the handler runs in the child before anything else there and only adds to an atomic.
        unsafe {
            libc::pthread_atfork(None, None, Some(forked));
        }
        WATCHED.store(true, Ordering::Release);
    }
    FORKS.load(Ordering::Relaxed)
}

/// The value of one process, and a place for that of a child.
struct Owned<T> {
    generation: u64,
    value: T,
    next: Kept<Owned<T>>,
}

/// One value a process, made at first use. A child makes its own and never touches its parent's but through
/// `leave`.
pub struct PerProcess<T>(Kept<Owned<T>>);

impl<T: 'static> PerProcess<T> {
    /// Nothing made yet.
    pub const fn new() -> Self {
        PerProcess(Kept::new())
    }

    /// This process's value. `leave` sees the parent's, if this is a child that has none of its own yet. Two
    /// threads may make it at the same time; one of them is dropped.
    pub fn get(&'static self, make: impl FnOnce() -> T, leave: impl FnOnce(&T)) -> &'static T {
        let (mut cell, mut theirs, generation) = (&self.0, None, generation());
        while let Some(owned) = cell.get() {
            if owned.generation == generation {
                return &owned.value;
            }
            (cell, theirs) = (&owned.next, Some(&owned.value));
        }
        if let Some(theirs) = theirs {
            leave(theirs);
        }
        let owned = cell.get_or_make(|| Owned {
            generation,
            value: make(),
            next: Kept::new(),
        });
        &owned.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_a_process_and_another_after_a_fork() {
        static VALUE: PerProcess<u64> = PerProcess::new();
        let first = VALUE.get(|| 1, |_| panic!("nothing to leave"));
        assert_eq!(*VALUE.get(|| 2, |_| panic!("nothing to leave")), 1);
        // What the system does in a child.
        FORKS.fetch_add(1, Ordering::Relaxed);
        let mut left = 0;
        assert_eq!(*VALUE.get(|| 3, |&theirs| left = theirs), 3);
        assert_eq!((left, *first), (1, 1));
    }
}
