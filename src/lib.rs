//! The core of `bistochastic`: exact bistochastic matrices, their bits, their parameters.
//!
//! | room | what lives there | who may touch it |
//! |---|---|---|
//! | [`error`] | `Error` and its sentences | all return it; only `py` converts it |
//! | [`lattice`] | laws as counts out of a total; rounding onto the grid 2^-53 | families |
//! | [`dd`] | double-double arithmetic for reports that round in a known direction | measure, lattice, families |
//! | [`entropy`] | `-p log2 p` over many numbers, vectorised | measure |
//! | [`measure`] | bits, beta, epsilon of any family; `require` | families, `py` |
//! | [`operator`] | `P^T x` and its inverse by structure, in doubles | families, `py` |
//! | [`gradients`] | Newton's equations of the likelihood by conjugate gradients | `py` |
//! | [`rank`] | the rank of integers modulo a prime | `py` |
//! | [`survey`] | the single lines: worst row and column, peaks, deniability | families, `py` |
//! | [`matching`] | perfect matchings in a graph that gains and loses edges | support, birkhoff |
//! | [`support`] | does every positive entry lie on a positive diagonal? components | scaling, families |
//! | [`scaling`], [`potentials`] | rows and columns scaled to sums of 1, in doubles and in their logarithms | dense families |
//! | [`assignment`] | the cheapest assignment in integers, and what entries cost beyond it | gibbs |
//! | [`calibrate`] | exact search for the parameter that reaches a wanted number | families |
//! | [`count`] | how often each code occurs in a column | `py` |
//! | [`law`] | whether two matrices are the same law | `py` |
//! | [`parameters`] | parameters by name, in and out | families, `py` |
//! | [`family`] | trait `Family`, `Structure`, `REGISTRY`, `build`; one file a family | all that has a closed form; `py` |
//! | [`key`], [`derive`] | 32 secret bytes; from them and labels to the keys of all streams | randomize, `py` |
//! | [`erase`] | secrets leave no copies behind | key, derive, keystream, randomize, respond, `py` |
//! | [`keystream`] | (key, position) to random words; the only randomness | randomize, respond |
//! | [`word`] | unsigned integers by their lowest bits; a record's first word | alias, sampler, randomize |
//! | [`alias`] | exact integer sampling of one finite law; states that law | sampler |
//! | [`sampler`], [`kernel`] | how each structure is drawn; the inner loops | randomize, respond |
//! | [`randomize`] | codes to protected codes in fixed blocks | `py` |
//! | [`respond`] | words for one answer at a time; survives `fork` | `py` |
//! | [`birkhoff`] | matrices as sums of permutations: search, closed forms, sampling | `py` |
//! | [`numeric`] | individuals as categories: permutations and averages of a column | `py` |
//! | [`pool`] | the threads; survives `fork` | entropy, lattice, `py` |
//! | [`mutant`] | faults on purpose, for `make mutants`; compiled to nothing elsewhere | all |
//! | [`system`] | memory, how work stops, forks, numbers that are found once, the processor's level | all |
//! | `py` | every `#[pyclass]` and `#[pyfunction]`; the only folder that names pyo3 or numpy | this file |
//!
//! Where to start: [`family::Family`], then one family, then [`measure`].

// NaN has to fail a condition, so conditions are written `!(x >= 0.0)`.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

// Before the others, which use its macro.
#[macro_use]
pub mod mutant;

pub mod alias;
pub mod assignment;
pub mod birkhoff;
pub mod calibrate;
pub mod count;
pub mod dd;
pub mod derive;
pub mod entropy;
pub mod erase;
pub mod error;
pub mod family;
pub mod gradients;
pub mod kernel;
pub mod key;
pub mod keystream;
pub mod lattice;
pub mod law;
pub mod matching;
pub mod measure;
pub mod numeric;
pub mod operator;
pub mod parameters;
pub mod pool;
pub mod potentials;
pub mod randomize;
pub mod rank;
pub mod respond;
pub mod sampler;
pub mod scaling;
pub mod support;
pub mod survey;
pub mod system;
pub mod word;

#[cfg(feature = "python")]
mod py;
