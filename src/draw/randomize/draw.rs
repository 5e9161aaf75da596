//! Reports for a block of records: first words, the inner loop, further words for the undecided. Composites draw
//! part by part, in codes as narrow as the part allows.
//!
//! The draws of a matrix are numbered as [`Sampler::each_draw`] goes through them. Each has keys of its own, which lie
//! elsewhere: what a draw does with its words is the same whatever addresses them.

use zeroize::{Zeroize, Zeroizing};

use super::address::{Records, Which};
use crate::draw::code::{Code, CodeWidth, Spare, each_word, typed};
use crate::draw::keystream::{BLOCK, Keystream};
use crate::draw::loops::{self, Undecided, digits};
use crate::draw::sampler::{Composite, Leaf, Parts, Sampler, certain};
use crate::draw::uniform::More;
use crate::law::Matrix;
use crate::system::erase::Erased;
use crate::system::memory;

/// One thread's buffers, erased when dropped: codes, ids and words alike.
pub struct Scratch {
    /// Buffers of codes and of numbers.
    pub(super) spare: Spare,
    /// First words in the order of records, with room for a block that starts late.
    pub(super) words: Erased<u8>,
    /// What addresses the words of all people of a block: counters, and nonces with the codes in them.
    pub(super) counters: Erased<u64>,
    pub(super) nonces: Erased<u64>,
    pub(super) undecided: Undecided,
}

impl Scratch {
    /// For blocks of at most `records` records.
    pub(super) fn new(records: usize) -> Self {
        Scratch {
            spare: Spare::new(records),
            words: vec![0; (8 * records).next_multiple_of(BLOCK) + 2 * BLOCK].into(),
            counters: vec![0; records].into(),
            nonces: vec![0; records].into(),
            undecided: Undecided::new(records),
        }
    }
}

/// Records of a block, and which of them.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub records: Records<'a>,
    pub which: Which<'a>,
}

/// Draw the reports of records of a block. The draws of the sampler are numbered from `number` on.
pub(super) fn draw<C: Code>(
    sampler: &Sampler,
    number: usize,
    at: At<'_>,
    src: &[C],
    dst: &mut [C],
    scratch: &mut Scratch,
) {
    match sampler {
        Sampler::Permutation(targets) => {
            for (v, u) in dst.iter_mut().zip(src) {
                *v = C::low(certain(targets.as_deref(), u.get()));
            }
        }
        Sampler::Leaf(leaf) => leaf_draw(leaf, number, at, src, dst, scratch),
        Sampler::Composite(composite) => joined(composite, number, at, src, dst, scratch),
    }
}

/// The same for a composite. Not inlined: one draw needs no room for the buffers of others.
#[inline(never)]
fn joined<C: Code>(
    composite: &Composite,
    number: usize,
    at: At<'_>,
    src: &[C],
    dst: &mut [C],
    scratch: &mut Scratch,
) {
    let n = src.len();
    let end = number + composite.draws as usize;
    match &composite.joined {
        Parts::Kron(factors) => {
            let mut rest = scratch.spare.take::<C>();
            rest[..n].copy_from_slice(src);
            dst.fill(C::default());
            let (mut number, mut place) = (end, 1);
            for (i, factor) in factors.iter().enumerate().rev() {
                number -= factor.sampler().draws() as usize;
                let size = factor.size();
                typed!(CodeWidth::of(size), D => {
                    let (mut digits, mut reports) = (scratch.spare.take::<D>(), scratch.spare.take::<D>());
                    let (rest, own, out) = (&mut rest[..n], &mut digits[..n], &mut reports[..n]);
                    if i == 0 {
                        digits::narrow(rest, own);
                    } else {
                        digits::split(size, rest, own);
                    }
                    draw(factor.sampler(), number, at, own, out, scratch);
                    digits::join(dst, place, out);
                    scratch.spare.give(digits);
                    scratch.spare.give(reports);
                });
                place *= size;
            }
            scratch.spare.give(rest);
        }
        Parts::Mix(pick, parts) => typed!(CodeWidth::of(parts.len() as u64), P => {
            // The choice is the last of the draws.
            let mut picks = scratch.spare.take::<P>();
            // Codes do not enter it, but all words are addressed alike.
            leaf_draw(pick, end - 1, at, &P::ZEROS[..n], &mut picks[..n], scratch);
            mix(parts, number, at, &picks[..n], src, dst, scratch);
            scratch.spare.give(picks);
        }),
        Parts::Product(pair) => {
            let [first, second] = pair.each_ref().map(Matrix::sampler);
            let mut middle = scratch.spare.take::<C>();
            draw(first, number, at, src, &mut middle[..n], scratch);
            let number = number + first.draws() as usize;
            draw(second, number, at, &middle[..n], dst, scratch);
            scratch.spare.give(middle);
        }
    }
}

/// Draw from the part that each record has picked.
fn mix<C: Code, P: Code>(
    parts: &[Matrix],
    mut number: usize,
    at: At<'_>,
    picks: &[P],
    src: &[C],
    dst: &mut [C],
    scratch: &mut Scratch,
) {
    let n = src.len();
    let mut reports = scratch.spare.take::<C>();
    if parts.len() <= at.records.few() {
        for (i, part) in (0..).zip(parts) {
            let sampler = part.sampler();
            if i == 0 {
                draw(sampler, number, at, src, dst, scratch);
            } else if picks.contains(&P::low(i)) {
                // Words are addressed, so a part that no record takes can be left out.
                draw(sampler, number, at, src, &mut reports[..n], scratch);
                digits::select(dst, &reports[..n], picks, P::low(i));
            }
            number += sampler.draws() as usize;
        }
        return scratch.spare.give(reports);
    }
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
    let (mut which, mut own) = (scratch.spare.take::<u16>(), scratch.spare.take::<C>());
    let records = order.iter().take(n).map(|&i| usize::from(i));
    for ((which, own), i) in which.iter_mut().zip(&mut *own).zip(records.clone()) {
        (*which, *own) = (at.which.at(i) as u16, src[i]);
    }
    let mut start = 0;
    for (part, &end) in parts.iter().zip(&**ends) {
        let (sampler, some) = (part.sampler(), start..end as usize);
        if !some.is_empty() {
            start = some.end;
            let at = At {
                which: Which::Some(&which[some.clone()]),
                ..at
            };
            let (own, reports) = (&own[some.clone()], &mut reports[some]);
            draw(sampler, number, at, own, reports, scratch);
        }
        number += sampler.draws() as usize;
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
    let bytes = leaf.bytes();
    let skip = at.records.first_words(number, at.which, bytes, scratch);
    let words = &scratch.words[skip..skip + src.len() * bytes];
    let undecided = &mut scratch.undecided;
    each_word!(leaf, kind => loops::draw(kind, words, src, dst, undecided));
    at.records
        .further(number, at.which, scratch, &mut |i, more| {
            let word = &scratch.words[skip + i * bytes..][..bytes];
            dst[i] = C::low(leaf.resolve(word, src[i].get(), more));
        });
}

/// Where further words come from.
enum Behind<'a> {
    /// The blocks of a row.
    Row(&'a Keystream, u64),
    /// A stream of the record's own.
    Own(Keystream),
}

/// A record's further words.
pub struct Further<'a> {
    source: Behind<'a>,
    drawn: u64,
    block: [u32; 16],
    first: Option<u64>,
}

impl<'a> Further<'a> {
    /// The words of a row, of which the first may be known.
    pub(super) fn of_row(stream: &'a Keystream, row: u64, first: Option<u64>) -> Self {
        Further {
            source: Behind::Row(stream, row),
            drawn: 0,
            block: [0; 16],
            first,
        }
    }

    /// The words of an id and a code: the last 32 bytes of their block are a key.
    pub(in crate::draw) fn of_block(mut block: [u8; BLOCK]) -> Self {
        let mut secret = [0; 32];
        secret.copy_from_slice(&block[32..]);
        let source = Behind::Own(Keystream::new(&secret));
        block.zeroize();
        secret.zeroize();
        Further {
            source,
            drawn: 0,
            block: [0; 16],
            first: None,
        }
    }
}

impl More for Further<'_> {
    fn next(&mut self) -> u64 {
        let n = self.drawn;
        self.drawn += 1;
        if let (0, Some(first)) = (n, self.first) {
            return first;
        }
        // The block of word 0 is not known, if only its word was given.
        if n.is_multiple_of(8) || (n == 1 && self.first.is_some()) {
            self.block = match &self.source {
                Behind::Row(stream, row) => stream.block(*row, n / 8),
                Behind::Own(stream) => stream.block(n / 8, 0),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What [`Further`] gives is what the law of addresses says.
    #[test]
    fn further_words_are_the_blocks_of_the_row() {
        let stream = Keystream::new(&[3; 32]);
        let pair = |p: &[u32]| u64::from(p[0]) | u64::from(p[1]) << 32;
        let blocks = (0..3).map(|nonce| stream.block(9, nonce));
        let want: Vec<u64> = blocks
            .flat_map(|b| b.chunks(2).map(pair).collect::<Vec<_>>())
            .collect();
        for first in [None, Some(want[0])] {
            let mut more = Further::of_row(&stream, 9, first);
            assert!(want.iter().all(|&word| more.next() == word));
        }
    }
}
