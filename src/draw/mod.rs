//! From a key and a matrix to reports: every random word, and what is drawn by it.

pub mod alias;
pub mod code;
pub mod count;
pub mod derive;
pub mod hashing;
pub mod key;
pub mod keystream;
pub mod loops;
pub mod plan;
pub mod randomize;
pub mod respond;
pub mod sampler;
pub mod string_ids;
pub mod tally;
pub mod uniform;
