//! The key: 32 secret bytes. Anyone with the key can undo a release.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use zeroize::{Zeroize, Zeroizing};

use crate::draw::derive::{self, Label, Purpose};
use crate::error::{Error, Result};
use crate::system::erase::{self, Secret};

pub use crate::system::erase::SECRET;

/// 32 secret bytes, erased when dropped, compared in constant time, printed as a fingerprint only.
///
/// ```
/// use bistochastic::Key;
/// let key = Key::generate()?;
/// let path = std::env::temp_dir().join(format!("{}.key", key.fingerprint()));
/// key.to_file(&path)?;
/// let (again, others_may_read) = Key::from_file(&path, false)?;
/// assert!(again == key && !others_may_read);
/// # std::fs::remove_file(path).unwrap();
///
/// assert_eq!(Key::from_slice(&[7; 32])?, Key::from_bytes([7; 32]));
/// assert!(Key::insecure(1).is_insecure());
/// # Ok::<(), bistochastic::KeyFileError>(())
/// ```
pub struct Key {
    bytes: Secret,
    insecure: bool,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<Key {}>", self.fingerprint())
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        // All bytes are looked at, wherever they differ, and none is copied.
        let pairs = self.bytes.iter().zip(other.bytes.iter());
        let different = pairs.fold(0, |seen, (a, b)| std::hint::black_box(seen | (a ^ b)));
        (different == 0) & (self.insecure == other.insecure)
    }
}

impl Key {
    /// A fresh key from the operating system.
    ///
    /// # Errors
    /// The operating system has no entropy to give.
    pub fn generate() -> Result<Self> {
        let mut bytes = erase::empty();
        getrandom::fill(&mut bytes[..]).map_err(|error| {
            let must = "be drawn by the operating system";
            Error::value("key", must, format!("an error: {error}"))
        })?;
        Ok(Self::of(bytes))
    }

    /// The key with these bytes.
    pub fn from_bytes(mut bytes: [u8; SECRET]) -> Self {
        let mut own = erase::empty();
        own.copy_from_slice(&bytes);
        bytes.zeroize();
        Self::of(own)
    }

    /// The key with the bytes of a secret.
    pub(super) fn of(bytes: Secret) -> Self {
        Key {
            bytes,
            insecure: false,
        }
    }

    /// The key with these bytes, if there are 32.
    ///
    /// # Errors
    /// Another number of them.
    pub fn from_slice(bytes: &[u8]) -> Result<Self> {
        if bytes.len() != SECRET {
            let got = format!("{} bytes", bytes.len());
            return Err(Error::value("key", "hold 32 bytes", got));
        }
        let mut own = erase::empty();
        own.copy_from_slice(bytes);
        Ok(Self::of(own))
    }

    /// A key from a small number, for tests and examples: anyone can guess it.
    pub fn insecure(seed: u64) -> Self {
        let nothing = Key::from_bytes([0; SECRET]);
        let labels = [Label::Integer(seed.into())];
        Key {
            bytes: derive::derive(&nothing, Purpose::Insecure, &labels, &[], &[0; 32]),
            insecure: true,
        }
    }

    /// Read 64 hexadecimal digits, with or without a line end; where `raw`, 32 bytes as they are. Beside
    /// the key whether others than the owner may read the file, if the system says so.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn from_file(path: &Path, raw: bool) -> std::result::Result<(Self, bool), KeyFileError> {
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
        let contents = &buffer[..filled];
        let key = if raw {
            Self::raw(contents)
        } else {
            Self::hexadecimal(contents)
        };
        Ok((key?, is_open(&file)?))
    }

    fn hexadecimal(contents: &[u8]) -> Result<Self> {
        let must = "hold 64 hexadecimal digits";
        if contents.len() == SECRET {
            let got = "32 bytes, which Key.from_file reads with raw=True alone";
            return Err(Error::value("path", must, got));
        }
        let digits = line(contents);
        if digits.len() != 2 * SECRET {
            return Err(Error::value("path", must, length(contents)));
        }
        let mut bytes = erase::empty();
        for (i, (byte, pair)) in bytes.iter_mut().zip(digits.chunks_exact(2)).enumerate() {
            let digit = |c: u8| char::from(c).to_digit(16);
            match (digit(pair[0]), digit(pair[1])) {
                (Some(high), Some(low)) => *byte = (high << 4 | low) as u8,
                (high, _) => {
                    let at = 2 * i + usize::from(high.is_some());
                    let got = format!("a character that is none at position {at}");
                    return Err(Error::value("path", must, got));
                }
            }
        }
        Ok(Self::of(bytes))
    }

    fn raw(contents: &[u8]) -> Result<Self> {
        if contents.len() == SECRET {
            return Self::from_slice(contents);
        }
        let digits = line(contents);
        let hexadecimal = digits.len() == 2 * SECRET && digits.iter().all(u8::is_ascii_hexdigit);
        let got = if hexadecimal {
            "64 hexadecimal digits, which raw=False reads".to_owned()
        } else {
            length(contents)
        };
        Err(Error::value("path", "hold 32 raw bytes", got))
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
            // The file is ours and new; half a key is of no use.
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

    /// The bytes, for [`derive`](crate::draw::derive) alone.
    pub(crate) fn expose(&self) -> &[u8; SECRET] {
        &self.bytes
    }
}

/// The first line, if it is the only one.
fn line(contents: &[u8]) -> &[u8] {
    let line = contents.strip_suffix(b"\n").unwrap_or(contents);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// How long the contents of a file are, of which this much was read.
fn length(contents: &[u8]) -> String {
    match contents.len() {
        128.. => "more than 127 bytes".to_owned(),
        n => format!("{n} bytes"),
    }
}

/// Whether others than its owner may read, write or run a file.
#[cfg(unix)]
fn is_open(file: &File) -> std::io::Result<bool> {
    let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata()?);
    Ok(mode & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open(_file: &File) -> std::io::Result<bool> {
    Ok(false)
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
