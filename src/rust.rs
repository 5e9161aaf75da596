//! What Rust programs call: matrices, keys, reports, decompositions. It checks what it is given, and memory that runs out
//! becomes an error.

use crate::birkhoff::{self, Decomposition, Options};
use crate::draw::code::Code;
use crate::draw::derive::Label;
use crate::draw::key::Key;
use crate::draw::randomize::{Addresses, randomize};
use crate::error::{Error, Result};
use crate::law::parameters::Value;
use crate::law::{self, Matrix};
use crate::number::entropy;
use crate::system::progress::Progress;
use crate::system::stop::{self, Stop};
use crate::system::{memory, pool};

/// How private [`Matrix::randomized_response`] is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// At least this share of the most bits, from 0 to 1.
    Beta(f64),
    /// At most this epsilon of local differential privacy, from 0 up.
    Epsilon(f64),
    /// The truth with this probability.
    Keep(f64),
}

/// The number of the first record that is randomized: each row has random words of its own under a key and a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows(pub u64);

/// Work that may run out of memory.
fn done<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    pool::checked()?;
    stop::guarded(None, work).unwrap_or_else(|stopped| {
        let must = "hold what was asked for";
        let got = match stopped {
            Stop::Memory(shortage) => format!("{shortage} for {}", shortage.bytes),
            Stop::Interrupted => "an interruption".to_owned(),
        };
        Err(Error::memory("memory", must, got))
    })
}

impl Matrix {
    /// The matrix of a family with its parameters, as they are called in Python.
    ///
    /// ```
    /// use bistochastic::{Matrix, Value};
    /// let scale = [("size", Value::Whole(5)), ("temperature", Value::Real(1.5))];
    /// assert_eq!(Matrix::build("geometric", scale)?.size(), 5);
    /// # Ok::<(), bistochastic::Error>(())
    /// ```
    ///
    /// # Errors
    /// An unknown family or parameter; whatever the family refuses.
    pub fn build<'a>(
        family: &str,
        parameters: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Matrix> {
        let given = parameters
            .into_iter()
            .map(|(n, value)| (n.to_owned(), value));
        done(|| law::build(family, given.collect()))
    }

    /// The truth with one probability, and every other code with another: the most truthful such matrix that reaches the
    /// target.
    ///
    /// ```
    /// use bistochastic::{Matrix, Target};
    /// let m = Matrix::randomized_response(12, Target::Beta(0.6))?;
    /// assert!(m.beta() >= 0.6);
    /// # Ok::<(), bistochastic::Error>(())
    /// ```
    ///
    /// # Errors
    /// A size that is none, a target out of its range.
    pub fn randomized_response(size: u64, target: Target) -> Result<Matrix> {
        let (name, number) = match target {
            Target::Beta(beta) => ("beta", beta),
            Target::Epsilon(epsilon) => ("epsilon", epsilon),
            Target::Keep(keep) => ("keep", keep),
        };
        let size = ("size", Value::Whole(size.into()));
        Matrix::build("randomized_response", [size, (name, Value::Real(number))])
    }

    /// Row `u` as the nearest doubles: how likely each report is if the truth is `u`.
    ///
    /// ```
    /// use bistochastic::{Matrix, Target};
    /// let m = Matrix::randomized_response(3, Target::Keep(0.5))?;
    /// assert_eq!(m.probabilities(1)?, [0.25, 0.5, 0.25]);
    /// # Ok::<(), bistochastic::Error>(())
    /// ```
    ///
    /// # Errors
    /// A code that there is not; not enough memory.
    pub fn probabilities(&self, u: u64) -> Result<Vec<f64>> {
        let size = self.size();
        if u >= size {
            return Err(Error::index("u", format!("be from 0 to {}", size - 1), u));
        }
        done(|| {
            let mut row = memory::zeros(usize::try_from(size).unwrap_or(usize::MAX));
            self.fill_row(u, &mut row);
            Ok(row)
        })
    }

    /// Randomize true codes, of `u8`, `u16`, `u32` or `u64`, where they stand.
    ///
    /// The same key, name, matrix and rows give the same reports, on every machine and in Python, where `name` is called
    /// `stream`. So never use one name for two columns, nor the same rows of it twice.
    ///
    /// ```
    /// use bistochastic::{Key, Matrix, Rows, Target};
    /// let m = Matrix::randomized_response(4, Target::Beta(0.6))?;
    /// let mut codes = [0u8, 1, 2, 3];
    /// m.randomize(&mut codes, &Key::generate()?, "answer", Rows(0))?;
    /// # Ok::<(), bistochastic::Error>(())
    /// ```
    ///
    /// # Errors
    /// A code that the matrix does not have, at its position: then `codes` mean nothing. Integers that cannot hold every
    /// report; too many rows.
    pub fn randomize<T: Code>(
        &self,
        codes: &mut [T],
        key: &Key,
        name: &str,
        first: Rows,
    ) -> Result<()> {
        let (labels, rows) = (Label::stream(name), Addresses::Rows(first.0));
        done(|| randomize(self, key, &labels, None, codes, rows, pool::threads()))
    }

    /// The matrix as a weighted sum of permutations, exactly (Birkhoff's theorem).
    ///
    /// ```
    /// use bistochastic::{Matrix, Options, Target};
    /// let m = Matrix::randomized_response(3, Target::Keep(0.5))?;
    /// let sum = m.decompose(&Options::default())?;
    /// assert_eq!(sum.terms(), 3);
    /// assert_eq!(sum.weight(0)?, 0.5);
    /// assert_eq!(sum.permutation(1)?, [1, 2, 0]);
    /// assert!(sum.weight(10_000).is_err());
    /// # Ok::<(), bistochastic::Error>(())
    /// ```
    ///
    /// # Errors
    /// A matrix that is too large for it, or has no common denominator below 2^63.
    pub fn decompose(&self, options: &Options) -> Result<Decomposition> {
        done(|| birkhoff::decompose(self, options, 1.0, &Progress::default()))
    }
}

/// Decompose several matrices side by side: this is what more than one thread is best used for.
///
/// ```
/// use bistochastic::{Matrix, Options, Target, decompose_all};
/// let each = [2, 3].map(|size| Matrix::randomized_response(size, Target::Keep(0.5)));
/// let sums = decompose_all(&each.into_iter().collect::<Result<Vec<_>, _>>()?, &Options::default())?;
/// assert_eq!(sums[1].terms(), 3);
/// # Ok::<(), bistochastic::Error>(())
/// ```
///
/// # Errors
/// The first of [`Matrix::decompose`], in the order of the matrices.
pub fn decompose_all(matrices: &[Matrix], options: &Options) -> Result<Vec<Decomposition>> {
    done(|| birkhoff::decompose_all(matrices, options, &Progress::default()))
}

/// The entropy rate in bits of a plain array, row by row: `-sum of p log2 p / size`.
///
/// ```
/// assert_eq!(bistochastic::entropy_rate(&[0.25; 16], 4)?, 2.0);
/// # Ok::<(), bistochastic::Error>(())
/// ```
///
/// # Errors
/// Not `size * size` numbers; an entry that is not a non-negative number; a row or column whose sum is off by more than
/// 1e-9.
pub fn entropy_rate(array: &[f64], size: usize) -> Result<f64> {
    if size == 0 || size.checked_mul(size) != Some(array.len()) {
        let must = format!("hold {size} x {size} numbers, at least one");
        return Err(Error::value("array", must, array.len()));
    }
    done(|| entropy::entropy_rate(array, size))
}

impl Decomposition {
    fn check(&self, j: u128) -> Result<()> {
        let terms = self.terms();
        if j < terms {
            return Ok(());
        }
        let must = format!("be below the number of terms, {terms}");
        Err(Error::index("j", must, j))
    }

    /// The weight of term `j` as the nearest double.
    ///
    /// # Errors
    /// A term that there is not.
    pub fn weight(&self, j: u128) -> Result<f64> {
        self.check(j)?;
        Ok(self.precise_weight(j).hi)
    }

    /// The permutation of term `j`: where each code goes.
    ///
    /// # Errors
    /// A term that there is not; not enough memory.
    pub fn permutation(&self, j: u128) -> Result<Vec<i64>> {
        self.check(j)?;
        done(|| {
            let mut term = memory::zeros(self.matrix.size() as usize);
            self.fill(j, &mut term);
            Ok(term)
        })
    }
}
