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
use zeroize::{Zeroize, Zeroizing};

use super::address::Which;
use super::draw::{At, draw};
use super::work::Scratch;
use super::{Address, RECORDS, Randomizer, RowKeys, Rows};
use crate::draw::code::{ByWidth, Code, Width, each};
use crate::draw::derive::{Label, Purpose, derive};
use crate::draw::key::Key;
use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::system::memory;
use crate::system::{erase, pool};

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
    pub matrices: Vec<&'a Matrix>,
}

impl Column<'_> {
    fn rows(&self) -> usize {
        each!(&self.codes, (given, _) => given.len())
    }

    fn check(&self, rows: usize) -> Result<()> {
        let each = |what, n: usize| match n == rows {
            true => Ok(()),
            false => {
                let must = format!("be one for each of the {rows} records");
                Err(Error::value(what, must, n))
            }
        };
        each("codes", self.rows())?;
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
        let (width, narrow) = (self.codes.bytes(), Width::of(size).bytes());
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
    let rows = columns.first().map_or(0, |column| column.rows());
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
    let (codes, later) = each!(column.codes, as_such, (given, out) => {
        let ((given, later), (out, later_out)) = (given.split_at(n), out.split_at_mut(n));
        (as_such((given, out)), as_such((later, later_out)))
    });
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
    let mut states = memory::collected((0..workers).map(|_| Scratch::new(RECORDS)));
    if workers > 1 {
        // As in the loop over chunks of one column.
        erase::stack();
    }
    let bad = std::sync::Mutex::new(None::<(usize, usize)>);
    pool::share_out(parts.into_iter(), &mut states, |scratch, part| {
        let Part {
            position,
            row,
            codes,
            strata,
            draws,
        } = part;
        let done = erase::after(|| {
            each!(codes, (given, out) => match strata {
                None => plain(&draws[0], given, out, scratch),
                Some(strata) => stratified(&draws, given, strata, out, scratch),
            })
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
        match column.missing.filter(|missing| missing.contains(&true)) {
            Some(missing) => {
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

/// Draw a column of a block under one matrix. The error is the position of a code that does not exist.
fn plain<C: Code>(
    randomizer: &Randomizer<'_, RowKeys>,
    given: &[C],
    out: &mut [C],
    scratch: &mut Scratch,
) -> std::result::Result<(), usize> {
    let rows = Rows(0).with(&randomizer.keys);
    let draws = &randomizer.draws;
    draws.chunk::<C, C>(Some(given), out, rows, scratch)
}

/// Draw a column of a block in which each row has the matrix of its stratum. The error is the position of a code or a
/// stratum that does not exist.
fn stratified<C: Code>(
    draws: &[Randomizer<'_, RowKeys>],
    given: &[C],
    strata: &[u32],
    out: &mut [C],
    scratch: &mut Scratch,
) -> std::result::Result<(), usize> {
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
        for (stratum, randomizer) in draws.iter().enumerate() {
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
                if code.get() >= randomizer.draws.truths {
                    return Err(start + usize::from(at));
                }
                *src = code;
            }
            let at = At {
                records: Rows(start as u64).with(&randomizer.keys),
                which: Which::Some(which),
            };
            draw(&randomizer.draws.root, at, src, dst, scratch);
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
    use crate::law::battery::{joined, response};

    /// A table of every width of codes, with a composite, missing rows and strata.
    struct Held {
        one: Vec<u8>,
        two: Vec<u16>,
        four: Vec<u32>,
        eight: Vec<u64>,
        missing: Vec<bool>,
        strata: Vec<u32>,
        laws: [Matrix; 6],
        names: [Vec<Label>; 4],
    }

    impl Held {
        fn new(rows: usize) -> Self {
            let part =
                |i: usize, n: u64| ((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) % n;
            let kron = joined("kron", &[response(3, 0.5), response(100, 0.7)]);
            let text = |name: &str| Label::Text(name.into());
            Held {
                one: (0..rows).map(|i| part(i, 5) as u8).collect(),
                two: (0..rows).map(|i| part(i, 300) as u16).collect(),
                four: (0..rows).map(|i| part(i, 70_000) as u32).collect(),
                eight: (0..rows).map(|i| part(i, 1 << 33)).collect(),
                missing: (0..rows).map(|i| i % 7 == 3).collect(),
                strata: (0..rows).map(|i| part(i, 3) as u32).collect(),
                laws: [
                    response(5, 0.2),
                    response(5, 0.6),
                    response(5, 0.9),
                    kron,
                    response(70_000, 0.6),
                    response(1 << 33, 0.6),
                ],
                names: [
                    vec![text("one")],
                    vec![text("two"), text("parts")],
                    vec![text("four")],
                    vec![text("eight")],
                ],
            }
        }

        fn columns<'a>(&'a self, out: &'a mut Out) -> Vec<Column<'a>> {
            let laws = &self.laws;
            let [one, two, four, eight] = &self.names;
            let column = |names, codes, matrices| Column {
                names,
                codes,
                missing: None,
                strata: None,
                matrices,
            };
            let mut all = vec![
                column(
                    one,
                    Codes::One((&self.one, &mut out.0)),
                    vec![&laws[0], &laws[1], &laws[2]],
                ),
                column(two, Codes::Two((&self.two, &mut out.1)), vec![&laws[3]]),
                column(four, Codes::Four((&self.four, &mut out.2)), vec![&laws[4]]),
                column(
                    eight,
                    Codes::Eight((&self.eight, &mut out.3)),
                    vec![&laws[5]],
                ),
            ];
            all[0].strata = Some(&self.strata);
            all[1].missing = Some(&self.missing);
            all
        }

        fn out(&self) -> Out {
            let n = self.one.len();
            (vec![0; n], vec![0; n], vec![0; n], vec![0; n])
        }

        fn run(&self, key: &Key, labels: Labels<'_>, threads: usize) -> Out {
            let mut out = self.out();
            run(key, labels, self.columns(&mut out), (0, true), threads).unwrap();
            out
        }
    }

    type Out = (Vec<u8>, Vec<u16>, Vec<u32>, Vec<u64>);

    const LABELS: Labels<'static> = Labels {
        plan: "survey",
        release: "2026",
    };

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

    /// The law of the module, spelled out: the digest by blake3's one-shot function over bytes that are put
    /// together here, the reports by the loop over one column. A row of a stratum is drawn as if all were in it.
    #[test]
    fn reports_are_those_of_the_law() {
        let rows = 3 * ROWS + 1000;
        let (held, key) = (Held::new(rows), Key::insecure(4));
        let found = held.run(&key, LABELS, 2);
        let secret = derive(&key, Purpose::Block, &LABELS.with([]), &[], &[0; 32]);
        for (number, block) in [0..ROWS, ROWS..2 * ROWS, 2 * ROWS..rows]
            .into_iter()
            .enumerate()
        {
            fn le<C: Code, const N: usize>(codes: &[C], word: fn(C) -> [u8; N]) -> Vec<u8> {
                codes.iter().flat_map(|&code| word(code)).collect()
            }
            let missing = held.missing[block.clone()].iter().map(|&x| u8::from(x));
            let bytes = [
                &(block.len() as u64).to_le_bytes()[..],
                &4u64.to_le_bytes(),
                &[1],
                &held.one[block.clone()],
                &[0, 1],
                &le(&held.strata[block.clone()], u32::to_le_bytes),
                &[2],
                &le(&held.two[block.clone()], u16::to_le_bytes),
                &[1],
                &missing.collect::<Vec<u8>>(),
                &[0, 4],
                &le(&held.four[block.clone()], u32::to_le_bytes),
                &[0, 0, 8],
                &le(&held.eight[block.clone()], u64::to_le_bytes),
                &[0, 0],
            ]
            .concat();
            let digest = Key::from_bytes(*blake3::keyed_hash(&secret, &bytes).as_bytes());
            let labels = |names: &[Label]| {
                LABELS.with([Label::List(names.to_vec()), Label::Integer(number as i128)])
            };
            fn drawn<C: Code>(m: &Matrix, key: &Key, labels: &[Label], codes: &[C]) -> Vec<C> {
                let mut out = codes.to_vec();
                let randomizer = Randomizer::<RowKeys>::new(m, key, labels).unwrap();
                randomizer.run(Some(codes), &mut out, Rows(0), 1).unwrap();
                out
            }
            let [one, two, four, eight] = &held.names;
            let strata: Vec<Vec<u8>> = held.laws[..3]
                .iter()
                .map(|m| drawn(m, &digest, &labels(one), &held.one[block.clone()]))
                .collect();
            for (i, row) in block.clone().enumerate() {
                assert_eq!(
                    found.0[row], strata[held.strata[row] as usize][i],
                    "row {row}"
                );
            }
            let [.., kron, wide, widest] = &held.laws;
            let two = drawn(kron, &digest, &labels(two), &held.two[block.clone()]);
            assert_eq!(found.1[block.clone()], two);
            let four = drawn(wide, &digest, &labels(four), &held.four[block.clone()]);
            assert_eq!(found.2[block.clone()], four);
            let eight = drawn(widest, &digest, &labels(eight), &held.eight[block.clone()]);
            assert_eq!(found.3[block], eight);
        }
    }

    #[test]
    fn threads_and_pieces_do_not_matter() {
        let rows = 2 * ROWS + 77;
        let (held, key) = (Held::new(rows), Key::insecure(4));
        let whole = held.run(&key, LABELS, 1);
        for threads in [2, 7] {
            assert_eq!(held.run(&key, LABELS, threads), whole);
        }
        let mut out = held.out();
        let (first, later): (Vec<_>, Vec<_>) = held
            .columns(&mut out)
            .into_iter()
            .map(|column| cut(column, ROWS))
            .unzip();
        run(&key, LABELS, first, (0, false), 2).unwrap();
        run(&key, LABELS, later, (1, true), 2).unwrap();
        assert_eq!(out, whole);
    }

    fn differ(a: &[u64], b: &[u64]) -> usize {
        a.iter().zip(b).filter(|(a, b)| a != b).count()
    }

    /// One change anywhere, and all columns are drawn anew.
    #[test]
    fn all_of_a_block_enters_its_noise() {
        let rows = 300;
        let (held, key) = (Held::new(rows), Key::insecure(4));
        let whole = held.run(&key, LABELS, 1);
        type Change = (&'static str, fn(&mut Held));
        let changes: [Change; 7] = [
            ("one", |held| held.one[5] = (held.one[5] + 1) % 5),
            ("two", |held| held.two[5] = (held.two[5] + 1) % 300),
            ("four", |held| held.four[5] = (held.four[5] + 1) % 70_000),
            ("eight", |held| held.eight[5] ^= 1),
            ("missing", |held| held.missing[5] ^= true),
            ("stratum", |held| held.strata[5] = (held.strata[5] + 1) % 3),
            ("last row", |held| *held.two.last_mut().unwrap() ^= 1),
        ];
        for (what, change) in changes {
            let mut other = Held::new(rows);
            change(&mut other);
            let changed = differ(&other.run(&key, LABELS, 1).3, &whole.3);
            assert!(changed > rows / 3, "{what}: {changed}");
        }
        let release = Labels {
            release: "2027",
            ..LABELS
        };
        let plan = Labels {
            plan: "other",
            ..LABELS
        };
        for labels in [release, plan] {
            assert!(differ(&held.run(&key, labels, 1).3, &whole.3) > rows / 3);
        }
        assert!(differ(&held.run(&Key::insecure(5), LABELS, 1).3, &whole.3) > rows / 3);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let key = Key::insecure(4);
        let refused = |held: &Held, last| {
            let mut out = held.out();
            run(&key, LABELS, held.columns(&mut out), (0, last), 2)
        };
        let mut held = Held::new(ROWS + 100);
        held.four[ROWS + 3] = 70_000;
        held.one[ROWS + 50] = 5;
        assert_eq!(refused(&held, true), Err(Refused::Code(0, ROWS + 50)));
        let mut held = Held::new(ROWS + 100);
        held.strata[9] = 3;
        assert_eq!(refused(&held, true), Err(Refused::Code(0, 9)));
        let held = Held::new(ROWS + 100);
        let sentence = |refused| match refused {
            Err(Refused::Call(error)) => Error::to_string(&error),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            sentence(refused(&held, false)),
            "`codes` must come in blocks of 65536 rows until the last; got 65636"
        );
        let mut held = Held::new(100);
        held.missing.pop();
        assert_eq!(
            sentence(refused(&held, true)),
            "`missing` must be one for each of the 100 records; got 99"
        );
        let mut held = Held::new(100);
        held.laws[1] = response(6, 0.5);
        assert_eq!(
            sentence(refused(&held, true)),
            "`matrices` must all have size 5; got 6"
        );
        let mut held = Held::new(100);
        held.laws[4] = response(70, 0.5);
        assert_eq!(
            sentence(refused(&held, true)),
            "`codes` must have 1 bytes each; got 4 bytes"
        );
    }
}
