//! A table's columns by position, in blocks of rows whose noise depends on what they hold.
//!
//! Two files under one key and one label would share their noise row by row, and whoever knows one of them would
//! read the other. So the noise of a block of rows depends on the block:
//!
//! ```text
//! digest = blake3 keyed by (key, Block, ('plan', name, release)) of what the block holds
//! words  = those of (digest, Words, ('plan', name, release, columns, block number), path, matrix), row 0 the block's first
//! ```
//!
//! The digest, itself secret under the key, takes the key's place. What it is of, in bytes, all little-endian:
//!
//! 1. the number of rows and the number of columns, 8 bytes each;
//! 2. for every column the width of its codes in bytes, 1 byte, and the codes;
//! 3. 1 and a byte for every row, 1 where it is missing, if one is; else 0;
//! 4. 1 and 4 bytes for every row, its stratum, if the column has strata; else 0.
//!
//! Whoever reads that from the left knows where each part ends, so two blocks that differ in anything differ in
//! it. Equal blocks at the same place of two files have equal reports: that an unchanged block is unchanged is seen.
//!
//! Blocks have [`ROWS`] rows, and a shorter last one joins the one before. So no block is small unless the table
//! is. Rows keep their places whether or not they are missing, and whatever their stratum.

use blake3::Hasher;
use zeroize::{Zeroize, Zeroizing};

use super::address::Which;
use super::code::{Code, Room};
use super::draw::{At, draw};
use super::work::Scratch;
use super::{RECORDS, Randomizer, RowKeys, Rows};
use crate::derive::{Label, Purpose, derive};
use crate::error::{Error, Result};
use crate::family::Matrix;
use crate::key::Key;
use crate::system::memory;
use crate::{erase, pool};

/// Rows of a block.
pub const ROWS: usize = 1 << 16;

/// Blocks whose keys are held at a time.
const TOGETHER: usize = 64;

/// Bytes that are hashed at a time: long enough for blake3's widest vectors.
const BUFFER: usize = 1 << 16;

/// The true codes of a column and room for its reports, as narrow as its matrices allow.
pub enum Codes<'a> {
    /// Up to 256 categories.
    One(&'a [u8], &'a mut [u8]),
    /// Up to 65,536.
    Two(&'a [u16], &'a mut [u16]),
    /// Up to 2^32.
    Four(&'a [u32], &'a mut [u32]),
    /// More.
    Eight(&'a [u64], &'a mut [u64]),
}

/// `$run` for the slices of codes, whatever their width.
macro_rules! each {
    ($codes:expr, $given:pat, $out:pat => $run:expr) => {
        match $codes {
            Codes::One($given, $out) => $run,
            Codes::Two($given, $out) => $run,
            Codes::Four($given, $out) => $run,
            Codes::Eight($given, $out) => $run,
        }
    };
}

impl<'a> Codes<'a> {
    fn rows(&self) -> usize {
        each!(self, given, _ => given.len())
    }

    /// The first `n` rows, and the others.
    fn split(self, n: usize) -> (Self, Self) {
        macro_rules! split {
            ($variant:ident, $given:expr, $out:expr) => {{
                let (given, later) = $given.split_at(n);
                let (out, later_out) = $out.split_at_mut(n);
                (
                    Codes::$variant(given, out),
                    Codes::$variant(later, later_out),
                )
            }};
        }
        match self {
            Codes::One(given, out) => split!(One, given, out),
            Codes::Two(given, out) => split!(Two, given, out),
            Codes::Four(given, out) => split!(Four, given, out),
            Codes::Eight(given, out) => split!(Eight, given, out),
        }
    }
}

/// A column of a plan.
pub struct Column<'a> {
    /// Its name, or the names of what it joins.
    pub names: &'a [Label],
    /// Its codes; any where a row is missing.
    pub codes: Codes<'a>,
    /// Whether each row is missing.
    pub missing: Option<&'a [bool]>,
    /// Which of the matrices each row has.
    pub strata: Option<&'a [u32]>,
    /// One, or one a stratum; all of one size.
    pub matrices: Vec<&'a Matrix>,
}

impl Column<'_> {
    fn check(&self, rows: usize) -> Result<()> {
        let each = |what, n: usize| match n == rows {
            true => Ok(()),
            false => {
                let must = format!("be one for each of the {rows} records");
                Err(Error::value(what, must, n))
            }
        };
        each("codes", self.codes.rows())?;
        each("missing", self.missing.map_or(rows, <[bool]>::len))?;
        each("strata", self.strata.map_or(rows, <[u32]>::len))?;
        let Some(first) = self.matrices.first() else {
            return Err(Error::value("matrices", "hold at least one", "none"));
        };
        let size = first.family.size();
        if let Some(other) = self.matrices.iter().find(|m| m.family.size() != size) {
            let must = format!("all have size {size}");
            return Err(Error::value("matrices", must, other.family.size()));
        }
        let width = each!(&self.codes, given, _ => width_of(given));
        let narrow = 1 << super::code::Narrow::of(size) as usize;
        if width != narrow {
            let (must, got) = (
                format!("have {narrow} bytes each"),
                format!("{width} bytes"),
            );
            return Err(Error::value("codes", must, got));
        }
        if self.strata.is_none() && self.matrices.len() > 1 {
            let got = format!("{} matrices and no strata", self.matrices.len());
            return Err(Error::value("matrices", "be one a stratum", got));
        }
        Ok(())
    }
}

fn width_of<C>(_codes: &[C]) -> usize {
    size_of::<C>()
}

/// What the noise of a table depends on, beside what the table holds.
#[derive(Clone, Copy)]
pub struct Labels<'a> {
    /// The name of the plan.
    pub plan: &'a str,
    /// The label of the release.
    pub release: &'a str,
}

impl Labels<'_> {
    fn with(self, more: impl IntoIterator<Item = Label>) -> Vec<Label> {
        let release = Label::Text(self.release.into());
        Label::plan(self.plan, std::iter::once(release).chain(more))
    }
}

/// How many rows each block of a table has, or of a piece of one that starts with a block and, unless it is the
/// `last`, ends with one.
pub fn blocks(rows: usize, last: bool) -> impl Iterator<Item = usize> {
    let whole = rows / ROWS;
    let rest = if last { rows % ROWS } else { 0 };
    let joined = usize::from(rest > 0 && whole > 0);
    let tail = match (rest, joined) {
        (0, _) => None,
        (rest, 0) => Some(rest),
        (rest, _) => Some(ROWS + rest),
    };
    std::iter::repeat_n(ROWS, whole - joined).chain(tail)
}

/// Why there are no reports: the position in the list of columns, and in the column, of a code or a stratum that
/// there is not; or a call that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The column, and the row.
    Code(usize, usize),
    /// What the caller put together does not fit.
    Call(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Refused::Call(error)
    }
}

/// Draw a report for every row of every column, block by block, the first of them block number `first`. Unless these
/// are the `last` rows of the table, they end with a block.
///
/// # Errors
/// Columns that do not fit together; a code or a stratum that there is not. Reports mean nothing then.
pub fn run(
    key: &Key,
    labels: Labels<'_>,
    columns: Vec<Column<'_>>,
    (first, last): (u64, bool),
    threads: usize,
) -> std::result::Result<(), Refused> {
    let rows = columns.first().map_or(0, |column| column.codes.rows());
    for column in &columns {
        column.check(rows)?;
    }
    if !last && !rows.is_multiple_of(ROWS) {
        let must = format!("come in blocks of {ROWS} rows until the last");
        return Err(Error::value("codes", must, rows).into());
    }
    let mut left = columns;
    let (mut number, mut row) = (first, 0);
    let mut sizes = blocks(rows, last).peekable();
    while sizes.peek().is_some() {
        let mut group = Vec::new();
        for size in sizes.by_ref().take(TOGETHER) {
            let (now, later) = left.into_iter().map(|column| cut(column, size)).unzip();
            left = later;
            let block = Block {
                number,
                row,
                columns: now,
            };
            memory::push(&mut group, block);
            number += 1;
            row += size;
        }
        draw_all(key, labels, group, threads)?;
    }
    Ok(())
}

/// The first `n` rows of a column, and the others.
fn cut(column: Column<'_>, n: usize) -> (Column<'_>, Column<'_>) {
    let (codes, later) = column.codes.split(n);
    let (missing, later_missing) = column.missing.map(|slice| slice.split_at(n)).unzip();
    let (strata, later_strata) = column.strata.map(|slice| slice.split_at(n)).unzip();
    let matrices = memory::copied(&column.matrices);
    let now = Column {
        names: column.names,
        codes,
        missing,
        strata,
        matrices,
    };
    let later = Column {
        names: column.names,
        codes: later,
        missing: later_missing,
        strata: later_strata,
        matrices: column.matrices,
    };
    (now, later)
}

/// Some rows of all columns.
struct Block<'a> {
    number: u64,
    /// Of the first row in the call.
    row: usize,
    columns: Vec<Column<'a>>,
}

/// A column of a block, with the keys of its draws.
struct Part<'a> {
    position: usize,
    row: usize,
    codes: Codes<'a>,
    strata: Option<&'a [u32]>,
    draws: Vec<Randomizer<'a, RowKeys>>,
}

fn draw_all(
    key: &Key,
    labels: Labels<'_>,
    group: Vec<Block<'_>>,
    threads: usize,
) -> std::result::Result<(), Refused> {
    let digests = digests(key, labels, &group, threads);
    let mut parts = Vec::new();
    let mut room = Room::default();
    for (block, digest) in group.into_iter().zip(digests) {
        let number = Label::Integer(block.number.into());
        for (position, column) in block.columns.into_iter().enumerate() {
            let names = Label::List(memory::copied(column.names));
            let labels = labels.with([names, number.clone()]);
            let draws = column
                .matrices
                .iter()
                .map(|&m| Randomizer::new(m, &digest, &labels));
            let draws = memory::all(draws)?;
            for draw in &draws {
                room = room.or(draw.room);
            }
            let (codes, strata, row) = (column.codes, column.strata, block.row);
            memory::push(
                &mut parts,
                Part {
                    position,
                    row,
                    codes,
                    strata,
                    draws,
                },
            );
        }
    }
    let workers = threads.clamp(1, parts.len().max(1));
    let mut states = memory::collected((0..workers).map(|_| State::new(room)));
    if workers > 1 {
        // As in the loop over chunks of one column.
        erase::stack();
    }
    let bad = std::sync::Mutex::new(None::<(usize, usize)>);
    pool::share_out(parts.into_iter(), &mut states, |state, part| {
        let Part {
            position,
            row,
            codes,
            strata,
            draws,
        } = part;
        let done = erase::after(|| match codes {
            Codes::One(given, out) => state.draw(|s| &mut s.one, &draws, given, strata, out),
            Codes::Two(given, out) => state.draw(|s| &mut s.two, &draws, given, strata, out),
            Codes::Four(given, out) => state.draw(|s| &mut s.four, &draws, given, strata, out),
            Codes::Eight(given, out) => state.draw(|s| &mut s.eight, &draws, given, strata, out),
        });
        if let Err(at) = done {
            let mut bad = bad
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let found = (position, row + at);
            *bad = Some(bad.map_or(found, |before| before.min(found)));
        }
    });
    match bad
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
    {
        None => Ok(()),
        Some((column, row)) => Err(Refused::Code(column, row)),
    }
}

/// The digest of every block, each a key from now on.
fn digests(key: &Key, labels: Labels<'_>, group: &[Block<'_>], threads: usize) -> Vec<Key> {
    let secret = derive(key, Purpose::Block, &labels.with([]), &[], &[0; 32]);
    let mut digests = memory::collected(group.iter().map(|_| erase::empty()));
    let workers = threads.clamp(1, group.len().max(1));
    let mut states =
        memory::collected((0..workers).map(|_| Zeroizing::new(memory::zeros::<u8>(BUFFER))));
    let parts = group.iter().zip(&mut digests);
    pool::share_out(parts, &mut states, |buffer, (block, digest)| {
        erase::after(|| {
            let mut hasher = Hasher::new_keyed(&secret);
            hold(block, &mut hasher, buffer);
            let mut output = hasher.finalize_xof();
            output.fill(&mut digest[..]);
            output.zeroize();
            hasher.zeroize();
        });
    });
    memory::collected(digests.iter().map(|digest| Key::from_bytes(***digest)))
}

/// Hash what a block holds.
fn hold(block: &Block<'_>, hasher: &mut Hasher, buffer: &mut [u8]) {
    let rows = block
        .columns
        .first()
        .map_or(0, |column| column.codes.rows());
    hasher.update(&(rows as u64).to_le_bytes());
    hasher.update(&(block.columns.len() as u64).to_le_bytes());
    for column in &block.columns {
        match &column.codes {
            Codes::One(given, _) => {
                hasher.update(&[1]);
                hasher.update(given);
            }
            Codes::Two(given, _) => {
                hasher.update(&[2]);
                words(given.iter().map(|code| code.to_le_bytes()), hasher, buffer);
            }
            Codes::Four(given, _) => {
                hasher.update(&[4]);
                words(given.iter().map(|code| code.to_le_bytes()), hasher, buffer);
            }
            Codes::Eight(given, _) => {
                hasher.update(&[8]);
                words(given.iter().map(|code| code.to_le_bytes()), hasher, buffer);
            }
        }
        match column.missing.filter(|missing| missing.contains(&true)) {
            Some(missing) if !mutant!("missing-not-in-digest") => {
                hasher.update(&[1]);
                words(missing.iter().map(|&is| [u8::from(is)]), hasher, buffer);
            }
            _ => {
                hasher.update(&[0]);
            }
        }
        match column.strata {
            Some(strata) => {
                hasher.update(&[1]);
                words(
                    strata.iter().map(|stratum| stratum.to_le_bytes()),
                    hasher,
                    buffer,
                );
            }
            None => {
                hasher.update(&[0]);
            }
        }
    }
}

/// Hash words of `N` bytes, through a buffer so that the hash sees long runs.
fn words<const N: usize>(
    mut words: impl Iterator<Item = [u8; N]>,
    hasher: &mut Hasher,
    buffer: &mut [u8],
) {
    loop {
        let mut filled = 0;
        for (cell, word) in buffer.chunks_exact_mut(N).zip(&mut words) {
            cell.copy_from_slice(&word);
            filled += N;
        }
        hasher.update(&buffer[..filled]);
        if filled < buffer.len() / N * N {
            return;
        }
    }
}

/// One thread's buffers, for codes of every width.
struct State {
    one: Scratch<u8>,
    two: Scratch<u16>,
    four: Scratch<u32>,
    eight: Scratch<u64>,
    which: Box<[u16]>,
}

impl State {
    fn new(room: Room) -> Self {
        State {
            one: Scratch::new(RECORDS, room),
            two: Scratch::new(RECORDS, room),
            four: Scratch::new(RECORDS, room),
            eight: Scratch::new(RECORDS, room),
            which: memory::zeros(RECORDS).into(),
        }
    }

    /// Reports of a column of a block; the position of a code or a stratum that there is not.
    fn draw<C: Code>(
        &mut self,
        scratch: impl Fn(&mut State) -> &mut Scratch<C>,
        draws: &[Randomizer<'_, RowKeys>],
        given: &[C],
        strata: Option<&[u32]>,
        out: &mut [C],
    ) -> std::result::Result<(), usize> {
        let Some(strata) = strata else {
            return draws[0].chunk(Some(given), out, Rows(0), scratch(self));
        };
        let mut which = std::mem::take(&mut self.which);
        let drawn = stratified(draws, given, strata, out, scratch(self), &mut which);
        self.which = which;
        drawn
    }
}

/// The same where each row has the matrix of its stratum.
fn stratified<C: Code>(
    draws: &[Randomizer<'_, RowKeys>],
    given: &[C],
    strata: &[u32],
    out: &mut [C],
    scratch: &mut Scratch<C>,
    which: &mut [u16],
) -> std::result::Result<(), usize> {
    let Scratch {
        src,
        dst,
        buffers,
        work,
    } = scratch;
    let parts = given
        .chunks(RECORDS)
        .zip(strata.chunks(RECORDS))
        .zip(out.chunks_mut(RECORDS));
    for (i, ((given, strata), out)) in parts.enumerate() {
        let start = i * RECORDS;
        let beyond = strata
            .iter()
            .position(|&stratum| stratum as usize >= draws.len());
        if let Some(at) = beyond {
            return Err(start + at);
        }
        for (stratum, randomizer) in draws.iter().enumerate() {
            // Those of the stratum, who keep their places among the words. A row of another one is overwritten.
            let mut n = 0;
            for (at, &own) in strata.iter().enumerate() {
                which[n] = at as u16;
                n += usize::from(own as usize == stratum);
            }
            if n == 0 {
                continue;
            }
            let which = &which[..n];
            for (src, &at) in src.iter_mut().zip(which) {
                let code = given[usize::from(at)];
                if code.get() >= randomizer.size {
                    return Err(start + usize::from(at));
                }
                *src = code;
            }
            let (src, dst) = (&src[..n], &mut dst[..n]);
            let at = At {
                address: Rows(start as u64),
                which: Which::Some(which),
            };
            draw(&randomizer.root, at, src, dst, buffers.space(), work);
            for (&v, &at) in dst.iter().zip(which) {
                out[usize::from(at)] = v;
            }
        }
    }
    Ok(())
}
