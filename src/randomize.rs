//! Codes to protected codes, in fixed blocks, the same on any number of threads.
//!
//! # The law of addresses
//! A record's words depend on its address and on nothing else. Every draw of a matrix (a composite has
//! several, told apart by their path) has keys of its own, derived in [`derive`](crate::derive).
//!
//! - **By position.** Row `i` has the bytes `i w / 8` to `(i + 1) w / 8 - 1` of the stream of
//!   [`Purpose::Words`], `w` the draw's width. Its further words are those of blocks `i` under the nonces
//!   0, 1, 2, ... of [`Purpose::More`], eight a block.
//! - **By id.** An integer id and the original code (of the composite as a whole) address one block of
//!   [`Purpose::IdInteger`]: the id modulo 2^64 is the counter, the code the nonce, with its highest bit
//!   set for a negative id. A text or bytes and the code are hashed by blake3 under the key of their
//!   purpose (the code's eight bytes, then the id's) to as many bytes. The first bytes are the record's
//!   word; the last 32 are the key of a stream of its own, whose blocks are its further words.
//!
//! So a changed code has other words, unrelated to the first ones; and what is drawn under one purpose,
//! path, label, matrix or key never meets what is drawn under another.

use std::sync::atomic::{AtomicUsize, Ordering};

use zeroize::Zeroize;

use crate::alias::{More, Word};
use crate::derive::{Label, Purpose, derive};
use crate::error::{Error, Result};
use crate::family::Matrix;
use crate::kernel::{self, Undecided};
use crate::key::Key;
use crate::keystream::{BLOCK, Keystream};
use crate::pool;
use crate::sampler::{Form, Sampler, certain};

/// Records that are drawn together: their words stay in the nearest cache. Blocks start at multiples
/// of it, counted from row 0.
pub const RECORDS: usize = 1024;

/// Records that a thread takes at a time.
const CHUNK: usize = 1 << 16;

/// An unsigned integer that holds codes.
pub trait Code: Copy + Default + Ord + Send + Sync + 'static {
    /// From the lowest bits of a number.
    fn low(x: u64) -> Self;
    /// Its value.
    fn get(self) -> u64;
    /// Both slices as bytes, for codes of one byte.
    fn bytes<'a>(_src: &'a [Self], _dst: &'a mut [Self]) -> Option<(&'a [u8], &'a mut [u8])> {
        None
    }
}

macro_rules! code {
    ($type:ty, $($bytes:item)?) => {
        impl Code for $type {
            #[inline(always)]
            fn low(x: u64) -> Self {
                x as $type
            }

            #[inline(always)]
            fn get(self) -> u64 {
                self as u64
            }

            $($bytes)?
        }
    };
}

code!(
    u8,
    fn bytes<'a>(src: &'a [Self], dst: &'a mut [Self]) -> Option<(&'a [u8], &'a mut [u8])> {
        Some((src, dst))
    }
);
code!(u16,);
code!(u32,);
code!(u64,);

/// The identifier of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id<'a> {
    /// A whole number from -2^63 to 2^64 - 1, by value.
    Integer(i128),
    /// A text, as UTF-8.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// Where the records of a call are.
#[derive(Debug, Clone, Copy)]
pub enum Addresses<'a> {
    /// Consecutive rows from this one on.
    From(u64),
    /// One integer each.
    Signed(&'a [i64]),
    /// One integer each.
    Unsigned(&'a [u64]),
    /// One of any kind each.
    Ids(&'a [Id<'a>]),
}

impl<'a> Addresses<'a> {
    fn part(self, start: usize, end: usize) -> Self {
        match self {
            Addresses::From(row) => Addresses::From(row + start as u64),
            Addresses::Signed(ids) => Addresses::Signed(&ids[start..end]),
            Addresses::Unsigned(ids) => Addresses::Unsigned(&ids[start..end]),
            Addresses::Ids(ids) => Addresses::Ids(&ids[start..end]),
        }
    }
}

/// The negative ids' mark in a nonce; codes stay below 2^53.
const NEGATIVE: u64 = 1 << 63;

/// The keys of one draw.
enum Streams {
    None,
    Position {
        words: Keystream,
        more: Keystream,
    },
    /// Those that are needed.
    Ids {
        integer: Option<Keystream>,
        text: Option<[u8; 32]>,
        bytes: Option<[u8; 32]>,
    },
}

impl Drop for Streams {
    fn drop(&mut self) {
        if let Streams::Ids { text, bytes, .. } = self {
            text.zeroize();
            bytes.zeroize();
        }
    }
}

/// A draw, or a composite of draws, with its keys.
struct Node<'a> {
    sampler: &'a Sampler,
    size: u64,
    streams: Streams,
    parts: Vec<Node<'a>>,
}

/// How the records of a call are addressed, so that no key is derived in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By position.
    Position,
    /// By ids of any kind.
    Ids,
    /// By integers alone.
    Integers,
    /// By texts alone.
    Texts,
    /// By bytes alone.
    Bytes,
}

impl From<Id<'_>> for By {
    fn from(id: Id<'_>) -> Self {
        match id {
            Id::Integer(_) => By::Integers,
            Id::Text(_) => By::Texts,
            Id::Bytes(_) => By::Bytes,
        }
    }
}

/// A matrix under a key and labels, ready to randomize.
pub struct Randomizer<'a> {
    root: Node<'a>,
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
        let root = node(matrix, by, &mut path, &make);
        Ok(Randomizer {
            root,
            buffers: 2 * matrix.family.depth(),
        })
    }

    /// Draw a report for every code. `codes` are the true ones; without them they stand in `out`.
    ///
    /// # Errors
    /// The position of the first code that the matrix does not have; `out` means nothing then.
    pub fn run<T: Cell>(
        &self,
        codes: Option<&[T]>,
        out: &mut [T],
        addresses: Addresses<'_>,
        threads: usize,
    ) -> std::result::Result<(), usize> {
        match self.root.size {
            0..=0x100 => self.run_as::<T, u8>(codes, out, addresses, threads),
            0x101..=0x1_0000 => self.run_as::<T, u16>(codes, out, addresses, threads),
            0x1_0001..=0x1_0000_0000 => self.run_as::<T, u32>(codes, out, addresses, threads),
            _ => self.run_as::<T, u64>(codes, out, addresses, threads),
        }
    }

    fn run_as<T: Cell, C: Code>(
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
            .collect();
        let bad = AtomicUsize::new(usize::MAX);
        let (first, rest) = out.split_at_mut(head);
        let starts = std::iter::once(0).chain((head..n).step_by(CHUNK));
        let parts = starts.zip(std::iter::once(first).chain(rest.chunks_mut(CHUNK)));
        pool::share_out(parts, &mut states, |scratch, (start, out)| {
            let end = start + out.len();
            let codes = codes.map(|codes| &codes[start..end]);
            let addresses = addresses.part(start, end);
            if let Err(position) = self.chunk(codes, out, addresses, scratch) {
                bad.fetch_min(start + position, Ordering::Relaxed);
            }
        });
        match bad.into_inner() {
            usize::MAX => Ok(()),
            position => Err(position),
        }
    }

    fn chunk<T: Cell, C: Code>(
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

/// An array's item.
pub trait Cell: Code {}
impl<T: Code> Cell for T {}

fn node<'a>(
    matrix: &'a Matrix,
    by: By,
    path: &mut Vec<u64>,
    make: &dyn Fn(Purpose, &[u64]) -> [u8; 32],
) -> Node<'a> {
    let sampler = matrix.sampler();
    let stream = |purpose, path: &[u64]| {
        let mut secret = make(purpose, path);
        let stream = Keystream::new(&secret);
        secret.zeroize();
        stream
    };
    let own = |path: &[u64]| {
        if by == By::Position {
            return Streams::Position {
                words: stream(Purpose::Words, path),
                more: stream(Purpose::More, path),
            };
        }
        let needs = |kind| by == kind || by == By::Ids;
        Streams::Ids {
            integer: needs(By::Integers).then(|| stream(Purpose::IdInteger, path)),
            text: needs(By::Texts).then(|| make(Purpose::IdText, path)),
            bytes: needs(By::Bytes).then(|| make(Purpose::IdBytes, path)),
        }
    };
    let mut all = |parts: &'a [Matrix]| {
        (0..)
            .zip(parts)
            .map(|(i, part)| {
                path.push(i);
                let node = node(part, by, path, make);
                path.pop();
                node
            })
            .collect()
    };
    let parts = match sampler {
        Sampler::Composite(composite) => match &composite.form {
            Form::Kron(parts) | Form::Mix(_, parts) | Form::Product(parts) => all(parts),
        },
        _ => Vec::new(),
    };
    let streams = match sampler {
        Sampler::Certain(_) => Streams::None,
        Sampler::Composite(composite) => match composite.form {
            Form::Mix(..) => own(path),
            _ => Streams::None,
        },
        _ => own(path),
    };
    Node {
        sampler,
        size: matrix.family.size(),
        streams,
        parts,
    }
}

/// One thread's buffers, erased when dropped.
struct Scratch<C> {
    src: Box<[C]>,
    dst: Box<[C]>,
    space: Box<[C]>,
    work: Work,
}

impl<C: Code> Scratch<C> {
    /// For blocks of `records`, with `buffers` more for composites.
    fn new(records: usize, buffers: usize) -> Self {
        let codes = |n: usize| vec![C::default(); n * records].into_boxed_slice();
        Scratch {
            src: codes(1),
            dst: codes(1),
            space: codes(buffers),
            work: Work::new(records, buffers / 2),
        }
    }
}

impl<C> Drop for Scratch<C> {
    fn drop(&mut self) {
        self.work.words.zeroize();
        self.work.first.zeroize();
    }
}

/// What one draw of a block needs.
struct Work {
    /// First words in the order of records, with room for a block that starts late.
    words: Box<[u8]>,
    /// First eight bytes of addressed blocks.
    first: Box<[u64]>,
    /// Addresses of blocks: counters, nonces.
    counters: Box<[u64]>,
    nonces: Box<[u64]>,
    undecided: Undecided,
    /// Which part of a mixture each record takes, one buffer for each level of nesting.
    picks: Vec<Box<[u32]>>,
}

impl Work {
    fn new(records: usize, mixtures: usize) -> Self {
        let numbers = || vec![0u64; records].into_boxed_slice();
        Work {
            words: vec![0; 8 * records + 2 * BLOCK].into(),
            first: numbers(),
            counters: numbers(),
            nonces: numbers(),
            undecided: Undecided::new(records),
            picks: vec![vec![0; records].into(); mixtures],
        }
    }

    /// Counters and nonces of a block with integer ids.
    fn address<C: Code>(&mut self, at: Addresses<'_>, codes: &[C]) {
        let nonces = self.nonces.iter_mut().zip(codes);
        match at {
            Addresses::From(_) => {}
            Addresses::Signed(ids) => {
                for ((counter, (nonce, code)), id) in self.counters.iter_mut().zip(nonces).zip(ids)
                {
                    *counter = *id as u64;
                    *nonce = code.get() | (*id as u64 & NEGATIVE);
                }
            }
            Addresses::Unsigned(ids) => {
                for ((counter, (nonce, code)), id) in self.counters.iter_mut().zip(nonces).zip(ids)
                {
                    *counter = *id;
                    *nonce = code.get();
                }
            }
            // The codes, for the hash.
            Addresses::Ids(_) => nonces.for_each(|(nonce, code)| *nonce = code.get()),
        }
    }
}

/// Reports of a block of records.
fn draw<C: Code>(
    node: &Node<'_>,
    at: Addresses<'_>,
    src: &[C],
    dst: &mut [C],
    space: &mut [C],
    work: &mut Work,
) {
    match node.sampler {
        Sampler::Certain(targets) => {
            for (v, u) in dst.iter_mut().zip(src) {
                *v = C::low(certain(targets.as_deref(), u.get()));
            }
        }
        Sampler::Composite(composite) => match &composite.form {
            Form::Kron(_) => kron(node, at, src, dst, space, work),
            Form::Mix(pick, _) => mix(node, pick, at, src, dst, space, work),
            Form::Product(_) => {
                let (middle, space) = space.split_at_mut(src.len());
                draw(&node.parts[0], at, src, middle, space, work);
                draw(&node.parts[1], at, middle, dst, space, work);
            }
        },
        leaf => leaf_draw(leaf, &node.streams, at, src, dst, work),
    }
}

fn kron<C: Code>(
    node: &Node<'_>,
    at: Addresses<'_>,
    src: &[C],
    dst: &mut [C],
    space: &mut [C],
    work: &mut Work,
) {
    let (digits, space) = space.split_at_mut(src.len());
    let (reports, space) = space.split_at_mut(src.len());
    dst.fill(C::default());
    let mut place = 1;
    for part in node.parts.iter().rev() {
        for (digit, u) in digits.iter_mut().zip(src) {
            *digit = C::low(u.get() / place % part.size);
        }
        draw(part, at, digits, reports, space, work);
        for (v, report) in dst.iter_mut().zip(&*reports) {
            *v = C::low(v.get() + place * report.get());
        }
        place *= part.size;
    }
}

fn mix<C: Code>(
    node: &Node<'_>,
    pick: &Sampler,
    at: Addresses<'_>,
    src: &[C],
    dst: &mut [C],
    space: &mut [C],
    work: &mut Work,
) {
    // A mixture of more than 2^32 parts does not fit in memory.
    let Some(mut picks) = work.picks.pop() else {
        return;
    };
    let chosen = &mut picks[..src.len()];
    // Codes do not enter the choice, but all words are addressed alike.
    leaf_draw(
        pick,
        &node.streams,
        at,
        &[0u32; RECORDS][..src.len()],
        chosen,
        work,
    );
    let (reports, space) = space.split_at_mut(src.len());
    for (i, part) in (0..).zip(&node.parts) {
        // Words are addressed, so a part that nobody takes can be left out.
        if chosen.contains(&i) {
            draw(part, at, src, reports, space, work);
            for ((v, report), pick) in dst.iter_mut().zip(&*reports).zip(&*chosen) {
                *v = if *pick == i { *report } else { *v };
            }
        }
    }
    work.picks.push(picks);
}

/// One draw for a block of records.
fn leaf_draw<C: Code>(
    leaf: &Sampler,
    streams: &Streams,
    at: Addresses<'_>,
    src: &[C],
    dst: &mut [C],
    work: &mut Work,
) {
    let bytes = match leaf {
        Sampler::Two(_) => 2,
        Sampler::Four(_) => 4,
        _ => 8,
    };
    let skip = first_words(streams, at, src.len(), bytes, work);
    let words = &work.words[skip..skip + src.len() * bytes];
    let undecided = &mut work.undecided;
    match leaf {
        Sampler::Two(kind) => kernel::draw(kind, words, src, dst, undecided),
        Sampler::Four(kind) => kernel::draw(kind, words, src, dst, undecided),
        Sampler::Eight(kind) => kernel::draw(kind, words, src, dst, undecided),
        Sampler::Certain(_) | Sampler::Composite(_) => {}
    }
    resolve(leaf, streams, at, src, dst, work, skip, bytes);
}

/// Put the first words of `n` records into the buffer; where they start.
fn first_words(
    streams: &Streams,
    at: Addresses<'_>,
    n: usize,
    bytes: usize,
    work: &mut Work,
) -> usize {
    match (streams, at) {
        (Streams::Position { words, .. }, Addresses::From(row)) => {
            let per_block = (BLOCK / bytes) as u64;
            let skip = (row % per_block) as usize * bytes;
            let end = (skip + n * bytes).next_multiple_of(BLOCK);
            words.fill(0, row / per_block, &mut work.words[..end]);
            skip
        }
        (
            Streams::Ids {
                integer: Some(integer),
                ..
            },
            Addresses::Signed(_) | Addresses::Unsigned(_),
        ) => {
            integer.first_words(&work.counters[..n], &work.nonces[..n], &mut work.first[..n]);
            let pairs = work.words.chunks_exact_mut(bytes).zip(&work.first[..n]);
            match bytes {
                2 => pairs.for_each(|(to, word)| to.copy_from_slice(&(*word as u16).to_le_bytes())),
                4 => pairs.for_each(|(to, word)| to.copy_from_slice(&(*word as u32).to_le_bytes())),
                _ => pairs.for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes())),
            }
            0
        }
        (streams, Addresses::Ids(ids)) => {
            let records = ids.iter().zip(&work.nonces[..n]);
            for (to, (id, code)) in work.words.chunks_exact_mut(bytes).zip(records) {
                let mut block = id_block(streams, *id, *code);
                to.copy_from_slice(&block[..bytes]);
                block.zeroize();
            }
            0
        }
        _ => 0,
    }
}

/// The 64 bytes that an id and a code address.
fn id_block(streams: &Streams, id: Id<'_>, code: u64) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let Streams::Ids {
        integer,
        text,
        bytes,
    } = streams
    else {
        return block;
    };
    let (key, id) = match (id, integer, text, bytes) {
        (Id::Integer(id), Some(integer), _, _) => {
            let nonce = code | if id < 0 { NEGATIVE } else { 0 };
            let words = integer.block(id as u64, nonce);
            for (to, word) in block.chunks_exact_mut(4).zip(words) {
                to.copy_from_slice(&word.to_le_bytes());
            }
            return block;
        }
        (Id::Text(id), _, Some(text), _) => (text, id),
        (Id::Bytes(id), _, _, Some(bytes)) => (bytes, id),
        _ => return block,
    };
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&code.to_le_bytes());
    hasher.update(id);
    hasher.finalize_xof().fill(&mut block);
    hasher.zeroize();
    block
}

/// Take further words for the records that are undecided.
#[allow(clippy::too_many_arguments)]
fn resolve<C: Code>(
    leaf: &Sampler,
    streams: &Streams,
    at: Addresses<'_>,
    src: &[C],
    dst: &mut [C],
    work: &mut Work,
    skip: usize,
    bytes: usize,
) {
    let undecided = work.undecided.positions();
    let answer = |i: usize, more: &mut Further<'_>| {
        let word = &work.words[skip + i * bytes..][..bytes];
        let u = src[i].get();
        let v = match leaf {
            Sampler::Two(kind) => kind.resolve(u16::read(word).into(), u, more),
            Sampler::Four(kind) => kind.resolve(u32::read(word).into(), u, more),
            Sampler::Eight(kind) => kind.resolve(u64::read(word), u, more),
            Sampler::Certain(_) | Sampler::Composite(_) => u,
        };
        C::low(v)
    };
    match (streams, at) {
        (Streams::Position { more, .. }, Addresses::From(row)) => {
            // The first further words of all of them at once; the next ones are rarer still.
            let (mut counters, mut first) = ([0; 16], [0; 16]);
            for some in undecided.chunks(16) {
                for (counter, &i) in counters.iter_mut().zip(some) {
                    *counter = row + u64::from(i);
                }
                let n = some.len();
                more.first_words(&counters[..n], &[0; 16][..n], &mut first[..n]);
                for ((&i, &counter), &first) in some.iter().zip(&counters).zip(&first) {
                    let mut more = Further {
                        stream: Stream::Position(more, counter),
                        drawn: 0,
                        block: [0; 16],
                        first: Some(first),
                    };
                    dst[usize::from(i)] = answer(usize::from(i), &mut more);
                }
            }
        }
        (streams, at) => {
            for &i in undecided {
                let i = usize::from(i);
                let id = match at {
                    Addresses::From(row) => Id::Integer((row + i as u64).into()),
                    Addresses::Signed(ids) => Id::Integer(ids[i].into()),
                    Addresses::Unsigned(ids) => Id::Integer(ids[i].into()),
                    Addresses::Ids(ids) => ids[i],
                };
                let mut block = id_block(streams, id, work.nonces[i] & !NEGATIVE);
                let mut secret = [0; 32];
                secret.copy_from_slice(&block[32..]);
                let mut more = Further {
                    stream: Stream::Own(Keystream::new(&secret)),
                    drawn: 0,
                    block: [0; 16],
                    first: None,
                };
                dst[i] = answer(i, &mut more);
                block.zeroize();
                secret.zeroize();
            }
        }
    }
}

enum Stream<'a> {
    Position(&'a Keystream, u64),
    Own(Keystream),
}

/// A record's further words.
struct Further<'a> {
    stream: Stream<'a>,
    drawn: u64,
    block: [u32; 16],
    first: Option<u64>,
}

impl More for Further<'_> {
    fn next(&mut self) -> u64 {
        let n = self.drawn;
        self.drawn += 1;
        if let (0, Some(first)) = (n, self.first) {
            return first;
        }
        // The block of word 0 was not kept where its word was.
        if n.is_multiple_of(8) || (n == 1 && self.first.is_some()) {
            self.block = match &self.stream {
                Stream::Position(stream, row) => stream.block(*row, n / 8),
                Stream::Own(stream) => stream.block(n / 8, 0),
            };
        }
        let at = 2 * (n % 8) as usize;
        u64::from(self.block[at]) | u64::from(self.block[at + 1]) << 32
    }
}

impl Drop for Further<'_> {
    fn drop(&mut self) {
        self.block.zeroize();
    }
}

/// The error for a code that a matrix does not have: where, never which.
pub fn refuse(position: usize, size: u64) -> Error {
    Error::value(
        "codes",
        format!("hold whole numbers from 0 to {}", size - 1),
        format!("another at position {position}"),
    )
}

/// The least that randomizing a column of bytes takes, for benchmarks: two bytes of the keystream a
/// record, and a copy.
pub fn floor(codes: &[u8], out: &mut [u8], threads: usize) {
    let stream = Keystream::new(&[0; 32]);
    let mut states = vec![vec![0; 2 * RECORDS]; threads.max(1)];
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

    /// What [`Further`] gives is what the law of addresses says.
    #[test]
    fn further_words_are_the_blocks_of_the_row() {
        let stream = Keystream::new(&[3; 32]);
        let words = |block: [u32; 16]| -> Vec<u64> {
            let pair = |p: &[u32]| u64::from(p[0]) | u64::from(p[1]) << 32;
            block.chunks(2).map(pair).collect()
        };
        let want: Vec<u64> = (0..3)
            .flat_map(|nonce| words(stream.block(9, nonce)))
            .collect();
        for first in [None, Some(want[0])] {
            let mut more = Further {
                stream: Stream::Position(&stream, 9),
                drawn: 0,
                block: [0; 16],
                first,
            };
            let got: Vec<u64> = (0..24).map(|_| more.next()).collect();
            assert_eq!(got, want);
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
                assert_eq!(got, Err(position));
            }
        }
    }
}
