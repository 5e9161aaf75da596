//! What the package hands in when it is imported: the classes that callers see, its exceptions, and how it
//! reads arrays. The core imports none of it.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use std::thread::LocalKey;

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Error;

/// Something of the package, known here by name. The lock is held for a moment with the GIL, so that no
/// fork finds it busy.
pub struct Slot {
    name: &'static str,
    held: Mutex<Option<Py<PyAny>>>,
}

impl Slot {
    const fn new(name: &'static str) -> Self {
        Slot {
            name,
            held: Mutex::new(None),
        }
    }

    /// Takes the place of what was held before, which is dropped after the lock: that may run code.
    pub fn hold(&self, thing: Bound<'_, PyAny>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let before = held.replace(thing.unbind());
        drop(held);
        drop(before);
    }

    /// What was handed in.
    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            Some(thing) => Ok(thing.bind(py).clone()),
            None => Err(PyRuntimeError::new_err(format!(
                "`_core` must be imported by `bistochastic`; got no {}",
                self.name
            ))),
        }
    }
}

/// This module itself, by which pickles name its functions.
pub static CORE: Slot = Slot::new("_core");
/// The class of matrices, over the core's law.
pub static MATRIX: Slot = Slot::new("Matrix");
/// The class of decompositions, over the core's terms.
pub static DECOMPOSITION: Slot = Slot::new("Decomposition");
/// A wrong value.
pub static REFUSED: Slot = Slot::new("Refused");
/// A wrong type.
pub static REFUSED_TYPE: Slot = Slot::new("RefusedType");
/// A wanted number that is out of reach.
pub static REACH: Slot = Slot::new("OutOfReachError");
/// More bytes than there are.
pub static MEMORY: Slot = Slot::new("OutOfMemoryError");
/// A caller's sequence, series, frame or Arrow array as a plain array.
pub static ARRAY: Slot = Slot::new("array");
/// Things one after the other, as a list.
pub static ITEMS: Slot = Slot::new("items");

const SLOTS: [&Slot; 8] = [
    &MATRIX,
    &DECOMPOSITION,
    &REFUSED,
    &REFUSED_TYPE,
    &REACH,
    &MEMORY,
    &ARRAY,
    &ITEMS,
];

/// Hands things of the package to the core, by name. A package that is imported anew hands in its new ones.
#[pyfunction]
#[pyo3(signature = (**things))]
pub fn register(things: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (name, thing) in things.into_iter().flatten() {
        let name: String = name.extract()?;
        let Some(slot) = SLOTS.iter().find(|slot| slot.name == name) else {
            return Err(
                Error::type_(&name, "be a name that the core knows", "an unknown one").into(),
            );
        };
        slot.hold(thing);
    }
    Ok(())
}

/// Where a value waits for the constructor of its class: nobody else can call that with success.
pub type Waiting<T> = LocalKey<Cell<Option<T>>>;

/// An object of the package's own class around `value`.
pub fn make<'py, T>(
    py: Python<'py>,
    class: &Slot,
    waiting: &'static Waiting<T>,
    value: T,
) -> PyResult<Bound<'py, PyAny>> {
    let class = class.get(py)?;
    // A destructor that runs in between may make one, too.
    let before = waiting.replace(Some(value));
    let made = class.call0();
    waiting.set(before);
    made
}

/// The value that waits for the constructor of a class; refused if a caller calls it.
pub fn taken<T>(waiting: &'static Waiting<T>, class: &Slot) -> PyResult<T> {
    waiting.take().ok_or_else(|| {
        let name = class.name;
        PyTypeError::new_err(format!("cannot create 'bistochastic.{name}' instances"))
    })
}
