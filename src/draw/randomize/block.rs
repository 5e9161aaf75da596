//! A table's columns by position, in blocks of rows whose noise depends on what they hold.
//!
//! Two files under one key and one label would share their noise row by row, and a reader who knows one of them could
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
//! 3. if a row is missing, 1 and a byte for every row, 1 if it is missing; else 0;
//! 4. 1 and 4 bytes for every row, its stratum, if the column has strata; else 0.
//!
//! Read from the left, each part shows where it ends, so two blocks that differ in anything have different bytes. Equal blocks at the same place of two files have equal reports: that an unchanged block is unchanged is seen.
//!
//! Blocks have [`ROWS`] rows, and a shorter last one joins the one before. So no block is small unless the table
//! is. Rows keep their places whether or not they are missing, and whatever their stratum.

use blake3::Hasher;
use zeroize::Zeroizing;

use super::address::{Records, RowKeys, Which};
use super::draw::{At, Scratch, draw};
use super::{Draws, RECORDS};
use crate::draw::code::{ByWidth, Code, CodeWidth, each};
use crate::draw::derive::{Label, Purpose, derive, finish};
use crate::draw::key::Key;
use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::system::pool;

/// Rows of a block.
pub const ROWS: usize = 1 << 16;

/// Blocks whose keys are held at a time.
const TOGETHER: usize = 64;

/// Bytes that are hashed at a time: long enough for blake3's widest vectors.
const BUFFER: usize = 1 << 16;

/// The true codes of a column and room for its reports, as narrow as its matrices allow.
pub type Codes<'a> = ByWidth<
    (&'a [u8], &'a mut [u8]),
    (&'a [u16], &'a mut [u16]),
    (&'a [u32], &'a mut [u32]),
    (&'a [u64], &'a mut [u64]),
>;

/// A column of a plan.
pub struct Column<'a> {
    /// Its name, or the names of what it joins.
    pub names: &'a [Label],
    /// Its codes. A missing row may have any code.
    pub codes: Codes<'a>,
    /// Whether each row is missing.
    pub missing: Option<&'a [bool]>,
    /// Which of the matrices each row has.
    pub strata: Option<&'a [u32]>,
    /// One, or one a stratum; all of one size.
    pub matrices: &'a [&'a Matrix],
}

impl Column<'_> {
    fn rows(&self) -> usize {
        each!(&self.codes, (given, _) => given.len())
    }

    fn check(&self, rows: usize) -> Result<()> {
        let lengths = [
            ("codes", self.rows()),
            ("missing", self.missing.map_or(rows, <[bool]>::len)),
            ("strata", self.strata.map_or(rows, <[u32]>::len)),
        ];
        if let Some((what, n)) = lengths.into_iter().find(|length| length.1 != rows) {
            let must = format!("be one for each of the {rows} records");
            return Err(Error::value(what, must, n));
        }
        let Some(first) = self.matrices.first() else {
            return Err(Error::value("matrices", "hold at least one", "none"));
        };
        let size = first.size();
        if let Some(other) = self.matrices.iter().find(|m| m.size() != size) {
            let must = format!("all have size {size}");
            return Err(Error::value("matrices", must, other.size()));
        }
        let (width, narrow) = (self.codes.bytes(), CodeWidth::of(size).bytes());
        if width != narrow {
            let must = format!("have {narrow} bytes each");
            return Err(Error::value("codes", must, format!("{width} bytes")));
        }
        if self.strata.is_none() && self.matrices.len() > 1 {
            let got = format!("{} matrices and no strata", self.matrices.len());
            return Err(Error::value("matrices", "be one a stratum", got));
        }
        Ok(())
    }
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
    let (whole, rest) = (rows / ROWS, if last { rows % ROWS } else { 0 });
    let joined = usize::from(rest > 0 && whole > 0);
    let tail = Some(joined * ROWS + rest).filter(|_| rest > 0);
    std::iter::repeat_n(ROWS, whole - joined).chain(tail)
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
) -> Result<()> {
    let rows = columns.first().map_or(0, |column| column.rows());
    for column in &columns {
        column.check(rows)?;
    }
    if !last && !rows.is_multiple_of(ROWS) {
        let must = format!("come in blocks of {ROWS} rows until the last");
        return Err(Error::value("codes", must, rows));
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
            group.push(block);
            number += 1;
            row += size;
        }
        draw_all(key, labels, group, threads)?;
    }
    Ok(())
}

/// The first `n` rows of a column, and the others.
fn cut(column: Column<'_>, n: usize) -> (Column<'_>, Column<'_>) {
    let (codes, later) = each!(column.codes, as_such, (given, out) => {
        let ((given, later), (out, later_out)) = (given.split_at(n), out.split_at_mut(n));
        (as_such((given, out)), as_such((later, later_out)))
    });
    let (missing, later_missing) = column.missing.map(|slice| slice.split_at(n)).unzip();
    let (strata, later_strata) = column.strata.map(|slice| slice.split_at(n)).unzip();
    let now = Column {
        codes,
        missing,
        strata,
        ..column
    };
    let later = Column {
        codes: later,
        missing: later_missing,
        strata: later_strata,
        ..column
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

/// A column of a block, with the draws of its matrices and their keys.
struct Part<'a> {
    position: usize,
    row: usize,
    column: Column<'a>,
    draws: Vec<(Draws<'a>, Vec<RowKeys>)>,
}

fn draw_all(key: &Key, labels: Labels<'_>, group: Vec<Block<'_>>, threads: usize) -> Result<()> {
    let digests = digests(key, labels, &group, threads);
    let mut parts = Vec::new();
    for (block, digest) in group.into_iter().zip(digests) {
        let (row, number) = (block.row, Label::Integer(block.number.into()));
        for (position, column) in block.columns.into_iter().enumerate() {
            let names = Label::List(column.names.to_vec());
            let labels = labels.with([names, number.clone()]);
            let draws = column.matrices.iter().map(|&matrix| {
                let draws = Draws::new(matrix);
                let keys = draws.keys(&digest, &labels, RowKeys::new);
                (draws, keys)
            });
            let draws = draws.collect::<Vec<_>>();
            let part = Part {
                position,
                row,
                column,
                draws,
            };
            parts.push(part);
        }
    }
    let workers = threads.clamp(1, parts.len().max(1));
    // Beside the buffers, the first column and row with a code or a stratum that there is not.
    let state = |_| (Scratch::new(RECORDS), None::<(usize, usize)>);
    let mut states = (0..workers).map(state).collect::<Vec<_>>();
    pool::share_out(parts.into_iter(), &mut states, |(scratch, bad), part| {
        let (strata, draws) = (part.column.strata, &part.draws);
        let done =
            each!(part.column.codes, (given, out) => drawn(draws, given, strata, out, scratch));
        if let Err(at) = done {
            let found = (part.position, part.row + at);
            *bad = Some(bad.map_or(found, |before| before.min(found)));
        }
    });
    let Some((column, row)) = states.iter().filter_map(|state| state.1).min() else {
        return Ok(());
    };
    let got = format!("one outside in column {column}, row {row}");
    Err(Error::value(
        "codes",
        "exist in their matrix and stratum",
        got,
    ))
}

/// The digest of every block, each a key from now on.
fn digests(key: &Key, labels: Labels<'_>, group: &[Block<'_>], threads: usize) -> Vec<Key> {
    let secret = derive(key, Purpose::Block, &labels.with([]), &[], &[0; 32]);
    let mut digests = group.iter().map(|_| None).collect::<Vec<_>>();
    let workers = threads.clamp(1, group.len().max(1));
    let mut states = vec![Zeroizing::new(vec![0u8; BUFFER]); workers];
    let parts = group.iter().zip(&mut digests);
    pool::share_out(parts, &mut states, |buffer, (block, digest)| {
        let mut hasher = Hasher::new_keyed(&secret);
        hold(block, &mut hasher, buffer);
        *digest = Some(Key::of(finish(&mut hasher)));
    });
    digests.into_iter().flatten().collect()
}

/// Hash what a block holds.
fn hold(block: &Block<'_>, hasher: &mut Hasher, buffer: &mut [u8]) {
    let rows = block.columns.first().map_or(0, |column| column.rows());
    hasher.update(&(rows as u64).to_le_bytes());
    hasher.update(&(block.columns.len() as u64).to_le_bytes());
    for column in &block.columns {
        hasher.update(&[column.codes.bytes() as u8]);
        match &column.codes {
            ByWidth::One((given, _)) => {
                hasher.update(given);
            }
            other => each!(other, (given, _) => {
                words(given.iter().map(|code| code.to_le_bytes()), hasher, buffer);
            }),
        }
        let missing = column.missing.filter(|missing| missing.contains(&true));
        hasher.update(&[missing.is_some().into()]);
        let missing = missing.unwrap_or_default().iter();
        words(missing.map(|&is| [u8::from(is)]), hasher, buffer);
        hasher.update(&[column.strata.is_some().into()]);
        let strata = column.strata.unwrap_or_default().iter();
        words(strata.map(|stratum| stratum.to_le_bytes()), hasher, buffer);
    }
}

/// Hash words of `N` bytes, through a buffer so that the hash sees long runs.
pub(in crate::draw) fn words<const N: usize>(
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

/// Draw a column of a block under one matrix, or each row under that of its stratum. The error is the position of a code
/// or a stratum that does not exist.
fn drawn<C: Code>(
    draws: &[(Draws<'_>, Vec<RowKeys>)],
    given: &[C],
    strata: Option<&[u32]>,
    out: &mut [C],
    scratch: &mut Scratch,
) -> std::result::Result<(), usize> {
    let Some(strata) = strata else {
        let (draws, keys) = &draws[0];
        return draws.chunk::<C, C>(Some(given), out, Records::Rows(0, keys), scratch);
    };
    let (mut all_src, mut all_dst) = (scratch.spare.take::<C>(), scratch.spare.take::<C>());
    let mut which = scratch.spare.take::<u16>();
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
        for (stratum, (draws, keys)) in draws.iter().enumerate() {
            // Rows of the stratum keep their places among the words. A row of another stratum is overwritten.
            let mut n = 0;
            for (at, &own) in strata.iter().enumerate() {
                which[n] = at as u16;
                n += usize::from(own as usize == stratum);
            }
            if n == 0 {
                continue;
            }
            let which = &which[..n];
            let (src, dst) = (&mut all_src[..n], &mut all_dst[..n]);
            for (src, &at) in src.iter_mut().zip(which) {
                let code = given[usize::from(at)];
                if code.get() >= draws.truths {
                    return Err(start + usize::from(at));
                }
                *src = code;
            }
            let at = At {
                records: Records::Rows(start as u64, keys),
                which: Which::Some(which),
            };
            draw(draws.sampler, 0, at, src, dst, scratch);
            for (&v, &at) in dst.iter().zip(which) {
                out[usize::from(at)] = v;
            }
        }
    }
    scratch.spare.give(all_src);
    scratch.spare.give(all_dst);
    scratch.spare.give(which);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::examples::response;

    /// A table of codes of one byte with strata, and of eight bytes with missing rows.
    struct Held {
        one: Vec<u8>,
        eight: Vec<u64>,
        missing: Vec<bool>,
        strata: Vec<u32>,
        laws: [Matrix; 3],
    }

    const LABELS: Labels<'static> = Labels {
        plan: "survey",
        release: "2026",
    };

    impl Held {
        fn new(rows: usize) -> Self {
            Held {
                one: vec![4; rows],
                eight: vec![3; rows],
                missing: vec![false; rows],
                strata: vec![1; rows],
                laws: [response(5, 0.2), response(5, 0.9), response(1 << 33, 0.6)],
            }
        }

        fn run(&self, last: bool) -> Result<(Vec<u8>, Vec<u64>)> {
            let (mut one, mut eight) = (self.one.clone(), self.eight.clone());
            let ([a, b, wide], key) = (&self.laws, Key::insecure(4));
            run(
                &key,
                LABELS,
                vec![
                    Column {
                        names: &[Label::Text("one".into())],
                        codes: Codes::One((&self.one, &mut one)),
                        missing: None,
                        strata: Some(&self.strata),
                        matrices: &[a, b],
                    },
                    Column {
                        names: &[Label::Text("eight".into())],
                        codes: Codes::Eight((&self.eight, &mut eight)),
                        missing: Some(&self.missing),
                        strata: None,
                        matrices: &[wide],
                    },
                ],
                (0, last),
                2,
            )
            .map(|_| (one, eight))
        }
    }

    /// One change anywhere, and all columns are drawn anew.
    #[test]
    fn all_of_a_block_enters_its_noise() {
        let change = |change: fn(&mut Held)| {
            let mut held = Held::new(300);
            change(&mut held);
            held.run(true).unwrap()
        };
        let whole = change(|_| ());
        for other in [
            change(|held| held.one[5] = 2),
            change(|held| held.eight[299] = 1),
            change(|held| held.missing[5] = true),
            change(|held| held.strata[5] = 0),
        ] {
            let changed = other.0.iter().zip(&whole.0).filter(|(a, b)| a != b);
            assert!(changed.count() > 20 && other.1 != whole.1);
        }
    }

    #[test]
    fn a_short_last_block_joins_the_one_before() {
        let all = |rows, last| blocks(rows, last).collect::<Vec<_>>();
        assert!(all(0, true).is_empty());
        for rows in [1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS - 1] {
            assert_eq!(all(rows, true), [rows]);
        }
        assert_eq!(all(2 * ROWS, true), [ROWS, ROWS]);
        assert_eq!(all(3 * ROWS + 5, true), [ROWS, ROWS, ROWS + 5]);
        assert_eq!(all(3 * ROWS, false), [ROWS; 3]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let check = |rows, last, change: fn(&mut Held), want: &str| {
            let mut held = Held::new(rows);
            change(&mut held);
            assert_eq!(held.run(last).unwrap_err().to_string(), want);
        };
        let outside = |row| {
            let must = "`codes` must exist in their matrix and stratum";
            format!("{must}; got one outside in column 0, row {row}")
        };
        let beyond = |held: &mut Held| {
            held.eight[ROWS + 3] = 1 << 33;
            held.one[ROWS + 50] = 5;
        };
        check(ROWS + 100, true, beyond, &outside(ROWS + 50));
        check(ROWS + 100, true, |held| held.strata[9] = 2, &outside(9));
        let pieces = "`codes` must come in blocks of 65536 rows until the last; got 65636";
        check(ROWS + 100, false, |_| (), pieces);
        let short = "`missing` must be one for each of the 100 records; got 99";
        check(100, true, |held| held.missing.truncate(99), short);
        let sizes = "`matrices` must all have size 5; got 6";
        check(100, true, |held| held.laws[1] = response(6, 0.5), sizes);
        let width = "`codes` must have 1 bytes each; got 8 bytes";
        check(100, true, |held| held.laws[2] = response(70, 0.5), width);
    }
}
