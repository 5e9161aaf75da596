//! Families that the library does not know, added by the steps of CONTRIBUTING ("Add a family") with nothing
//! but the public trait: a name, a size, parameters and a structure. They are drawn from, measured, solved,
//! surveyed and decomposed as those of the library are, without another line.

// Memory of its own, not a caller's.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;

use bistochastic::birkhoff::{Options, Policy, Sum, closed, decompose};
use bistochastic::draw::alias::More;
use bistochastic::error::Result;
use bistochastic::law::lines::Survey;
use bistochastic::law::parameters::{Arguments, Parameters, Value};
use bistochastic::law::same;
use bistochastic::law::{self, Alphas, Family, Matrix, Structure};
use bistochastic::measure::survey;
use bistochastic::number::logarithms;
use bistochastic::operator::{self, Way};
use bistochastic::system::progress::Progress;

/// Warner's question: a coin shows the truth with probability `keep`, and any other answer else.
///
/// # Law
/// `keep` on the diagonal, `(1 - keep) / (size - 1)` elsewhere.
///
/// # Cost
/// Three integers.
#[derive(Debug)]
struct Warner {
    size: u64,
    keep: (u64, u64),
}

fn build(arguments: &mut Arguments) -> Result<Arc<dyn Family>> {
    let size = arguments.size()?;
    let keep = match arguments.required("keep")? {
        Value::Ratio(n, d) => (n as u64, d as u64),
        other => panic!("{other:?}"),
    };
    Ok(Arc::new(Warner { size, keep }))
}

impl Family for Warner {
    fn name(&self) -> &'static str {
        "warner"
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn parameters(&self) -> Parameters {
        let (n, d) = (self.keep.0.into(), self.keep.1.into());
        vec![
            ("size", Value::Whole(self.size.into())),
            ("keep", Value::Ratio(n, d)),
        ]
    }

    fn structure(&self) -> Structure {
        let (size, keep) = (self.size, self.keep);
        Structure::Lies { size, keep }
    }
}

/// The same four lines for any structure.
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

fn warner(size: u64, n: i128, d: i128) -> Matrix {
    let given = vec![
        ("size".to_owned(), Value::Whole(size.into())),
        ("keep".to_owned(), Value::Ratio(n, d)),
    ];
    let mut arguments = Arguments::new("warner", given);
    let family = build(&mut arguments).unwrap();
    assert_eq!(arguments.finish().unwrap().len(), 2);
    Matrix::new(family)
}

fn plain(size: u64, structure: Structure) -> Matrix {
    Matrix::new(Arc::new(Plain { size, structure }))
}

/// A matrix and its entries, written down here from the definition of its structure.
struct Case {
    matrix: Matrix,
    entry: Box<dyn Fn(u64, u64) -> (u128, u128)>,
    /// Terms of its closed sum; none where permutations are searched for.
    terms: Option<u128>,
}

fn case(
    matrix: Matrix,
    terms: Option<u128>,
    entry: impl Fn(u64, u64) -> (u128, u128) + 'static,
) -> Case {
    Case {
        matrix,
        entry: Box::new(entry),
        terms,
    }
}

/// One new family of each structure that is no composite.
fn cases() -> Vec<Case> {
    let row: [i64; 5] = [5, 0, 2, 1, 3];
    let kernel: [i64; 6] = [6, 3, 2, 1, 1, 2];
    let table: [i64; 9] = [5, 1, 0, 0, 4, 2, 1, 1, 4];
    let steps = |size, alphas: Alphas, total| Structure::Neighbours {
        size,
        alphas,
        total,
    };
    let apart: [u128; 4] = [3, 5, 2, 7];
    let class = |u: u64| match u {
        0..6 => (u / 3 * 3, 3u64),
        6 => (6, 1),
        _ => (7, 4),
    };
    vec![
        case(warner(4, 5, 8), Some(4), |u, v| {
            (if u == v { 5 } else { 1 }, 8)
        }),
        // Seldom the truth, and so rarely that the truth comes last.
        case(warner(5, 1, 21), Some(5), |u, v| {
            (if u == v { 1 } else { 5 }, 21)
        }),
        case(
            plain(
                5,
                Structure::Circulant {
                    first_row: row.into(),
                    total: 11,
                },
            ),
            Some(4),
            move |u, v| (row[((v + 5 - u) % 5) as usize] as u128, 11),
        ),
        case(
            plain(
                11,
                Structure::Classes {
                    size: 11,
                    runs: vec![(0, 3), (6, 1), (7, 4)],
                },
            ),
            Some(6),
            move |u, v| (u128::from(class(u) == class(v)), class(u).1.into()),
        ),
        case(
            plain(
                6,
                Structure::Classes {
                    size: 6,
                    runs: vec![(0, 6)],
                },
            ),
            Some(6),
            |_, _| (1, 6),
        ),
        case(plain(4, Structure::Certain(None)), Some(1), |u, v| {
            (u128::from(u == v), 1)
        }),
        case(
            plain(4, Structure::Certain(Some([2, 0, 3, 1].into()))),
            Some(1),
            |u, v| (u128::from([2, 0, 3, 1][u as usize] == v), 1),
        ),
        case(
            plain(6, steps(6, Alphas::Constant(3), 10)),
            Some(3),
            |u, v| {
                let stays = if u == 0 || u == 5 { 7 } else { 4 };
                let far = u.abs_diff(v);
                (
                    if far == 0 {
                        stays
                    } else {
                        3 * u128::from(far == 1)
                    },
                    10,
                )
            },
        ),
        case(
            plain(5, steps(5, Alphas::Vector([3, 5, 2, 7].into()), 10)),
            Some(4),
            move |u, v| {
                let step =
                    |i: Option<u64>| i.and_then(|i| apart.get(i as usize)).copied().unwrap_or(0);
                let count = match u.abs_diff(v) {
                    0 => 10 - step(u.checked_sub(1)) - step(Some(u)),
                    1 => step(Some(u.min(v))),
                    _ => 0,
                };
                (count, 10)
            },
        ),
        case(
            plain(
                5,
                Structure::Even {
                    kernel: kernel.into(),
                    total: 22,
                },
            ),
            None,
            move |u, v| {
                // A step on the cycle of 10, and its mirror image.
                let at = |j: u64| kernel[j.min(10 - j) as usize] as u128;
                (at(u.abs_diff(v)) + at((u + v + 1) % 10), 22)
            },
        ),
        case(
            plain(
                5,
                Structure::Swap {
                    size: 5,
                    i: 1,
                    j: 3,
                    stay: 5,
                    sum: 7,
                },
            ),
            Some(2),
            |u, v| match (u, v) {
                (1, 1) | (3, 3) => (5, 7),
                (1, 3) | (3, 1) => (2, 7),
                _ => (u128::from(u == v), 1),
            },
        ),
        case(
            plain(
                3,
                Structure::Rows {
                    counts: table.into(),
                    total: 6,
                    size: 3,
                },
            ),
            None,
            move |u, v| (table[(u * 3 + v) as usize] as u128, 6),
        ),
    ]
}

fn codes(matrix: &Matrix) -> std::ops::Range<u64> {
    0..matrix.family.size()
}

fn real((n, d): (u128, u128)) -> f64 {
    n as f64 / d as f64
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

#[test]
fn entries_are_those_of_the_structure() {
    for case in cases() {
        let (family, mut row) = (&*case.matrix.family, vec![f64::NAN; 11]);
        for u in codes(&case.matrix) {
            let row = &mut row[..family.size() as usize];
            family.fill_row(u, row);
            for v in codes(&case.matrix) {
                let ((n, d), (m, e)) = (family.entry(u, v).unwrap(), (case.entry)(u, v));
                assert_eq!(n * e, m * d, "{:?} at ({u}, {v})", family);
                assert_eq!(row[v as usize], family.probability(u, v));
                assert_eq!(family.total().unwrap() % d, 0);
            }
        }
    }
}

/// False alarm of the whole test: at most 1e-6, by the bound of Laurent and Massart,
/// `Pr(X >= k + 2 sqrt(k t) + 2 t) <= exp(-t)` for a chi-square of `k` degrees; the words are fixed, so that
/// it is the same every time.
#[test]
fn draws_follow_the_entries() {
    let all = cases();
    let rows: u64 = all.iter().map(|case| case.matrix.family.size()).sum();
    let t = (1e6 * rows as f64).ln();
    let mut words = Mixed(2024);
    for case in all {
        let sampler = case.matrix.sampler();
        sampler.check().unwrap();
        for u in codes(&case.matrix) {
            let n = 50_000;
            let mut seen = [0u32; 11];
            for _ in 0..n {
                seen[sampler.respond(u, &mut words) as usize] += 1;
            }
            let (mut found, mut degrees) = (0.0, -1.0);
            for v in codes(&case.matrix) {
                let expected = real((case.entry)(u, v)) * f64::from(n);
                let got = f64::from(seen[v as usize]);
                if expected == 0.0 {
                    assert_eq!(got, 0.0, "{:?} at ({u}, {v})", case.matrix);
                } else {
                    found += (got - expected).powi(2) / expected;
                    degrees += 1.0;
                }
            }
            let most = degrees + 2.0 * (degrees * t).sqrt() + 2.0 * t;
            assert!(
                found <= most,
                "{:?} in row {u}: {found} {most}",
                case.matrix
            );
        }
    }
}

#[test]
fn measures_are_those_of_the_entries() {
    for case in cases() {
        let m = &case.matrix;
        let (mut bits, mut truth, mut epsilon) = (0.0, 0.0, 0.0f64);
        for v in codes(m) {
            let column: Vec<(u128, u128)> = codes(m).map(|u| (case.entry)(u, v)).collect();
            bits -= column
                .iter()
                .map(|&e| real(e))
                .filter(|&p| p > 0.0)
                .map(|p| p * p.log2())
                .sum::<f64>();
            truth += real(column[v as usize]);
            let less = |a: &&(u128, u128), b: &&(u128, u128)| (a.0 * b.1).cmp(&(b.0 * a.1));
            let low = column.iter().min_by(|a, b| less(a, b)).unwrap();
            let high = column.iter().max_by(|a, b| less(a, b)).unwrap();
            epsilon = epsilon.max(logarithms::log_ratio(high.0 * low.1, low.0 * high.1));
        }
        let size = m.family.size() as f64;
        let bits = bits / size;
        assert!((m.entropy_rate() - bits).abs() < 1e-13, "{m:?}");
        assert!((m.beta() - bits / size.log2()).abs() < 1e-13, "{m:?}");
        assert_eq!(m.epsilon(), epsilon, "{m:?}");
        assert!((m.truthfulness() - truth / size).abs() < 1e-15, "{m:?}");
        assert!(m.is_exact() && m.knows_ergodic());
        let moves_all = (1..=20).fold(step(&case), |power, _| times(&power, &step(&case)));
        let positive = moves_all.iter().flatten().all(|&x| x);
        assert_eq!(m.is_ergodic(), positive, "{m:?}");
    }
}

fn step(case: &Case) -> Vec<Vec<bool>> {
    let row = |u| {
        codes(&case.matrix)
            .map(|v| (case.entry)(u, v).0 > 0)
            .collect()
    };
    codes(&case.matrix).map(row).collect()
}

fn times(a: &[Vec<bool>], b: &[Vec<bool>]) -> Vec<Vec<bool>> {
    let reach = |row: &Vec<bool>, v: usize| row.iter().zip(b).any(|(x, onward)| *x && onward[v]);
    a.iter()
        .map(|row| (0..b.len()).map(|v| reach(row, v)).collect())
        .collect()
}

#[test]
fn vectors_go_through_the_structure_and_back() {
    for case in cases() {
        let m = &case.matrix;
        let n = m.family.size() as usize;
        let Some(operator) = m.operator() else {
            // Only what is kept row by row is left to LAPACK.
            assert!(matches!(m.structure(), Structure::Rows { .. }), "{m:?}");
            continue;
        };
        let x: Vec<f64> = (0..n).map(|i| ((i * 7 + 3) % 11) as f64 - 4.0).collect();
        for way in [Way::Forth, Way::Back] {
            let mut through = vec![f64::NAN; n];
            operator::run(operator, way, false, n, &x, &mut through);
            for (v, got) in (0..).zip(&through) {
                let want: f64 = (0..)
                    .zip(&x)
                    .map(|(u, x)| match way {
                        Way::Forth => x * real((case.entry)(u, v)),
                        Way::Back => x * real((case.entry)(v, u)),
                    })
                    .sum();
                assert!((got - want).abs() < 1e-13, "{m:?} {got} {want}");
            }
            if operator.is_singular() {
                assert!(operator.rank() < n as u64, "{m:?}");
                continue;
            }
            let mut again = vec![f64::NAN; n];
            operator::run(operator, way, true, n, &through, &mut again);
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12 / operator.least();
            assert!(again.iter().zip(&x).all(near), "{m:?} {again:?}");
        }
    }
}

#[test]
fn sums_of_permutations_come_back_as_the_matrix() {
    for case in cases() {
        let m = &case.matrix;
        let options = Options {
            policy: Policy::Bottleneck,
            bits: None,
            mass: 1.0,
            max_terms: None,
            restarts: 1,
        };
        let short = closed::decompose(m, &options).unwrap();
        assert_eq!(short.is_some(), case.terms.is_some(), "{m:?}");
        let found = decompose(m, &options, 1.0, &Progress::default()).unwrap();
        assert!(found.complete && matches!(found.sum, Sum::Plain(_)));
        if let Some(terms) = case.terms {
            assert_eq!(found.terms(), Some(terms), "{m:?}");
        }
        let cells = found.cells().unwrap();
        let size = m.family.size();
        for u in codes(m) {
            for v in codes(m) {
                let ((n, d), (k, e)) = (cells.ratio((u * size + v) as usize), (case.entry)(u, v));
                assert_eq!(n * e, k * d, "{m:?} at ({u}, {v})");
            }
        }
    }
}

#[test]
fn the_single_lines_are_those_of_the_table() {
    let gammas = [1.0, 2.0, 3.5, f64::INFINITY];
    for case in cases() {
        let m = &case.matrix;
        let found = m.survey(&gammas, false).unwrap();
        let wanted = survey::by_table(&*m.family, &gammas);
        let key = |s: &Survey| {
            let ((a, b), (c, d)) = (s.peaks, s.least_diagonal);
            (real((a, b)), real((c, d)), s.deniability.clone())
        };
        assert_eq!(key(&found).2, key(&wanted).2, "{m:?}");
        assert!((key(&found).0 - key(&wanted).0).abs() < 1e-13, "{m:?}");
        assert!((key(&found).1 - key(&wanted).1).abs() < 1e-15, "{m:?}");
        assert!((found.worst_row.1 - wanted.worst_row.1).abs() < 1e-13);
        assert!((found.worst_column.1 - wanted.worst_column.1).abs() < 1e-13);
    }
}

/// What a large matrix can be asked for has to come from the structure: nothing here could look at entries.
#[test]
fn a_billion_codes_are_no_more_work() {
    let size = 1 << 30;
    let m = warner(size, 1, 2);
    assert!(m.beta() > 0.5 && m.epsilon() > 20.0 && m.is_exact());
    assert!(m.survey(&[2.0], false).is_some());
    assert_eq!(m.least_and_rank().unwrap().1, size);
    let options = Options {
        policy: Policy::Any,
        bits: None,
        mass: 1.0,
        max_terms: Some(3),
        restarts: 1,
    };
    let found = closed::decompose(&m, &options).unwrap().unwrap();
    assert_eq!((found.terms(), found.complete), (Some(3), false));
}

#[test]
fn composites_of_new_families_have_the_short_cuts_too() {
    let product = |a: &Matrix, b: &Matrix| {
        let pair = Value::Matrices([a.clone(), b.clone()].into());
        law::build("product", vec![("matrices".to_owned(), pair)]).unwrap()
    };
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
    // By way of two answers each, exactly; far beyond what is written out.
    let twice = product(&m, &m);
    assert!(twice.is_exact() && twice.beta() > m.beta());
    assert!((twice.truthfulness() - 0.25).abs() < 1e-6);
    assert_eq!(product(&m, &secret).truthfulness(), 1.0 / size as f64);
    assert_eq!(product(&still, &m).truthfulness(), 0.5);
    assert_eq!(
        (product(&m, &secret).beta(), product(&m, &secret).epsilon()),
        (1.0, 0.0)
    );
}

#[test]
fn a_new_family_is_another_matrix_of_the_same_law() {
    let given = vec![
        ("size".to_owned(), Value::Whole(4)),
        ("keep".to_owned(), Value::Ratio(5, 8)),
    ];
    let (m, known) = (
        warner(4, 5, 8),
        law::build("randomized_response", given).unwrap(),
    );
    let found = same::same(&m, &known).unwrap();
    assert_eq!(found, same::Found::Same(true));
    assert!(m != known && m.digest() != known.digest());
    assert_eq!((m.beta(), m.epsilon()), (known.beta(), known.epsilon()));
}

/// A composite hands in its parts; its entries and measures follow from them.
#[test]
fn a_new_composite_is_measured_by_its_parts() {
    let parts: Arc<[Matrix]> = [warner(2, 3, 4), warner(3, 1, 2)].into();
    let m = plain(6, Structure::Kron(Arc::clone(&parts)));
    let entry = |i: usize, u, v| real(parts[i].family.entry(u, v).unwrap());
    for u in codes(&m) {
        for v in codes(&m) {
            let want = entry(0, u / 3, v / 3) * entry(1, u % 3, v % 3);
            assert!((m.family.probability(u, v) - want).abs() < 1e-15);
        }
    }
    let sum = parts[0].entropy_rate() + parts[1].entropy_rate();
    assert!((m.entropy_rate() - sum).abs() < 1e-14);
    assert_eq!(m.sampler().draws(), 2);
    let mixed = plain(
        3,
        Structure::Mix {
            parts: [warner(3, 1, 2), warner(3, 3, 4)].into(),
            weights: [1, 3].into(),
            sum: 4,
        },
    );
    assert!((mixed.truthfulness() - 0.6875).abs() < 1e-15 && mixed.is_exact());
}
