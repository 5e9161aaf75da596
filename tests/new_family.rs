//! Families that the library does not know, added by the steps of CONTRIBUTING ("Add a family") with nothing
//! but the public trait: a name, a size, parameters and a structure. They are drawn from, measured,
//! surveyed and decomposed as those of the library are, without another line.

use std::sync::Arc;

use bistochastic::birkhoff::{Options, closed, decompose};
use bistochastic::draw::alias::More;
use bistochastic::law::parameters::{Parameters, Value};
use bistochastic::law::same;
use bistochastic::law::{self, Family, Matrix, Structure};
use bistochastic::system::progress::Progress;

/// A family of any structure in four lines.
#[derive(Debug)]
struct Plain {
    size: u64,
    structure: Structure,
}

impl Family for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn parameters(&self) -> Parameters {
        vec![("size", Value::Whole(self.size.into()))]
    }

    fn structure(&self) -> Structure {
        self.structure.clone()
    }
}

/// Warner's question: a coin shows the truth with probability `n / d`, and any other answer else.
fn warner(size: u64, n: u64, d: u64) -> Matrix {
    plain(size, Structure::Lies { size, keep: (n, d) })
}

fn plain(size: u64, structure: Structure) -> Matrix {
    Matrix::new(Arc::new(Plain { size, structure }))
}

fn known(family: &str, given: Vec<(&str, Value)>) -> Matrix {
    let given = given
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    law::build(family, given.collect()).unwrap()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let pair = Value::Matrices([a.clone(), b.clone()].into());
    known("product", vec![("matrices", pair)])
}

/// A matrix of the library for each structure; others test that these are right.
fn library() -> Vec<Matrix> {
    use Value::{Ratio, Whole, Wholes};
    let wholes =
        |family: &str, name, numbers: &[i64]| known(family, vec![(name, Wholes(numbers.into()))]);
    let sized =
        |family: &str, size, name, value| known(family, vec![("size", Whole(size)), (name, value)]);
    let table = Value::Table(3, 3, Box::new(Wholes([5, 1, 0, 0, 4, 2, 1, 1, 4].into())));
    let swap = vec![
        ("size", Whole(5)),
        ("i", Whole(1)),
        ("j", Whole(3)),
        ("keep", Ratio(5, 7)),
    ];
    let steps = vec![
        ("alphas", Wholes([3, 5, 2, 7].into())),
        ("total", Whole(10)),
    ];
    let keeps = [Ratio(1, 2), Ratio(3, 4)];
    let parts = keeps.map(|keep| sized("randomized_response", 3, "keep", keep));
    let parts = || ("matrices", Value::Matrices(parts.clone().into()));
    vec![
        sized("randomized_response", 4, "keep", Ratio(5, 8)),
        // So rarely the truth that it comes last.
        sized("randomized_response", 5, "keep", Ratio(1, 21)),
        wholes("circulant", "first_row", &[5, 0, 2, 1, 3]),
        wholes("blocks", "sizes", &[3, 3, 1, 4]),
        wholes("blocks", "sizes", &[6]),
        known("identity", vec![("size", Whole(4))]),
        wholes("permutation", "targets", &[2, 0, 3, 1]),
        sized("tridiagonal", 6, "alphas", Ratio(3, 10)),
        known("tridiagonal", steps),
        wholes("reflected", "kernel", &[6, 3, 2, 1, 1, 2]),
        known("t_transform", swap),
        known("dense", vec![("array", table)]),
        known("kron", vec![parts()]),
        known("product", vec![parts()]),
        known(
            "mix",
            vec![parts(), ("weights", Value::Ratios([(1, 4), (3, 4)].into()))],
        ),
    ]
}

/// SplitMix64, a source of words that has nothing to do with the library's.
struct Mixed(u64);

impl More for Mixed {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn options(max_terms: Option<u64>) -> Options {
    Options {
        mass: 1.0,
        max_terms,
        restarts: 1,
    }
}

/// Everything that can be asked of a small matrix.
fn answers(m: &Matrix) -> Vec<String> {
    let (family, n) = (&*m.family, m.family.size() as usize);
    let mut all = vec![
        format!(
            "{:?}",
            (m.entropy_rate(), m.beta(), m.epsilon(), m.truthfulness())
        ),
        format!(
            "{:?}",
            (m.is_exact(), m.is_ergodic(), m.knows_ergodic(), m.total())
        ),
        format!(
            "{:?}",
            m.survey(&[1.0, 2.0, 3.5, f64::INFINITY], false).unwrap()
        ),
    ];
    let mut words = Mixed(2024);
    for u in 0..n as u64 {
        let mut row = vec![f64::NAN; n];
        family.fill_row(u, &mut row);
        let entries: Vec<_> = (0..n as u64).map(|v| family.entry(u, v)).collect();
        let drawn: Vec<u64> = (0..100)
            .map(|_| m.sampler().respond(u, &mut words))
            .collect();
        all.push(format!("{row:?} {entries:?} {drawn:?}"));
    }
    if matches!(m.structure(), Structure::Kron(_)) {
        // Permuted axis by axis only if the family hands in its factors.
        return all;
    }
    let options = options(None);
    let short = closed::decompose(m, &options).unwrap().is_some();
    let found = decompose(m, &options, 1.0, &Progress::default()).unwrap();
    let cells = found
        .cells()
        .map(|cells| (0..n * n).map(|i| cells.ratio(i)).collect::<Vec<_>>());
    all.push(format!(
        "{short} {:?} {} {cells:?}",
        found.terms(),
        found.complete
    ));
    all
}

#[test]
fn a_new_family_is_another_matrix_with_all_that_its_structure_gives() {
    for known in library() {
        let new = plain(known.family.size(), known.structure().clone());
        for (new, known) in answers(&new).into_iter().zip(answers(&known)) {
            assert_eq!(new, known);
        }
        let found = same::same(&new, &known).unwrap();
        assert_eq!(found, same::Found::Same(true));
        assert!(new != known && new.digest() != known.digest());
    }
}

/// What a large matrix can be asked for has to come from the structure: nothing here could look at entries.
#[test]
fn a_billion_codes_are_no_more_work() {
    let size = 1 << 30;
    let m = warner(size, 1, 2);
    assert!(m.beta() > 0.5 && m.epsilon() > 20.0 && m.is_exact());
    assert!(m.survey(&[2.0], false).is_some());
    let found = closed::decompose(&m, &options(Some(3))).unwrap().unwrap();
    assert_eq!((found.terms(), found.complete), (Some(3), false));
}

#[test]
fn composites_of_new_families_have_the_short_cuts_too() {
    let size = 1 << 20;
    let secret = plain(
        size,
        Structure::Classes {
            size,
            runs: vec![(0, size)],
        },
    );
    let still = plain(size, Structure::Certain(None));
    let m = warner(size, 1, 2);
    // Far beyond what is written out: bounds, and the truth by way of two answers each.
    let twice = product(&m, &m);
    assert!(!twice.is_exact() && twice.beta() == m.beta());
    assert!((twice.truthfulness() - 0.25).abs() < 1e-6);
    assert_eq!(product(&m, &secret).truthfulness(), 1.0 / size as f64);
    assert_eq!(product(&still, &m).truthfulness(), 0.5);
    assert_eq!(
        (product(&m, &secret).beta(), product(&m, &secret).epsilon()),
        (1.0, 0.0)
    );
}
