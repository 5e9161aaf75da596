//! Draws reports for one column, and nothing else: `scripts/sanitize.sh` runs it under valgrind with several
//! columns and compares the instructions and addresses, which must not depend on the true codes.
//!
//! `trace <family> <column>`: `column` is the seed of the true codes. It prints an address, and nothing that depends
//! on them: what is executed between two writes to that address is what draws.

use std::sync::atomic::{AtomicU8, Ordering};

use bistochastic::internals::Code;
use bistochastic::{Key, Matrix, Result, Rows, Value};

/// Records: several blocks, the last one not full, so that every loop has its rest.
const RECORDS: usize = 1500;

/// Written before and after the draws, so that they can be told from what is made ready for them.
static MARK: AtomicU8 = AtomicU8::new(0);

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let family = words.next().unwrap_or_default();
    let column = words.next().and_then(|x| x.parse().ok()).unwrap_or(0);
    println!("{:08x}", MARK.as_ptr() as usize);
    // One word of two bytes per record, and one of four.
    for size in [12, 1000] {
        let matrix = made(&family, size)?;
        if size <= 256 {
            draw::<u8>(&matrix, column)?;
        }
        draw::<u16>(&matrix, column)?;
        draw::<u64>(&matrix, column)?;
    }
    Ok(())
}

fn made(family: &str, size: u64) -> Result<Matrix> {
    let whole = |x| Value::Whole(x as i128);
    let with_size = |name, value| vec![("size", whole(size)), (name, value)];
    // A law that falls off, for those that are given one.
    let falling: Vec<i64> = (0..size).map(|j| (2 * size - j) as i64).collect();
    let sum: i64 = falling.iter().sum();
    let given = match family {
        "randomized_response" => with_size("beta", Value::Real(0.6)),
        "geometric" => with_size("temperature", Value::Real(2.0)),
        // Total and counts as in the realised parameters.
        "circulant" => vec![
            ("first_row", Value::Wholes(falling.into())),
            ("total", whole(sum as u64)),
        ],
        "t_transform" => {
            let mut given = with_size("keep", Value::Real(0.7));
            given.extend([("i", whole(1)), ("j", whole(size - 2))]);
            given
        }
        // One number more than categories: c_0 to c_r.
        "reflected" => vec![("kernel", Value::Wholes((0..=size as i64).rev().collect()))],
        "permutation" => vec![("targets", Value::Wholes((0..size as i64).rev().collect()))],
        "k_anonymous" => with_size("k", whole(4)),
        _ => vec![("size", whole(size))],
    };
    Matrix::build(family, given)
}

fn draw<T: Code>(matrix: &Matrix, column: u64) -> Result<()> {
    let size = matrix.size();
    // Multiply and add, then the high bits scaled to the size: no branch, no table.
    let mut state = column;
    let mut codes = [T::default(); RECORDS];
    for code in &mut codes {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        *code = T::low(((state >> 32) * size) >> 32);
    }
    let key = Key::insecure(1);
    let codes = std::hint::black_box(&mut codes);
    MARK.store(1, Ordering::SeqCst);
    let done = matrix.randomize(codes, &key, "trace", Rows(0));
    MARK.store(0, Ordering::SeqCst);
    done
}
