//! A matrix as numbered draws. Each has keys of its own, told apart by its path, which lie elsewhere: what a draw does
//! with its words is the same whatever addresses them.

use crate::draw::loops::digits::Divisor;
use crate::draw::sampler::{Leaf, Parts, Sampler};
use crate::law::Matrix;
use crate::system::memory::Gather;

/// A draw, or a composite of draws, with its number. What draws nothing itself has none.
pub(super) enum Node<'a> {
    /// Every code has one report.
    Certain(Option<&'a [i64]>),
    /// One draw.
    Leaf(&'a Leaf, usize),
    /// A digit each.
    Kron(Vec<Factor<'a>>),
    /// The part that is drawn.
    Mix(Mixture<'a>),
    /// One after the other.
    Product(Box<[Node<'a>; 2]>),
}

/// A part that draws a digit.
pub(super) struct Factor<'a> {
    pub node: Node<'a>,
    pub divisor: Divisor,
}

/// Parts, and the draw of one.
pub(super) struct Mixture<'a> {
    pub pick: &'a Leaf,
    pub number: usize,
    pub parts: Vec<Node<'a>>,
}

/// Numbers the draw at a path.
pub(super) type Enter<'m> = &'m mut dyn FnMut(&[u64]) -> usize;

impl<'a> Node<'a> {
    pub(super) fn new(matrix: &'a Matrix, path: &mut Vec<u64>, enter: Enter<'_>) -> Self {
        let form = match matrix.sampler() {
            Sampler::Certain(targets) => return Node::Certain(targets.as_deref()),
            Sampler::Leaf(leaf) => return Node::Leaf(leaf, enter(path)),
            Sampler::Composite(composite) => &composite.joined,
        };
        let mut part = |i, part| {
            path.push(i);
            let node = Node::new(part, path, enter);
            path.pop();
            node
        };
        match form {
            Parts::Kron(parts) => {
                let factor = |(i, matrix): (u64, &'a Matrix)| Factor {
                    node: part(i, matrix),
                    divisor: Divisor::new(matrix.family.size()),
                };
                Node::Kron((0..).zip(parts.iter()).map(factor).gather())
            }
            Parts::Mix(pick, parts) => {
                let all = (0..).zip(parts.iter());
                let parts = all.map(|(i, matrix)| part(i, matrix)).gather();
                Node::Mix(Mixture {
                    pick,
                    number: enter(path),
                    parts,
                })
            }
            Parts::Product(pair) => {
                let [first, second] = &**pair;
                Node::Product(Box::new([part(0, first), part(1, second)]))
            }
        }
    }
}
