//! Codes to protected codes, in fixed blocks, the same on any number of threads.
//!
//! # The law of addresses
//! A record's words depend on its address and on nothing else. Every draw of a matrix (a composite has
//! several, told apart by their path) has keys of its own, derived in [`derive`](crate::draw::derive).
//!
//! - **By position.** Row `i` has the bytes `i w / 8` to `(i + 1) w / 8 - 1` of the stream of
//!   `Purpose::Words`, `w` the draw's width. Its further words are those of blocks `i` under the nonces
//!   0, 1, 2, ... of `Purpose::More`, eight a block.
//! - **By id.** An integer id and the original code (of the composite as a whole) address one block of
//!   `Purpose::IdInteger`: the id modulo 2^64 is the counter, the code the nonce, with its highest bit
//!   set for a negative id. A string or bytes and the code are hashed by blake3 under the key of their
//!   purpose (the code's eight bytes, then the id's) to as many bytes. The first bytes are the record's
//!   word; the last 32 are the key of a stream of its own, whose blocks are its further words.
//!
//! So a changed code has other words, unrelated to the first ones; and what is drawn under one purpose,
//! path, label, matrix or key never meets what is drawn under another.
//!
//! # The life of a block
//! Ten thousand people answer a question with four categories. Their codes are bytes, and
//! [`randomize`] gets them with `Addresses::Rows(1000)` and two threads.
//!
//! 1. It asks the matrix for its sampler, whose draws are numbered. Randomized response is one
//!    draw, number 0, whose table has columns for words of two bytes. Two keys are derived for it, of the purposes
//!    `Words` and `More`, and form its `RowKeys`.
//! 2. It joins the rows with the keys (`Records`) and cuts them into chunks for the threads. A
//!    chunk of rows ends at a multiple of 65,536, so all of this is one chunk.
//! 3. A chunk goes block by block. A block ends at a multiple of [`RECORDS`], 1024. So the first block has the 24 rows
//!    1000 to 1023, and the second the rows 1024 to 2047.
//! 4. The codes of a block are copied into a buffer of the thread's `Scratch`, as bytes, since four
//!    categories fit into bytes. A code of 4 or more ends the call with its position.
//! 5. `draw` asks the records for the first words of draw 0. Row 1000 has the bytes 2000 and 2001 of its stream, which
//!    are in ChaCha20 block 31 from byte 16 on. So block 31 is computed whole, and the words start 16 bytes into the
//!    buffer. The 24 words end with block 31.
//! 6. The loop for this kind of table ([`loops`](crate::draw::loops)) turns each word and code into a report. The last
//!    slots of the table decide nothing; positions of such words are collected.
//! 7. Each undecided record gets further words: row 1003 has those of blocks 1003 under the nonces
//!    0, 1, ... of the key of `More`.
//! 8. The reports are where the caller wants them. The next block reuses all buffers, and they are erased with the
//!    thread's scratch.
//!
//! By id, step 5 computes one block per record instead: the id is the counter and the code the nonce. A composite
//! passes steps 5 to 7 for each of its draws, on digits (kron), in turn (product), or for the records that take a
//! part (mix).

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::draw::derive::{Label, derive};
use crate::draw::key::Key;
use crate::draw::sampler::Sampler;
use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::system::{pool, stop};

pub mod address;
pub mod block;
pub(super) mod draw;

pub use crate::draw::code::{Code, RECORDS};
pub use address::{Addresses, Id, Ids};

use crate::draw::code::{CodeWidth, typed};
use address::{IdKeys, Make, Records, RowKeys, Which};
use draw::{At, Scratch, draw};

/// Draw a report for every code. `codes` are the true ones; without them they stand in `out`.
///
/// # Errors
/// Arrays that do not fit, addresses that there are not: nothing is drawn then. A code that the matrix does not have;
/// `out` means nothing then.
pub fn randomize<T: Code>(
    matrix: &Matrix,
    key: &Key,
    labels: &[Label],
    codes: Option<&[T]>,
    out: &mut [T],
    addresses: Addresses<'_>,
    threads: usize,
) -> Result<()> {
    let draws = Draws::new(matrix);
    draws.check(codes, out)?;
    addresses.check(out.len())?;
    let (rows, people);
    let records = match addresses {
        Addresses::Rows(row) => {
            rows = draws.keys(key, labels, RowKeys::new);
            Records::Rows(row, &rows)
        }
        Addresses::Ids(ids) => {
            people = draws.keys(key, labels, IdKeys::new);
            Records::Ids(ids, &people)
        }
    };
    let done =
        typed!(CodeWidth::of(draws.size), C => draws.run::<T, C>(codes, out, records, threads));
    done.map_err(|position| {
        // Where it is, never which.
        let must = format!("hold integers from 0 to {}", draws.truths - 1);
        Error::value("codes", must, format!("one outside at position {position}"))
    })
}

/// The draws of a matrix, whatever addresses their words.
struct Draws<'a> {
    sampler: &'a Sampler,
    digest: &'a [u8; 32],
    size: u64,
    /// Codes below this can be true.
    truths: u64,
}

impl<'a> Draws<'a> {
    fn new(matrix: &'a Matrix) -> Self {
        Draws {
            sampler: matrix.sampler(),
            digest: matrix.digest(),
            size: matrix.size(),
            truths: matrix.truths(),
        }
    }

    /// The keys of each draw, by its number.
    fn keys<K>(&self, key: &Key, labels: &[Label], make: fn(Make<'_>) -> K) -> Vec<K> {
        let mut keys = Vec::new();
        self.sampler.each_draw(&mut Vec::new(), &mut |path| {
            let own = make(&|purpose| derive(key, purpose, labels, path, self.digest));
            keys.push(own);
        });
        keys
    }

    /// What has to agree before anything is drawn.
    fn check<T: Code>(&self, codes: Option<&[T]>, out: &[T]) -> Result<()> {
        let last = self.size - 1;
        if T::low(last).get() != last {
            let (must, bytes) = (format!("have a type that holds {last}"), size_of::<T>());
            return Err(Error::value("codes", must, format!("one of {bytes} bytes")));
        }
        let Some(n) = codes.map(<[T]>::len).filter(|&n| n != out.len()) else {
            return Ok(());
        };
        let must = format!("be one for each of the {} records", out.len());
        Err(Error::value("codes", must, n))
    }

    fn run<T: Code, C: Code>(
        &self,
        codes: Option<&[T]>,
        out: &mut [T],
        records: Records<'_>,
        threads: usize,
    ) -> std::result::Result<(), usize> {
        let n = out.len();
        // The first chunk ends with a block of rows, so that all others start with one.
        let length = records.chunk();
        let head = records.room(length).min(n);
        let chunks = 1 + (n - head).div_ceil(length);
        let workers = threads.clamp(1, chunks);
        let mut states: Vec<Scratch> = (0..workers).map(|_| Scratch::new(n.min(RECORDS))).collect();
        let bad = AtomicUsize::new(usize::MAX);
        let (first, rest) = out.split_at_mut(head);
        let starts = std::iter::once(0).chain((head..n).step_by(length));
        let parts = starts.zip(std::iter::once(first).chain(rest.chunks_mut(length)));
        pool::share_out(parts, &mut states, |scratch, (start, out)| {
            let end = start + out.len();
            let codes = codes.map(|codes| &codes[start..end]);
            let done = self.chunk::<T, C>(codes, out, records.part(start, end), scratch);
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
        records: Records<'_>,
        scratch: &mut Scratch,
    ) -> std::result::Result<(), usize> {
        let (mut all_src, mut all_dst) = (scratch.spare.take::<C>(), scratch.spare.take::<C>());
        let last = T::low(self.truths - 1);
        let mut start = 0;
        while start < out.len() {
            stop::point();
            let records = records.part(start, out.len());
            let end = out.len().min(start + records.room(RECORDS));
            let records = records.part(0, end - start);
            let (src, dst) = (&mut all_src[..end - start], &mut all_dst[..end - start]);
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
            records.enter(src, scratch);
            let which = Which::All(src.len());
            let at = At { records, which };
            let out = &mut out[start..end];
            // If the caller's codes are as narrow as ours, reports are drawn where they stay. Not those of composites,
            // which hold less noise half way.
            let single = matches!(self.sampler, Sampler::Leaf(_));
            if let Some(own) = C::if_width(T::of_width(out)).filter(|_| single) {
                draw(self.sampler, 0, at, src, own, scratch);
            } else {
                draw(self.sampler, 0, at, src, dst, scratch);
                for (out, v) in out.iter_mut().zip(dst) {
                    *out = T::low(v.get());
                }
            }
            start = end;
        }
        scratch.spare.give(all_src);
        scratch.spare.give(all_dst);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::string_ids::Spelled;
    use crate::law::examples::response;

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        use Addresses::{Ids as People, Rows};
        let texts = Spelled::of([&b"a"[..]; 3].into_iter());
        let one_each = "`addresses` must be one for each of the 2 records; got";
        // Row 2^64 would have the words of row 0, and person 2^64 those of person 0.
        let outside =
            "`addresses` must be integers from -2^63 to 2^64 - 1; got one outside at position 1";
        let beyond = [1 << 64, -(1 << 63) - 1].map(|id| [Id::Integer(0), Id::Integer(id)]);
        let (one, three) = (Ids::Signed(&[1]), [Id::Text(b"a"); 3]);
        let check = |size, codes: usize, at, want: &str| {
            let (m, key, codes) = (response(size, 0.6), Key::insecure(1), &[0; 3][..codes]);
            let found = randomize(&m, &key, &[], Some(codes), &mut [0u8; 2], at, 1);
            assert_eq!(found.unwrap_err().to_string(), want);
        };
        // A report of 299 would be cut to 43.
        let narrow = "`codes` must have a type that holds 299; got one of 1 bytes";
        check(300, 2, Rows(0), narrow);
        let many = "`codes` must be one for each of the 2 records; got 3";
        check(12, 3, Rows(0), many);
        let late = "`addresses` must end before row 2^64; got 2 from 18446744073709551615";
        check(12, 2, Rows(u64::MAX), late);
        check(12, 2, People(one), &format!("{one_each} 1"));
        check(12, 2, People(Ids::Mixed(&three)), &format!("{one_each} 3"));
        check(
            12,
            2,
            People(Ids::Texts(texts.all())),
            &format!("{one_each} 3"),
        );
        check(12, 2, People(Ids::Mixed(&beyond[0])), outside);
        check(12, 2, People(Ids::Mixed(&beyond[1])), outside);
    }
}
