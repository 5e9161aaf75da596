//! Where memory is asked for: arrays of as many numbers as there are categories, records or terms, or as the square of
//! them. Whatever is short is a plain `Vec`.
//!
//! A failed allocation ends a Rust program at once, and with it the caller's whole session. Here it stops
//! the work instead ([`Stop::Memory`]), with a sentence that has the bytes. Most systems promise more than
//! they have and end the process when it is used, so large requests are first compared with what is there.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::stop::{self, Stop};

/// From this many bytes on, the system is asked what it has. To ask takes as long as to write a megabyte.
pub const LOOK_FROM: u128 = 64 << 20;

/// How much was missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    /// Asked for.
    pub bytes: u128,
    /// Available, if the system says.
    pub available: Option<u128>,
}

/// What there was instead.
impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.available {
            Some(available) if available < self.bytes => write!(f, "{available} bytes"),
            // It said yes at first, or nothing: a limit of the process, or address space in pieces.
            _ => write!(f, "a refusal by the system"),
        }
    }
}

fn number(path: &Path) -> Option<u128> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// `name value` in a list of such lines.
fn field(text: &str, name: &str) -> Option<u128> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
}

/// What the control group may still take: its most, less what it has, but for files that can be given up.
fn of_group(folder: &Path) -> Option<u128> {
    let most = number(&folder.join("memory.max"))?;
    let current = number(&folder.join("memory.current")).unwrap_or(0);
    let files = std::fs::read_to_string(folder.join("memory.stat"))
        .ok()
        .and_then(|text| field(&text, "inactive_file "))
        .unwrap_or(0);
    Some((most + files).saturating_sub(current))
}

/// Bytes that can be had without swapping, if the system says so.
pub fn available() -> Option<u128> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let machine = field(&text, "MemAvailable:")? * 1024;
    // Groups are nested, and each may have a limit. Inside a container the root is the container's own.
    let root = Path::new("/sys/fs/cgroup");
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .map_or_else(|| root.to_owned(), |path| root.join(path));
    let groups = own
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .filter_map(of_group);
    groups.chain([machine]).min()
}

fn bytes_of<T>(n: usize) -> u128 {
    n as u128 * size_of::<T>() as u128
}

/// Room for exactly `n` more. If the system does not say what it has, the allocation itself will tell.
pub fn reserve<T>(vector: &mut Vec<T>, n: usize) {
    let bytes = bytes_of::<T>(n);
    let said = || available().is_some_and(|available| bytes > available);
    if (bytes >= LOOK_FROM && said()) || vector.try_reserve_exact(n).is_err() {
        refused(bytes);
    }
}

/// Apart, so that what asks stays short.
#[cold]
#[inline(never)]
fn refused(bytes: u128) -> ! {
    let available = available();
    Stop::Memory(Shortage { bytes, available }).throw()
}

/// An empty vector with room for `n`.
pub fn room<T>(n: usize) -> Vec<T> {
    let mut vector = Vec::new();
    reserve(&mut vector, n);
    vector
}

/// `n` times `value`. For zeros, see [`zeros`].
pub fn filled<T: Clone>(value: T, n: usize) -> Vec<T> {
    let mut vector = room(n);
    vector.resize(n, value);
    vector
}

/// `n` zeros. The system has them ready if they are many.
pub fn zeros<T: Copy + Default>(n: usize) -> Vec<T> {
    // `vec!` cannot be refused memory, so it is asked for first and given back.
    drop(room::<T>(n));
    vec![T::default(); n]
}

/// A copy.
pub fn copied<T: Clone>(numbers: &[T]) -> Vec<T> {
    let mut vector = room(numbers.len());
    vector.extend_from_slice(numbers);
    vector
}

/// Items between two places where collecting may stop.
const STRETCH: usize = 1 << 16;

/// One more, with room for as many again if there is none left.
#[inline]
pub fn push<T>(vector: &mut Vec<T>, item: T) {
    if vector.len() == vector.capacity() {
        grow(vector);
    }
    vector.push(item);
}

/// Apart, so that what pushes stays short.
#[cold]
#[inline(never)]
fn grow<T>(vector: &mut Vec<T>) {
    stop::point();
    reserve(vector, vector.len().max(16));
}

/// Iterators of as many items as an array has, collected into memory that was asked for.
pub trait Gather: Iterator + Sized {
    /// All items.
    fn gather(mut self) -> Vec<Self::Item> {
        let (announced, most) = self.size_hint();
        let mut vector = room(announced);
        if most == Some(announced) {
            while vector.len() < announced {
                stop::point();
                let before = vector.len();
                vector.extend(self.by_ref().take(STRETCH.min(announced - before)));
                if vector.len() == before {
                    break;
                }
            }
            return vector;
        }
        // Nested iterators are quicker from the inside.
        self.for_each(|item| push(&mut vector, item));
        vector
    }

    /// All items, to be shared.
    fn gather_shared(self) -> Arc<[Self::Item]> {
        shared(self.gather())
    }
}

impl<I: Iterator> Gather for I {}

/// What an iterator gives, unless one is an error.
///
/// # Errors
/// The first of them.
pub fn all<T, E>(items: impl IntoIterator<Item = Result<T, E>>) -> Result<Vec<T>, E> {
    let mut items = items.into_iter();
    let mut vector = room(items.size_hint().0);
    items.try_for_each(|item| {
        push(&mut vector, item?);
        Ok(())
    })?;
    Ok(vector)
}

/// A copy, to be shared.
pub fn shared_copy<T: Copy>(numbers: &[T]) -> Arc<[T]> {
    drop(room::<T>(numbers.len() + 2 * size_of::<usize>()));
    numbers.into()
}

/// The same numbers, to be shared. They are moved to memory of their own.
pub fn shared<T>(vector: Vec<T>) -> Arc<[T]> {
    // `Arc` asks for itself and has no way to be refused, so the same room is asked for first and given back.
    drop(room::<T>(vector.len() + 2 * size_of::<usize>()));
    vector.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::stop::guarded;

    #[test]
    fn what_cannot_be_had_stops_the_work() {
        for stop in [
            guarded(None, || drop(zeros::<u64>(1 << 50))),
            guarded(None, || drop(zeros::<u64>(usize::MAX))),
            guarded(None, || drop(filled(1u8, usize::MAX / 2))),
            guarded(None, || drop((0u64..1 << 50).map(|_| 0u64).gather())),
        ] {
            let Err(Stop::Memory(shortage)) = stop else {
                panic!("{stop:?}");
            };
            let text = shortage.to_string();
            assert!(
                text.ends_with(" bytes") || text.starts_with("a refusal"),
                "{text}"
            );
        }
    }

    #[test]
    fn reads_what_the_system_says() {
        assert_eq!(field("a 1\ninactive_file 25\n", "inactive_file "), Some(25));
        assert_eq!(field("a 1\n", "inactive_file "), None);
        if cfg!(target_os = "linux") {
            assert!(available().is_some_and(|bytes| bytes > 1 << 20));
        }
    }

    #[test]
    fn a_group_may_give_up_files() {
        let folder = std::env::temp_dir().join(format!("bistochastic-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(of_group(&folder), None);
        std::fs::write(folder.join("memory.max"), "1000\n").unwrap();
        std::fs::write(folder.join("memory.current"), "900\n").unwrap();
        std::fs::write(folder.join("memory.stat"), "anon 1\ninactive_file 50\n").unwrap();
        assert_eq!(of_group(&folder), Some(150));
        std::fs::write(folder.join("memory.max"), "max\n").unwrap();
        assert_eq!(of_group(&folder), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
