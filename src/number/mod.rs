//! Exact and directed arithmetic: numbers that are right, or wrong in a known direction.

pub mod axes;
pub mod bits;
pub mod calibrate;
pub mod dd;
pub mod entropy;
pub mod lattice;
pub mod logarithms;
pub mod metric;
pub mod tridiagonal;
