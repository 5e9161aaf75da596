//! What is read off whole matrices: the single lines, metric privacy, plain arrays. Bits, beta and epsilon are part of a law: [`law::rate`](crate::law::rate).

mod array;
mod metric;
pub mod survey;

pub use array::array_entropy_rate;
pub use metric::metric_epsilon;
