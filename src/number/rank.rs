//! The rank of a matrix of integers, modulo a prime.
//!
//! A rank found so is never above the true one, so full rank is proof. That a matrix of full rank looks
//! smaller takes a determinant divisible by the prime 2^61 - 1.

use crate::system::memory::Gather;
use crate::system::pool;
use crate::system::stop;

const P: u64 = (1 << 61) - 1;

fn multiply(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    let sum = (wide as u64 & P) + (wide >> 61) as u64;
    if sum >= P { sum - P } else { sum }
}

fn inverse(a: u64) -> u64 {
    // a^(P-2), by Fermat.
    let (mut power, mut base, mut left) = (1, a, P - 2);
    while left > 0 {
        if left & 1 == 1 {
            power = multiply(power, base);
        }
        base = multiply(base, base);
        left >>= 1;
    }
    power
}

/// The rank modulo 2^61 - 1 of `size` rows of non-negative counts.
pub fn modulo_prime(counts: &[i64], size: usize) -> usize {
    let mut rows: Vec<u64> = counts.iter().map(|&c| c as u64 % P).gather();
    let mut rank = 0;
    for column in 0..size {
        stop::point();
        let Some(found) = (rank..size).find(|&u| rows[u * size + column] != 0) else {
            continue;
        };
        if found != rank {
            let (top, bottom) = rows.split_at_mut(found * size);
            top[rank * size..(rank + 1) * size].swap_with_slice(&mut bottom[..size]);
        }
        let (top, bottom) = rows.split_at_mut((rank + 1) * size);
        let pivot = &top[rank * size..];
        let scale = inverse(pivot[column]);
        let small = (size - column) * (size - rank) < 1 << 14;
        pool::for_each_chunk(bottom, size, small, |_, row| {
            if row[column] == 0 {
                return;
            }
            let factor = P - multiply(row[column], scale);
            for (x, p) in row[column..].iter_mut().zip(&pivot[column..]) {
                let sum = *x + multiply(factor, *p);
                *x = if sum >= P { sum - P } else { sum };
            }
        });
        rank += 1;
    }
    rank
}
