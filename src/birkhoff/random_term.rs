//! A random term of a decomposition, each with exactly its weight.

use super::terms::{Permutations, Terms, Times, Weights};
use super::{Decomposition, Sum};
use crate::draw::uniform::{More, by_long_remainder, by_remainder};
use crate::error::{Error, Result};
use crate::system::memory::Gather;

/// Draws terms. Where the words come from is not known here: the keystream plugs in as [`More`].
#[derive(Debug)]
pub enum Drawer {
    /// Ends of the terms out of the last of them.
    Ends(Vec<u64>),
    /// `(weight, terms)` out of a total.
    Runs(Vec<(u128, u64)>, u128),
    /// When each term begins, as a fraction of 1, in order, and which one it is.
    Times(Vec<((u32, u32), u64)>),
    /// One draw for each factor, and how many terms it has.
    Kron(Vec<(Drawer, u128)>),
}

impl Drawer {
    /// For all terms of a decomposition.
    ///
    /// # Errors
    /// One that was cut short.
    pub fn new(decomposition: &Decomposition) -> Result<Self> {
        if !decomposition.complete {
            let must = "be asked of a decomposition without a residual";
            return Err(Error::value("sample", must, "one with a residual"));
        }
        match &decomposition.sum {
            Sum::Plain(form) => Ok(Drawer::of_form(form)),
            Sum::Kron(factors, _) => {
                let parts = factors
                    .iter()
                    .map(|part| Ok((Drawer::new(part)?, part.terms())));
                Ok(Drawer::Kron(parts.collect::<Result<Vec<_>>>()?))
            }
        }
    }

    fn of_form(form: &Terms) -> Self {
        match (&form.weights, &form.permutations) {
            (Weights::Runs(runs, total), _) => Drawer::Runs(runs.clone(), *total),
            (Weights::Ratios(_), Permutations::Classes(_, Times::Listed(times))) => {
                let mut begins: Vec<_> = times.iter().copied().zip(0..).gather();
                begins.sort_unstable_by(|((a, b), _), ((c, d), _)| {
                    (u64::from(*a) * u64::from(*d)).cmp(&(u64::from(*c) * u64::from(*b)))
                });
                Drawer::Times(begins)
            }
            (weights, _) => {
                // The total is below 2^63, and so are the sums.
                let mut sum = 0;
                let ends = (0..weights.terms()).map(|j| {
                    sum += weights.ratio(j).0 as u64;
                    sum
                });
                Drawer::Ends(ends.gather())
            }
        }
    }

    /// A term.
    pub fn draw(&self, words: &mut impl More) -> u128 {
        match self {
            Drawer::Ends(ends) => {
                let unit = by_remainder(ends.last().copied().unwrap_or(1), words);
                ends.partition_point(|&end| end <= unit) as u128
            }
            Drawer::Runs(runs, total) => at(runs, by_long_remainder(*total, words)),
            Drawer::Times(begins) => {
                let word = words.next();
                // Fractions of this kind are further apart than 2^-64, so at most one of them begins
                // inside the word, and more words decide on which side of it the number lies.
                let begun =
                    |p: u32, q: u32| u128::from(p) << 64 <= u128::from(word) * u128::from(q);
                let known = begins.partition_point(|&((p, q), _)| begun(p, q));
                let open = begins.get(known).filter(|((p, q), _)| {
                    (u128::from(*p) << 64) < (u128::from(word) + 1) * u128::from(*q)
                });
                let passed = open.is_some_and(|&((p, q), _)| {
                    let rest = (u128::from(p) << 64) % u128::from(q);
                    passed(rest, q.into(), words)
                });
                begins[known + usize::from(passed) - 1].1.into()
            }
            Drawer::Kron(parts) => parts
                .iter()
                .fold(0, |term, (part, terms)| term * terms + part.draw(words)),
        }
    }
}

/// Whether a number, whose next digits in base 2^64 are drawn, is at least `rest / q`.
fn passed(mut rest: u128, q: u128, words: &mut impl More) -> bool {
    loop {
        let (digit, word) = ((rest << 64) / q, u128::from(words.next()));
        rest = (rest << 64) % q;
        if word != digit || rest == 0 {
            return word >= digit;
        }
    }
}

/// The term that holds a unit.
fn at(runs: &[(u128, u64)], mut unit: u128) -> u128 {
    let mut before = 0;
    for &(weight, terms) in runs {
        let all = weight * u128::from(terms);
        if unit < all {
            return before + unit / weight;
        }
        unit -= all;
        before += u128::from(terms);
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The term for each given word.
    fn draw(drawer: &Drawer, given: &[u64]) -> u128 {
        let mut next = given.iter().copied();
        drawer.draw(&mut || next.next().expect("enough words"))
    }

    #[test]
    fn fractions_are_decided_by_as_many_words_as_it_takes() {
        // Terms 2, 0, 1 begin at 0, 1/3 and 1/2.
        let drawer = Drawer::Times(vec![((0, 2), 2), ((1, 3), 0), ((1, 2), 1)]);
        let third = u64::MAX / 3;
        assert_eq!(draw(&drawer, &[0]), 2);
        assert_eq!(draw(&drawer, &[third - 1]), 2);
        assert_eq!(draw(&drawer, &[third + 1]), 0);
        // 1/3 is the digit `third` again and again.
        assert_eq!(draw(&drawer, &[third, third + 1]), 0);
        assert_eq!(draw(&drawer, &[third, third - 1]), 2);
        assert_eq!(draw(&drawer, &[third, third, third, third + 1]), 0);
        assert_eq!(draw(&drawer, &[1 << 63]), 1);
        assert_eq!(draw(&drawer, &[(1 << 63) - 1]), 0);
    }
}
