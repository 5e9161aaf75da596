//! How far long work has come, and whether to stop it. Shared by the worker and who waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::system::stop::Wish;

/// The work was stopped by who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Why long work has no outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// Input that is refused.
    Refused(Error),
    /// Who waits for it wanted it no longer.
    Stopped,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Refused(error)
    }
}

impl From<Stopped> for Failure {
    fn from(_: Stopped) -> Self {
        Failure::Stopped
    }
}

/// Progress out, a wish to stop in.
#[derive(Debug, Default)]
pub struct Control {
    wish: Arc<Wish>,
    share: AtomicU64,
}

impl Control {
    /// Ask the work to stop at its next step.
    pub fn stop(&self) {
        self.wish.stop();
    }

    /// The wish alone, for loops that know nothing of progress.
    pub fn wish(&self) -> &Arc<Wish> {
        &self.wish
    }

    /// The share that is done, from 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }

    /// Add to the share that is done. Several workers may, each for its part.
    pub fn advance(&self, by: f64) {
        let add = |bits| Some((f64::from_bits(bits) + by).to_bits());
        let _ = self
            .share
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    /// Go on, unless asked to stop.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn check(&self) -> Result<(), Stopped> {
        if self.wish.is_stop() {
            Err(Stopped)
        } else {
            Ok(())
        }
    }
}
