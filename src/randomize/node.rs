//! A matrix as draws with keys of their own, told apart by their path.

use super::address::By;
use super::streams::Streams;
use crate::derive::Purpose;
use crate::erase::Secret;
use crate::family::Matrix;
use crate::sampler::{Form, Sampler};
use crate::system::memory::Gather;

/// A draw, or a composite of draws, with its keys.
pub(super) struct Node<'a> {
    pub sampler: &'a Sampler,
    pub size: u64,
    pub streams: Streams,
    pub parts: Vec<Node<'a>>,
}

impl<'a> Node<'a> {
    pub(super) fn new(
        matrix: &'a Matrix,
        by: By,
        path: &mut Vec<u64>,
        make: &dyn Fn(Purpose, &[u64]) -> Secret,
    ) -> Self {
        let sampler = matrix.sampler();
        let form = match sampler {
            Sampler::Composite(composite) => Some(&composite.form),
            _ => None,
        };
        let parts: &[Matrix] = match form {
            Some(Form::Kron(parts) | Form::Mix(_, parts) | Form::Product(parts)) => parts,
            None => &[],
        };
        let parts = (0..)
            .zip(parts)
            .map(|(i, part)| {
                path.push(i);
                let node = Node::new(part, by, path, make);
                path.pop();
                node
            })
            .gather();
        // A mixture draws which part; the other composites draw nothing themselves.
        let draws = !matches!(
            (sampler, form),
            (Sampler::Certain(_), _) | (_, Some(Form::Kron(_) | Form::Product(_)))
        );
        let mut node = Node {
            sampler,
            size: matrix.family.size(),
            streams: Streams::None,
            parts,
        };
        if draws {
            node.give_keys(by, path, make);
        }
        node
    }

    /// Not inlined, as a stack may hold hundreds of those above.
    #[inline(never)]
    fn give_keys(&mut self, by: By, path: &[u64], make: &dyn Fn(Purpose, &[u64]) -> Secret) {
        self.streams = Streams::new(by, |purpose| make(purpose, path));
    }
}
