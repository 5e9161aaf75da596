//! Criterion benches of the hot loops, without Python: `cargo bench`.

use std::hint::black_box;

use bistochastic::draw::keystream::Keystream;
use bistochastic::law::build;
use bistochastic::law::parameters::Value;
use bistochastic::measure;
use bistochastic::system::processor::Level;
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

/// At each level that the processor has: blocks in order, and first words of blocks in none.
fn keystream(c: &mut Criterion) {
    let mut bytes = vec![0; 1 << 16];
    let unrelated = |by: u64| (0..4096u64).map(move |i| i.wrapping_mul(by)).collect();
    let counters: Vec<u64> = unrelated(0x9e37_79b9_7f4a_7c15);
    let nonces: Vec<u64> = unrelated(0xd1b5_4a32_d192_ed03);
    let mut words = vec![0; 4096];
    for level in Level::ALL.into_iter().filter(|level| level.is_had()) {
        let stream = Keystream::at(&[7; 32], level);
        let name = level.name();
        c.bench_function(&format!("keystream of 64 KiB, {name}"), |b| {
            b.iter(|| stream.fill(3, black_box(5), &mut bytes));
        });
        c.bench_function(&format!("4096 first words, {name}"), |b| {
            b.iter(|| stream.first_words(black_box(&counters), &nonces, &mut words));
        });
    }
}

criterion_group!(
    benches,
    entropy_of_an_array,
    calibration,
    rounding,
    keystream
);
criterion_main!(benches);
