//! Secrets lie on the heap and are erased when dropped.
//!
//! Frames that have returned, registers, swap and core dumps are not overwritten.

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
