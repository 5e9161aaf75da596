//! Individuals as categories: a matrix over N people, of which nothing is ever formed.
//!
//! | room | what lives there |
//! |---|---|
//! | [`draw`] | exact decisions from words of the keystream: numbers below n, chances of a/b |
//! | [`shuffle`] | one class, and classes of consecutive places, each shuffled in itself |
//! | [`scatter`] | a class that no cache holds, shuffled in passes that one holds |
//! | [`flagged`] | randomized response: some records, shuffled among themselves |
//! | [`path`] | neighbours that change places: random matchings of a path |
//! | [`shared`] | what a whole column would share, and is refused for |
//! | [`bits`] | the entropy of a permutation as a whole |
//! | [`columns`] | columns on one scale, and how much of their spread classes lose |
//! | [`cloud`] | points that are taken away: the farthest from a place, the nearest to one |
//! | [`mdav`] | classes of `k` by maximum distance to the average vector, any number of columns |
//! | [`optimal`] | the best classes of at least `k` of one column |
//! | [`anatomy`] | classes of `l` different values, and everything in a random order |
//!
//! # The law of a permutation
//! A permutation `s` is drawn with `Pr(s(u) = v)` exactly the entry `(u, v)`, and the value of `u` moves to
//! place `s(u)`: the column keeps all its values, and `P^T x` is what is expected in each place. All chances are
//! ratios of integers; no floating point decides anything.
//!
//! | structure | how | where it is proved |
//! |---|---|---|
//! | classes, uniform | every class shuffled in itself | [`shuffle`], [`scatter`] |
//! | randomized response, keep from 1/N on | a flagged set, shuffled in itself | [`flagged`] |
//! | tridiagonal | neighbours swapped along the path | [`path`] |
//! | identity, permutation, T-transform | nothing to draw, or one coin | here |
//! | `a @ b` | first `a`, then `b`: chances multiply as the matrices do | here |
//! | kron, mix | a factor per axis; one of the parts | here |
//! | circulant beyond 4096 | one shift for all | here |
//! | all others, up to 4096 | bit by bit | [`sample`] |
//!
//! # Words
//! Every part of a composite has a key of its own, by its place. Under that key nonce 0 is for what is decided
//! once; other nonces are for fixed stretches of places, so that threads make no difference.

use crate::birkhoff::sample::{self, SIZE};
use crate::draw::keystream::Keystream;
use crate::error::{Error, Result};
use crate::law::{Law, Matrix};
use crate::system::memory::{self, Gather};
use crate::system::stop::Paced;

pub mod anatomy;
pub mod bits;
pub mod cloud;
pub mod columns;
pub mod decisions;
pub mod flagged;
pub mod mdav;
pub mod optimal;
pub mod path;
pub mod scatter;
pub mod shared;
pub mod shuffle;
#[cfg(test)]
mod tree;

use decisions::{Buffer, Draw, Source, kind};

/// What can be moved: plain numbers of some bytes.
pub trait Item: Copy + Default + Send + Sync + std::fmt::Debug + 'static {}

impl<T: Copy + Default + Send + Sync + std::fmt::Debug + 'static> Item for T {}

/// The keys of all parts of a matrix, by their place in it.
pub struct Streams<'a> {
    of: &'a dyn Fn(&[u64]) -> Keystream,
    path: Vec<u64>,
}

impl<'a> Streams<'a> {
    /// `of` a place gives the words of the part there; of no place those of the matrix itself.
    pub fn new(of: &'a dyn Fn(&[u64]) -> Keystream) -> Self {
        Streams {
            of,
            path: Vec::new(),
        }
    }

    fn here(&self) -> Keystream {
        (self.of)(&self.path)
    }

    /// Inside the part of this number.
    fn inside<T>(&mut self, part: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(part as u64);
        let done = work(self);
        self.path.pop();
        done
    }
}

/// Most individuals: places are counted with 32 bits.
pub const MOST: u64 = u32::MAX as u64;

fn check(matrix: &Matrix) -> Result<usize> {
    let size = matrix.size();
    if size > MOST {
        let must = format!("be at most {MOST} to draw a permutation");
        return Err(Error::value("size", must, size));
    }
    Ok(size as usize)
}

/// The values of `x`, each moved to its place by a random permutation.
///
/// # Errors
/// More than 4096 individuals in a matrix that is drawn entry by entry, or no common total below 2^63;
/// another number of values.
pub fn permute<T: Item>(
    matrix: &Matrix,
    streams: &mut Streams<'_>,
    x: &[T],
    out: &mut [T],
) -> Result<()> {
    let size = check(matrix)?;
    if x.len() != size {
        let must = format!("be one for each of the {size} individuals");
        return Err(Error::value("values", must, x.len()));
    }
    part(matrix, streams, x, out)
}

/// Whose value comes to each place: `out[i] = x[origins[i]]`.
///
/// # Errors
/// As [`permute`].
pub fn origins(matrix: &Matrix, streams: &mut Streams<'_>) -> Result<Vec<u32>> {
    let size = check(matrix)?;
    codes(matrix, size, streams)
}

/// Where each record goes: `out[s[u]] = x[u]`.
///
/// # Errors
/// As [`permute`].
pub fn targets(matrix: &Matrix, streams: &mut Streams<'_>) -> Result<Vec<i64>> {
    let origins = origins(matrix, streams)?;
    let mut places = memory::zeros(origins.len());
    for (i, &u) in (0..).zip(&origins).paced() {
        places[u as usize] = i;
    }
    Ok(places)
}

fn codes(matrix: &Matrix, size: usize, streams: &mut Streams<'_>) -> Result<Vec<u32>> {
    let everybody: Vec<u32> = (0..size as u32).gather();
    let mut out = memory::zeros(size);
    part(matrix, streams, &everybody, &mut out)?;
    Ok(out)
}

/// The same, without asking again how much it is.
fn part<T: Item>(matrix: &Matrix, streams: &mut Streams<'_>, x: &[T], out: &mut [T]) -> Result<()> {
    match matrix.law() {
        Law::Kron(factors) => by_axes(factors, streams, x, out),
        Law::Mix {
            parts,
            weights,
            sum,
        } => {
            let mut buffer = Buffer::default();
            let drawn = streams.here().open(&mut buffer, 0).below(*sum);
            let chosen = which(weights.iter().map(|&weight| weight as u64), drawn);
            streams.inside(chosen, |streams| part(&parts[chosen], streams, x, out))
        }
        Law::Product(_) => one_by_one(matrix, streams, x, out),
        _ => leaf(matrix, &streams.here(), x, out),
    }
}

/// The part to which a unit of the total belongs.
fn which(weights: impl Iterator<Item = u64>, mut unit: u64) -> usize {
    for (i, weight) in weights.enumerate() {
        if unit < weight {
            return i;
        }
        unit -= weight;
    }
    unreachable!("the weights sum to the total")
}

/// Every axis of a joint domain by its own permutation, the last running fastest.
#[inline(never)]
fn by_axes<T: Item>(
    factors: &[Matrix],
    streams: &mut Streams<'_>,
    x: &[T],
    out: &mut [T],
) -> Result<()> {
    let mut joint: Vec<u32> = vec![0];
    for (i, factor) in factors.iter().enumerate() {
        let n = factor.size() as usize;
        let drawn = streams.inside(i, |streams| codes(factor, n, streams))?;
        joint = joint
            .iter()
            .flat_map(|&code| drawn.iter().map(move |&digit| code * n as u32 + digit))
            .gather();
    }
    for (out, &u) in out.iter_mut().zip(&joint).paced() {
        *out = x[u as usize];
    }
    Ok(())
}

/// A product, factor by factor, however they are nested.
#[inline(never)]
fn one_by_one<T: Item>(
    matrix: &Matrix,
    streams: &mut Streams<'_>,
    x: &[T],
    out: &mut [T],
) -> Result<()> {
    let mut factors: Vec<&Matrix> = Vec::new();
    let mut left = vec![matrix];
    while let Some(next) = left.pop() {
        match next.law() {
            Law::Product(pair) => {
                left.push(&pair[1]);
                left.push(&pair[0]);
            }
            _ => factors.push(next),
        }
    }
    let mut between = memory::copied(x);
    for (i, factor) in factors.into_iter().enumerate() {
        if i > 0 {
            between.copy_from_slice(out);
        }
        streams.inside(i, |streams| part(factor, streams, &between, out))?;
    }
    Ok(())
}

/// A matrix that is not a composite. Not inlined, as a stack may hold hundreds of those above.
#[inline(never)]
fn leaf<T: Item>(matrix: &Matrix, words: &Keystream, x: &[T], out: &mut [T]) -> Result<()> {
    let size = x.len() as u64;
    match matrix.law() {
        Law::Classes { runs, .. } => shuffle::classes(words, runs, x, out),
        Law::Permutation(targets) => {
            for (x, &v) in x.iter().zip(&**targets).paced() {
                out[v as usize] = *x;
            }
        }
        Law::RandomizedResponse { keep, .. } if flagged::is_drawn(size, *keep) => {
            flagged::shuffle(words, scatter::SIZES, *keep, x, out);
        }
        Law::Tridiagonal { alphas, total, .. } => path::swap(words, alphas, *total, x, out),
        Law::TTransform {
            i, j, stay, sum, ..
        } => {
            out.copy_from_slice(x);
            let mut buffer = Buffer::default();
            if !words.open(&mut buffer, kind::ONCE).happens(*stay, *sum) {
                out.swap(*i as usize, *j as usize);
            }
        }
        Law::Circulant { first_row, total } if size > SIZE => {
            let mut buffer = Buffer::default();
            let unit = words.open(&mut buffer, kind::ONCE).below(*total);
            let by = which(first_row.iter().map(|&count| count as u64), unit);
            out[by..].copy_from_slice(&x[..x.len() - by]);
            out[..by].copy_from_slice(&x[x.len() - by..]);
        }
        _ => {
            let drawn = sample::by_entries(matrix, &mut words.words())?;
            for (x, &v) in x.iter().zip(&drawn) {
                out[v as usize] = *x;
            }
        }
    }
    Ok(())
}
