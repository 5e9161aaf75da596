//! The least that randomizing a column of bytes takes: two bytes of the keystream per record, and a copy.
//! `cargo bench --bench floor -- RECORDS THREADS` prints nanoseconds per record, the best of five runs.

use std::hint::black_box;
use std::time::Instant;

use bistochastic::internals::{BLOCK, Keystream, share_out};

/// Records of a block, and of a thread's turn, as in `draw::randomize`.
const RECORDS: usize = 1024;
const CHUNK: usize = 1 << 16;

fn floor(codes: &[u8], out: &mut [u8], threads: usize) {
    let stream = Keystream::new(&[0; 32]);
    let mut states = vec![vec![0; 2 * RECORDS]; threads.max(1)];
    let parts = (0..).zip(codes.chunks(CHUNK)).zip(out.chunks_mut(CHUNK));
    share_out(parts, &mut states, |words, ((i, codes), out)| {
        for (j, (codes, out)) in codes
            .chunks(RECORDS)
            .zip(out.chunks_mut(RECORDS))
            .enumerate()
        {
            let block = (i * CHUNK + j * RECORDS) * 2 / BLOCK;
            stream.fill(0, block as u64, black_box(words));
            out.copy_from_slice(codes);
        }
    });
}

fn main() {
    // Cargo adds an option of its own. Without numbers, as in `cargo bench`, a few records do.
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (records, threads) = (
        numbers.next().unwrap_or(1 << 20),
        numbers.next().unwrap_or(1),
    );
    let codes: Vec<u8> = (0..records).map(|i| (i % 12) as u8).collect();
    let mut out = vec![0; records];
    let best = (0..5).map(|_| {
        let start = Instant::now();
        floor(black_box(&codes), &mut out, threads);
        start.elapsed()
    });
    let best = best.min().unwrap_or_default();
    assert_eq!(codes, out);
    println!("{}", 1e9 * best.as_secs_f64() / records as f64);
}
