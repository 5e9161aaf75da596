//! A number that is found once and then kept.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What was made at first use. Unlike `OnceLock` it is never busy: the value is made outside and put in by
/// one atomic step. A child that is forked while another thread makes it finds the cell empty, not busy for
/// ever; work that stops half-way leaves it empty too. Two threads may make it twice, and one of the two is
/// dropped.
pub struct Kept<T> {
    made: AtomicPtr<T>,
    // Sent and shared between threads where `OnceLock` would be.
    _shared: PhantomData<OnceLock<T>>,
}

impl<T> Kept<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Kept {
            made: AtomicPtr::new(ptr::null_mut()),
            _shared: PhantomData,
        }
    }

    /// What is kept, if anything is.
    pub fn get(&self) -> Option<&T> {
        // SAFETY: the pointer is null or came from `Box::into_raw` in `get_or_make`; it is replaced only where
        // it was null and freed only by `drop`, which has the cell for itself.
        unsafe { self.made.load(Ordering::Acquire).as_ref() }
    }

    /// What is kept, made now if need be.
    pub fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(kept) = self.get() {
            return kept;
        }
        let fresh = Box::into_raw(Box::new(make()));
        let null = ptr::null_mut();
        match self
            .made
            .compare_exchange(null, fresh, Ordering::AcqRel, Ordering::Acquire)
        {
            // SAFETY: published just now, and freed only by `drop`.
            Ok(_) => unsafe { &*fresh },
            // SAFETY: another thread was first; `fresh` was not published, so it is ours to drop, and `kept` is
            // freed only by `drop`.
            Err(kept) => unsafe {
                drop(Box::from_raw(fresh));
                &*kept
            },
        }
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        let made = *self.made.get_mut();
        if !made.is_null() {
            // SAFETY: it came from `Box::into_raw`, and no other code has the cell any more.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kept").field(&self.get()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_first_one_is_kept_and_all_are_dropped() {
        let (first, second) = (Arc::new(1), Arc::new(2));
        {
            let cell = Kept::new();
            assert!(cell.get().is_none());
            assert_eq!(**cell.get_or_make(|| first.clone()), 1);
            assert_eq!(**cell.get_or_make(|| second.clone()), 1);
            // Made while another is made: the inner one is there first.
            let nested = Kept::new();
            let outer = nested.get_or_make(|| {
                nested.get_or_make(|| first.clone());
                second.clone()
            });
            assert_eq!(**outer, 1);
        }
        assert_eq!(
            (Arc::strong_count(&first), Arc::strong_count(&second)),
            (1, 1)
        );
    }

    #[test]
    fn is_never_busy() {
        let cell = Kept::<u32>::new();
        let stopped = catch_unwind(AssertUnwindSafe(|| {
            cell.get_or_make(|| std::panic::resume_unwind(Box::new(())));
        }));
        assert!(stopped.is_err());
        assert_eq!(*cell.get_or_make(|| 5), 5);
    }
}
