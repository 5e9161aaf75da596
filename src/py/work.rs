//! Work that Ctrl-C stops and that may run out of memory, called from Python.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::error::Error;
use crate::system::pool;
use crate::system::progress::Progress;
use crate::system::stop::{self, Stop};

/// Work below this many numbers is done before another thread could have taken over.
pub const DETACH_FROM: u64 = 1 << 14;

/// A function of the caller's, and the progress that it is told.
type Watched = (Py<PyAny>, Arc<Progress>);

thread_local! {
    /// What was raised while this thread was asked whether to go on.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
    /// Who is told how far the work of this thread has come.
    static WATCHED: RefCell<Option<Watched>> = const { RefCell::new(None) };
}

/// Whether a signal's handler raised something, or the function that is told the progress. Python runs handlers on its
/// main thread only.
fn asked() -> bool {
    Python::attach(|py| {
        let told = || -> PyResult<()> {
            py.check_signals()?;
            // Not borrowed while Python runs: it may start other work.
            let watched = WATCHED.with_borrow(|watched| {
                let (call, progress) = watched.as_ref()?;
                Some((call.clone_ref(py), progress.share()))
            });
            if let Some((call, share)) = watched {
                call.call1(py, (share,))?;
            }
            Ok(())
        };
        match told() {
            Ok(()) => false,
            Err(error) => {
                RAISED.set(Some(error));
                true
            }
        }
    })
}

impl From<Stop> for PyErr {
    fn from(stop: Stop) -> PyErr {
        match stop {
            Stop::Interrupted => RAISED
                .take()
                .unwrap_or_else(|| PyKeyboardInterrupt::new_err(())),
            Stop::Memory(shortage) => {
                let must = format!("hold {} bytes more", shortage.bytes);
                Error::memory("memory", must, shortage).into()
            }
        }
    }
}

/// Run `work` with the GIL.
pub fn guarded<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    Ok(stop::guarded(Some(asked), work)?)
}

/// Run `work` on `numbers` numbers, without the GIL if that is worth while.
pub fn detached<T: Send>(
    py: Python<'_>,
    numbers: u64,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if numbers < DETACH_FROM {
        guarded(work)
    } else {
        pool::checked()?;
        Ok(py.detach(|| stop::guarded(Some(asked), work))?)
    }
}

/// Run long `work` without the GIL. `progress` is told the share that is done, a few times per second and at the end.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let share = Arc::<Progress>::default();
    let watch = progress.map(|call| (call.clone().unbind(), share.clone()));
    let before = WATCHED.replace(watch);
    let outcome = detached(py, u64::MAX, || work(&share));
    WATCHED.replace(before);
    let outcome = outcome??;
    if let Some(progress) = progress {
        progress.call1((1.0,))?;
    }
    Ok(outcome)
}
