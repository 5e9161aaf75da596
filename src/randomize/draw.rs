//! Reports for a block of records: first words, the kernel, further words for the undecided.

use zeroize::Zeroize;

use super::RECORDS;
use super::address::{Addresses, NEGATIVE};
use super::code::Code;
use super::node::Node;
use super::streams::{Further, Streams};
use super::work::Work;
use crate::kernel;
use crate::keystream::BLOCK;
use crate::sampler::{Form, Sampler, certain};
use crate::word::Word;

/// Reports of a block of records.
pub(super) fn draw<C: Code>(
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
                let [first, second] = &*node.parts else {
                    unreachable!("a product has two parts");
                };
                let (middle, space) = space.split_at_mut(src.len());
                draw(first, at, src, middle, space, work);
                draw(second, at, middle, dst, space, work);
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
        unreachable!("mixtures are nested deeper than the matrix says");
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

/// [`draw`] goes to the parts of those itself.
const NO_WORD: &str = "certain and composite samplers draw nothing from a first word";

/// One draw for a block of records. Not inlined, as a stack may hold hundreds of those above.
#[inline(never)]
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
        Sampler::Eight(_) => 8,
        Sampler::Certain(_) | Sampler::Composite(_) => unreachable!("{NO_WORD}"),
    };
    let skip = first_words(streams, at, src.len(), bytes, work);
    let words = &work.words[skip..skip + src.len() * bytes];
    let undecided = &mut work.undecided;
    match leaf {
        Sampler::Two(kind) => kernel::draw(kind, words, src, dst, undecided),
        Sampler::Four(kind) => kernel::draw(kind, words, src, dst, undecided),
        Sampler::Eight(kind) => kernel::draw(kind, words, src, dst, undecided),
        Sampler::Certain(_) | Sampler::Composite(_) => unreachable!("{NO_WORD}"),
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
                let mut block = streams.id_block(*id, *code);
                to.copy_from_slice(&block[..bytes]);
                block.zeroize();
            }
            0
        }
        _ => unreachable!("keys of one kind met addresses of another"),
    }
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
            Sampler::Certain(_) | Sampler::Composite(_) => unreachable!("{NO_WORD}"),
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
                    let mut more = Further::of_row(more, counter, Some(first));
                    dst[usize::from(i)] = answer(usize::from(i), &mut more);
                }
            }
        }
        (streams, at) => {
            for &i in undecided {
                let i = usize::from(i);
                let mut more = Further::of_id(streams, at.id(i), work.nonces[i] & !NEGATIVE);
                dst[i] = answer(i, &mut more);
            }
        }
    }
}
