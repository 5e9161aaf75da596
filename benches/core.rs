//! The hot loops without Python: `cargo bench --bench core` prints the best and the middle of many runs of each.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bistochastic::internals::{Keystream, Level};
use bistochastic::{Matrix, Value, entropy_rate};

/// How long each is run.
const LONG: Duration = Duration::from_secs(2);

/// Print what one call takes. Calls that are too short for the clock are timed many at once.
fn bench<T>(name: &str, mut call: impl FnMut() -> T) {
    let mut time = |calls: u32| {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(call());
        }
        start.elapsed()
    };
    let once = time(1).max(Duration::from_nanos(1));
    let calls = (Duration::from_millis(1).div_duration_f64(once) as u32).max(1);
    let start = Instant::now();
    let mut runs = Vec::new();
    while start.elapsed() < LONG {
        runs.push(time(calls) / calls);
    }
    runs.sort();
    println!(
        "{name}: {:?} best, {:?} middle",
        runs[0],
        runs[runs.len() / 2]
    );
}

fn entropy_of_an_array() {
    let size = 1024;
    let array = vec![1.0 / size as f64; size * size];
    bench("entropy_rate 1024 x 1024", || {
        entropy_rate(black_box(&array), size)
    });
}

fn calibration() {
    let by_beta = |size| [("size", Value::Whole(size)), ("beta", Value::Real(0.4))];
    for family in ["randomized_response", "k_anonymous", "tridiagonal"] {
        bench(&format!("{family} of size 12 by beta"), || {
            Matrix::build(family, by_beta(black_box(12)))
        });
    }
}

fn rounding() {
    let n = 1 << 20;
    let row: Vec<f64> = (1..=n).map(f64::from).collect();
    let sum: f64 = row.iter().sum();
    let row: Vec<f64> = row.iter().map(|x| x / sum).collect();
    bench("circulant of size 2^20", || {
        let row = Value::Reals(row.as_slice().into());
        Matrix::build("circulant", [("first_row", row)])
    });
}

/// At each level that the processor has: blocks in order, and first words of blocks in none.
fn keystream() {
    let mut bytes = vec![0; 1 << 16];
    let unrelated = |by: u64| (0..4096u64).map(move |i| i.wrapping_mul(by)).collect();
    let counters: Vec<u64> = unrelated(0x9e37_79b9_7f4a_7c15);
    let nonces: Vec<u64> = unrelated(0xd1b5_4a32_d192_ed03);
    let mut words = vec![0; 4096];
    for level in Level::ALL.into_iter().filter(|level| level.is_had()) {
        let stream = Keystream::at(&[7; 32], level);
        let name = level.name();
        bench(&format!("keystream of 64 KiB, {name}"), || {
            stream.fill(3, black_box(5), &mut bytes);
        });
        bench(&format!("4096 first words, {name}"), || {
            stream.first_words(black_box(&counters), &nonces, &mut words);
        });
    }
}

fn main() {
    entropy_of_an_array();
    calibration();
    rounding();
    keystream();
}
