//! Secrets leave no copies behind: on the heap they are erased when dropped, on the stack overwritten.
//!
//! A function that computes with a secret leaves parts of it in its frame, in registers that were saved
//! and in temporaries of libraries, where nothing erases them. So the room below is overwritten when
//! such work is done. This is as far as a program can see to it: swap, core dumps and registers are out
//! of its reach.

// A few bytes, whatever a caller gives.
#![allow(clippy::disallowed_methods)]

use std::hint::black_box;
use std::ops::{Deref, DerefMut};

use zeroize::Zeroizing;

/// Bytes of a secret.
pub const SECRET: usize = 32;

/// A secret on the heap, so that moving it copies nothing; erased when dropped.
pub type Secret = Box<Zeroizing<[u8; SECRET]>>;

/// One that is to be filled in place.
pub fn empty() -> Secret {
    Box::new(Zeroizing::new([0; SECRET]))
}

/// Bytes of the stack that are overwritten: several times what a derivation or a draw takes.
const DEPTH: usize = 1 << 14;

/// Overwrite what functions that have returned left on the stack below the caller.
#[inline(never)]
pub fn stack() {
    let mut space = [0u8; DEPTH];
    // Looked at, so that it is written.
    black_box(&mut space);
}

/// Overwrite numbers with zeros, many at a time. `zeroize` writes one after the other, which takes several times as long
/// for many numbers.
pub fn all<T: Copy + Default>(numbers: &mut [T]) {
    numbers.fill(T::default());
    // Looked at, so that they are written.
    black_box(numbers);
}

/// Numbers on the heap, erased when dropped.
pub struct Erased<T: Copy + Default>(Box<[T]>);

impl<T: Copy + Default> From<Vec<T>> for Erased<T> {
    fn from(numbers: Vec<T>) -> Self {
        Erased(numbers.into())
    }
}

impl<T: Copy + Default> Deref for Erased<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Copy + Default> DerefMut for Erased<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Copy + Default> Drop for Erased<T> {
    fn drop(&mut self) {
        all(&mut self.0);
    }
}

/// Run `work`, which handles secrets, and overwrite its part of the stack, also if it is stopped by
/// unwinding. What it returns is moved, so it must hold no secret but behind a pointer.
pub fn after<T>(work: impl FnOnce() -> T) -> T {
    let _overwritten = Overwritten;
    below(work)
}

struct Overwritten;

impl Drop for Overwritten {
    fn drop(&mut self) {
        stack();
    }
}

/// Lower on the stack by more than the first bytes of a frame, which [`stack`] does not reach.
#[inline(never)]
fn below<T>(work: impl FnOnce() -> T) -> T {
    let room = [0u8; 256];
    black_box(&room);
    let outcome = apart(work);
    black_box(&room);
    outcome
}

#[inline(never)]
fn apart<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a pattern into its frame and leaves; where it stood.
    #[inline(never)]
    fn leaves_a_trace() -> usize {
        let mut trace = [0xa5u8; 1024];
        black_box(&mut trace).as_ptr() as usize
    }

    fn left_at(place: usize) -> usize {
        let at = place as *const u8;
        (0..1024)
            // SAFETY: the stack of this thread reaches below its frames, so the bytes can be read; they
            // belong to no variable, and are only compared.
            .filter(|&i| unsafe { at.add(i).read_volatile() } == 0xa5)
            .count()
    }

    /// Of 1024 bytes. The dynamic linker may put a vector register, in which the pattern still stands, back on the
    /// stack when a function is called for the first time.
    const ALLOWED: usize = 64;

    #[test]
    fn what_work_left_on_the_stack_is_overwritten() {
        let seen = left_at(after(leaves_a_trace));
        assert!(seen <= ALLOWED, "{seen} bytes of 1024 are left");
    }

    #[test]
    fn work_that_is_stopped_leaves_nothing_either() {
        let mut place = 0;
        let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            after(|| {
                place = leaves_a_trace();
                // Silent, as stopping is: no hook is called.
                std::panic::resume_unwind(Box::new(()));
            });
        }));
        assert!(stopped.is_err());
        let seen = left_at(place);
        assert!(seen <= ALLOWED, "{seen} bytes of 1024 are left");
    }
}
