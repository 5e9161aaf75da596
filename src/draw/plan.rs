//! What a plan derives from its key beside reports: keys of numeric columns, rows, units and classes,
//! pseudonyms, and ids of several columns.

use zeroize::Zeroizing;

use super::derive::{Label, Purpose, derive, finish};
use super::hashing::{BLOCK, Hashing, Messages};
use super::key::Key;
use super::randomize::block::words;
use super::randomize::{Id, Ids};
use super::string_ids::{Part, Prefixed, Spelled};
use crate::system::pool;
use crate::system::stop::Paced;

/// The key of the order of a numeric column: another for other values.
///
/// `values` are the column as words of eight bytes; `kind` says of what.
pub fn column_key(
    key: &Key,
    (plan, release, column): (&str, &str, &str),
    kind: &str,
    values: &[u64],
) -> Key {
    let labels = [release, column].map(|label| Label::Text(label.into()));
    let labels = Label::plan(plan, labels);
    let secret = derive(key, Purpose::Column, &labels, &[], &[0; 32]);
    let mut hasher = blake3::Hasher::new_keyed(&secret);
    hasher.update(&(kind.len() as u64).to_le_bytes());
    hasher.update(kind.as_bytes());
    let mut buffer = Zeroizing::new(vec![0u8; 1 << 16]);
    let values = values.iter().map(|value| value.to_le_bytes());
    words(values, &mut hasher, &mut buffer);
    let digest = Key::of(finish(&mut hasher));
    Key::of(derive(&digest, Purpose::Order, &labels, &[], &[0; 32]))
}

/// A key of its own for one purpose: `labels` tell those under one plan apart.
pub fn own_key(key: &Key, purpose: Purpose, plan: &str, labels: Vec<Label>) -> Key {
    let labels = Label::plan(plan, labels);
    Key::of(derive(key, purpose, &labels, &[], &[0; 32]))
}

/// Records that a thread hashes at a time.
const HASHED: usize = 1 << 12;

/// A keyed hash of 16 bytes for every id, the same in every wave of a plan.
pub struct Pseudonyms(Hashing);

impl Pseudonyms {
    /// The pseudonyms of a plan.
    pub fn new(key: &Key, plan: &str) -> Self {
        let labels = Label::plan(plan, []);
        let secret = derive(key, Purpose::Pseudonym, &labels, &[], &[0; 32]);
        Pseudonyms(Hashing::new(secret))
    }

    /// Write the pseudonyms of ids, 16 bytes each.
    pub fn fill(&self, ids: Ids<'_>, to: &mut [u8]) {
        match ids {
            Ids::Signed(ids) => self.integers(ids, to),
            Ids::Unsigned(ids) => self.integers(ids, to),
            Ids::Texts(ids) => self.spelled(1, ids, to),
            Ids::Bytes(ids) => self.spelled(2, ids, to),
            Ids::Mixed(ids) => {
                for (id, to) in ids.iter().zip(to.chunks_exact_mut(16)).paced() {
                    let block = match id {
                        Id::Integer(n) => self.0.one(&[&[0], &n.to_le_bytes()]),
                        Id::Text(text) => self.0.one(&[&[1], text]),
                        Id::Bytes(bytes) => self.0.one(&[&[2], bytes]),
                    };
                    to.copy_from_slice(&block[..16]);
                }
            }
        }
    }

    fn spelled(&self, kind: u8, ids: Part<'_>, to: &mut [u8]) {
        self.messages(to, |start, end| Prefixed {
            ids: ids.part(start, end),
            at: |i| (i, [kind]),
        });
    }

    fn integers<T: Copy + Into<i128> + Sync>(&self, ids: &[T], to: &mut [u8]) {
        self.messages(to, |start, end| Integers(&ids[start..end]));
    }

    /// 16 bytes for each of some messages, by all threads.
    fn messages<M: Messages>(
        &self,
        to: &mut [u8],
        messages: impl Fn(usize, usize) -> M + Sync + Send,
    ) {
        pool::for_each_chunk(to, 16 * HASHED, false, |i, to| {
            let n = to.len() / 16;
            let some = messages(i * HASHED, i * HASHED + n);
            self.0.many(&some, n, |i, words: [u32; 4]| {
                for (to, word) in to[16 * i..16 * i + 16].chunks_exact_mut(4).zip(words) {
                    to.copy_from_slice(&word.to_le_bytes());
                }
            });
        });
    }
}

/// Integers of 16 bytes behind a zero.
struct Integers<'a, T>(&'a [T]);

impl<T: Copy + Into<i128>> Messages for Integers<'_, T> {
    fn len(&self, _i: usize) -> usize {
        17
    }

    fn block(&self, i: usize, _b: usize) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[1..17].copy_from_slice(&self.0[i].into().to_le_bytes());
        block
    }
}

/// Join the ids of several columns, row by row, to bytes that no other row has.
///
/// Each part is its type, its length and its bytes, so that nothing can be cut in two ways. All columns have as many
/// ids as the first.
pub fn joined(columns: &[Ids<'_>]) -> Spelled {
    let rows = columns.first().map_or(0, |column| column.len());
    let mut all = Spelled::room(rows, rows.saturating_mul(17 * columns.len()));
    for row in (0..rows).paced() {
        for column in columns {
            let (kind, id) = match column.at(row) {
                Id::Integer(id) => {
                    all.write(b"i");
                    all.write(&id.to_le_bytes());
                    continue;
                }
                Id::Text(id) => (b"t", id),
                Id::Bytes(id) => (b"b", id),
            };
            all.write(kind);
            all.write(&(id.len() as u64).to_le_bytes());
            all.write(id);
        }
        all.end();
    }
    all.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(columns: &[Ids<'_>]) -> Vec<Vec<u8>> {
        let joined = joined(columns);
        (0..joined.all().len())
            .map(|i| joined.all().id(i).to_vec())
            .collect()
    }

    #[test]
    fn joined_rows_differ_if_their_parts_do() {
        let (a, ab, b) = (Id::Text(b"a"), Id::Text(b"ab"), Id::Text(b"b"));
        let first = [a, ab, Id::Bytes(b"a"), Id::Integer(97)];
        let found = rows(&[Ids::Mixed(&first), Ids::Mixed(&[ab, b, ab, ab])]);
        assert_eq!(found[0], b"t\x01\0\0\0\0\0\0\0at\x02\0\0\0\0\0\0\0ab");
        for (i, row) in found.iter().enumerate() {
            assert!(!found[..i].contains(row));
        }
        let spelled = Spelled::of([&b"a"[..], b"ab"].into_iter());
        let numbers = [Id::Integer(7), Id::Integer(-7)];
        assert_eq!(
            rows(&[Ids::Texts(spelled.all()), Ids::Signed(&[7, -7])]),
            rows(&[Ids::Mixed(&[a, ab]), Ids::Mixed(&numbers)])
        );
    }
}
