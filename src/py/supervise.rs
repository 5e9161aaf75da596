//! Long work on a thread of its own, watched and stopped from Python.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::py::work::guarded;
use crate::system::control::Control;
use crate::system::control::Failure;
use crate::system::stop;

/// How often Python is asked whether to go on.
const PULSE: Duration = Duration::from_millis(50);

/// Run `work` on a thread of its own, unless it is small, while this one asks Python a few times per second
/// whether someone pressed Ctrl-C, and tells `progress` the share that is done.
pub fn supervised<T: Send>(
    py: Python<'_>,
    small: bool,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Control) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let control = Control::default();
    let outcome = if small {
        guarded(|| work(&control))?
    } else {
        let progress = progress.map(|progress| progress.clone().unbind());
        let pulse = || {
            Python::attach(|py| {
                py.check_signals()?;
                if let Some(progress) = &progress {
                    progress.call1(py, (control.share().min(1.0),))?;
                }
                PyResult::Ok(())
            })
        };
        let (control, held) = (&control, &Mutex::new(Some(work)));
        py.detach(|| {
            thread::scope(|scope| {
                let (done, wait) = mpsc::channel();
                // Taken once: by the thread, or here where there is none to be had.
                let run = move || {
                    let work = held.lock().unwrap_or_else(PoisonError::into_inner).take();
                    stop::guarded_for(control.wish(), || work.map(|work| work(control)))
                };
                let worker = thread::Builder::new().spawn_scoped(scope, move || {
                    let outcome = run();
                    // Who waits may have given up; then nobody reads this.
                    let _ = done.send(());
                    outcome
                });
                let Ok(worker) = worker else {
                    return Ok(run());
                };
                let mut raised = Ok(());
                while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(PULSE) {
                    if raised.is_ok() {
                        raised = pulse();
                        if raised.is_err() {
                            control.stop();
                        }
                    }
                }
                let outcome = match worker.join() {
                    Ok(outcome) => outcome,
                    Err(panic) => std::panic::resume_unwind(panic),
                };
                raised.map(|()| outcome)
            })
        })??
        .unwrap_or(Err(Failure::Stopped))
    };
    match outcome {
        Ok(value) => {
            if let Some(progress) = progress {
                progress.call1((1.0,))?;
            }
            Ok(value)
        }
        Err(Failure::Refused(error)) => Err(error.into()),
        Err(Failure::Stopped) => Err(PyKeyboardInterrupt::new_err(())),
    }
}
