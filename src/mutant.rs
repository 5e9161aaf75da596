//! Faults on purpose, to show that a test finds each of them: `make mutants`.
//!
//! `mutant!("name")` stands where the fault would be. It is `false`, and gone when compiled, unless the
//! feature `mutants` is on, which no install has; then it is true for the one name that the variable
//! `BISTOCHASTIC_MUTANT` holds. `mutants/registry.py` lists all names with what they do and who finds
//! them; `tests/test_mutants.py` keeps that list and the sources the same.

#[cfg(not(feature = "mutants"))]
macro_rules! mutant {
    ($name:literal) => {
        false
    };
}

#[cfg(feature = "mutants")]
macro_rules! mutant {
    ($name:literal) => {
        $crate::mutant::is_on($name)
    };
}

/// Whether this is the fault that was asked for when the process began.
#[cfg(feature = "mutants")]
pub fn is_on(name: &str) -> bool {
    use std::sync::LazyLock;
    static ASKED: LazyLock<String> =
        LazyLock::new(|| std::env::var("BISTOCHASTIC_MUTANT").unwrap_or_default());
    *ASKED == name
}
