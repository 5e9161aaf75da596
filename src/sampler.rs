//! How each structure is drawn: from a record's first word to a report, or to "undecided".
//!
//! A family says what it is made of ([`Structure`]); a [`Sampler`] is that with its tables, built once.
//! [`Kind::decide`] takes a first word and a code; [`Kind::resolve`] takes further words for the few
//! records that the first one leaves undecided. Both follow the scheme of [`alias`](crate::alias): slots
//! that are decided, and integer intervals for the rest, which together are the law exactly.
//!
//! | structure | first word | code enters by | timing shows the code |
//! |---|---|---|---|
//! | circulant, randomized response | one table or two numbers | a shift | no |
//! | reflected, geometric | one table | a shift and a fold | no |
//! | uniform | a product | not at all | no |
//! | T-transform | one table of two outcomes | a comparison | no |
//! | blocks, k-anonymity | a product with the class size | its class | the class, through the cache |
//! | tridiagonal | two thresholds | its thresholds, if they differ | thresholds, through the cache |
//! | dense, balance, Gibbs | a table a row | its row | the row, through the cache |
//! | identity, permutation | none | a look-up | through the cache |
//! | kron, mix, `@` | those of the parts | as in the parts | as in the parts; digits through divisions |

use std::hint::select_unpredictable;
use std::sync::Arc;

use crate::alias::{self, Law, More, Rest, Slots, Width, Word, below, left_over, share};
use crate::error::{Error, Result};
use crate::family::Matrix;
use crate::pool;

/// What a family is made of, as far as drawing goes.
#[derive(Debug, Clone)]
pub enum Structure {
    /// Every code has one report: itself, or its target.
    Certain(Option<Arc<[i64]>>),
    /// `u + j mod size`, `j` from one law.
    Circulant {
        /// Counts of `j`.
        first_row: Arc<[i64]>,
        /// Their sum.
        total: u64,
    },
    /// The truth with probability `keep.0 / keep.1`, else any other code.
    Lies {
        /// Number of codes, at least 2.
        size: u64,
        /// A fraction.
        keep: (u64, u64),
    },
    /// Any code of the class: runs of (first code, class size), up to the next run's first code.
    Classes {
        /// Number of codes.
        size: u64,
        /// In the order of codes.
        runs: Vec<(u64, u64)>,
    },
    /// One step down or up.
    Neighbours {
        /// Number of codes.
        size: u64,
        /// The step between `i` and `i + 1`, one for all or one each.
        alphas: Alphas,
        /// What they are out of.
        total: u64,
    },
    /// `u + j` on the cycle of `2 size`, folded.
    Even {
        /// `c_0..c_size`.
        kernel: Arc<[i64]>,
        /// Mass of the cycle.
        total: u64,
    },
    /// A law a row.
    Rows {
        /// Row by row.
        counts: Arc<[i64]>,
        /// Sum of each row.
        total: u64,
        /// Number of rows.
        size: usize,
    },
    /// Two codes are swapped unless they stay, with probability `stay / sum`.
    Swap {
        /// Number of codes.
        size: u64,
        /// One code.
        i: u64,
        /// The other.
        j: u64,
        /// Numerator.
        stay: u64,
        /// Denominator.
        sum: u64,
    },
    /// Factors of a joint domain, the last running fastest.
    Kron(Arc<[Matrix]>),
    /// One of several.
    Mix {
        /// All of them.
        parts: Arc<[Matrix]>,
        /// Their weights.
        weights: Arc<[i64]>,
        /// Sum of the weights.
        sum: u64,
    },
    /// First one, then the other.
    Product(Arc<[Matrix]>),
}

/// The alphas of a tridiagonal matrix.
#[derive(Debug, Clone)]
pub enum Alphas {
    /// The same everywhere.
    Constant(u64),
    /// One each.
    Vector(Arc<[i64]>),
}

/// A structure with its tables.
#[derive(Debug)]
pub enum Sampler {
    /// Every code has one report.
    Certain(Option<Arc<[i64]>>),
    /// One draw a record, from a first word of two bytes.
    Two(Kind<u16>),
    /// Of four.
    Four(Kind<u32>),
    /// Of eight.
    Eight(Kind<u64>),
    /// Several draws a record.
    Composite(Composite),
}

/// A composite and the number of draws that it takes.
#[derive(Debug)]
pub struct Composite {
    /// How the parts go together.
    pub form: Form,
    /// Draws a record, saturating.
    pub draws: u64,
}

/// How parts go together.
#[derive(Debug)]
pub enum Form {
    /// Factors.
    Kron(Arc<[Matrix]>),
    /// Parts, and the draw of one.
    Mix(Box<Sampler>, Arc<[Matrix]>),
    /// Two in turn.
    Product(Arc<[Matrix]>),
}

/// More draws a record than anyone waits for.
const DRAWS: u64 = 1 << 16;

impl Sampler {
    /// The sampler of `structure` in a matrix of `size` codes.
    pub fn new(structure: Structure, size: u64) -> Self {
        let composite = |form, parts: &[Matrix], own: u64| {
            let draws = parts
                .iter()
                .fold(own, |sum, part| sum.saturating_add(part.sampler().draws()));
            Sampler::Composite(Composite { form, draws })
        };
        match structure {
            Structure::Certain(targets) => Sampler::Certain(targets),
            Structure::Kron(parts) => composite(Form::Kron(Arc::clone(&parts)), &parts, 0),
            Structure::Product(parts) => composite(Form::Product(Arc::clone(&parts)), &parts, 0),
            Structure::Mix {
                parts,
                weights,
                sum,
            } => {
                // The width follows what is drawn here: the number of parts.
                let pick = Box::new(match Width::of(parts.len() as u64) {
                    Width::Two => Sampler::Two(Kind::pick(weights, sum)),
                    Width::Four => Sampler::Four(Kind::pick(weights, sum)),
                    Width::Eight => Sampler::Eight(Kind::pick(weights, sum)),
                });
                composite(Form::Mix(pick, Arc::clone(&parts)), &parts, 1)
            }
            leaf => match Width::of(size) {
                Width::Two => Sampler::Two(Kind::new(leaf)),
                Width::Four => Sampler::Four(Kind::new(leaf)),
                Width::Eight => Sampler::Eight(Kind::new(leaf)),
            },
        }
    }

    /// Draws a record.
    pub fn draws(&self) -> u64 {
        match self {
            Sampler::Certain(_) => 0,
            Sampler::Composite(composite) => composite.draws,
            _ => 1,
        }
    }

    /// Refuse a composite that nests too many draws.
    ///
    /// # Errors
    /// More than 65,536 draws a record.
    pub fn check(&self) -> Result<()> {
        match self.draws() {
            draws if draws > DRAWS => Err(Error::value(
                "matrix",
                format!("take at most {DRAWS} draws a record"),
                "more in nested composites",
            )),
            _ => Ok(()),
        }
    }

    /// One answer, all its words from one source that is never used again.
    pub fn respond(&self, u: u64, source: &mut impl More) -> u64 {
        match self {
            Sampler::Certain(targets) => certain(targets.as_deref(), u),
            Sampler::Two(kind) => kind.respond(u, source),
            Sampler::Four(kind) => kind.respond(u, source),
            Sampler::Eight(kind) => kind.respond(u, source),
            Sampler::Composite(composite) => match &composite.form {
                Form::Kron(factors) => {
                    let (mut rest, mut place, mut v) = (u, 1, 0);
                    for factor in factors.iter().rev() {
                        let n = factor.family.size();
                        v += place * factor.sampler().respond(rest % n, source);
                        (rest, place) = (rest / n, place * n);
                    }
                    v
                }
                Form::Mix(pick, parts) => {
                    let part = pick.respond(0, source);
                    parts[part as usize].sampler().respond(u, source)
                }
                Form::Product(pair) => pair
                    .iter()
                    .fold(u, |u, part| part.sampler().respond(u, source)),
            },
        }
    }
}

/// The report of a certain matrix.
#[inline]
pub fn certain(targets: Option<&[i64]>, u: u64) -> u64 {
    targets.map_or(u, |targets| targets[u as usize] as u64)
}

/// One draw from a first word `W`.
#[derive(Debug)]
pub enum Kind<W> {
    /// One law for all codes, and what becomes of `u` and `j`.
    One {
        /// The decided slots of `j`.
        slots: Slots<W>,
        /// The others.
        rest: OneRest,
        /// How `j` enters.
        then: Then,
    },
    /// Randomized response without a table.
    Lies {
        /// Number of codes.
        size: u64,
        /// Slots of the truth.
        stay: u64,
        /// Slots of each lie.
        each: u64,
        /// To divide by `each`: `ceil(2^64 / each)`, or 0 where that is 2^64 or too short.
        inverse: u64,
        /// The undecided slots.
        rest: LiesRest,
    },
    /// Any code of the class.
    Classes(Classes),
    /// One step down or up.
    Neighbours {
        /// The last code.
        end: u64,
        /// Slots of the step between `i` and `i + 1`.
        steps: Steps<W>,
        /// The exact ones.
        alphas: Alphas,
        /// What those are out of.
        total: u64,
    },
    /// A law a row.
    Rows(Rows<W>),
}

/// What a draw `j` from one law does to a code `u`.
#[derive(Debug, Clone, Copy)]
pub enum Then {
    /// `u + j mod size`.
    Shift(u64),
    /// `u + j` on the cycle of `2 size`, folded.
    Fold(u64),
    /// `u` and its partner are swapped where `j` is 1.
    Swap(u64, u64),
    /// `j` itself.
    Pick,
}

impl Then {
    /// The report.
    #[inline(always)]
    pub fn apply(self, u: u64, j: u64) -> u64 {
        match self {
            Then::Shift(size) => {
                let v = u + j;
                v.min(v.wrapping_sub(size))
            }
            Then::Fold(size) => {
                let v = u + j;
                let v = v.min(v.wrapping_sub(2 * size));
                v.min((2 * size - 1).wrapping_sub(v))
            }
            Then::Swap(a, b) => {
                // The partner is always computed, so that timing does not show who has one.
                let partner = select_unpredictable(u == a, b, u);
                let partner = select_unpredictable(u == b, a, partner);
                select_unpredictable(j == 1, partner, u)
            }
            Then::Pick => j,
        }
    }
}

/// The undecided slots of one law.
#[derive(Debug)]
pub enum OneRest {
    /// From counts.
    Counts(Rest),
    /// From the truth and the lies.
    Lies(LiesRest),
}

/// The undecided slots of randomized response. With `keep = n/d`, `r` codes and `a` slots of the truth, the
/// truth keeps `(r-1) (n 2^w - a d)` of the `R d (r-1)` cases that are left, the lies share the others equally:
/// so the truth with probability `(n 2^w - a d) / (R d)`, else any lie.
#[derive(Debug)]
pub struct LiesRest {
    /// `n 2^w - a d`.
    truth: u128,
    /// `d`.
    denominator: u64,
    /// `r - 1`.
    others: u64,
    /// The first undecided word.
    first: u64,
}

impl LiesRest {
    /// The shift for an undecided word.
    fn draw(&self, x: u64, more: &mut impl More) -> u64 {
        let t = below(self.denominator, more);
        let t = u128::from(x - self.first) * u128::from(self.denominator) + u128::from(t);
        if t < self.truth {
            0
        } else {
            1 + below(self.others, more)
        }
    }
}

/// Slots of the steps of a tridiagonal matrix.
#[derive(Debug)]
pub enum Steps<W> {
    /// The same everywhere.
    Constant(u64),
    /// One each, between a zero at either end: down and up of code `u` stand at `u` and `u + 1`. One
    /// more zero lets a vector of four bytes be read anywhere.
    Vector(Box<[W]>),
}

/// How the class of a code is found.
#[derive(Debug)]
pub enum Classes {
    /// There is one.
    One(u64),
    /// First code in the lower half, size less one in the upper half, by code.
    Short(Box<[u32]>),
    /// First code and size, by code.
    Table(Box<[(u32, u32)]>),
    /// (First code, class size) of runs of equal classes.
    Runs(Box<[(u64, u64)]>),
}

/// Up to this size a class is looked up.
const CLASS_TABLE: u64 = 1 << 20;

impl Classes {
    fn new(size: u64, runs: Vec<(u64, u64)>) -> Self {
        if runs.len() == 1 && runs[0].1 == size {
            return Classes::One(size);
        }
        let runs = Classes::Runs(runs.into());
        if size > CLASS_TABLE {
            return runs;
        }
        if size <= 1 << 16 {
            let class = |u| {
                let (first, n) = runs.of(u);
                first as u32 | (n as u32 - 1) << 16
            };
            return Classes::Short((0..size).map(class).collect());
        }
        let class = |u| {
            let (first, n) = runs.of(u);
            (first as u32, n as u32)
        };
        Classes::Table((0..size).map(class).collect())
    }

    /// First code and size of the class of `u`.
    #[inline(always)]
    fn of(&self, u: u64) -> (u64, u64) {
        match self {
            Classes::One(size) => (0, *size),
            Classes::Short(table) => {
                let entry = u64::from(table[u as usize]);
                (entry & 0xffff, (entry >> 16) + 1)
            }
            Classes::Table(table) => {
                let (first, n) = table[u as usize];
                (first.into(), n.into())
            }
            Classes::Runs(runs) => {
                let (first, n) = runs[runs.partition_point(|run| run.0 <= u) - 1];
                (u - (u - first) % n, n)
            }
        }
    }
}

/// A law a row: tables one after the other.
#[derive(Debug)]
pub struct Rows<W> {
    /// Columns a row are `2^k`.
    pub k: u32,
    /// Row by row, and one entry more that lets a vector of four bytes be read anywhere.
    pub table: Box<[W]>,
    /// The last decided word of each row.
    last: Box<[W]>,
    /// The smallest of them.
    pub least: u64,
    counts: Arc<[i64]>,
    total: u64,
    size: usize,
    /// Left-over mass before every [`MARK`]-th outcome, row by row; none where the rest is so rare that
    /// it may be added up.
    marks: Box<[u128]>,
}

/// Outcomes between two marks of a row.
const MARK: usize = 32;

struct Band<'a, W> {
    table: &'a mut [W],
    last: &'a mut [W],
    marks: &'a mut [u128],
    mass: Vec<W>,
}

impl<W: Word> Rows<W> {
    fn new(counts: Arc<[i64]>, total: u64, size: usize) -> Self {
        let k = alias::columns(size);
        let columns = 1usize << k;
        let per_row = if W::BITS == 16 {
            size.div_ceil(MARK)
        } else {
            0
        };
        let mut table = alias::zeros(size * columns + 1);
        let mut last = vec![W::low(0); size].into_boxed_slice();
        let mut marks = vec![0u128; size * per_row].into_boxed_slice();
        // Room for the masses of one row a band, before any thread starts.
        let rows = size.div_ceil(32);
        let mut rest = &mut marks[..];
        let mut bands: Vec<Band<'_, W>> = Vec::new();
        let entries = &mut table[..size * columns];
        for (table, last) in entries
            .chunks_mut(rows * columns)
            .zip(last.chunks_mut(rows))
        {
            let (now, later) = rest.split_at_mut(last.len() * per_row);
            rest = later;
            bands.push(Band {
                table,
                last,
                marks: now,
                mass: vec![W::low(0); columns],
            });
        }
        pool::for_each_chunk(&mut bands, 1, counts.len() < 1 << 14, |band, part| {
            for part in part {
                let table = part.table.chunks_mut(columns);
                for (i, (table, last)) in table.zip(part.last.iter_mut()).enumerate() {
                    let row = &counts[(band * rows + i) * size..][..size];
                    part.mass.fill(W::low(0));
                    let mut sum = 0;
                    for (v, (mass, &count)) in part.mass.iter_mut().zip(row).enumerate() {
                        *mass = W::low(share::<W>(count as u64, total));
                        if per_row > 0 {
                            if v % MARK == 0 {
                                part.marks[i * per_row + v / MARK] = sum;
                            }
                            sum += left_over::<W>(count as u64, total);
                        }
                    }
                    *last = W::low(alias::fill(&mut part.mass, table));
                }
            }
        });
        drop(bands);
        Rows {
            k,
            table,
            least: last.iter().map(|last| last.get()).min().unwrap_or(0),
            last,
            counts,
            total,
            size,
            marks,
        }
    }

    #[inline(always)]
    fn decide(&self, x: u64, u: u64) -> (u64, bool) {
        let start = (u as usize) << self.k;
        let table = &self.table[start..start + (1 << self.k)];
        (
            alias::look_up(table, self.k, x),
            x > self.last[u as usize].get(),
        )
    }

    fn resolve(&self, x: u64, u: u64, more: &mut impl More) -> u64 {
        // Vectors compare with the smallest of all rows' last words, so some are decided after all.
        let Some(i) = x.checked_sub(self.last[u as usize].get() + 1) else {
            return self.decide(x, u).0;
        };
        let t = u128::from(below(self.total, more));
        self.find(u, u128::from(i) * u128::from(self.total) + t)
    }

    fn find(&self, u: u64, t: u128) -> u64 {
        let row = &self.counts[u as usize * self.size..][..self.size];
        let per_row = self.marks.len() / self.size;
        let marks = &self.marks[u as usize * per_row..][..per_row];
        let block = marks.partition_point(|&mark| mark <= t).saturating_sub(1);
        let start = block * MARK;
        let before = marks.get(block).copied().unwrap_or(0);
        let end = if per_row == 0 {
            self.size
        } else {
            self.size.min(start + MARK)
        };
        let counts = row[start..end].iter().map(|&c| c as u64);
        start as u64 + alias::scan::<W>(counts, self.total, t - before)
    }
}

/// Randomized response: slots of the truth, slots of each lie, and what is left.
fn lies<W: Word>(size: u64, keep: (u64, u64)) -> (u64, u64, LiesRest) {
    let (n, d) = keep;
    let others = size - 1;
    let stay = share::<W>(n, d);
    // floor((d - n) 2^w / (d others)), as two floors are one.
    let lying = (u128::from(d - n) << W::BITS) / u128::from(d);
    let each = (lying / u128::from(others)).min(u128::from(W::MOST)) as u64;
    let decided = u128::from(stay) + u128::from(each) * u128::from(others);
    let rest = LiesRest {
        truth: left_over::<W>(n, d),
        denominator: d,
        others,
        first: decided as u64,
    };
    (stay, each, rest)
}

/// Randomized response up to this size has a table, which fits a cache that nothing else needs.
const TABLE_OF_LIES: u64 = 256;

impl<W: Word> Kind<W> {
    fn one(law: Law, total: u64, then: Then) -> Self {
        let count = |v| share::<W>(law.count(v), total);
        Kind::One {
            slots: Slots::new(law.len(), count),
            rest: OneRest::Counts(Rest::new::<W>(law, total)),
            then,
        }
    }

    fn pick(weights: Arc<[i64]>, sum: u64) -> Self {
        Self::one(Law::Row(weights), sum, Then::Pick)
    }

    fn new(structure: Structure) -> Self {
        match structure {
            Structure::Circulant { first_row, total } => {
                let then = Then::Shift(first_row.len() as u64);
                Self::one(Law::Row(first_row), total, then)
            }
            Structure::Even { kernel, total } => {
                let then = Then::Fold(kernel.len() as u64 - 1);
                Self::one(Law::Even(kernel), total, then)
            }
            Structure::Swap {
                i, j, stay, sum, ..
            } => {
                let law = Law::Row([stay as i64, (sum - stay) as i64].into());
                Self::one(law, sum, Then::Swap(i, j))
            }
            Structure::Lies { size, keep } => {
                let (stay, each, rest) = lies::<W>(size, keep);
                if size <= TABLE_OF_LIES {
                    let slots = |v| if v == 0 { stay } else { each };
                    return Kind::One {
                        slots: Slots::new(size as usize, slots),
                        rest: OneRest::Lies(rest),
                        then: Then::Shift(size),
                    };
                }
                Kind::Lies {
                    size,
                    stay,
                    each,
                    inverse: match each {
                        2.. if W::BITS <= 32 => (u64::MAX / each) + 1,
                        _ => 0,
                    },
                    rest,
                }
            }
            Structure::Classes { size, runs } => Kind::Classes(Classes::new(size, runs)),
            Structure::Neighbours {
                size,
                alphas,
                total,
            } => Kind::Neighbours {
                end: size - 1,
                steps: match &alphas {
                    Alphas::Constant(alpha) => Steps::Constant(share::<W>(*alpha, total)),
                    Alphas::Vector(alphas) => {
                        let slots = |&alpha: &i64| W::low(share::<W>(alpha as u64, total));
                        let zero = || std::iter::once(W::low(0));
                        let steps = zero().chain(alphas.iter().map(slots));
                        Steps::Vector(steps.chain(zero()).chain(zero()).collect())
                    }
                },
                alphas,
                total,
            },
            Structure::Rows {
                counts,
                total,
                size,
            } => Kind::Rows(Rows::new(counts, total, size)),
            // Certain and composite structures are samplers of their own.
            Structure::Certain(_)
            | Structure::Kron(_)
            | Structure::Mix { .. }
            | Structure::Product(_) => Kind::Classes(Classes::One(1)),
        }
    }

    /// The report for a first word, and whether it is undecided; then the report means nothing.
    #[inline(always)]
    pub fn decide(&self, x: u64, u: u64) -> (u64, bool) {
        match self {
            Kind::One { slots, then, .. } => {
                let (j, undecided) = slots.draw(x);
                (then.apply(u, j), undecided)
            }
            Kind::Lies {
                size,
                stay,
                each,
                inverse,
                ..
            } => {
                let beyond = x.wrapping_sub(*stay);
                let lie = if *inverse != 0 {
                    ((u128::from(beyond) * u128::from(*inverse)) >> 64) as u64
                } else {
                    beyond.checked_div(*each).unwrap_or(u64::MAX)
                };
                let truth = x < *stay;
                // At most size - 2, or undecided.
                let j = select_unpredictable(truth, 0, lie.min(*size - 2) + 1);
                (Then::Shift(*size).apply(u, j), !truth && lie >= *size - 1)
            }
            Kind::Classes(classes) => {
                let (first, n) = classes.of(u);
                let (high, low) = product::<W>(x, n);
                // Fewer than n slots are undecided, and only those with a low part below n may be.
                (first + high, low < n)
            }
            Kind::Neighbours { end, steps, .. } => {
                let (down, up) = steps.of(u, *end);
                // Not by their sum, which may be 2^64.
                let falls = x < down;
                let rises = !falls & (x.wrapping_sub(down) < up);
                let v = select_unpredictable(rises, u + 1, u);
                let v = select_unpredictable(falls, u.wrapping_sub(1), v);
                (v, !falls & !rises & (x >= W::MOST - 1))
            }
            Kind::Rows(rows) => rows.decide(x, u),
        }
    }

    /// The report where the first word did not decide it.
    pub fn resolve(&self, x: u64, u: u64, more: &mut impl More) -> u64 {
        match self {
            Kind::One { slots, rest, then } => {
                let j = match rest {
                    OneRest::Counts(rest) => rest.draw::<W>(x - slots.last - 1, more),
                    OneRest::Lies(rest) => rest.draw(x, more),
                };
                then.apply(u, j)
            }
            Kind::Lies { size, rest, .. } => Then::Shift(*size).apply(u, rest.draw(x, more)),
            Kind::Classes(classes) => {
                let (first, n) = classes.of(u);
                let (high, low) = product::<W>(x, n);
                // The products with a low part below 2^w mod n are one too many for their `high`;
                // without them every number has floor(2^w / n).
                let spare = ((u128::from(W::MOST) + 1) % u128::from(n)) as u64;
                if low >= spare {
                    first + high
                } else {
                    first + below(n, more)
                }
            }
            Kind::Neighbours {
                end,
                steps,
                alphas,
                total,
            } => {
                let (down, up) = steps.of(u, *end);
                let decided = (u128::from(down) + u128::from(up)).max(u128::from(W::MOST - 1));
                let i = u128::from(x) - decided;
                let t = i * u128::from(*total) + u128::from(below(*total, more));
                let [falls, rises, _] = neighbours::<W>(alphas, steps, *total, u, *end);
                if t < falls {
                    u - 1
                } else if t < falls + rises {
                    u + 1
                } else {
                    u
                }
            }
            Kind::Rows(rows) => rows.resolve(x, u, more),
        }
    }

    fn respond(&self, u: u64, source: &mut impl More) -> u64 {
        let x = W::low(source.next()).get();
        match self.decide(x, u) {
            (v, false) => v,
            (_, true) => self.resolve(x, u, source),
        }
    }
}

/// `x n` as its part above the word and the part in it.
#[inline(always)]
fn product<W: Word>(x: u64, n: u64) -> (u64, u64) {
    if W::BITS <= 32 {
        // n is at most 2^24 here, x below 2^32.
        let p = x * n;
        (p >> W::BITS, p & W::MOST)
    } else {
        let p = u128::from(x) * u128::from(n);
        ((p >> 64) as u64, p as u64)
    }
}

impl<W: Word> Steps<W> {
    /// Slots of the steps down and up.
    #[inline(always)]
    fn of(&self, u: u64, end: u64) -> (u64, u64) {
        match self {
            Steps::Constant(step) => (
                if u == 0 { 0 } else { *step },
                if u == end { 0 } else { *step },
            ),
            Steps::Vector(steps) => (steps[u as usize].get(), steps[u as usize + 1].get()),
        }
    }
}

/// Cases of (down, up, stay) that no slot decides.
fn neighbours<W: Word>(
    alphas: &Alphas,
    steps: &Steps<W>,
    total: u64,
    u: u64,
    end: u64,
) -> [u128; 3] {
    let alpha = |i: u64| match alphas {
        _ if i >= end => 0,
        Alphas::Constant(alpha) => *alpha,
        Alphas::Vector(alphas) => alphas[i as usize] as u64,
    };
    let (down, up) = steps.of(u, end);
    let (down, up) = (u128::from(down), u128::from(up));
    let stay = (down + up).max(u128::from(W::MOST - 1)) - down - up;
    let (falls, rises) = (alpha(u.wrapping_sub(1)), alpha(u));
    let left = |count: u64, slots: u128| (u128::from(count) << W::BITS) - slots * u128::from(total);
    [
        left(falls, down),
        left(rises, up),
        left(total - falls - rises, stay),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::laws::make;
    use crate::parameters::Value;

    /// Words that were written down, and whether more were asked for.
    struct Script<'a> {
        words: &'a [u64],
        asked: usize,
    }

    impl More for Script<'_> {
        fn next(&mut self) -> u64 {
            self.asked += 1;
            self.words.get(self.asked - 1).copied().unwrap_or(0)
        }
    }

    /// The first word for which `below(n)` is `t`: `ceil(t 2^64 / n)`.
    fn word(t: u64, n: u64) -> u64 {
        (u128::from(t) << 64).div_ceil(u128::from(n)) as u64
    }

    /// Add up the reports of an undecided word over every value of the numbers below `bounds` that it
    /// takes, each of `weight` cases.
    fn count_rest(
        kind: &Kind<u16>,
        (x, u): (u64, u64),
        bounds: &[u64],
        words: &mut Vec<u64>,
        weight: u128,
        cases: &mut [u128],
    ) {
        let mut script = Script { words, asked: 0 };
        let v = kind.resolve(x, u, &mut script);
        if script.asked <= script.words.len() {
            cases[v as usize] += weight;
            return;
        }
        let n = bounds[words.len()];
        for t in 0..n {
            words.push(word(t, n));
            count_rest(kind, (x, u), bounds, words, weight / u128::from(n), cases);
            words.pop();
        }
    }

    /// The whole of a row's law: every first word, and for undecided ones every further number.
    fn check(matrix: &Matrix, bounds: impl Fn(u64) -> Vec<u64>) {
        let family = &*matrix.family;
        let Sampler::Two(kind) = matrix.sampler() else {
            panic!("{matrix:?}");
        };
        for u in 0..family.size() {
            let bounds = bounds(u);
            let each: u128 = bounds.iter().map(|&n| u128::from(n)).product();
            let mut cases = vec![0u128; family.size() as usize];
            for x in 0..1 << 16 {
                match kind.decide(x, u) {
                    (v, false) => cases[v as usize] += each,
                    (_, true) => {
                        count_rest(kind, (x, u), &bounds, &mut Vec::new(), each, &mut cases);
                    }
                }
            }
            for (v, cases) in (0..).zip(cases) {
                let (n, d) = family.entry(u, v).unwrap();
                assert_eq!(
                    cases * d,
                    n * (each << 16),
                    "({u}, {v}) of {}",
                    family.name()
                );
            }
        }
    }

    fn whole(n: i128) -> Value {
        Value::Whole(n)
    }

    fn total(matrix: &Matrix) -> u64 {
        matrix.family.total().unwrap() as u64
    }

    #[test]
    fn every_case_of_one_law_is_counted() {
        for row in [
            vec![3, 2, 1],
            vec![0, 7],
            vec![5],
            vec![1; 13],
            vec![1000, 0, 0, 1],
        ] {
            let m = make("circulant", &[("first_row", Value::Wholes(row.into()))]).unwrap();
            check(&m, |_| vec![total(&m)]);
        }
        for kernel in [vec![3, 2, 1], vec![0, 1], vec![4, 0, 0, 0, 9], vec![1; 20]] {
            let m = make("reflected", &[("kernel", Value::Wholes(kernel.into()))]).unwrap();
            check(&m, |_| vec![total(&m)]);
        }
        let swap = [
            ("size", whole(4)),
            ("i", whole(3)),
            ("j", whole(1)),
            ("keep", Value::Ratio(5, 7)),
        ];
        let m = make("t_transform", &swap).unwrap();
        check(&m, |_| vec![7]);
    }

    #[test]
    fn every_case_of_randomized_response_is_counted() {
        for (size, n, d) in [
            (2, 1, 2),
            (3, 5, 7),
            (12, 64, 99),
            (20, 0, 1),
            (20, 1, 1),
            (5, 1, 999),
        ] {
            let keep = Value::Ratio(n, d);
            let m = make(
                "randomized_response",
                &[("size", whole(size)), ("keep", keep)],
            )
            .unwrap();
            check(&m, |_| vec![d as u64, size as u64 - 1]);
        }
    }

    #[test]
    fn every_case_of_classes_is_counted() {
        for sizes in [vec![7], vec![1, 2, 5, 3], vec![100, 1, 99], vec![256]] {
            let m = make("blocks", &[("sizes", Value::Wholes(sizes.clone().into()))]).unwrap();
            let class = |u: u64| {
                let mut end = 0;
                let found = sizes.iter().find(|&&n| {
                    end += n as u64;
                    u < end
                });
                vec![*found.unwrap() as u64]
            };
            check(&m, class);
        }
    }

    #[test]
    fn every_case_of_neighbours_is_counted() {
        for alphas in [
            vec![1, 2, 3],
            vec![5, 5, 0, 10],
            vec![10, 0, 9, 1],
            vec![0, 0],
        ] {
            let m = make(
                "tridiagonal",
                &[
                    ("alphas", Value::Wholes(alphas.into())),
                    ("total", whole(10)),
                ],
            );
            let m = m.unwrap();
            check(&m, |_| vec![10]);
        }
        for (n, d) in [(1, 2), (1, 3), (3, 10), (0, 1)] {
            let alphas = Value::Ratio(n, d);
            let m = make("tridiagonal", &[("alphas", alphas), ("size", whole(5))]).unwrap();
            check(&m, |_| vec![total(&m)]);
        }
    }

    fn table(size: usize, cells: Vec<i64>) -> Matrix {
        let cells = Value::Table(size, size, Box::new(Value::Wholes(cells.into())));
        make("dense", &[("array", cells)]).unwrap()
    }

    #[test]
    fn every_case_of_rows_is_counted() {
        for (size, cells) in [
            (1, vec![9]),
            (2, vec![1, 6, 6, 1]),
            (3, vec![2, 1, 0, 1, 1, 1, 0, 1, 2]),
            (20, (0..400).map(|i: i64| (i / 20 + i % 20) % 20).collect()),
            (
                40,
                (0..1600).map(|i: i64| (i / 40 + i % 40) % 40 % 2).collect(),
            ),
        ] {
            let m = table(size, cells);
            check(&m, |_| vec![total(&m)]);
        }
    }

    /// On the grid 2^-53 the further numbers are too many to count: the slots are counted one by one,
    /// and the intervals of the rest by their ends.
    #[test]
    fn slots_and_intervals_of_rows_on_the_grid_make_the_law() {
        for size in [12usize, 40, 100] {
            let cost = (0..size * size).map(|i| (i / size).abs_diff(i % size) as f64);
            let cost = Value::Table(size, size, Box::new(Value::Reals(cost.collect())));
            let m = make(
                "gibbs",
                &[("cost", cost), ("temperature", Value::Real(3.0))],
            )
            .unwrap();
            let Sampler::Two(Kind::Rows(rows)) = m.sampler() else {
                panic!("{m:?}");
            };
            for u in 0..size as u64 {
                let mut slots = vec![0u128; size];
                let mut undecided = 0u128;
                for x in 0..1 << 16 {
                    match rows.decide(x, u) {
                        (v, false) => slots[v as usize] += 1,
                        (_, true) => undecided += 1,
                    }
                }
                let mut before = 0;
                for v in 0..size as u64 {
                    let (count, total) = m.family.entry(u, v).unwrap();
                    let rest = (count << 16) - slots[v as usize] * total;
                    if rest > 0 {
                        assert_eq!(rows.find(u, before), v);
                        assert_eq!(rows.find(u, before + rest - 1), v);
                    }
                    before += rest;
                }
                assert_eq!(before, undecided << 53);
            }
        }
    }

    /// Of 2^32 words those at the ends of every lie's slots, and the cases by their number.
    #[test]
    fn lies_without_a_table_own_equal_shares() {
        for (size, keep) in [
            (300u64, (5u64, 7u64)),
            (300, (0, 1)),
            (65_536, ((1 << 53) / 3, 1 << 53)),
            (1 << 24, (999_999, 1_000_000)),
            (1 << 24, (1, 1)),
        ] {
            let (stay, each, rest) = lies::<u32>(size, keep);
            let kind = Kind::<u32>::new(Structure::Lies { size, keep });
            let (n, d) = (u128::from(keep.0), u128::from(keep.1));
            let others = u128::from(size - 1);
            let decided = u128::from(stay) + u128::from(each) * others;
            // The truth's and a lie's cases, of 2^32 d (size - 1).
            assert_eq!(
                (u128::from(stay) * d + rest.truth) * others,
                (n << 32) * others
            );
            let undecided = (1u128 << 32) - decided;
            let lying = undecided * d - rest.truth;
            assert_eq!(u128::from(each) * d * others + lying, (d - n) << 32);
            assert_eq!(u128::from(rest.first), decided);
            let u = size / 3;
            if stay > 0 {
                assert_eq!(kind.decide(0, u), (u, false));
                assert_eq!(kind.decide(stay - 1, u), (u, false));
            }
            if each > 0 {
                for lie in (0..size - 1).step_by(1 + size as usize / 1000) {
                    let v = (u + 1 + lie) % size;
                    assert_eq!(kind.decide(stay + lie * each, u), (v, false));
                    assert_eq!(kind.decide(stay + lie * each + each - 1, u), (v, false));
                }
            }
            if undecided > 0 {
                assert!(kind.decide(decided as u64, u).1);
                assert!(kind.decide(u64::from(u32::MAX), u).1);
            }
        }
    }

    #[test]
    fn wide_tables_own_the_slots_they_state() {
        let row: Vec<i64> = (0..5000).map(|i| i * i % 97).collect();
        let m = make(
            "circulant",
            &[("first_row", Value::Wholes(row.clone().into()))],
        )
        .unwrap();
        let Sampler::Four(Kind::One { slots, .. }) = m.sampler() else {
            panic!("{m:?}");
        };
        let law = slots.law();
        for (v, &count) in row.iter().enumerate() {
            assert_eq!(law[v], share::<u32>(count as u64, total(&m)));
        }
        // Every column at the ends of its two parts.
        let width = 1u64 << (32 - slots.k);
        for column in 0..1u64 << slots.k {
            let entry = slots.table[column as usize];
            let (threshold, alias) = (
                u64::from(entry >> slots.k),
                u64::from(entry) & ((1 << slots.k) - 1),
            );
            for below in [
                0,
                threshold.saturating_sub(1),
                threshold.min(width - 1),
                width - 1,
            ] {
                let want = if below < threshold { column } else { alias };
                assert_eq!(slots.draw(column * width + below).0, want);
            }
        }
    }

    #[test]
    fn refuses_more_draws_than_anyone_waits_for() {
        let mut m = make(
            "randomized_response",
            &[("size", whole(2)), ("beta", Value::Real(0.5))],
        )
        .unwrap();
        for _ in 0..17 {
            m = make(
                "product",
                &[("matrices", Value::Matrices([m.clone(), m].into()))],
            )
            .unwrap();
        }
        let error = m.sampler().check().unwrap_err().to_string();
        assert!(
            error.starts_with("`matrix` must take at most 65536 draws"),
            "{error}"
        );
    }
}
