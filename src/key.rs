//! The key: 32 secret bytes. Whoever holds it can undo a release.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use zeroize::{Zeroize, Zeroizing};

use crate::derive::{self, Label, Purpose};
use crate::error::{Error, Result};

/// Length of a secret in bytes.
pub const SECRET: usize = 32;

/// 32 secret bytes, erased when dropped, compared in constant time, printed as a fingerprint only.
pub struct Key {
    // On the heap, so that moving a key does not leave copies behind.
    bytes: Box<[u8; SECRET]>,
    insecure: bool,
}

impl Drop for Key {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<Key {}>", self.fingerprint())
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        // blake3 compares its hashes in constant time.
        let [a, b] = [self, other].map(|key| blake3::Hash::from_bytes(*key.bytes));
        (a == b) & (self.insecure == other.insecure)
    }
}

const MUST: &str = "hold 64 hexadecimal digits or 32 raw bytes";

impl Key {
    /// A fresh key from the operating system.
    ///
    /// # Errors
    /// The operating system has no entropy to give.
    pub fn generate() -> Result<Self> {
        let mut key = Key {
            bytes: Box::new([0; SECRET]),
            insecure: false,
        };
        match getrandom::fill(&mut *key.bytes) {
            Ok(()) => Ok(key),
            Err(error) => Err(Error::value(
                "key",
                "be drawn by the operating system",
                format!("an error: {error}"),
            )),
        }
    }

    /// The key with these bytes.
    pub fn from_bytes(mut bytes: [u8; SECRET]) -> Self {
        let key = Key {
            bytes: Box::new(bytes),
            insecure: false,
        };
        bytes.zeroize();
        key
    }

    /// The key with these bytes, if there are 32.
    ///
    /// # Errors
    /// Another number of them.
    pub fn from_slice(bytes: &[u8]) -> Result<Self> {
        match <[u8; SECRET]>::try_from(bytes) {
            Ok(bytes) => Ok(Self::from_bytes(bytes)),
            Err(_) => {
                let got = format!("{} bytes", bytes.len());
                Err(Error::value("key", "hold 32 bytes", got))
            }
        }
    }

    /// A key from a small number, for tests and examples: anyone can guess it.
    pub fn insecure(seed: u64) -> Self {
        let nothing = Key::from_bytes([0; SECRET]);
        let labels = [Label::Integer(seed.into())];
        let bytes = derive::derive(&nothing, Purpose::Insecure, &labels, &[], &[0; 32]);
        Key {
            bytes: Box::new(bytes),
            insecure: true,
        }
    }

    /// Read 64 hexadecimal digits, with or without a line end, or 32 raw bytes.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn from_file(path: &Path) -> std::result::Result<Self, KeyFileError> {
        // Longer than any key file, so that what is too long is seen to be.
        let mut buffer = Zeroizing::new([0u8; 128]);
        let mut file = File::open(path)?;
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read(&mut buffer[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        let text = &buffer[..filled];
        if text.len() == SECRET {
            return Ok(Self::from_slice(text)?);
        }
        let digits = text.trim_ascii_end();
        let mut bytes = Zeroizing::new([0u8; SECRET]);
        let must = || Error::value("path", MUST, "other contents");
        if digits.len() != 2 * SECRET {
            return Err(must().into());
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |c: u8| char::from(c).to_digit(16);
            match (digit(pair[0]), digit(pair[1])) {
                (Some(high), Some(low)) => *byte = (high << 4 | low) as u8,
                _ => return Err(must().into()),
            }
        }
        Ok(Self::from_bytes(*bytes))
    }

    /// Write the key once, as 64 hexadecimal digits and a newline, readable by the owner only.
    ///
    /// # Errors
    /// The file exists, or cannot be written; an insecure key, which would come back as a real one.
    pub fn to_file(&self, path: &Path) -> std::result::Result<(), KeyFileError> {
        if self.insecure {
            return Err(Error::value("key", "be a secret to be written", "an insecure one").into());
        }
        let mut text = Zeroizing::new([b'\n'; 2 * SECRET + 1]);
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.bytes.iter()) {
            let digit = |n: u8| b"0123456789abcdef"[usize::from(n & 15)];
            pair.copy_from_slice(&[digit(byte >> 4), digit(*byte)]);
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let written = file.write_all(&*text).and_then(|()| file.sync_all());
        if written.is_err() {
            // The file is ours and new; half a key helps nobody.
            let _ = std::fs::remove_file(path);
        }
        Ok(written?)
    }

    /// 16 hexadecimal digits that identify the key and say nothing else of it, or `insecure`.
    pub fn fingerprint(&self) -> String {
        if self.insecure {
            return "insecure".into();
        }
        let digest = derive::derive(self, Purpose::Fingerprint, &[], &[], &[0; 32]);
        digest[..8].iter().map(|b| format!("{b:02x}")).collect()
    }

    /// Whether the key comes from a small seed.
    pub fn is_insecure(&self) -> bool {
        self.insecure
    }

    /// The bytes, for [`derive`](crate::derive) alone.
    pub(crate) fn expose(&self) -> &[u8; SECRET] {
        &self.bytes
    }
}

/// A key file that cannot be read or written, or holds no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The contents are not a key.
    #[error("{0}")]
    Content(#[from] Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("bistochastic-{}-{name}", std::process::id()))
    }

    #[test]
    fn is_written_once_and_read_back() {
        let (file, key) = (path("key"), Key::generate().unwrap());
        key.to_file(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 65);
        assert!(key.to_file(&file).is_err());
        assert_eq!(Key::from_file(&file).unwrap(), key);
        std::fs::write(&file, key.expose()).unwrap();
        assert_eq!(Key::from_file(&file).unwrap(), key);
        for bad in [&b"short"[..], &[b'g'; 64], &[b'0'; 66], &[b'0'; 4096], b""] {
            std::fs::write(&file, bad).unwrap();
            let error = Key::from_file(&file).unwrap_err().to_string();
            assert!(error.contains("64 hexadecimal digits"), "{error}");
        }
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn golden_fingerprint_says_nothing_else() {
        let key = Key::from_bytes(std::array::from_fn(|i| i as u8));
        assert_eq!(key.fingerprint(), "20aef655876fef61");
        assert_eq!(format!("{key:?}"), format!("<Key {}>", key.fingerprint()));
        assert_eq!(Key::insecure(1).fingerprint(), "insecure");
    }

    #[test]
    fn seeds_differ_from_each_other_and_from_keys() {
        assert_eq!(Key::insecure(1), Key::insecure(1));
        assert_ne!(Key::insecure(1), Key::insecure(2));
        assert_ne!(
            Key::from_bytes(*Key::insecure(1).expose()),
            Key::insecure(1)
        );
        assert!(Key::insecure(1).to_file(&path("insecure")).is_err());
        assert_ne!(Key::generate().unwrap(), Key::generate().unwrap());
    }

    #[test]
    fn refuses_another_length() {
        let error = Key::from_slice(&[1; 31]).unwrap_err().to_string();
        assert_eq!(error, "`key` must hold 32 bytes; got 31 bytes");
    }
}
