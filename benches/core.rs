//! Criterion benches of the hot loops.
fn main() {}
