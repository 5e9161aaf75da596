//! Work that Ctrl-C stops and that may run out of memory, called from Python.

use std::cell::Cell;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::error::Error;
use crate::system::stop::{self, Stop};

/// Work below this many numbers is done before another thread could have taken over.
pub const DETACH_FROM: u64 = 1 << 14;

thread_local! {
    /// What a signal's handler raised while this thread was asked whether to go on.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Whether a signal's handler raised something. Python runs handlers on its main thread only.
fn asked() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            RAISED.set(Some(error));
            true
        }
    })
}

impl From<Stop> for PyErr {
    fn from(stop: Stop) -> PyErr {
        match stop {
            Stop::Interrupted => RAISED
                .take()
                .unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
            Stop::Memory(shortage) => Error::Memory(shortage.to_string()).into(),
        }
    }
}

/// Run `work` with the GIL.
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    Ok(stop::guarded(asked, work)?)
}

/// Run `work` on `numbers` numbers, without the GIL where that is worth while.
pub fn detached<T: Send>(
    py: Python<'_>,
    numbers: u64,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if numbers < DETACH_FROM {
        guarded(work)
    } else {
        Ok(py.detach(|| stop::guarded(asked, work))?)
    }
}
