//! Reports for a block of records: first words, the inner loop, further words for the undecided. Composites draw
//! part by part, in codes as narrow as the part allows.

use zeroize::Zeroizing;

use super::address::{Records, Which};
use super::node::{Factor, Mixture, Node};
use super::work::Scratch;
use crate::draw::code::{Code, Width, typed};
use crate::draw::loops::{self, digits};
use crate::draw::sampler::{Leaf, certain};
use crate::system::memory;

/// Records of a block, and which of them.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub records: Records<'a>,
    pub which: Which<'a>,
}

/// Draw the reports of records of a block.
pub(super) fn draw<C: Code>(
    node: &Node<'_>,
    at: At<'_>,
    src: &[C],
    dst: &mut [C],
    scratch: &mut Scratch,
) {
    let n = src.len();
    match node {
        Node::Certain(targets) => {
            for (v, u) in dst.iter_mut().zip(src) {
                *v = C::low(certain(*targets, u.get()));
            }
        }
        Node::Leaf(leaf, number) => leaf_draw(leaf, *number, at, src, dst, scratch),
        Node::Kron(factors) => {
            let mut rest = scratch.spare.take::<C>();
            rest[..n].copy_from_slice(src);
            dst.fill(C::default());
            let mut place = 1;
            for (i, factor) in factors.iter().enumerate().rev() {
                typed!(Width::of(factor.divisor.size), D => {
                    digit::<C, D>(factor, i == 0, place, at, &mut rest[..n], dst, scratch)
                });
                place *= factor.divisor.size;
            }
            scratch.spare.give(rest);
        }
        Node::Mix(mixture) => typed!(Width::of(mixture.parts.len() as u64), P => {
            mix::<C, P>(mixture, at, src, dst, scratch)
        }),
        Node::Product(pair) => {
            let [first, second] = &**pair;
            let mut middle = scratch.spare.take::<C>();
            draw(first, at, src, &mut middle[..n], scratch);
            draw(second, at, &middle[..n], dst, scratch);
            scratch.spare.give(middle);
        }
    }
}

/// Split the last digit off the codes, the only one if it is the `leading` one, and put its report into its place.
fn digit<C: Code, D: Code>(
    factor: &Factor<'_>,
    leading: bool,
    place: u64,
    at: At<'_>,
    rest: &mut [C],
    dst: &mut [C],
    scratch: &mut Scratch,
) {
    let (mut digits, mut reports) = (scratch.spare.take::<D>(), scratch.spare.take::<D>());
    let (own, out) = (&mut digits[..rest.len()], &mut reports[..rest.len()]);
    if leading {
        digits::narrow(rest, own);
    } else {
        digits::split(&factor.divisor, rest, own);
    }
    draw(&factor.node, at, own, out, scratch);
    digits::join(dst, place, out);
    scratch.spare.give(digits);
    scratch.spare.give(reports);
}

fn mix<C: Code, P: Code>(
    mixture: &Mixture<'_>,
    at: At<'_>,
    src: &[C],
    dst: &mut [C],
    scratch: &mut Scratch,
) {
    let n = src.len();
    let mut picks = scratch.spare.take::<P>();
    // Codes do not enter the choice, but all words are addressed alike.
    let (pick, zeros) = (mixture.pick, &P::ZEROS[..n]);
    leaf_draw(pick, mixture.number, at, zeros, &mut picks[..n], scratch);
    if mixture.parts.len() > at.records.few() {
        taken(&mixture.parts, at, &picks[..n], src, dst, scratch);
    } else {
        let mut reports = scratch.spare.take::<C>();
        for (i, part) in (0..).zip(&mixture.parts) {
            if i == 0 {
                draw(part, at, src, dst, scratch);
            } else if picks[..n].contains(&P::low(i)) {
                // Words are addressed, so a part that no record takes can be left out.
                draw(part, at, src, &mut reports[..n], scratch);
                digits::select(dst, &reports[..n], &picks[..n], P::low(i));
            }
        }
        scratch.spare.give(reports);
    }
    scratch.spare.give(picks);
}

/// Draw from each part for the records that take it.
fn taken<C: Code, P: Code>(
    parts: &[Node<'_>],
    at: At<'_>,
    picks: &[P],
    src: &[C],
    dst: &mut [C],
    scratch: &mut Scratch,
) {
    // Records in the order of their parts: after this, those of part `i` end at `ends[i]`.
    let mut ends = Zeroizing::new(memory::zeros::<u32>(parts.len() + 1));
    for pick in picks {
        ends[pick.get() as usize + 1] += 1;
    }
    for i in 1..ends.len() {
        ends[i] += ends[i - 1];
    }
    let mut order = scratch.spare.take::<u16>();
    for (i, pick) in (0..).zip(picks) {
        let end = &mut ends[pick.get() as usize];
        order[*end as usize] = i;
        *end += 1;
    }
    let mut which = scratch.spare.take::<u16>();
    let (mut own, mut reports) = (scratch.spare.take::<C>(), scratch.spare.take::<C>());
    let records = order.iter().take(src.len()).map(|&i| usize::from(i));
    for ((which, own), i) in which.iter_mut().zip(&mut *own).zip(records.clone()) {
        (*which, *own) = (at.which.at(i) as u16, src[i]);
    }
    let mut start = 0;
    for (part, &end) in parts.iter().zip(&**ends) {
        let some = start..end as usize;
        if some.is_empty() {
            continue;
        }
        start = some.end;
        let at = At {
            which: Which::Some(&which[some.clone()]),
            ..at
        };
        draw(part, at, &own[some.clone()], &mut reports[some], scratch);
    }
    for (i, &report) in records.zip(&*reports) {
        dst[i] = report;
    }
    scratch.spare.give(order);
    scratch.spare.give(which);
    scratch.spare.give(own);
    scratch.spare.give(reports);
}

/// One draw for records of a block. Not inlined, as a stack may hold many of those above.
#[inline(never)]
fn leaf_draw<C: Code>(
    leaf: &Leaf,
    number: usize,
    at: At<'_>,
    src: &[C],
    dst: &mut [C],
    scratch: &mut Scratch,
) {
    let bytes = leaf.width().bytes();
    let skip = at.records.first_words(number, at.which, bytes, scratch);
    let words = &scratch.words[skip..skip + src.len() * bytes];
    let undecided = &mut scratch.undecided;
    match leaf {
        Leaf::Two(kind) => loops::draw(kind, words, src, dst, undecided),
        Leaf::Four(kind) => loops::draw(kind, words, src, dst, undecided),
        Leaf::Eight(kind) => loops::draw(kind, words, src, dst, undecided),
    }
    at.records
        .further(number, at.which, scratch, &mut |i, more| {
            let word = &scratch.words[skip + i * bytes..][..bytes];
            dst[i] = C::low(leaf.resolve(word, src[i].get(), more));
        });
}
