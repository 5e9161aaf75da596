//! What a plan derives from its key beside reports: keys of numeric columns, rows, units and classes, and pseudonyms.

use zeroize::Zeroize;

use super::derive::{Label, Purpose, derive};
use super::hashing::{BLOCK, Hashing, Messages};
use super::key::Key;
use super::randomize::Id;
use super::spelled::{Part, Prefixed, Spelled};
use crate::system::stop::Paced;
use crate::system::{erase, memory, pool};

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
    erase::after(|| {
        let secret = derive(key, Purpose::Column, &labels, &[], &[0; 32]);
        let mut hasher = blake3::Hasher::new_keyed(&secret);
        hasher.update(&(kind.len() as u64).to_le_bytes());
        hasher.update(kind.as_bytes());
        let mut buffer = memory::zeros::<u8>(1 << 16);
        for some in values.chunks(buffer.len() / 8) {
            for (cell, value) in buffer.chunks_exact_mut(8).zip(some) {
                cell.copy_from_slice(&value.to_le_bytes());
            }
            hasher.update(&buffer[..8 * some.len()]);
        }
        buffer.zeroize();
        let mut digest = erase::empty();
        hasher.finalize_xof().fill(&mut digest[..]);
        hasher.zeroize();
        let digest = Key::from_bytes(**digest);
        let order = derive(&digest, Purpose::Order, &labels, &[], &[0; 32]);
        Key::from_bytes(**order)
    })
}

/// A key of its own for one purpose: `labels` tell those under one plan apart.
pub fn own_key(key: &Key, purpose: Purpose, plan: &str, labels: Vec<Label>) -> Key {
    let labels = Label::plan(plan, labels);
    erase::after(|| Key::from_bytes(**derive(key, purpose, &labels, &[], &[0; 32])))
}

/// Records that a thread hashes at a time.
const HASHED: usize = 1 << 12;

/// A keyed hash of 16 bytes for every id, the same in every wave of a plan.
pub struct Pseudonyms(Hashing);

impl Pseudonyms {
    /// Those of a plan.
    pub fn new(key: &Key, plan: &str) -> Self {
        let labels = Label::plan(plan, []);
        let secret = erase::after(|| derive(key, Purpose::Pseudonym, &labels, &[], &[0; 32]));
        Pseudonyms(Hashing::new(secret))
    }

    /// Of one id.
    pub fn one(&self, id: &Id<'_>, to: &mut [u8]) {
        let mut hash = |kind: u8, id: &[u8]| {
            to.copy_from_slice(&self.0.one(&[&[kind], id])[..16]);
        };
        match id {
            Id::Integer(n) => hash(0, &n.to_le_bytes()),
            Id::Text(text) => hash(1, text.as_bytes()),
            Id::Bytes(bytes) => hash(2, bytes),
        }
    }

    /// Of texts or bytes.
    pub fn spelled(&self, is_text: bool, ids: &Spelled, to: &mut [u8]) {
        let kind = if is_text { 1 } else { 2 };
        let Some((entries, places)) = ids.entries() else {
            return self.part(kind, ids.part(0, ids.len()), to);
        };
        // Each different id once.
        let mut each = memory::zeros::<u8>(16 * entries.len());
        self.part(kind, entries, &mut each);
        for (to, &place) in to.chunks_exact_mut(16).zip(places).paced() {
            let at = 16 * place as usize;
            to.copy_from_slice(&each[at..at + 16]);
        }
    }

    fn part(&self, kind: u8, ids: Part<'_>, to: &mut [u8]) {
        self.messages(to, |start, end| Prefixed {
            ids: ids.part(start, end),
            at: |i| (i, [kind]),
        });
    }

    /// Of whole numbers.
    pub fn wholes<T: Copy + Into<i128> + Sync>(&self, ids: &[T], to: &mut [u8]) {
        self.messages(to, |start, end| Wholes(&ids[start..end]));
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
            erase::after(|| {
                self.0.many(&some, n, |i, words: [u32; 4]| {
                    for (to, word) in to[16 * i..16 * i + 16].chunks_exact_mut(4).zip(words) {
                        to.copy_from_slice(&word.to_le_bytes());
                    }
                });
            });
        });
    }
}

/// Whole numbers of 16 bytes behind a zero.
struct Wholes<'a, T>(&'a [T]);

impl<T: Copy + Into<i128>> Wholes<'_, T> {
    fn message(&self, i: usize) -> [u8; 17] {
        let mut message = [0; 17];
        message[1..].copy_from_slice(&self.0[i].into().to_le_bytes());
        message
    }
}

impl<T: Copy + Into<i128>> Messages for Wholes<'_, T> {
    fn len(&self, _i: usize) -> usize {
        17
    }

    fn block(&self, i: usize, _b: usize) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..17].copy_from_slice(&self.message(i));
        block
    }

    fn all(&self, i: usize, take: &mut dyn FnMut(&[u8])) {
        take(&self.message(i));
    }
}
