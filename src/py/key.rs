//! `Key`: the secret behind a release. It goes in, and never comes out but to a file. And the key of a call, given or
//! fresh, with what its words are for.

use std::ffi::CString;
use std::path::Path;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyFileExistsError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use super::convert::{self, text, type_name};
use crate::draw::derive::{Label, Purpose, derive};
use crate::draw::key::{self, KeyFileError};
use crate::draw::keystream::Keystream;
use crate::error::Error;

/// 32 secret bytes from which all randomness of a release is derived.
///
/// Anyone with the key can undo the release. Keep it as confidential as the original data, and destroy it when
/// no further wave will follow. A key is never printed, logged or pickled; ``fingerprint`` identifies it. It is
/// erased from memory when it is no longer used, and compared in constant time.
///
/// >>> import bistochastic as bs
/// >>> key = bs.Key.generate()
/// >>> key == bs.Key.generate()
/// False
/// >>> bs.Key.insecure(1)
/// <Key insecure>
#[pyclass(frozen, module = "bistochastic", name = "Key")]
pub struct Key {
    inner: key::Key,
}

impl Key {
    /// The core's key.
    pub fn inner(&self) -> &key::Key {
        &self.inner
    }
}

impl From<key::Key> for Key {
    fn from(inner: key::Key) -> Self {
        Key { inner }
    }
}

/// What went wrong with a key file; of the system's errors Python's own, with number and name.
fn refused(py: Python<'_>, path: &Path, error: KeyFileError) -> PyErr {
    match error {
        KeyFileError::Content(error) => error.into(),
        KeyFileError::Io(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            PyFileExistsError::new_err("`path` must be a new file; got one that exists")
        }
        KeyFileError::Io(error) => convert::file_error(py, path, error),
    }
}

#[pymethods]
impl Key {
    /// A fresh key from the operating system.
    ///
    /// >>> len(bs.Key.generate().fingerprint)
    /// 16
    #[staticmethod]
    fn generate() -> PyResult<Self> {
        Ok(key::Key::generate()?.into())
    }

    /// The key with these 32 bytes. What is passed stays in Python's memory: prefer a file.
    ///
    /// >>> bs.Key.from_bytes(bytes(range(32))).fingerprint
    /// '20aef655876fef61'
    #[staticmethod]
    fn from_bytes(b: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = b.cast::<PyBytes>() {
            return Ok(key::Key::from_slice(bytes.as_bytes())?.into());
        }
        match PyBuffer::<u8>::get(b) {
            Ok(buffer) => {
                let bytes = Zeroizing::new(buffer.to_vec(b.py())?);
                Ok(key::Key::from_slice(&bytes)?.into())
            }
            Err(_) => Err(Error::type_("key", "be 32 bytes", type_name(b)).into()),
        }
    }

    /// The key in a file: 64 hexadecimal digits, with or without a line end.
    ///
    /// With ``raw=True`` it is 32 raw bytes instead. That has to be asked for, because any file of 32 bytes would
    /// pass for a key. On Unix a ``UserWarning`` says if anybody but the owner can read the file.
    ///
    /// >>> import tempfile, pathlib
    /// >>> path = pathlib.Path(tempfile.mkdtemp()) / "survey.key"
    /// >>> key = bs.Key.generate()
    /// >>> key.to_file(path)
    /// >>> bs.Key.from_file(path) == key
    /// True
    #[staticmethod]
    #[pyo3(signature = (path, *, raw=None), text_signature = "(path, *, raw=False)")]
    fn from_file(path: &Bound<'_, PyAny>, raw: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = path.py();
        let raw = raw.map_or(Ok(false), |raw| convert::flag("raw", raw))?;
        let path = convert::path("path", path)?;
        let (key, open) = py
            .detach(|| key::Key::from_file(&path, raw))
            .map_err(|error| refused(py, &path, error))?;
        if open {
            let text = "the key file can be read by others than its owner; chmod 600 shuts it";
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &CString::new(text)?, 1)?;
        }
        Ok(key.into())
    }

    /// A key from an integer below 2^64, for tests and examples.
    ///
    /// Anyone can guess it, so never release anything under it. It obeys the same rules as any other key.
    ///
    /// >>> bs.Key.insecure(7).fingerprint
    /// 'insecure'
    #[staticmethod]
    fn insecure(seed: &Bound<'_, PyAny>) -> PyResult<Self> {
        let seed = convert::whole("seed", seed, 0, u64::MAX)?;
        Ok(key::Key::insecure(seed).into())
    }

    /// Write the key to a new file, readable by its owner only: 64 hexadecimal digits and a newline.
    ///
    /// Raises ``FileExistsError`` if the file exists.
    ///
    /// >>> import tempfile, pathlib
    /// >>> path = pathlib.Path(tempfile.mkdtemp()) / "survey.key"
    /// >>> bs.Key.generate().to_file(path)
    /// >>> bs.Key.generate().to_file(path)
    /// Traceback (most recent call last):
    ///     ...
    /// FileExistsError: `path` must be a new file; got one that exists
    fn to_file(&self, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = path.py();
        let path = convert::path("path", path)?;
        py.detach(|| self.inner.to_file(&path))
            .map_err(|error| refused(py, &path, error))
    }

    /// 16 hexadecimal digits that identify the key and reveal nothing else; ``insecure`` for :meth:`insecure`.
    ///
    /// >>> bs.Key.from_bytes(bytes(range(32))).fingerprint
    /// '20aef655876fef61'
    #[getter]
    fn fingerprint(&self) -> String {
        self.inner.fingerprint()
    }

    fn __eq__(&self, other: &Key) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.inner)
    }

    /// What a notebook shows. A fingerprint is hexadecimal digits, or a word: there is nothing to escape.
    fn _repr_html_(&self) -> String {
        let mind = if self.inner.is_insecure() {
            "Anyone can guess it, and undo what was drawn with it."
        } else {
            "Whoever holds it can undo what was drawn with it."
        };
        let fingerprint = self.inner.fingerprint();
        format!("<p><strong>Key</strong> <code>{fingerprint}</code> (fingerprint). {mind}</p>")
    }

    fn __reduce__(&self) -> PyResult<Py<PyAny>> {
        let got = "an attempt to pickle or copy it";
        Err(Error::type_("key", "be passed as a file", got).into())
    }
}

/// The key of a call.
enum Held<'a> {
    Given(&'a key::Key),
    Fresh(key::Key),
}

/// A key, given or fresh, and the labels of the call.
pub struct Secret<'a> {
    key: Held<'a>,
    pub labels: Vec<Label>,
}

/// The call has a key, and does not say which words of it.
pub fn missing(address: &str) -> PyErr {
    Error::value(address, "be given with a key", "none").into()
}

/// The core's key of a caller.
pub fn given<'a>(key: &'a Bound<'_, PyAny>) -> PyResult<&'a key::Key> {
    if let Ok(key) = key.cast::<Key>() {
        return Ok(key.get().inner());
    }
    let mut got = type_name(key);
    // A source of a key is a class of the package's Python part.
    if got == "KeySource" {
        got += ", of which read() gives the key";
    }
    Err(Error::type_("key", "be a Key", got).into())
}

impl<'a> Secret<'a> {
    /// Without a key a fresh one is drawn and forgotten. With one, words must not be used twice, so
    /// the call has to say what they are for (`stream`), and where if they have addresses: see [`missing`].
    pub fn new(
        key: Option<&'a Bound<'_, PyAny>>,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let name = stream.map(|stream| text("stream", "be a string", stream));
        let (name, key) = (name.transpose()?, key.map(given).transpose()?);
        // For every key, an insecure one too: an example that works is a release that works.
        if key.is_some() && name.is_none() {
            let must = "name what a key is used for";
            return Err(Error::value("stream", must, "none").into());
        }
        Ok(Secret {
            key: match key {
                Some(key) => Held::Given(key),
                None => Held::Fresh(key::Key::generate()?),
            },
            labels: Label::stream(name.unwrap_or_default()),
        })
    }

    /// This key, under these labels.
    pub fn labelled(key: &'a key::Key, labels: Vec<Label>) -> Self {
        Secret {
            key: Held::Given(key),
            labels,
        }
    }

    /// The words of one purpose, for what is drawn in one go.
    pub fn keystream(&self, purpose: Purpose, more: &[Label], digest: &[u8; 32]) -> Keystream {
        let labels = [&self.labels, more].concat();
        Keystream::new(&derive(self.key(), purpose, &labels, &[], digest))
    }

    /// Those of one part of a matrix, by its place.
    pub fn keystream_at(&self, purpose: Purpose, path: &[u64], digest: &[u8; 32]) -> Keystream {
        Keystream::new(&derive(self.key(), purpose, &self.labels, path, digest))
    }

    /// The key itself.
    pub fn key(&self) -> &key::Key {
        match &self.key {
            Held::Given(key) => key,
            Held::Fresh(key) => key,
        }
    }
}
