//! `respond` with a code and nothing else, on the shortest way from the interpreter.
//!
//! Callers have matrices of a class that Python derives from the core's. The interpreter calls a method of compiled
//! code directly only if the object is of the very class that the method belongs to; what a class inherits takes a
//! detour, which costs a quarter of the call. So that class gets a `respond` of its own. It answers the plain call,
//! `m.respond(code)`, and hands every other one on to the method that it would have inherited: a key, an id, a code
//! that is no plain integer or out of range, a matrix without tables so far, and whatever goes wrong.

use std::ffi::{CString, c_int};
use std::mem::transmute;
use std::panic::catch_unwind;
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyInt, PyType};
use pyo3::{Borrowed, ffi};

use crate::draw::respond;
use crate::draw::sampler::Sampler;
use crate::py::matrix::Matrix;
use crate::system::kept::Kept;

/// How the interpreter calls a method with named arguments: the object, an array of arguments, how many of them have no
/// name, and the names of the others, which follow, if there are any.
type Function = ffi::PyCFunctionFastWithKeywords;

/// The flags of such a method.
const FLAGS: c_int = ffi::METH_FASTCALL | ffi::METH_KEYWORDS;

/// The method of the core's class, for all but the plain call.
static INHERITED: Kept<Function> = Kept::new();

/// A code below `size`, if it is a plain integer and such a code. Codes stay below 2^53.
pub(super) fn code(code: &Bound<'_, PyAny>, size: u64) -> Option<u64> {
    let code = code.cast_exact::<PyInt>().ok()?;
    // SAFETY: an integer of Python's, held by the caller, and the GIL is held.
    let n = unsafe { ffi::PyLong_AsLongLong(code.as_ptr()) };
    match u64::try_from(n) {
        Ok(u) => (u < size).then_some(u),
        Err(_) => {
            // Beyond 64 bits it is -1, and an error is set, which is not the one that callers see.
            // SAFETY: the GIL is held.
            unsafe { ffi::PyErr_Clear() };
            None
        }
    }
}

/// The plain call, where nothing stands in its way.
fn plain(matrix: &Bound<'_, PyAny>, given: &Bound<'_, PyAny>) -> Option<u64> {
    let matrix = matrix.cast::<Matrix>().ok()?.get().inner();
    let sampler = matrix.kept::<Sampler>()?;
    let u = code(given, matrix.family.size())?;
    sampler.check().ok()?;
    respond::with_words(|words| sampler.respond(u, words)).ok()
}

/// `respond` as the interpreter calls it.
///
/// # Safety
/// For the interpreter, which holds the GIL and all of these until it returns.
unsafe extern "C" fn method(
    object: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    if count == 1 && names.is_null() {
        let drawn = catch_unwind(|| {
            // SAFETY: the GIL is held, and both live until this returns: one argument there is.
            let (object, given) = unsafe {
                let py = Python::assume_attached();
                (
                    Borrowed::from_ptr(py, object),
                    Borrowed::from_ptr(py, *arguments),
                )
            };
            plain(&object, &given)
        });
        // What unwound does so again in the other method, which makes an exception of it.
        if let Ok(Some(v)) = drawn {
            // SAFETY: the GIL is held.
            return unsafe { ffi::PyLong_FromUnsignedLongLong(v) };
        }
    }
    let function = match INHERITED.get() {
        Some(function) => *function,
        None => {
            // SAFETY: the GIL is held, and the object lives until this returns.
            let (py, object) = unsafe {
                let py = Python::assume_attached();
                (py, Borrowed::from_ptr(py, object))
            };
            match inherited(&object) {
                Ok(found) => *INHERITED.get_or_make(|| found),
                Err(error) => {
                    error.restore(py);
                    return ptr::null_mut();
                }
            }
        }
    };
    // SAFETY: a function of this form, which takes objects of the core's class, and this is one; the arguments are
    // handed on as they came.
    unsafe { function(object, arguments, count, names) }
}

/// The function behind the method that this object's class inherits.
#[cold]
fn inherited(object: &Bound<'_, PyAny>) -> PyResult<Function> {
    let method = object.py().get_type::<Matrix>().getattr("respond")?;
    let bound = method
        .call_method1("__get__", (object,))?
        .cast_into::<PyCFunction>()?;
    // SAFETY: a method of compiled code, and the GIL is held.
    let (function, flags) = unsafe {
        (
            ffi::PyCFunction_GetFunction(bound.as_ptr()),
            ffi::PyCFunction_GetFlags(bound.as_ptr()),
        )
    };
    match function {
        Some(function) if flags == FLAGS => {
            // SAFETY: with these flags, the function has this form: that is what they mean.
            Ok(unsafe { transmute::<ffi::PyCFunction, Function>(function) })
        }
        _ => Err(PyTypeError::new_err("`respond` must take named arguments")),
    }
}

/// Give the class of matrices that callers see a `respond` of its own.
pub fn attach(class: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = class.py();
    let class = class.cast::<PyType>()?;
    let core = py.get_type::<Matrix>();
    if !class.is_subclass(&core)? {
        return Err(PyTypeError::new_err("`Matrix` must be derived from Law"));
    }
    let before = core.getattr("respond")?;
    let signature: String = before.getattr("__text_signature__")?.extract()?;
    let doc: String = before.getattr("__doc__")?.extract()?;
    // The signature stands before the text, in a form that the interpreter takes apart again.
    let doc = CString::new(format!("respond{signature}\n--\n\n{doc}"))?;
    // The interpreter reads it for as long as there is the class: to the end, as for every class of the package.
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: c"respond".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: method,
        },
        ml_flags: FLAGS,
        ml_doc: doc.into_raw(),
    }));
    // SAFETY: a class, the GIL is held, and the definition is never freed. The function has the form that its flags
    // say. What comes back is owned, or none and an error is set.
    let made = unsafe {
        let made = ffi::PyDescr_NewMethod(class.as_type_ptr(), definition);
        Bound::from_owned_ptr_or_err(py, made)?
    };
    class.setattr("respond", made)
}
