//! From one key to the keys of all streams.
//!
//! # The law of derivation
//! ```text
//! derived = blake3::derive_key(CONTEXT, key || (purpose, labels, path, digest))
//! ```
//! The context is one constant; a user's text is always input, never context. The key is 32 bytes; the
//! tuple follows it. How its items are encoded is described in [`law::digest`](crate::law::digest).
//!
//! # Why two tuples never meet
//! No two different tuples have the same encoding, and none is the beginning of another, as is shown there. With 32
//! bytes of key in front, two inputs are equal only where keys and tuples are; beyond that, streams meet only where
//! blake3 collides.

use blake3::Hasher;
use blake3::hazmat::{HasherExt, hash_derive_key_context};
use zeroize::Zeroize;

use crate::draw::key::Key;
use crate::law::digest::{Encoder, Sink};
use crate::system::erase::{self, SECRET, Secret};
use crate::system::kept::Kept;

/// The one context. Changing it changes every release.
const CONTEXT: &str = "bistochastic 2026-11-16 every derivation, version 1";

/// Declares each purpose with the name that is hashed.
macro_rules! purposes {
    ($($(#[$doc:meta])* $purpose:ident = $name:literal,)*) => {
        /// What derived words are for. No two purposes share words.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Purpose {
            $($(#[$doc])* $purpose,)*
        }

        impl Purpose {
            /// All of them, for tests that no two meet.
            #[cfg(test)]
            pub const ALL: &[Purpose] = &[$(Purpose::$purpose),*];

            /// The name that is hashed.
            pub fn name(self) -> &'static str {
                match self {
                    $(Purpose::$purpose => $name,)*
                }
            }
        }
    };
}

purposes! {
    /// The fixed words of a record by position.
    Words = "randomize words",
    /// Further words of a record that those left undecided.
    More = "randomize more",
    /// Words of a record by an integer id and its code.
    IdInteger = "randomize id integer",
    /// The same by a string.
    IdText = "randomize id text",
    /// The same by bytes.
    IdBytes = "randomize id bytes",
    /// The words of one permutation of a matrix.
    Permutation = "permutation",
    /// The words that draw terms of a decomposition.
    Terms = "decomposition terms",
    /// The words that make the tables of Anatomy.
    Anatomy = "anatomy",
    /// The words that put equal values in order.
    Ties = "ties",
    /// What identifies a key.
    Fingerprint = "fingerprint",
    /// A key from a small seed.
    Insecure = "insecure",
    /// What a plan's block of rows holds.
    Block = "plan block",
    /// What a plan's numeric column holds.
    Column = "plan column",
    /// The order of a plan's numeric column.
    Order = "plan order",
    /// The pseudonyms of a plan's people.
    Pseudonym = "plan pseudonym",
    /// The key of the rows of one release of a plan, addressed by what they hold.
    Rows = "plan rows",
    /// The key of the units of one column of a plan.
    Units = "plan units",
    /// The key of the numbers inside one reported class of a plan's column.
    Numbers = "plan numbers",
}

/// What the caller called the draw: `[Text("stream"), Text(name)]` for methods of a matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// A name.
    Text(String),
    /// A number.
    Integer(i128),
    /// Several, as the columns of a joint attribute.
    List(Vec<Label>),
}

impl Label {
    /// The labels of a method of a matrix.
    pub fn stream(name: &str) -> Vec<Label> {
        vec![Label::Text("stream".into()), Label::Text(name.into())]
    }

    /// The labels of a plan: its name, and what else tells draws under it apart.
    pub fn plan(name: &str, more: impl IntoIterator<Item = Label>) -> Vec<Label> {
        let mut labels = vec![Label::Text("plan".into()), Label::Text(name.into())];
        labels.extend(more);
        labels
    }
}

/// 32 secret bytes for one purpose under one set of labels, at one place of a composite (the indices
/// of the parts from the outside in), for one matrix.
pub fn derive(
    key: &Key,
    purpose: Purpose,
    labels: &[Label],
    path: &[u64],
    digest: &[u8; 32],
) -> Secret {
    let mut hasher = Hasher::new_from_context_key(context());
    hasher.take(key.expose());
    let mut tuple = Encoder(&mut hasher);
    tuple.list(4);
    tuple.text(purpose.name());
    encode(&mut tuple, labels);
    tuple.list(path.len());
    for &index in path {
        tuple.integer(index.into());
    }
    tuple.bytes(digest);
    finish(&mut hasher)
}

/// The first 32 bytes of a hash, written where they stay; the hasher is erased.
pub(super) fn finish(hasher: &mut Hasher) -> Secret {
    let mut derived = erase::empty();
    let mut output = hasher.finalize_xof();
    output.fill(&mut derived[..]);
    output.zeroize();
    hasher.zeroize();
    derived
}

/// The key of the one context, which is not secret, hashed once.
fn context() -> &'static [u8; SECRET] {
    static FOUND: Kept<[u8; SECRET]> = Kept::new();
    FOUND.get_or_make(|| hash_derive_key_context(CONTEXT))
}

/// Labels, in the same encoding.
fn encode(tuple: &mut Encoder<'_, Hasher>, labels: &[Label]) {
    tuple.list(labels.len());
    for label in labels {
        match label {
            Label::Text(text) => tuple.text(text),
            Label::Integer(n) => tuple.integer(*n),
            Label::List(labels) => encode(tuple, labels),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    fn counting() -> Key {
        Key::from_bytes(std::array::from_fn(|i| i as u8))
    }

    fn text(text: &str) -> Label {
        Label::Text(text.into())
    }

    /// The encoding spelled out byte by byte, hashed by blake3's own one-shot function.
    #[test]
    fn derivation_is_derive_key_of_the_key_and_the_encoded_tuple() {
        let tagged = |tag: u8, n: u64, bytes: &[u8]| [&[tag][..], &n.to_le_bytes(), bytes].concat();
        let text = |text: &str| tagged(2, text.len() as u64, text.as_bytes());
        let list = |n| tagged(4, n, &[]);
        let key: Vec<u8> = (0..32).collect();
        let input = [
            key,
            list(4),
            text("randomize words"),
            list(2),
            text("stream"),
            text("s\u{e9}x"),
            list(1),
            [&[3][..], &7i128.to_le_bytes()].concat(),
            tagged(1, 32, &[9; 32]),
        ]
        .concat();
        let labels = Label::stream("s\u{e9}x");
        assert_eq!(
            **derive(&counting(), Purpose::Words, &labels, &[7], &[9; 32]),
            blake3::derive_key(CONTEXT, &input)
        );
    }

    /// A change here changes every release: an entry under "Values" in the changelog.
    #[test]
    fn golden() {
        let derived = |&purpose: &Purpose| {
            let labels = Label::stream("survey");
            hex(&derive(&counting(), purpose, &labels, &[], &[0; 32])[..])
        };
        let golden: Vec<String> = Purpose::ALL.iter().map(derived).collect();
        assert_eq!(
            golden,
            [
                "a7003913a27a98a047566ada8a5307d737a24b75215ea4ec0134c1c70b862eed",
                "691864be2d8c674b571d01acf04b615a415357d4c1680674021d77a68e5b9a56",
                "ac2cff51b8a073423e9c993da50ebb94e00de3723579e6bfe9b0b5d23fd15dad",
                "85b3b243397d1e6577beb7d7ea80434c8b36651528afce4bd5dc92c8de86c4f8",
                "152e12c7e86071369f3647a239878ff4c5d10acca4c45f7decc48591cc7f0428",
                "ceb2970a49d5d7dde3dd83ebe47c3932c54b443c15dcbdc610b9dee60cea8ba6",
                "a5f730d5bb20f263989dc4694e27b2ca1dd51b98154ecccab8a6182194683168",
                "d5a680066de6c38c49c924c6b8bd2ea768a9000cf8e4cc95cdbf547a4a26ba63",
                "53b1e36a7dbe3e104c6acfd374298ca57f1ece4898dc7d63f64d6c0d80b1088a",
                "3732fcb012c2145cbc044bf10742879bad4c4c8e90edd10024f464a8400c5701",
                "18a291d02d9301feccda30813b7f128aa3c284f10b0f1f9e097c829ad63fd031",
                "492788dbfe215559af5750110e95b2a053713bfa9ff753f561b7a2fb45bde734",
                "3cd1cdf0b7ad6778bb685a9b8c8c26d592965a79a2605346cadd127d1300775c",
                "d1eca5cbe2e60c0c47804fa5ae62a305f777f5087c0f5b8c865ca5285721fe59",
                "4a53bd8806b6ae72323318730389770aae25cf1c2ffe767c5726307841295592",
                "afc78bc4fcaa821de98e65101137654d6e310f0d4eb485e4f0916ec022661010",
                "240e34ae28d8fcd72e8a240fda063d5618a7606ee659fc38f3eb3e2c815288f3",
                "f47b401b0128243008ad36e7464dc4514f996b5266e70f85486035cec306bc66"
            ]
        );
    }

    #[test]
    fn neighbouring_tuples_do_not_meet() {
        let key = counting();
        let labels = [
            vec![],
            vec![text("")],
            vec![text(""), text("")],
            vec![text("ab"), text("c")],
            vec![text("a"), text("bc")],
            vec![text("abc")],
            vec![Label::List(vec![text("abc")])],
            vec![Label::List(vec![text("a")]), text("bc")],
            vec![Label::List(vec![text("a"), text("bc")])],
            vec![text("1")],
            vec![Label::Integer(1)],
            vec![Label::List(vec![])],
            vec![text("a\u{301}")],
            vec![text("\u{e1}")],
        ];
        let paths: [&[u64]; 6] = [&[], &[0], &[1], &[0, 0], &[0, 1], &[1, 0]];
        let mut seen = HashSet::new();
        for &purpose in Purpose::ALL {
            for labels in &labels {
                for path in paths {
                    for digest in [[0; 32], [1; 32]] {
                        assert!(seen.insert(**derive(&key, purpose, labels, path, &digest)));
                    }
                }
            }
        }
        let other = Key::from_bytes([0; 32]);
        assert!(seen.insert(**derive(&other, Purpose::Words, &[], &[], &[0; 32])));
    }
}
