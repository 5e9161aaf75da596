//! A number that is found once and then kept.

use once_cell::race::OnceBox;

/// What was made at first use. Unlike `OnceLock` it is never busy: the value is made outside and put in by
/// one atomic step. A child that is forked while another thread makes it finds the cell empty, not busy for
/// ever; work that stops half-way leaves it empty too. Two threads may make it twice, and one of the two is
/// dropped.
#[derive(Debug)]
pub struct Kept<T>(OnceBox<T>);

impl<T> Kept<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Kept(OnceBox::new())
    }

    /// What is kept, if anything is.
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// What is kept, made now if need be.
    pub fn get_or_make(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get_or_init(|| Box::new(make()))
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept::new()
    }
}
