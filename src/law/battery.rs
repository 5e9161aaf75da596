//! The battery that every family passes, from its entries alone.

#![cfg(test)]

use crate::error::Result;
use crate::law::parameters::Value;
use crate::law::{Entry, Matrix, REGISTRY, build};
use crate::number::bits;
use crate::number::dd::Dd;
use crate::number::lattice::{self, gcd};
use crate::number::logarithms;

/// `build` for tests.
pub fn make(family: &str, given: &[(&str, Value)]) -> Result<Matrix> {
    let owned = |(name, value): &(&str, Value)| ((*name).to_owned(), value.clone());
    build(family, given.iter().map(owned).collect())
}

/// The matrix of a family with a size and nothing else.
pub fn sized(family: &str, size: i128) -> Matrix {
    make(family, &[("size", Value::Whole(size))]).unwrap()
}

/// The matrix of a family with a size and one more parameter.
pub fn with(family: &str, size: i128, name: &str, value: Value) -> Matrix {
    make(family, &[("size", Value::Whole(size)), (name, value)]).unwrap()
}

/// Randomized response by beta.
pub fn response(size: i128, beta: f64) -> Matrix {
    with("randomized_response", size, "beta", Value::Real(beta))
}

/// The matrix of a family whose one parameter is a vector of integers.
pub fn wholes(family: &str, name: &str, numbers: &[i64]) -> Matrix {
    make(family, &[(name, Value::Wholes(numbers.into()))]).unwrap()
}

/// A dense matrix of counts.
pub fn table(size: usize, cells: impl IntoIterator<Item = i64>) -> Matrix {
    let cells = Value::Wholes(cells.into_iter().collect());
    let array = Value::Table(size, size, Box::new(cells));
    make("dense", &[("array", array)]).unwrap()
}

/// A kron or a product.
pub fn joined(family: &str, parts: &[Matrix]) -> Matrix {
    make(family, &[("matrices", Value::Matrices(parts.into()))]).unwrap()
}

/// A mixture of parts with the same weight.
pub fn mix(parts: &[Matrix]) -> Matrix {
    let weights = vec![(1, parts.len() as i128); parts.len()];
    let weights = ("weights", Value::Ratios(weights.into()));
    let parts = ("matrices", Value::Matrices(parts.into()));
    make("mix", &[parts, weights]).unwrap()
}

fn add((a, b): (u128, u128), (c, d): (u128, u128)) -> (u128, u128) {
    let g = gcd(b, d);
    let (n, d) = (a * (d / g) + c * (b / g), b / g * d);
    let g = gcd(n, d).max(1);
    (n / g, d / g)
}

fn less((a, b): (u128, u128), (c, d): (u128, u128)) -> bool {
    a * d < c * b
}

/// Sums, bits, epsilon, truthfulness, ergodicity, the linear map, the survey and the round trip, for sizes up to
/// some 30.
pub fn check_laws(matrix: &Matrix) {
    crate::measure::survey::laws::check_survey(matrix);
    let f = matrix;
    let size = f.size();
    let entry = |u, v| f.entry(u, v).unwrap();
    let mut bits = Dd::ZERO;
    let mut epsilon: f64 = 0.0;
    let mut trace = (0, 1);
    for u in 0..size {
        let row = (0..size).fold((0, 1), |s, v| add(s, entry(u, v)));
        let column = (0..size).fold((0, 1), |s, v| add(s, entry(v, u)));
        assert_eq!((row, column), ((1, 1), (1, 1)), "line {u}");
        trace = add(trace, entry(u, u));
        let (mut low, mut high) = (entry(0, u), entry(0, u));
        for v in 0..size {
            let p = entry(v, u);
            if less(p, low) {
                low = p;
            }
            if less(high, p) {
                high = p;
            }
            if p.0 > 0 {
                let x = Dd::from(p.0) / Dd::from(p.1);
                bits = bits - x * x.log2();
            }
        }
        epsilon = epsilon.max(logarithms::log_ratio(high.0 * low.1, low.0 * high.1));
        let mut doubles = vec![f64::NAN; size as usize];
        f.fill_row(u, &mut doubles);
        for v in 0..size {
            let (n, d) = entry(u, v);
            assert_eq!(doubles[v as usize], lattice::nearest(n, d));
            assert!(f.total().is_none_or(|total| total % d == 0));
        }
    }
    let bits = (bits / Dd::from(u128::from(size))).hi;
    let reported = f.entropy_rate();
    assert!(
        (0.0..1e-13).contains(&(bits - reported + 1e-15)),
        "{bits} {reported}"
    );
    let want = match size {
        1 => 1.0,
        _ => bits / bits::max_bits(size),
    };
    let off = want - f.beta();
    assert!((0.0..1e-13).contains(&(off + 1e-15)), "{want} {off:e}");
    assert_eq!(f.epsilon(), epsilon);
    let mean = lattice::nearest(trace.0, trace.1 * u128::from(size));
    assert!((f.truthfulness() - mean).abs() <= 2f64.powi(-52), "{mean}");
    assert_eq!(f.is_ergodic(), some_power_is_positive(f));
    let again = make(f.name(), f.parameters()).unwrap();
    assert_eq!(again.parameters(), f.parameters());
}

/// Wielandt: a primitive matrix has a positive power at (size - 1)^2 + 1.
fn some_power_is_positive(f: &Matrix) -> bool {
    let n = f.size() as usize;
    let step = |u: usize, v: usize| f.entry(u as u64, v as u64).unwrap().0 > 0;
    let steps: Vec<bool> = (0..n * n).map(|i| step(i / n, i % n)).collect();
    let onward =
        |power: &[bool], u: usize, v: usize| (0..n).any(|w| power[u * n + w] && steps[w * n + v]);
    let mut power = steps.clone();
    for _ in 0..(n - 1) * (n - 1) {
        power = (0..n * n).map(|i| onward(&power, i / n, i % n)).collect();
    }
    power.iter().all(|&x| x)
}

/// Matrices of every family, at the edges of their parameters among others.
fn cases() -> Vec<Matrix> {
    use Value::{Ratio, Ratios, Real, Reals, Table, Whole, Wholes};
    let square = |family: &str, name: &str, cells: &[f64], more: &[(&str, Value)]| {
        let size = cells.len().isqrt();
        let cells = Table(size, size, Box::new(Reals(cells.into())));
        make(family, &[&[(name, cells)], more].concat()).unwrap()
    };
    let (tiny, inf) = (1e-300, f64::INFINITY);
    let mut all = Vec::new();
    for size in [1, 2, 3, 12] {
        all.extend([sized("identity", size), sized("uniform", size)]);
        for epsilon in [0.0, tiny, 1e-12, 0.1, 1.0, 20.0, 800.0, inf] {
            all.push(with("randomized_response", size, "epsilon", Real(epsilon)));
        }
        all.extend([0.0, 1e-12, 0.6, 1.0].map(|beta| response(size, beta)));
        for t in [0.0, 1e-3, 0.02, 1.0, 11.92, 1e6, 1e12, inf] {
            all.push(with("geometric", size, "temperature", Real(t)));
        }
        for alpha in [Real(0.3), Ratio(1, 3), Whole(0)] {
            all.push(with("tridiagonal", size, "alphas", alpha));
        }
        all.push(with("k_anonymous", size, "k", Whole(1.max(size / 5))));
    }
    for keep in [0.0, tiny, 0.3, 0.5, 1.0f64.next_down(), 1.0] {
        all.push(with("randomized_response", 3, "keep", Real(keep)));
        for (size, i, j) in [(2, 0, 1), (5, 3, 1)] {
            let given = [("size", size), ("i", i), ("j", j)].map(|(name, n)| (name, Whole(n)));
            let given = [&given[..], &[("keep", Real(keep))]].concat();
            all.push(make("t_transform", &given).unwrap());
        }
    }
    for counts in [[3, 1], [1, 1], [1, 0], [0, 2], [5 << 40, 1]] {
        let given = [("size", Whole(7)), ("modulus", Whole(7))];
        let law = [
            ("residues", Wholes([0, 1, 3].into())),
            ("counts", Wholes(counts.into())),
        ];
        all.push(make("difference_set", &[given, law].concat()).unwrap());
    }
    let reals = [
        ("circulant", "first_row", &[1.0][..]),
        ("circulant", "first_row", &[0.0, 1.0, 0.0]),
        ("circulant", "first_row", &[0.5, 0.0, 0.5, 0.0]),
        (
            "circulant",
            "first_row",
            &[1.0 - 3.0 * tiny, tiny, tiny, tiny],
        ),
        ("tridiagonal", "alphas", &[]),
        ("tridiagonal", "alphas", &[1.0]),
        ("tridiagonal", "alphas", &[0.3, 0.7, 0.3]),
        ("tridiagonal", "alphas", &[1.0, 0.0, 1.0]),
        ("tridiagonal", "alphas", &[tiny, 1.0, tiny]),
        ("reflected", "kernel", &[1.0, 0.0]),
        ("reflected", "kernel", &[0.0, 0.5, 0.0]),
        ("reflected", "kernel", &[0.0, 0.0, 0.5, 0.0, 0.0]),
        ("reflected", "kernel", &[0.5, 0.1, 0.1, 0.05, 0.0]),
    ];
    all.extend(
        reals
            .map(|(family, name, numbers)| make(family, &[(name, Reals(numbers.into()))]).unwrap()),
    );
    let thirds = ("first_row", Ratios([(1, 3), (1, 6), (1, 2)].into()));
    all.push(make("circulant", &[thirds]).unwrap());
    let whole = [
        ("blocks", "sizes", &[2, 2, 3, 3, 2][..]),
        ("blocks", "sizes", &[1, 1, 5]),
        ("permutation", "targets", &[3, 0, 1, 2]),
        ("reflected", "kernel", &[5, 3, 2, 1, 1, 1, 1, 1]),
        ("reflected", "kernel", &[0, 0, 1, 0, 1]),
    ];
    all.extend(whole.map(|(family, name, numbers)| wholes(family, name, numbers)));
    all.push(table(3, [2, 1, 0, 1, 1, 1, 0, 1, 2]));
    for cells in [
        &[1.0 - 1e-10, 1e-10, 2e-10, 1.0 - 2e-10][..],
        &[1.0, 0.0, 0.0, 0.0, 0.1, 0.9, 0.0, 0.9, 0.1],
        &[1.0, tiny, tiny, tiny, 1.0, tiny, tiny, tiny, 1.0],
    ] {
        all.push(square("dense", "array", cells, &[]));
        all.push(square("balance", "array", cells, &[]));
    }
    for t in [0.05, 1.0, inf] {
        let cost = [0.0, 1.0, inf, 2.0, 0.0, 1.0, inf, 3.0, 0.0];
        all.push(square("gibbs", "cost", &cost, &[("temperature", Real(t))]));
    }
    let three = [
        sized("identity", 3),
        sized("uniform", 3),
        with("randomized_response", 3, "keep", Ratio(1, 2)),
        wholes("circulant", "first_row", &[2, 1, 0]),
        wholes("blocks", "sizes", &[1, 2]),
        wholes("permutation", "targets", &[1, 2, 0]),
    ];
    for a in &three {
        for b in &three {
            let pair = [a.clone(), b.clone()];
            all.extend([joined("product", &pair), joined("kron", &pair), mix(&pair)]);
        }
    }
    all
}

/// Small values of a form.
fn values(form: &str) -> Vec<Value> {
    use Value::{Matrices, Ratio, Ratios, Table, Whole, Wholes};
    let two = || Matrices([sized("uniform", 2), sized("identity", 2)].into());
    match form {
        "whole" => [1, 2, 3, 7].map(Whole).to_vec(),
        "fraction" => [(0, 1), (1, 3), (1, 1)].map(|(n, d)| Ratio(n, d)).to_vec(),
        "fractions" => vec![Ratios([(1, 4), (3, 4)].into())],
        "wholes" | "alphas" => [&[1][..], &[0, 1], &[2, 1], &[0, 1, 3], &[1, 0, 1, 1]]
            .map(|numbers| Wholes(numbers.into()))
            .to_vec(),
        "table" => vec![Table(2, 2, Box::new(Wholes([1, 2, 2, 1].into())))],
        "places" => vec![two()],
        _ => panic!("say in `values` what may stand for {form}"),
    }
}

/// Matrices of a family whose parameters are any small values of their forms that it accepts.
fn small(entry: &Entry) -> Vec<Matrix> {
    let mut given: Vec<Vec<(&str, Value)>> = vec![Vec::new()];
    for (name, form) in entry.parameters {
        let some = values(form.trim_start_matches("optional "));
        let with = |before: &Vec<_>| -> Vec<_> {
            let one = |value: &Value| [&before[..], &[(*name, value.clone())]].concat();
            some.iter().map(one).collect()
        };
        given = given.iter().flat_map(with).collect();
    }
    let made = given.iter().filter_map(|one| make(entry.name, one).ok());
    made.filter(|m| m.true_size() == m.size()).collect()
}

#[test]
fn every_family_keeps_its_laws() {
    let mut all = cases();
    all.extend(REGISTRY.iter().flat_map(small));
    all.iter().for_each(check_laws);
    for entry in REGISTRY {
        let known = |m: &&Matrix| m.name() == entry.name;
        let some = all.iter().find(known);
        let some = some.unwrap_or_else(|| panic!("add a matrix of {} to `cases`", entry.name));
        let realised = some.parameters();
        for (name, _) in realised {
            assert!(entry.parameters.iter().any(|(n, _)| n == name), "{name}");
        }
    }
}
