//! From a matrix to its digest, and the encoding of everything that is hashed.
//!
//! | item | tag | then |
//! |---|---|---|
//! | bytes | 01 | length, the bytes |
//! | text | 02 | length, its UTF-8 |
//! | integer | 03 | 16 bytes, two's complement |
//! | list, tuple | 04 | number of items, the items |
//! | fraction | 05 | numerator and denominator, 16 bytes each |
//! | double | 06 | its 8 bytes |
//! | vector of integers | 07 | length, 8 bytes each, two's complement |
//! | vector of fractions | 08 | length, 32 bytes each |
//! | vector of doubles | 09 | length, 8 bytes each |
//! | table | 0a | rows, columns, its numbers as an item |
//!
//! Lengths, rows and columns are 8 bytes; all numbers are little-endian, on every platform.
//!
//! # Why two tuples never meet
//! The first byte of an item tells its form, and the form tells how many bytes follow, either outright
//! or by a length that stands before them. So a reader from the left always knows where an item
//! ends, and the encoding of a list can be read back in one way only: no two different tuples have
//! the same encoding, and none is the beginning of another.
//!
//! The digest of a matrix is blake3 of the list of its family and the list of its realised
//! parameters, each a list of name and value; a composite lists the digests of its parts. Equal
//! matrices have equal parameters, so equal digests.

use blake3::Hasher;

use crate::law::Matrix;
use crate::law::parameters::Value;

/// The digest of a family with its realised parameters.
pub fn of(family: &str, parameters: &[(&'static str, Value)]) -> [u8; 32] {
    let mut hasher = Hasher::new();
    let mut list = Encoder(&mut hasher);
    list.list(2);
    list.text(family);
    list.list(parameters.len());
    for (name, value) in parameters {
        list.list(2);
        list.text(name);
        list.value(value);
    }
    hasher.finalize().into()
}

/// What takes encoded bytes, one after the other.
pub trait Sink {
    /// The next ones.
    fn take(&mut self, bytes: &[u8]);
}

impl Sink for Hasher {
    fn take(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

/// Items, in the encoding of the module.
pub struct Encoder<'a, S>(pub &'a mut S);

impl<S: Sink> Encoder<'_, S> {
    fn head(&mut self, tag: u8, length: usize) {
        self.0.take(&[tag]);
        self.0.take(&(length as u64).to_le_bytes());
    }

    /// Bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.head(0x01, bytes.len());
        self.0.take(bytes);
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.head(0x02, text.len());
        self.0.take(text.as_bytes());
    }

    /// An integer.
    pub fn integer(&mut self, n: i128) {
        self.0.take(&[0x03]);
        self.0.take(&n.to_le_bytes());
    }

    /// The head of a list of `n` items.
    pub fn list(&mut self, items: usize) {
        self.head(0x04, items);
    }

    /// Many numbers of 8 bytes, through a buffer so that the hash sees long runs.
    fn words(&mut self, tag: u8, count: usize, mut words: impl Iterator<Item = u64>) {
        self.head(tag, count);
        let mut buffer = [0u8; 4096];
        loop {
            let mut filled = 0;
            for (cell, word) in buffer.chunks_exact_mut(8).zip(&mut words) {
                cell.copy_from_slice(&word.to_le_bytes());
                filled += 8;
            }
            self.0.take(&buffer[..filled]);
            if filled < buffer.len() {
                return;
            }
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Whole(n) => self.integer(*n),
            Value::Ratio(n, d) => {
                self.0.take(&[0x05]);
                self.0.take(&n.to_le_bytes());
                self.0.take(&d.to_le_bytes());
            }
            Value::Real(x) => {
                self.0.take(&[0x06]);
                self.0.take(&x.to_bits().to_le_bytes());
            }
            Value::Wholes(numbers) => {
                self.words(0x07, numbers.len(), numbers.iter().map(|&n| n as u64));
            }
            Value::Ratios(ratios) => {
                self.head(0x08, ratios.len());
                for (n, d) in ratios.iter() {
                    self.0.take(&n.to_le_bytes());
                    self.0.take(&d.to_le_bytes());
                }
            }
            Value::Reals(reals) => {
                self.words(0x09, reals.len(), reals.iter().map(|x| x.to_bits()));
            }
            Value::Table(rows, columns, cells) => {
                self.head(0x0a, *rows);
                self.0.take(&(*columns as u64).to_le_bytes());
                self.value(cells);
            }
            Value::Matrices(parts) => {
                self.list(parts.len());
                for part in parts.iter() {
                    self.bytes(Matrix::digest(part));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_digest_is_of_family_and_parameters() {
        let size = |n| [("size", Value::Whole(n))];
        let all: HashSet<[u8; 32]> = [
            of("uniform", &size(5)),
            of("identity", &size(5)),
            of("uniform", &size(6)),
            of("uniform", &[("size", Value::Ratio(5, 1))]),
            of("uniform", &[("size", Value::Real(5.0))]),
            of("uniform", &[("size", Value::Wholes([5].into()))]),
            of("uniform", &[("size", Value::Reals([5.0].into()))]),
            of("uniform", &[("size", Value::Ratios([(5, 1)].into()))]),
            of("uniform", &[]),
        ]
        .into();
        assert_eq!(all.len(), 9);
        // Longer than the buffer, and exactly as long.
        let long = |n: i64| of("x", &[("v", Value::Wholes((0..n).collect()))]);
        assert_ne!(long(512), long(513));
        assert_ne!(long(511), long(512));
    }
}
