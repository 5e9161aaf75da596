//! For tests: the law of addresses as it is written down, a record and a draw at a time, without blocks, vectors or
//! narrow codes.

#![cfg(test)]

use super::further::Further;
use super::{Address, Id, IdKeys, Ids, Randomizer, RowKeys, Rows};
use crate::draw::code::Code;
use crate::draw::derive::{Label, Purpose, derive};
use crate::draw::key::Key;
use crate::draw::keystream::Keystream;
use crate::draw::sampler::{Leaf, Parts, Sampler, certain};
use crate::law::Matrix;
use crate::law::battery::{joined, mix, sized, table, with};
use crate::law::parameters::Value;

/// A matrix with the streams of its own draw.
struct Slow<'a> {
    matrix: &'a Matrix,
    words: Keystream,
    more: Keystream,
    ids: Keystream,
    parts: Vec<Slow<'a>>,
}

impl<'a> Slow<'a> {
    fn new(matrix: &'a Matrix, path: &[u64], root: &Matrix, key: &Key) -> Self {
        let stream = |purpose| {
            let labels = Label::stream("x");
            Keystream::new(&derive(key, purpose, &labels, path, root.digest()))
        };
        let parts: &[Matrix] = match matrix.sampler() {
            Sampler::Composite(composite) => match &composite.joined {
                Parts::Kron(parts) | Parts::Mix(_, parts) => parts,
                Parts::Product(pair) => &pair[..],
            },
            Sampler::Certain(_) | Sampler::Leaf(_) => &[],
        };
        let part = |(i, part)| Slow::new(part, &[path, &[i]].concat(), root, key);
        Slow {
            matrix,
            words: stream(Purpose::Words),
            more: stream(Purpose::More),
            ids: stream(Purpose::IdInteger),
            parts: (0..).zip(parts).map(part).collect(),
        }
    }

    /// One draw, by row or by id and the code of the whole.
    fn one(&self, leaf: &Leaf, at: At, u: u64) -> u64 {
        let bytes = leaf.width().bytes();
        let block = |words: [u32; 16]| words.map(u32::to_le_bytes).concat();
        let (word, mut more) = match at {
            At::Row(row) => {
                let place = row as usize * bytes;
                let block = block(self.words.block(place as u64 / 64, 0));
                let word = block[place % 64..][..bytes].to_vec();
                (word, Further::of_row(&self.more, row, None))
            }
            At::Person(id, code) => {
                let sign = u64::from(id < 0) << 63;
                let block = block(self.ids.block(id as u64, code | sign));
                let own = <[u8; 64]>::try_from(&*block).unwrap();
                (block[..bytes].to_vec(), Further::of_block(own))
            }
        };
        let mut x = [0; 8];
        x[..bytes].copy_from_slice(&word);
        let x = u64::from_le_bytes(x);
        let (v, undecided) = match leaf {
            Leaf::Two(kind) => kind.decide(x, u),
            Leaf::Four(kind) => kind.decide(x, u),
            Leaf::Eight(kind) => kind.decide(x, u),
        };
        if undecided {
            UNDECIDED.with(|n| n.set(n.get() + 1));
            return leaf.resolve(&word, u, &mut more);
        }
        v
    }

    fn report(&self, at: At, u: u64) -> u64 {
        let composite = match self.matrix.sampler() {
            Sampler::Certain(targets) => return certain(targets.as_deref(), u),
            Sampler::Leaf(leaf) => return self.one(leaf, at, u),
            Sampler::Composite(composite) => composite,
        };
        match &composite.joined {
            Parts::Kron(_) => {
                let (mut rest, mut place, mut v) = (u, 1, 0);
                for part in self.parts.iter().rev() {
                    let size = part.matrix.family.size();
                    v += place * part.report(at, rest % size);
                    (rest, place) = (rest / size, place * size);
                }
                v
            }
            Parts::Mix(pick, _) => self.parts[self.one(pick, at, 0) as usize].report(at, u),
            Parts::Product(_) => self.parts.iter().fold(u, |u, part| part.report(at, u)),
        }
    }
}

#[derive(Clone, Copy)]
enum At {
    Row(u64),
    Person(i64, u64),
}

thread_local! {
    static UNDECIDED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A matrix with keys for every kind of address, which take long to derive.
struct Quick<'a> {
    size: u64,
    rows: Randomizer<'a, RowKeys>,
    people: Randomizer<'a, IdKeys>,
}

fn run<T: Code, A: Address>(
    quick: &Randomizer<'_, A::Keys>,
    codes: &[u64],
    at: A,
    threads: usize,
) -> Vec<u64> {
    let codes: Vec<T> = codes.iter().map(|&u| T::low(u)).collect();
    let mut out = vec![T::default(); codes.len()];
    quick.run(Some(&codes), &mut out, at, threads).unwrap();
    out.into_iter().map(|v| v.get()).collect()
}

/// Rows and people, every type that holds the codes, one thread and two, whole and in pieces.
fn check(m: &Matrix, n: u64) {
    let (size, row) = (m.family.size(), 77);
    let slow = Slow::new(m, &[], m, &Key::insecure(5));
    // Both ends of the codes are among the first.
    let codes: Vec<u64> = (0..n)
        .map(|i| {
            if i % 2 == 0 {
                i * 7919 % size
            } else {
                size - 1 - i / 2 % size
            }
        })
        .collect();
    let people: Vec<i64> = (0..n as i64).map(|i| (i - 5) * 1_000_003).collect();
    let by_row: Vec<u64> = (row..)
        .zip(&codes)
        .map(|(row, &u)| slow.report(At::Row(row), u))
        .collect();
    let by_id: Vec<u64> = people
        .iter()
        .zip(&codes)
        .map(|(&id, &u)| slow.report(At::Person(id, u), u))
        .collect();
    /// As far as the type holds the codes; whether it does.
    fn agree<T: Code>(
        m: &Quick<'_>,
        codes: &[u64],
        row: u64,
        people: &[i64],
        want: [&[u64]; 2],
        threads: usize,
    ) -> bool {
        if T::low(m.size - 1).get() != m.size - 1 {
            return false;
        }
        let by_row = run::<T, _>(&m.rows, codes, Rows(row), threads);
        assert_eq!(by_row, want[0], "{}", m.size);
        let by_id = run::<T, _>(&m.people, codes, Ids::Signed(people), threads);
        assert_eq!(by_id, want[1], "{}", m.size);
        true
    }
    let want = [&by_row[..], &by_id[..]];
    let (key, labels) = (Key::insecure(5), Label::stream("x"));
    let quick = Quick {
        size,
        rows: Randomizer::new(m, &key, &labels).unwrap(),
        people: Randomizer::new(m, &key, &labels).unwrap(),
    };
    // The widest holds any, so that each matrix is drawn on one thread and, up to four bytes, on two.
    let held = [
        agree::<u8>(&quick, &codes, row, &people, want, 2),
        agree::<u16>(&quick, &codes, row, &people, want, 1),
        agree::<u32>(&quick, &codes, row, &people, want, 2),
        agree::<u64>(&quick, &codes, row, &people, want, 1),
    ];
    assert!(held[3]);
    let n = codes.len();
    for (start, end) in [(0, 1), (3, 40), (n / 3, n)] {
        let (codes, people) = (&codes[start..end], &people[start..end]);
        let rows = Rows(row + start as u64);
        let by_row = run::<u64, _>(&quick.rows, codes, rows, 2);
        assert_eq!(by_row, want[0][start..end]);
        let ids: Vec<Id<'_>> = people.iter().map(|&id| Id::Integer(id.into())).collect();
        let by_id = run::<u64, _>(&quick.people, codes, Ids::Mixed(&ids), 1);
        assert_eq!(by_id, want[1][start..end]);
    }
}

fn rr(size: i128) -> Matrix {
    with("randomized_response", size, "keep", Value::Ratio(3, 7))
}

fn kron(of: &[Matrix]) -> Matrix {
    joined("kron", of)
}

fn product(first: Matrix, second: Matrix) -> Matrix {
    joined("product", &[first, second])
}

/// A law a row, and many words that decide nothing.
fn rows(size: i64) -> Matrix {
    let cells = (0..size * size).map(|i| (i / size + i % size) % size + 1);
    table(size as usize, cells)
}

/// So many matrices of 12 codes, of which about forty differ.
fn several(n: i128) -> Vec<Matrix> {
    let one = |i| match i % 3 {
        0 => product(rr(12), rows(12)),
        1 => rows(12),
        _ => with(
            "randomized_response",
            12,
            "keep",
            Value::Ratio(1 + i % 40, 2 + n),
        ),
    };
    (0..n).map(one).collect()
}

/// More than a block.
const N: u64 = 1_300;

#[test]
fn digits_at_the_borders_of_their_types() {
    for sizes in [
        &[12, 12][..],
        &[5, 3, 17],
        &[2, 2, 2, 2, 2, 2, 2, 2],
        &[1, 255],
        &[1, 256],
        &[256, 1],
        &[1, 257],
        &[257],
        &[64, 64],
        &[255, 257],
        &[257, 255],
        &[256, 256],
        &[1, 65_535, 1],
        &[1, 65_536],
        &[65_536, 1],
        &[1, 65_537],
        &[65_537, 1],
        &[2, 65_536],
        &[65_536, 65_536],
        &[1, 65_536, 1, 65_536],
        &[65_537, 65_537],
        &[3, 1 << 25, 5],
    ] {
        let of: Vec<Matrix> = sizes
            .iter()
            .map(|&n| if n == 1 { sized("uniform", 1) } else { rr(n) })
            .collect();
        check(&kron(&of), N);
    }
    // A digit that draws nothing, and digits that leave many words undecided.
    check(&kron(&[rows(200), sized("identity", 3), rows(100)]), N);
    check(&product(rows(200), rr(200)), N);
    assert!(UNDECIDED.with(|n| n.get()) > 5);
}

#[test]
fn parts_of_mixtures_few_and_many() {
    for n in [1, 2, 3, 16, 17, 32, 33, 100] {
        check(&mix(&several(n)), N);
    }
    // Numbers of parts at the borders of their types.
    for n in [255, 256, 257] {
        check(&mix(&several(n)), N);
    }
    for size in [255, 256, 257, 65_535, 65_536, 65_537, 1 << 33] {
        check(
            &mix(&[rr(size), sized("identity", size), sized("uniform", size)]),
            N,
        );
    }
    // Further words, for all records and for those that take the part.
    for n in [8, 40] {
        check(&mix(&vec![rows(200); n]), N);
    }
    assert!(UNDECIDED.with(|n| n.get()) > 5);
}

#[test]
fn composites_of_composites() {
    let many = mix(&several(40));
    // A mixture in a mixture, for all records and for those that take it.
    check(&mix(&[many.clone(), mix(&several(3)), rr(12)]), N);
    let mut deep = several(33);
    deep.push(many.clone());
    deep.push(mix(&several(2)));
    deep.push(product(kron(&[rr(3), rows(4)]), many.clone()));
    let deep = mix(&deep);
    check(&deep, N);
    check(&kron(&[deep.clone(), rr(300), mix(&several(2))]), N);
    check(
        &product(kron(&[many, rr(5)]), kron(&[rr(4), kron(&[rr(3), rr(5)])])),
        N,
    );
}
