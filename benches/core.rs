//! Criterion benches of the hot loops, without Python: `cargo bench`.

use std::hint::black_box;

use _core::family::build;
use _core::measure;
use _core::parameters::Value;
use criterion::{Criterion, criterion_group, criterion_main};

fn entropy_of_an_array(c: &mut Criterion) {
    let size = 1024;
    let array = vec![1.0 / size as f64; size * size];
    c.bench_function("array_entropy_rate 1024 x 1024", |b| {
        b.iter(|| measure::array_entropy_rate(black_box(&array), size));
    });
}

fn calibration(c: &mut Criterion) {
    let given = |name: &str, size| {
        vec![
            ("size".to_owned(), Value::Whole(size)),
            (name.to_owned(), Value::Real(0.4)),
        ]
    };
    for family in ["randomized_response", "k_anonymous", "tridiagonal"] {
        c.bench_function(&format!("{family} of size 12 by beta"), |b| {
            b.iter(|| build(family, given("beta", black_box(12))));
        });
    }
}

fn rounding(c: &mut Criterion) {
    let n = 1 << 20;
    let row: Vec<f64> = (1..=n).map(f64::from).collect();
    let sum: f64 = row.iter().sum();
    let row: Vec<f64> = row.iter().map(|x| x / sum).collect();
    c.bench_function("circulant of size 2^20", |b| {
        b.iter(|| {
            build(
                "circulant",
                vec![("first_row".to_owned(), Value::Reals(row.as_slice().into()))],
            )
        });
    });
}

criterion_group!(benches, entropy_of_an_array, calibration, rounding);
criterion_main!(benches);
