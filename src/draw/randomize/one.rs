//! One record of one person: what a block of records is, without room for a block. A client with one value asks for
//! nothing else, and setting up that room takes longer than the draw.

use super::address::Person;
use super::streams::{Further, Keys};
use crate::draw::derive::{Label, derive};
use crate::draw::key::Key;
use crate::draw::sampler::{Leaf, Parts, Sampler, certain};
use crate::error::{Error, Result};
use crate::law::Matrix;
use crate::system::erase;

/// The report of one person, as [`Randomizer::run`](super::Randomizer::run) draws it. Traces of keys stay on the
/// caller's stack alone: see [`erase`].
///
/// # Errors
/// A composite that takes too many draws, a code that the matrix does not have, an id that there is not.
pub fn one<P: Person>(
    matrix: &Matrix,
    key: &Key,
    labels: &[Label],
    code: u64,
    id: P,
) -> Result<u64> {
    let size = matrix.family.size();
    matrix.sampler().check()?;
    if code >= size {
        let must = format!("be a whole number from 0 to {}", size - 1);
        return Err(Error::value("code", must, "a number outside"));
    }
    if !id.is_its_own() {
        let must = "be a whole number from -2^63 to 2^64 - 1";
        return Err(Error::value("id", must, "one outside"));
    }
    let digest = matrix.digest();
    let mut draw = |path: &[u64], leaf: &Leaf, u: u64| {
        // Under the keys of this draw alone: those of parts that nobody takes are not derived.
        let keys = P::Keys::new(&|purpose| derive(key, purpose, labels, path, digest));
        let mut block = id.block(&keys, code);
        let bytes = leaf.width().bytes();
        let v = match leaf.decide(&block[..bytes], u) {
            (v, false) => v,
            (_, true) => leaf.resolve(&block[..bytes], u, &mut Further::of_block(block)),
        };
        erase::all(&mut block);
        v
    };
    Ok(report(matrix, &mut Vec::new(), code, &mut draw))
}

/// The draw at a path, for a digit or a code.
type Draw<'d> = &'d mut dyn FnMut(&[u64], &Leaf, u64) -> u64;

/// As [`Node`](super::node::Node) numbers the draws and [`draw`](super::draw) makes them.
fn report(matrix: &Matrix, path: &mut Vec<u64>, u: u64, draw: Draw<'_>) -> u64 {
    let composite = match matrix.sampler() {
        Sampler::Certain(targets) => return certain(targets.as_deref(), u),
        Sampler::Leaf(leaf) => return draw(path, leaf, u),
        Sampler::Composite(composite) => composite,
    };
    match &composite.joined {
        Parts::Kron(factors) => {
            let (mut rest, mut place, mut v) = (u, 1, 0);
            for (i, factor) in factors.iter().enumerate().rev() {
                let n = factor.family.size();
                v += place * part(factor, path, i, rest % n, draw);
                (rest, place) = (rest / n, place * n);
            }
            v
        }
        Parts::Mix(pick, parts) => {
            // The draw of a part is the mixture's own, and no code enters it but by its address.
            let i = draw(path, pick, 0) as usize;
            part(&parts[i], path, i, u, draw)
        }
        Parts::Product(pair) => {
            let [first, second] = &**pair;
            let middle = part(first, path, 0, u, draw);
            part(second, path, 1, middle, draw)
        }
    }
}

/// That of a part, by its place.
fn part(matrix: &Matrix, path: &mut Vec<u64>, i: usize, u: u64, draw: Draw<'_>) -> u64 {
    path.push(i as u64);
    let v = report(matrix, path, u, draw);
    path.pop();
    v
}

#[cfg(test)]
mod tests {
    use super::super::{AnyKeys, Id, Randomizer};
    use super::*;
    use crate::law::battery::make;
    use crate::law::parameters::Value;

    fn matrices() -> Vec<Matrix> {
        let sized = |family: &str, size: i128, name: &str, x: Value| {
            make(family, &[("size", Value::Whole(size)), (name, x)]).unwrap()
        };
        let rr = |size| sized("randomized_response", size, "beta", Value::Real(0.6));
        let geometric = |size| sized("geometric", size, "temperature", Value::Real(2.0));
        let parts = |parts: &[Matrix]| ("matrices", Value::Matrices(parts.into()));
        let mix = |of: &[Matrix]| {
            let weights = vec![(1, of.len() as i128); of.len()];
            let weights = ("weights", Value::Ratios(weights.into()));
            make("mix", &[parts(of), weights]).unwrap()
        };
        // A law a row, and many words that decide nothing.
        let rows = |size: i64| {
            let cells = (0..size * size).map(|i| (i / size + i % size) % size + 1);
            let n = size as usize;
            let cells = Value::Table(n, n, Box::new(Value::Wholes(cells.collect())));
            make("dense", &[("array", cells)]).unwrap()
        };
        let identity = make("identity", &[("size", Value::Whole(12))]).unwrap();
        let product = make("product", &[parts(&[rr(12), geometric(12)])]).unwrap();
        let deep = mix(&[rr(12), product.clone(), identity.clone(), rows(12)]);
        vec![
            rr(12),
            rr(70_000),
            rr(1 << 40),
            rows(200),
            make("kron", &[parts(&[rr(3), deep.clone(), geometric(300)])]).unwrap(),
            identity,
            product,
            deep,
        ]
    }

    #[test]
    fn one_record_is_drawn_as_among_many() {
        let (key, labels) = (Key::insecure(5), Label::stream("x"));
        let long = "long ".repeat(300);
        for m in matrices() {
            let size = m.family.size();
            let any = Randomizer::<AnyKeys>::new(&m, &key, &labels).unwrap();
            let n = if cfg!(miri) { 5 } else { 300 };
            let codes: Vec<u64> = (0..n).map(|i| i * 7919 % size).collect();
            let texts: Vec<String> = (0..n)
                .map(|i| format!("{i}{}", if i % 50 == 3 { &long } else { "" }))
                .collect();
            let signed = |i: u64| (i as i64 - 5) * 1_000_003;
            let run = |ids: Vec<Id<'_>>| {
                let mut out = codes.clone();
                any.run(None, &mut out, &ids[..], 1).unwrap();
                out
            };
            let each = |one: &dyn Fn(usize) -> Result<u64>| -> Vec<u64> {
                (0..n as usize).map(|i| one(i).unwrap()).collect()
            };
            assert_eq!(
                each(&|i| one(&m, &key, &labels, codes[i], signed(i as u64))),
                run((0..n).map(|i| Id::Integer(signed(i).into())).collect()),
                "{size}"
            );
            assert_eq!(
                each(&|i| one(&m, &key, &labels, codes[i], u64::MAX - i as u64)),
                run((0..n).map(|i| Id::Integer((u64::MAX - i).into())).collect()),
                "{size}"
            );
            assert_eq!(
                each(&|i| one(&m, &key, &labels, codes[i], &texts[i][..])),
                run(texts.iter().map(|id| Id::Text(id)).collect()),
                "{size}"
            );
            assert_eq!(
                each(&|i| one(&m, &key, &labels, codes[i], texts[i].as_bytes())),
                run(texts.iter().map(|id| Id::Bytes(id.as_bytes())).collect()),
                "{size}"
            );
        }
    }

    #[test]
    fn refuses_what_there_is_not() {
        let (key, labels, m) = (Key::insecure(5), Label::stream("x"), &matrices()[0]);
        let error = one(m, &key, &labels, 12, 7u64).unwrap_err().to_string();
        let want = "`code` must be a whole number from 0 to 11; got a number outside";
        assert_eq!(error, want);
        let beyond = Id::Integer(1 << 64);
        let error = one(m, &key, &labels, 0, beyond).unwrap_err().to_string();
        assert!(error.starts_with("`id` must be"), "{error}");
    }
}
