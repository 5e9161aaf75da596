//! Codes to protected codes, in fixed blocks, the same on any number of threads.
//!
//! # The law of addresses
//! A record's words depend on its address and on nothing else. Every draw of a matrix (a composite has
//! several, told apart by their path) has keys of its own, derived in [`derive`](crate::derive).
//!
//! - **By position.** Row `i` has the bytes `i w / 8` to `(i + 1) w / 8 - 1` of the stream of
//!   `Purpose::Words`, `w` the draw's width. Its further words are those of blocks `i` under the nonces
//!   0, 1, 2, ... of `Purpose::More`, eight a block.
//! - **By id.** An integer id and the original code (of the composite as a whole) address one block of
//!   `Purpose::IdInteger`: the id modulo 2^64 is the counter, the code the nonce, with its highest bit
//!   set for a negative id. A text or bytes and the code are hashed by blake3 under the key of their
//!   purpose (the code's eight bytes, then the id's) to as many bytes. The first bytes are the record's
//!   word; the last 32 are the key of a stream of its own, whose blocks are its further words.
//!
//! So a changed code has other words, unrelated to the first ones; and what is drawn under one purpose,
//! path, label, matrix or key never meets what is drawn under another.
//!
//! [`address`] says where records are, [`streams`] which words that gives, [`draw`] makes them reports.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::derive::{Label, derive};
use crate::error::{Error, Result};
use crate::family::Matrix;
use crate::key::Key;
use crate::keystream::{BLOCK, Keystream};
use crate::{erase, pool};

pub mod address;
pub mod code;
mod draw;
mod node;
mod streams;
mod work;

pub use address::{Addresses, By, Id};
pub use code::Code;

use crate::system::memory::{self, Gather};
use draw::draw;
use node::Node;
use work::Scratch;

/// Records that are drawn together: their words stay in the nearest cache. Blocks start at multiples
/// of it, counted from row 0.
pub const RECORDS: usize = 1024;

/// Records that a thread takes at a time.
const CHUNK: usize = 1 << 16;

/// A matrix under a key and labels, ready to randomize.
pub struct Randomizer<'a> {
    root: Node<'a>,
    /// What the keys were derived for.
    by: By,
    /// Buffers of [`RECORDS`] codes that nested composites need.
    buffers: usize,
}

impl<'a> Randomizer<'a> {
    /// For records that are addressed in this way.
    ///
    /// # Errors
    /// A composite that takes too many draws.
    pub fn new(matrix: &'a Matrix, key: &Key, labels: &[Label], by: By) -> Result<Self> {
        matrix.sampler().check()?;
        let digest = matrix.digest();
        let mut path = Vec::new();
        let make = |purpose, path: &[u64]| derive(key, purpose, labels, path, digest);
        let root = Node::new(matrix, by, &mut path, &make);
        Ok(Randomizer {
            root,
            by,
            buffers: 2 * matrix.family.nesting().depth,
        })
    }

    /// Draw a report for every code, and leave traces of keys on the caller's stack alone: see
    /// [`erase`]. `codes` are the true ones; without them they stand in `out`.
    ///
    /// # Errors
    /// Addresses for which the keys were not derived, or arrays that do not fit: nothing is drawn then.
    /// A code that the matrix does not have; `out` means nothing then.
    pub fn run<T: Code>(
        &self,
        codes: Option<&[T]>,
        out: &mut [T],
        addresses: Addresses<'_>,
        threads: usize,
    ) -> std::result::Result<(), Refused> {
        self.check(codes, out, addresses).map_err(Refused::Call)?;
        let done = match self.root.size {
            0..=0x100 => self.run_as::<T, u8>(codes, out, addresses, threads),
            0x101..=0x1_0000 => self.run_as::<T, u16>(codes, out, addresses, threads),
            0x1_0001..=0x1_0000_0000 => self.run_as::<T, u32>(codes, out, addresses, threads),
            _ => self.run_as::<T, u64>(codes, out, addresses, threads),
        };
        done.map_err(Refused::Code)
    }

    /// What has to agree before anything is drawn.
    fn check<T: Code>(
        &self,
        codes: Option<&[T]>,
        out: &[T],
        addresses: Addresses<'_>,
    ) -> Result<()> {
        let last = self.root.size - 1;
        if T::low(last).get() != last {
            let (must, bytes) = (format!("have a type that holds {last}"), size_of::<T>());
            return Err(Error::value("codes", must, format!("one of {bytes} bytes")));
        }
        if let Some(codes) = codes
            && codes.len() != out.len()
        {
            let must = format!("be one for each of the {} records", out.len());
            return Err(Error::value("codes", must, codes.len()));
        }
        addresses.check(self.by, out.len())
    }

    fn run_as<T: Code, C: Code>(
        &self,
        codes: Option<&[T]>,
        out: &mut [T],
        addresses: Addresses<'_>,
        threads: usize,
    ) -> std::result::Result<(), usize> {
        let n = out.len();
        // The first chunk ends where a block of rows does, so that all others start with one.
        let head = match addresses {
            Addresses::From(row) => (CHUNK - (row % CHUNK as u64) as usize).min(n),
            _ => CHUNK.min(n),
        };
        let chunks = 1 + (n - head).div_ceil(CHUNK);
        let workers = threads.clamp(1, chunks);
        let mut states: Vec<Scratch<C>> = (0..workers)
            .map(|_| Scratch::new(n.min(RECORDS), self.buffers))
            .gather();
        let bad = AtomicUsize::new(usize::MAX);
        let (first, rest) = out.split_at_mut(head);
        let starts = std::iter::once(0).chain((head..n).step_by(CHUNK));
        let parts = starts.zip(std::iter::once(first).chain(rest.chunks_mut(CHUNK)));
        pool::share_out(parts, &mut states, |scratch, (start, out)| {
            let end = start + out.len();
            let codes = codes.map(|codes| &codes[start..end]);
            let addresses = addresses.part(start, end);
            let mut chunk = || self.chunk(codes, out, addresses, scratch);
            // Keys and words pass through the stack. That of the caller is the caller's to overwrite.
            let done = if workers > 1 {
                erase::after(chunk)
            } else {
                chunk()
            };
            if let Err(position) = done {
                bad.fetch_min(start + position, Ordering::Relaxed);
            }
        });
        match bad.into_inner() {
            usize::MAX => Ok(()),
            position => Err(position),
        }
    }

    fn chunk<T: Code, C: Code>(
        &self,
        codes: Option<&[T]>,
        out: &mut [T],
        addresses: Addresses<'_>,
        scratch: &mut Scratch<C>,
    ) -> std::result::Result<(), usize> {
        let Scratch {
            src,
            dst,
            space,
            work,
        } = scratch;
        let last = T::low(self.root.size - 1);
        let mut start = 0;
        while start < out.len() {
            let room = match addresses {
                Addresses::From(row) => RECORDS - ((row + start as u64) % RECORDS as u64) as usize,
                _ => RECORDS,
            };
            let end = out.len().min(start + room);
            let (src, dst) = (&mut src[..end - start], &mut dst[..end - start]);
            // From here on only our own copy is looked at: the caller's array may change meanwhile.
            let given = codes.map_or(&out[start..end], |codes| &codes[start..end]);
            let mut beyond = false;
            for (src, &code) in src.iter_mut().zip(given) {
                beyond |= code > last;
                *src = C::low(code.get());
            }
            if beyond {
                let position = given.iter().position(|&code| code > last);
                return Err(start + position.unwrap_or(0));
            }
            let at = addresses.part(start, end);
            work.address(at, src);
            draw(&self.root, at, src, dst, space, work);
            for (out, v) in out[start..end].iter_mut().zip(dst) {
                *out = T::low(v.get());
            }
            start = end;
        }
        Ok(())
    }
}

/// Why there are no reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The position of the first code that the matrix does not have.
    Code(usize),
    /// What the caller put together does not fit.
    Call(Error),
}

/// The error of a call on the codes after the first `before`. For a code that the matrix does not have
/// it says where, never which.
pub fn refuse(refused: Refused, before: usize, size: u64) -> Error {
    match refused {
        Refused::Code(position) => Error::value(
            "codes",
            format!("hold whole numbers from 0 to {}", size - 1),
            format!("one outside at position {}", before + position),
        ),
        Refused::Call(error) => error,
    }
}

/// The least that randomizing a column of bytes takes, for benchmarks: two bytes of the keystream a
/// record, and a copy.
pub fn floor(codes: &[u8], out: &mut [u8], threads: usize) {
    let stream = Keystream::new(&[0; 32]);
    let mut states = memory::filled(memory::zeros(2 * RECORDS), threads.max(1));
    let parts = (0..).zip(codes.chunks(CHUNK)).zip(out.chunks_mut(CHUNK));
    pool::share_out(parts, &mut states, |words, ((i, codes), out)| {
        for (j, (codes, out)) in codes
            .chunks(RECORDS)
            .zip(out.chunks_mut(RECORDS))
            .enumerate()
        {
            let block = (i * CHUNK + j * RECORDS) * 2 / BLOCK;
            stream.fill(0, block as u64, std::hint::black_box(words));
            out.copy_from_slice(codes);
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::derive::Purpose;
    use crate::family::laws::make;
    use crate::parameters::Value;

    fn matrices() -> Vec<Matrix> {
        let sized = |family: &str, size: i128, name: &str, x: Value| {
            make(family, &[("size", Value::Whole(size)), (name, x)]).unwrap()
        };
        let rr = |size| sized("randomized_response", size, "beta", Value::Real(0.6));
        let parts = |parts: &[Matrix]| ("matrices", Value::Matrices(parts.into()));
        let mix = |a: Matrix, b: Matrix| {
            let weights = ("weights", Value::Ratios([(1, 3), (2, 3)].into()));
            make("mix", &[parts(&[a, b]), weights]).unwrap()
        };
        let geometric = |size| sized("geometric", size, "temperature", Value::Real(2.0));
        let nested = make("product", &[parts(&[mix(rr(12), geometric(12)), rr(12)])]).unwrap();
        vec![
            rr(12),
            rr(200),
            rr(70_000),
            geometric(12),
            geometric(300),
            sized("k_anonymous", 12, "k", Value::Whole(5)),
            sized("tridiagonal", 12, "alphas", Value::Real(0.3)),
            make("kron", &[parts(&[rr(3), geometric(4)])]).unwrap(),
            make("kron", &[parts(&[nested.clone(), rr(2)])]).unwrap(),
            mix(nested.clone(), rr(12)),
            nested,
        ]
    }

    fn codes(size: u64, n: u64) -> Vec<u32> {
        (0..n).map(|i| (i * 7919 % size) as u32).collect()
    }

    fn run(m: &Matrix, codes: &[u32], at: Addresses<'_>, threads: usize) -> Vec<u32> {
        let by = match at {
            Addresses::From(_) => By::Position,
            Addresses::Ids(_) => By::Ids,
            _ => By::Integers,
        };
        let key = Key::insecure(5);
        let randomizer = Randomizer::new(m, &key, &Label::stream("x"), by).unwrap();
        let mut out = vec![0; codes.len()];
        randomizer.run(Some(codes), &mut out, at, threads).unwrap();
        let mut again = codes.to_vec();
        randomizer.run(None, &mut again, at, threads).unwrap();
        assert_eq!(out, again);
        out
    }

    #[test]
    fn threads_and_pieces_do_not_matter() {
        for (i, m) in matrices().into_iter().enumerate() {
            // Long enough for several chunks, for one of each kind.
            let n = if i % 3 == 0 { 140_000 } else { 6_000 };
            let codes = codes(m.family.size(), n);
            let whole = run(&m, &codes, Addresses::From(77), 1);
            for threads in [2, 7] {
                assert_eq!(run(&m, &codes, Addresses::From(77), threads), whole);
            }
            for (start, end) in [
                (0, 1),
                (1, 2),
                (5, 1000),
                (1023, 3000),
                (65_459, 66_000),
                (65_000, 140_000),
            ] {
                let (start, end) = (start.min(codes.len()), end.min(codes.len()));
                let part = run(
                    &m,
                    &codes[start..end],
                    Addresses::From(77 + start as u64),
                    2,
                );
                assert_eq!(part, whole[start..end], "{start}..{end}");
            }
            assert_ne!(run(&m, &codes, Addresses::From(78), 2), whole);
        }
    }

    #[test]
    fn ids_address_people_and_the_code_enters() {
        for m in matrices() {
            let size = m.family.size();
            let codes = codes(size, 3000);
            let ids: Vec<i64> = (0..3000).map(|i| i * i - 5_000).collect();
            let signed = run(&m, &codes, Addresses::Signed(&ids), 1);
            // Another order, the same people.
            let back: Vec<i64> = ids.iter().rev().copied().collect();
            let codes_back: Vec<u32> = codes.iter().rev().copied().collect();
            let mut other = run(&m, &codes_back, Addresses::Signed(&back), 7);
            other.reverse();
            assert_eq!(other, signed);
            // The same integers one by one.
            let one: Vec<Id<'_>> = ids.iter().map(|&id| Id::Integer(id.into())).collect();
            assert_eq!(run(&m, &codes, Addresses::Ids(&one), 2), signed);
            let texts: Vec<String> = ids.iter().map(|id| id.to_string()).collect();
            let text: Vec<Id<'_>> = texts.iter().map(|t| Id::Text(t.as_bytes())).collect();
            let bytes: Vec<Id<'_>> = texts.iter().map(|t| Id::Bytes(t.as_bytes())).collect();
            let by_text = run(&m, &codes, Addresses::Ids(&text), 2);
            let by_bytes = run(&m, &codes, Addresses::Ids(&bytes), 2);
            assert_ne!(by_text, by_bytes);
            assert_ne!(by_text, signed);
        }
    }

    #[test]
    fn a_negative_id_is_not_the_large_one_with_its_bits() {
        let m = &matrices()[0];
        let n = 500;
        let codes = vec![3; n];
        let signed: Vec<i64> = (0..n as i64).map(|i| -1 - i).collect();
        let unsigned: Vec<u64> = signed.iter().map(|&id| id as u64).collect();
        assert_ne!(
            run(m, &codes, Addresses::Signed(&signed), 1),
            run(m, &codes, Addresses::Unsigned(&unsigned), 1)
        );
        let small: Vec<u64> = (0..n as u64).collect();
        let same: Vec<i64> = (0..n as i64).collect();
        assert_eq!(
            run(m, &codes, Addresses::Signed(&same), 1),
            run(m, &codes, Addresses::Unsigned(&small), 1)
        );
    }

    /// Purposes, labels, paths and matrices: no two streams have a word in common.
    #[test]
    fn no_words_are_shared() {
        let (a, b) = (&matrices()[0], &matrices()[1]);
        let key = Key::insecure(1);
        let mut seen = HashSet::new();
        for purpose in Purpose::ALL {
            for label in ["sex", "race"] {
                for path in [&[][..], &[0], &[1], &[0, 0]] {
                    for matrix in [a, b] {
                        let labels = Label::stream(label);
                        let secret = derive(&key, purpose, &labels, path, matrix.digest());
                        let mut bytes = [0; 16 * BLOCK];
                        Keystream::new(&secret).fill(0, 0, &mut bytes);
                        for word in bytes.chunks_exact(8) {
                            assert!(seen.insert(word.to_vec()), "{purpose:?} {label} {path:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_bad_code_is_found_on_any_number_of_threads() {
        let m = &matrices()[0];
        let key = Key::insecure(1);
        let randomizer = Randomizer::new(m, &key, &[], By::Position).unwrap();
        let mut codes = vec![0u8; 300_000];
        for position in [299_999, 200_000, 70_000, 3] {
            codes[position] = 12;
            for threads in [1, 2, 7] {
                let mut out = vec![0; codes.len()];
                let got = randomizer.run(Some(&codes), &mut out, Addresses::From(1), threads);
                assert_eq!(got, Err(Refused::Code(position)));
            }
        }
    }

    /// Word 0 is the truth in randomized response: words that are missing must not be zeros.
    #[test]
    fn keys_and_addresses_of_different_kinds_are_refused_before_anything_is_drawn() {
        let mixed = [Id::Text(b"a"), Id::Bytes(b"a"), Id::Integer(1)];
        let all = [
            Addresses::From(0),
            Addresses::Signed(&[1, 2, 3]),
            Addresses::Unsigned(&[1, 2, 3]),
            Addresses::Ids(&[Id::Integer(1), Id::Integer(2), Id::Integer(3)]),
            Addresses::Ids(&[Id::Text(b"a"); 3]),
            Addresses::Ids(&[Id::Bytes(b"a"); 3]),
            Addresses::Ids(&mixed),
        ];
        let fits = [
            (
                By::Position,
                [true, false, false, false, false, false, false],
            ),
            (By::Integers, [false, true, true, true, false, false, false]),
            (By::Texts, [false, false, false, false, true, false, false]),
            (By::Bytes, [false, false, false, false, false, true, false]),
            (By::Ids, [false, true, true, true, true, true, true]),
        ];
        let key = Key::insecure(1);
        for m in matrices() {
            for (by, fits) in fits {
                let randomizer = Randomizer::new(&m, &key, &[], by).unwrap();
                for (at, fits) in all.into_iter().zip(fits) {
                    let mut out = [9u32; 3];
                    let got = randomizer.run(Some(&[1, 0, 1]), &mut out, at, 1);
                    if fits {
                        assert_eq!(got, Ok(()), "{by:?} {at:?}");
                        continue;
                    }
                    let Err(Refused::Call(error)) = got else {
                        panic!("{by:?} {at:?} {got:?}");
                    };
                    assert!(
                        error.to_string().starts_with("`addresses` must be "),
                        "{error}"
                    );
                    assert_eq!(out, [9; 3]);
                }
            }
        }
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let key = Key::insecure(1);
        let (small, large) = (&matrices()[0], &matrices()[4]);
        let refused = |m: &Matrix, codes: Option<&[u8]>, at: Addresses<'_>| {
            let by = match at {
                Addresses::From(_) => By::Position,
                _ => By::Ids,
            };
            let randomizer = Randomizer::new(m, &key, &[], by).unwrap();
            match randomizer.run(codes, &mut [0u8; 2], at, 1) {
                Err(Refused::Call(error)) => error.to_string(),
                other => panic!("{other:?}"),
            }
        };
        // A report of 299 would be cut to 43.
        assert_eq!(
            refused(large, None, Addresses::From(0)),
            "`codes` must have a type that holds 299; got one of 1 bytes"
        );
        assert_eq!(
            refused(small, Some(&[0; 3]), Addresses::From(0)),
            "`codes` must be one for each of the 2 records; got 3"
        );
        for at in [
            Addresses::Signed(&[1]),
            Addresses::Ids(&[Id::Text(b"a"); 3]),
        ] {
            let error = refused(small, None, at);
            assert!(
                error.starts_with("`addresses` must be one for each"),
                "{error}"
            );
        }
        // Row 2^64 would have the words of row 0, and person 2^64 those of person 0.
        let last = refused(small, None, Addresses::From(u64::MAX));
        assert!(
            last.starts_with("`addresses` must end before row 2^64"),
            "{last}"
        );
        for id in [1 << 64, -(1 << 63) - 1] {
            let error = refused(
                small,
                None,
                Addresses::Ids(&[Id::Integer(0), Id::Integer(id)]),
            );
            assert_eq!(
                error,
                "`addresses` must be whole numbers from -2^63 to 2^64 - 1; got another at position 1"
            );
        }
    }
}
