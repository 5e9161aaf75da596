//! The key of a call, given or fresh, with what its words are for.

use pyo3::prelude::*;

use super::convert::{text, type_name};
use super::key::Key;
use crate::draw::derive::{Label, Purpose, derive};
use crate::draw::key;
use crate::draw::keystream::Keystream;
use crate::error::Error;

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
