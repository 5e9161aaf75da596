//! Reports for a block of records: first words, the inner loop, further words for the undecided. Composites draw
//! part by part, in codes as narrow as the part allows.

use super::address::Which;
use super::node::{Factor, Mixture, Node};
use super::records::Records;
use super::work::Work;
use crate::draw::code::{Code, Space, Width, typed};
use crate::draw::loops::{self, digits};
use crate::draw::sampler::{Leaf, certain};

/// Records of a block, and which of them.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub records: &'a dyn Records,
    pub which: Which<'a>,
}

/// Reports of records of a block.
pub(super) fn draw<C: Code>(
    node: &Node<'_>,
    at: At<'_>,
    src: &[C],
    dst: &mut [C],
    mut space: Space<'_>,
    work: &mut Work,
) {
    match node {
        Node::Certain(targets) => {
            for (v, u) in dst.iter_mut().zip(src) {
                *v = C::low(certain(*targets, u.get()));
            }
        }
        Node::Leaf(leaf, number) => leaf_draw(leaf, *number, at, src, dst, work),
        Node::Kron(factors) => {
            let rest = C::take(&mut space, src.len());
            rest.copy_from_slice(src);
            dst.fill(C::default());
            let mut place = 1;
            for (i, factor) in factors.iter().enumerate().rev() {
                let space = space.again();
                typed!(Width::of(factor.divisor.size), D => {
                    digit::<C, D>(factor, i == 0, place, at, rest, dst, space, work)
                });
                place *= factor.divisor.size;
            }
        }
        Node::Mix(mixture) => typed!(Width::of(mixture.parts.len() as u64), P => {
            mix::<C, P>(mixture, at, src, dst, space, work)
        }),
        Node::Product(pair) => {
            let [first, second] = &**pair;
            let middle = C::take(&mut space, src.len());
            draw(first, at, src, middle, space.again(), work);
            draw(second, at, middle, dst, space, work);
        }
    }
}

/// Split the last digit off the codes, the only one if it is the `leading` one, and put its report into its place.
#[allow(clippy::too_many_arguments)]
fn digit<C: Code, D: Code>(
    factor: &Factor<'_>,
    leading: bool,
    place: u64,
    at: At<'_>,
    rest: &mut [C],
    dst: &mut [C],
    mut space: Space<'_>,
    work: &mut Work,
) {
    let digits = D::take(&mut space, rest.len());
    let reports = D::take(&mut space, rest.len());
    if leading {
        digits::narrow(rest, digits);
    } else {
        digits::split(&factor.divisor, rest, digits);
    }
    draw(&factor.node, at, digits, reports, space, work);
    digits::join(dst, place, reports);
}

fn mix<C: Code, P: Code>(
    mixture: &Mixture<'_>,
    at: At<'_>,
    src: &[C],
    dst: &mut [C],
    mut space: Space<'_>,
    work: &mut Work,
) {
    let n = src.len();
    let picks = P::take(&mut space, n);
    // Codes do not enter the choice, but all words are addressed alike.
    let (pick, zeros) = (mixture.pick, &P::ZEROS[..n]);
    leaf_draw(pick, mixture.number, at, zeros, picks, work);
    if mixture.parts.len() > at.records.few() {
        return taken(&mixture.parts, at, picks, src, dst, space, work);
    }
    let reports = C::take(&mut space, n);
    for (i, part) in (0..).zip(&mixture.parts) {
        if i == 0 {
            draw(part, at, src, dst, space.again(), work);
        } else if picks.contains(&P::low(i)) {
            // Words are addressed, so a part that nobody takes can be left out.
            draw(part, at, src, reports, space.again(), work);
            digits::select(dst, reports, picks, P::low(i));
        }
    }
}

/// Draw from each part for the records that take it.
fn taken<C: Code, P: Code>(
    parts: &[Node<'_>],
    at: At<'_>,
    picks: &[P],
    src: &[C],
    dst: &mut [C],
    mut space: Space<'_>,
    work: &mut Work,
) {
    let n = src.len();
    // Records in the order of their parts: after this, those of part `i` end at `ends[i]`.
    let ends = u32::take(&mut space, parts.len() + 1);
    ends.fill(0);
    for pick in picks {
        ends[pick.get() as usize + 1] += 1;
    }
    for i in 1..ends.len() {
        ends[i] += ends[i - 1];
    }
    let order = u16::take(&mut space, n);
    for (i, pick) in (0..).zip(picks) {
        let end = &mut ends[pick.get() as usize];
        order[*end as usize] = i;
        *end += 1;
    }
    let which = u16::take(&mut space, n);
    for (to, &i) in which.iter_mut().zip(&*order) {
        *to = at.which.at(i.into()) as u16;
    }
    let own = C::take(&mut space, n);
    for (to, &i) in own.iter_mut().zip(&*order) {
        *to = src[usize::from(i)];
    }
    let reports = C::take(&mut space, n);
    let mut start = 0;
    for (part, &end) in parts.iter().zip(&*ends) {
        let some = start..end as usize;
        if some.is_empty() {
            continue;
        }
        start = some.end;
        let at = At {
            which: Which::Some(&which[some.clone()]),
            ..at
        };
        let (own, reports) = (&own[some.clone()], &mut reports[some]);
        draw(part, at, own, reports, space.again(), work);
    }
    for (&i, &report) in order.iter().zip(&*reports) {
        dst[usize::from(i)] = report;
    }
}

/// One draw for records of a block. Not inlined, as a stack may hold hundreds of those above.
#[inline(never)]
fn leaf_draw<C: Code>(
    leaf: &Leaf,
    number: usize,
    at: At<'_>,
    src: &[C],
    dst: &mut [C],
    work: &mut Work,
) {
    let bytes = leaf.width().bytes();
    let skip = at.records.first_words(number, at.which, bytes, work);
    let words = &work.words[skip..skip + src.len() * bytes];
    let undecided = &mut work.undecided;
    match leaf {
        Leaf::Two(kind) => loops::draw(kind, words, src, dst, undecided),
        Leaf::Four(kind) => loops::draw(kind, words, src, dst, undecided),
        Leaf::Eight(kind) => loops::draw(kind, words, src, dst, undecided),
    }
    at.records.further(number, at.which, work, &mut |i, more| {
        let word = &work.words[skip + i * bytes..][..bytes];
        dst[i] = C::low(leaf.resolve(word, src[i].get(), more));
    });
}
