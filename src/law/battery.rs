//! The battery that every family passes, from its entries alone.

#![cfg(test)]

use crate::error::Result;
use crate::law::parameters::Value;
use crate::law::{Family, Matrix, build, rate};
use crate::measure::survey;
use crate::number::bits;
use crate::number::dd::Dd;
use crate::number::lattice::{self, gcd};
use crate::number::logarithms;

/// `build` for tests.
pub fn make(family: &str, given: &[(&str, Value)]) -> Result<Matrix> {
    build(
        family,
        given
            .iter()
            .map(|(n, v)| ((*n).to_owned(), v.clone()))
            .collect(),
    )
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
    make(
        "mix",
        &[("matrices", Value::Matrices(parts.into())), weights],
    )
    .unwrap()
}

/// All entries of a matrix as doubles, row after row.
pub fn written(matrix: &Matrix) -> Vec<f64> {
    let size = matrix.family.size() as usize;
    let mut table = vec![0.0; size * size];
    for (u, row) in table.chunks_mut(size).enumerate() {
        matrix.family.fill_row(u as u64, row);
    }
    table
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

/// Sums, bits, epsilon, truthfulness, ergodicity, the linear map and the round trip, for sizes up to
/// some 30.
pub fn check_laws(matrix: &Matrix) {
    crate::operator::laws::check_operator(matrix);
    survey::laws::check_survey(matrix);
    let f = &*matrix.family;
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
    let reported = rate::entropy_rate(f);
    assert!(
        (0.0..1e-13).contains(&(bits - reported + 1e-15)),
        "{bits} {reported}"
    );
    if size > 1 {
        let beta = rate::beta(f);
        let want = bits / bits::max_bits(size);
        assert!(
            (0.0..1e-13).contains(&(want - beta + 1e-15)),
            "{want} {beta}"
        );
    } else {
        assert_eq!(rate::beta(f), 1.0);
    }
    assert_eq!(f.epsilon(), epsilon);
    let mean = lattice::nearest(trace.0, trace.1 * u128::from(size));
    assert!((f.truthfulness() - mean).abs() <= 2f64.powi(-52), "{mean}");
    assert_eq!(f.is_ergodic(), some_power_is_positive(f));
    let again = build(
        f.name(),
        f.parameters()
            .into_iter()
            .map(|(n, v)| (n.to_owned(), v))
            .collect(),
    )
    .unwrap();
    assert_eq!(again.family.parameters(), f.parameters());
}

/// Wielandt: a primitive matrix has a positive power at (size - 1)^2 + 1.
fn some_power_is_positive(f: &dyn Family) -> bool {
    let n = f.size() as usize;
    let step: Vec<Vec<bool>> = (0..n)
        .map(|u| {
            (0..n)
                .map(|v| f.entry(u as u64, v as u64).unwrap().0 > 0)
                .collect()
        })
        .collect();
    let mut power = step.clone();
    for _ in 0..(n - 1) * (n - 1) {
        power = power
            .iter()
            .map(|row| {
                (0..n)
                    .map(|v| (0..n).any(|w| row[w] && step[w][v]))
                    .collect()
            })
            .collect();
    }
    power.iter().flatten().all(|&x| x)
}

#[test]
fn refuses_an_unknown_family_and_an_unknown_parameter() {
    let error = make("gaussian", &[]).unwrap_err().to_string();
    assert!(
        error.starts_with("`family` must be one of balance, "),
        "{error}"
    );
    let error = make(
        "uniform",
        &[("size", Value::Whole(3)), ("k", Value::Whole(1))],
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "`k` must be a parameter of uniform (size); got a name it does not have"
    );
    let error = make("uniform", &[]).unwrap_err().to_string();
    assert_eq!(error, "`size` must be given for uniform; got nothing");
}
