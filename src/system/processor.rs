//! What the processor can do, asked once for all rooms that are compiled more than once.

use super::kept::Kept;

/// What the processor can do. Each level has what those before it have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// No vectors, on any machine.
    Plain,
    /// What every processor of the architecture has: SSE2 or NEON, four words of 32 bits.
    Base,
    /// AVX2: eight.
    Avx2,
    /// AVX-512 with its parts F, DQ and VL, as every server has that has it at all: sixteen.
    Avx512,
}

impl Level {
    /// All, the least first.
    pub const ALL: [Level; 4] = [Level::Plain, Level::Base, Level::Avx2, Level::Avx512];

    /// As `BISTOCHASTIC_CPU` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Plain => "plain",
            Level::Base => "base",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// Whether the processor has what the level needs.
    pub fn is_had(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        match self {
            Level::Plain | Level::Base => true,
            Level::Avx2 => is_x86_feature_detected!("avx2"),
            Level::Avx512 => {
                Level::Avx2.is_had()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        match self {
            Level::Plain => true,
            Level::Base => cfg!(any(target_feature = "neon", target_feature = "sse2")),
            Level::Avx2 | Level::Avx512 => false,
        }
    }
}

/// The best level that this processor has. `BISTOCHASTIC_CPU` may name a lower one, for tests.
pub fn level() -> Level {
    static FOUND: Kept<Level> = Kept::new();
    *FOUND.get_or_make(|| best(std::env::var("BISTOCHASTIC_CPU").ok().as_deref()))
}

/// The best level up to the named one; up to the last where none has that name.
fn best(most: Option<&str>) -> Level {
    let named = Level::ALL.iter().position(|l| Some(l.name()) == most);
    let most = named.unwrap_or(Level::ALL.len() - 1);
    let had = Level::ALL[..=most].iter().rev().find(|l| l.is_had());
    *had.unwrap_or(&Level::Plain)
}

/// The best level up to [`level`] of which `agrees` holds: a vector unit is used after it has agreed with other code.
pub fn trusted(agrees: fn(Level) -> bool) -> Level {
    let had = |l: &Level| *l <= level() && l.is_had();
    let mut levels = Level::ALL.into_iter().rev().filter(had);
    levels.find(|&l| agrees(l)).unwrap_or(Level::Plain)
}

/// Functions that are compiled plainly and for AVX2, from one source. Nothing is computed in another order, so the
/// results are the same.
macro_rules! for_avx2 {
    ($(
        $(#[$doc:meta])*
        $vis:vis fn $name:ident $(<$($T:ident: $bound:path),*>)? ($($arg:ident: $type:ty),*) $(-> $out:ty)? $body:block
    )*) => {$(
        $(#[$doc])*
        $vis fn $name$(<$($T: $bound),*>)?($($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn any$(<$($T: $bound),*>)?($($arg: $type),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2$(<$($T: $bound),*>)?($($arg: $type),*) $(-> $out)? {
                    any($($arg),*)
                }
                if $crate::system::processor::level() >= $crate::system::processor::Level::Avx2 {
                    // SAFETY: the level is AVX2 or above only if the processor has it.
                    return unsafe { avx2($($arg),*) };
                }
            }
            any($($arg),*)
        }
    )*};
}

pub(crate) use for_avx2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_level_is_the_most_that_is_taken() {
        for level in Level::ALL {
            let found = best(Some(level.name()));
            assert!(found.is_had() && found <= level, "{level:?}");
            assert!(found == level || !level.is_had(), "{level:?}");
        }
        assert_eq!(best(Some("plain")), Level::Plain);
    }

    #[test]
    fn an_unknown_name_is_no_bound() {
        let most = Level::ALL.into_iter().rfind(|l| l.is_had());
        for name in [None, Some(""), Some("avx1024"), Some("PLAIN")] {
            assert_eq!(Some(best(name)), most);
        }
    }

    /// `make sanitize` compiles for AVX2 and interprets it, so that it is tested on any processor.
    #[test]
    fn a_level_that_the_compiler_was_told_of_is_had() {
        assert!(Level::Avx2.is_had() || !cfg!(target_feature = "avx2"));
    }
}
