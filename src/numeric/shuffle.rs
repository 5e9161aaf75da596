//! Classes of consecutive places, each shuffled in itself.
//!
//! # Law
//! Fisher and Yates: the last place takes any of `n` values, the place before it any of the `n - 1` that are
//! left, and so on: `n!` ways, all as likely. So each place of a class of `n` is as likely for each value: `1/n`.
//! Several of these numbers come from one word ([`decisions`](super::decisions)), for small classes those of several classes.
//!
//! # Cost
//! A pass over the values, and one word for as many numbers as multiply to `WORTH`: 8 classes of five. Stretches
//! of whole classes go to the threads; a class of more than `LARGE` is dealt out (`scatter`).

use super::Item;
use super::decisions::{Buffer, Draw, Source, kind};
use super::scatter;
use crate::law::Run;
use crate::system::pool;
use crate::system::stop::Paced;

/// What the limits of the numbers of one word multiply to at most: one word in 256 may be thrown away.
const WORTH: u64 = 1 << 56;

/// Places in a stretch, about: some of the first cache. The same on every machine, as words depend on it.
const STRETCH: usize = 1 << 14;

/// Largest class that is shuffled in one go.
const LARGE: usize = 1 << 16;

/// Every order of `x` is as likely.
pub fn one<T: Item>(x: &mut [T], draw: &mut impl Draw) {
    let mut open = x.len() as u64;
    while open > 1 {
        let (last, mut product) = (open, 1u64);
        while open > 1 && u128::from(product) * u128::from(open) <= u128::from(WORTH) {
            product *= open;
            open -= 1;
        }
        let mut digits = draw.digits(product);
        for n in (open + 1..=last).rev() {
            // The place n - 1 takes one of the n that are left.
            let from = digits(n);
            x.swap(n as usize - 1, from as usize);
        }
    }
}

/// The same for each class of `n` in `x`.
fn alike<T: Item>(x: &mut [T], n: usize, draw: &mut impl Draw) {
    let orders = (2..=n as u64).try_fold(1u64, |product, k| {
        product.checked_mul(k).filter(|&product| product <= WORTH)
    });
    let Some(orders) = orders else {
        return x.chunks_mut(n).paced().for_each(|class| one(class, draw));
    };
    let mut together = 1;
    while orders.saturating_pow(together + 1) <= WORTH && orders > 1 {
        together += 1;
    }
    for classes in x.chunks_mut(n * together as usize).paced() {
        let product = orders.pow((classes.len() / n) as u32);
        let mut digits = draw.digits(product);
        for class in classes.chunks_mut(n) {
            for k in (2..=n).rev() {
                let from = digits(k as u64);
                class.swap(k - 1, from as usize);
            }
        }
    }
}

/// Classes of one size that follow each other, in places.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: usize,
    class_size: usize,
    end: usize,
}

/// Runs cut into pieces of about a stretch, without the large classes, which come apart.
fn pieces(runs: &[Run]) -> (Vec<Piece>, Vec<Piece>) {
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for run in runs {
        let (start, n) = (run.start as usize, run.class_size as usize);
        let end = start + n * run.classes as usize;
        let (step, list) = if n > LARGE {
            (n, &mut large)
        } else {
            // One class at least.
            ((STRETCH / n).max(1) * n, &mut small)
        };
        for start in (start..end).step_by(step).paced() {
            let piece = Piece {
                start,
                class_size: n,
                end: end.min(start + step),
            };
            list.push(piece);
        }
    }
    (small, large)
}

/// Pieces that are done together, so that small ones share words: from `pieces[i]` on, a stretch.
fn stretches(pieces: &[Piece]) -> Vec<&[Piece]> {
    let mut out = Vec::new();
    let mut from = 0;
    for i in 0..pieces.len() {
        let next = pieces.get(i + 1);
        let full = pieces[i].end - pieces[from].start >= STRETCH;
        // A large class may lie between.
        if full || next.is_none_or(|next| next.start != pieces[i].end) {
            out.push(&pieces[from..=i]);
            from = i + 1;
        }
    }
    out
}

/// `x` with every class shuffled in itself.
pub fn classes<T: Item, S: Source>(source: &S, runs: &[Run], x: &[T], out: &mut [T]) {
    let (small, large) = pieces(runs);
    for (class, piece) in (0..).zip(&large) {
        let places = piece.start..piece.end;
        let (x, out) = (&x[places.clone()], &mut out[places]);
        scatter::shuffle(source, class, scatter::SIZES, None, x, out);
    }
    let stretches = stretches(&small);
    let many = stretches.len();
    let (mut rest, mut at) = (out, 0);
    let parts = (0..).zip(stretches).map(|(number, pieces)| {
        let (start, end) = (pieces[0].start, pieces[pieces.len() - 1].end);
        let (_, later) = std::mem::take(&mut rest).split_at_mut(start - at);
        let (out, later) = later.split_at_mut(end - start);
        (rest, at) = (later, end);
        (number, pieces, out)
    });
    let work = |buffer: &mut Buffer, (number, pieces, out): (u64, &[Piece], &mut [T])| {
        let start = pieces[0].start;
        out.copy_from_slice(&x[start..start + out.len()]);
        if pieces.iter().all(|piece| piece.class_size == 1) {
            return;
        }
        let mut draw = source.open(buffer, kind::STRETCH | number);
        for piece in pieces {
            if piece.class_size > 1 {
                let classes = &mut out[piece.start - start..piece.end - start];
                alike(classes, piece.class_size, &mut draw);
            }
        }
    };
    share(x.len(), many, Buffer::default, parts, work);
}

/// Only these classes, in place, one after the other; all others stay.
pub fn some<T: Item, S: Source>(source: &S, runs: &[Run], x: &mut [T]) {
    let mut buffer = Buffer::default();
    let mut draw = source.open(&mut buffer, kind::ONCE);
    for run in runs.iter().paced() {
        let (start, n) = (run.start as usize, run.class_size as usize);
        if let Some(classes) = x.get_mut(start..start + n * run.classes as usize) {
            alike(classes, n, &mut draw);
        }
    }
}

/// [`pool::share_out`] of `many` parts of `values` that handle words, each thread with a `state` of its own.
pub(super) fn share<T: Send, S: Send>(
    values: usize,
    many: usize,
    state: impl Fn() -> S,
    parts: impl Iterator<Item = T> + Send,
    f: impl Fn(&mut S, T) + Sync,
) {
    let threads = match values {
        ..0x8000 => 1,
        _ => pool::threads().clamp(1, many.max(1)),
    };
    let mut states = (0..threads).map(|_| state()).collect::<Vec<_>>();
    pool::share_out(parts, &mut states, f);
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Tree, check_marginals};
    use super::*;

    fn runs(classes: &[(u64, u64)]) -> Vec<Run> {
        let mut start = 0;
        let run = |&(class_size, classes): &(u64, u64)| {
            let run = Run {
                start,
                class_size,
                classes,
            };
            start += class_size * classes;
            run
        };
        classes.iter().map(run).collect()
    }

    #[test]
    fn marginals_are_one_over_n() {
        for classes_of in [
            vec![(1, 1)],
            vec![(6, 1)],
            vec![(2, 3)],
            vec![(1, 2), (3, 1), (1, 1)],
            vec![(2, 1), (3, 1)],
        ] {
            let runs = runs(&classes_of);
            let n = runs.iter().map(|r| r.class_size * r.classes).sum::<u64>() as usize;
            let class = |u: usize| {
                let run = runs.iter().rfind(|r| r.start as usize <= u).unwrap();
                let (start, n) = (run.start as usize, run.class_size as usize);
                (start + (u - start) / n * n, n)
            };
            let leaves = check_marginals(
                n,
                |u, v| (u128::from(class(u) == class(v)), class(u).1 as u128),
                |tree: &Tree, x, out| classes(tree, &runs, x, out),
            );
            let orders: usize = (0..n).map(|u| u - class(u).0 + 1).product();
            assert_eq!(leaves, orders, "{classes_of:?}");
        }
    }
}
