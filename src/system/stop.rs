//! How work stops before its end: because someone pressed Ctrl-C, or for want of memory.
//!
//! Either may happen many calls deep, in code that has nothing to say about it. So work stops by unwinding,
//! as if it had panicked but without a word on the screen, up to [`guarded`], which says why. Values made
//! on the way are dropped as after any return; cells ([`Kept`](super::kept::Kept)) stay empty.
//!
//! Rules: every loop that may run longer than a tenth of a second passes [`point`] on the way; the tasks of
//! [`pool`](crate::system::pool) do so by themselves. `point` looks at the clock, which takes some twenty nanoseconds, so
//! it stands outside of the innermost loops. Outside of [`guarded`] it does nothing.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::memory::Shortage;

/// Why work stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The caller asked it to.
    Interrupted,
    /// There is not enough memory.
    Memory(Shortage),
}

impl Stop {
    /// Unwind to the next [`guarded`]. Prints nothing.
    pub fn throw(self) -> ! {
        resume_unwind(Box::new(self))
    }
}

/// How often the caller is asked whether to go on.
pub const PULSE: Duration = Duration::from_millis(50);

/// Whether a piece of work is to stop at the next [`point`]. Shared by all threads that do it.
type Wish = Arc<AtomicBool>;

/// Who waits for work on this thread.
struct Caller {
    /// Whether they want to stop.
    asked: fn() -> bool,
    /// When they were last asked.
    last: Instant,
}

/// What a thread is doing.
struct Current {
    wish: Wish,
    /// On the thread of who waits and can be asked.
    caller: Option<Caller>,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// Sets what this thread is doing, and back when dropped.
struct Turn(Option<Current>);

impl Turn {
    fn new(current: Option<Current>) -> Self {
        Turn(CURRENT.replace(current))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}

fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Stop> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Stop>() {
        Ok(stop) => *stop,
        // A fault of ours, not a stop.
        Err(fault) => resume_unwind(fault),
    })
}

/// Do `work` on this thread, unless it stops. `asked` tells whether the caller wants to; it is asked on
/// this thread a few times a second. Without it, nothing looks at the clock.
///
/// # Errors
/// Why it stopped.
pub fn guarded<T>(asked: Option<fn() -> bool>, work: impl FnOnce() -> T) -> Result<T, Stop> {
    let caller = asked.map(|asked| Caller {
        asked,
        last: Instant::now(),
    });
    let _turn = Turn::new(Some(Current {
        wish: Arc::default(),
        caller,
    }));
    caught(work)
}

/// A place where work may stop. Asks the caller, if this is the caller's thread and it is time.
#[inline(never)]
pub fn point() {
    let due = CURRENT.with_borrow_mut(|current| {
        // The threads that help, and callers in Rust, have nobody to ask: they need no clock.
        let caller = current.as_mut()?.caller.as_mut()?;
        (caller.last.elapsed() >= PULSE).then_some(caller.asked)
    });
    if let Some(asked) = due {
        // Nothing is borrowed here: the caller may start work of its own on this thread.
        let stop = asked();
        CURRENT.with_borrow_mut(|current| {
            if let Some(current) = current {
                if let Some(caller) = &mut current.caller {
                    caller.last = Instant::now();
                }
                if stop {
                    current.wish.store(true, Ordering::Relaxed);
                }
            }
        });
    }
    let stops = |current: &Current| current.wish.load(Ordering::Relaxed);
    if CURRENT.with_borrow(|current| current.as_ref().is_some_and(stops)) {
        Stop::Interrupted.throw();
    }
}

/// Items of a loop between two places where it may stop.
const STRETCH: u32 = 1 << 12;

/// Steps of a loop that belongs to others, such as a sort: the comparison ticks. Every few thousand are a place to stop.
#[derive(Debug, Default)]
pub struct Tick(Cell<u32>);

impl Tick {
    /// One step.
    #[inline]
    pub fn tick(&self) {
        self.0.set(self.0.get() + 1);
        if self.0.get() == STRETCH {
            self.0.set(0);
            point();
        }
    }
}

/// The same for loops that do a little with each item of an iterator.
pub trait Paced: Iterator + Sized {
    /// The same items.
    fn paced(self) -> Pace<Self> {
        Pace {
            items: self,
            left: STRETCH,
        }
    }
}

impl<I: Iterator> Paced for I {}

/// See [`Paced`].
pub struct Pace<I> {
    items: I,
    left: u32,
}

impl<I: Iterator> Iterator for Pace<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        // Not a tick: counting down to 0 is measurably quicker in short loops.
        self.left -= 1;
        if self.left == 0 {
            self.left = STRETCH;
            point();
        }
        self.items.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

/// What this thread is doing, to be handed to others that help.
#[derive(Clone)]
pub struct Handed(Option<Wish>);

impl Handed {
    /// Do `work` as a part of it.
    pub fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        if handed().0.as_ref().map(Arc::as_ptr) == self.0.as_ref().map(Arc::as_ptr) {
            return work();
        }
        let _turn = Turn::new(self.0.clone().map(|wish| Current { wish, caller: None }));
        work()
    }
}

/// What this thread is doing.
pub fn handed() -> Handed {
    CURRENT.with_borrow(|current| Handed(current.as_ref().map(|current| current.wish.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stops_where_it_is_asked_to() {
        assert_eq!(guarded(None, || 7), Ok(7));
        let endless = guarded(Some(|| true), || {
            loop {
                point();
            }
        });
        assert_eq!(endless, Err::<(), _>(Stop::Interrupted));
        // And nothing is left behind.
        point();
    }

    #[test]
    fn threads_that_help_stop_too() {
        let wish = Wish::default();
        let helper = Handed(Some(wish.clone()));
        assert_eq!(caught(|| helper.with(point)), Ok(()));
        wish.store(true, Ordering::Relaxed);
        assert_eq!(caught(|| helper.with(point)), Err(Stop::Interrupted));
    }

    #[test]
    fn a_panic_stays_a_panic() {
        let fault = catch_unwind(|| guarded(None, || resume_unwind(Box::new("fault"))));
        assert_eq!(*fault.unwrap_err().downcast::<&str>().unwrap(), "fault");
    }
}
