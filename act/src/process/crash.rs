//! Converts panics into reasons (rule D4).

use super::contained::contain_inline;
use super::panics::set_quiet;
use krarup_gen::Reason;
use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::panicking;

/// Runs `f` and returns a panic as a reason.
///
/// # Errors
/// Returns [`Reason::Panic`] if `f` panics.
#[inline]
pub fn contain<T>(f: impl FnOnce() -> T) -> Result<T, Reason> {
    let mut asked = RiskyQuestion { f: Some(f), answer: None };
    match (catch(&mut asked), asked.answer) {
        (Ok(()), Some(value)) => Ok(value),
        (Ok(()), None) => unreachable!("what has not panicked has returned"),
        (Err(reason), _) => Err(reason),
    }
}

/// Something to be done once that may panic. It is no closure behind a reference, because a table of functions for
/// one has four, and this has one; each is compiled for each type.
pub(crate) trait Risky {
    fn run(&mut self);
}

/// A function that returns something.
struct RiskyQuestion<F, T> {
    f: Option<F>,
    answer: Option<T>,
}

impl<F: FnOnce() -> T, T> Risky for RiskyQuestion<F, T> {
    fn run(&mut self) {
        if let Some(f) = self.f.take() {
            self.answer = Some(f());
        }
    }
}

/// A function that returns nothing.
pub(crate) struct RiskyCall<F>(Option<F>);

impl<F: FnOnce()> RiskyCall<F> {
    pub(crate) fn new(f: F) -> Self {
        RiskyCall(Some(f))
    }
}

impl<F: FnOnce()> Risky for RiskyCall<F> {
    fn run(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

/// A value to be dropped.
struct RiskyDrop<T>(Option<T>);

impl<T> Risky for RiskyDrop<T> {
    fn run(&mut self) {
        self.0 = None;
    }
}

/// What catches a panic is compiled once here, and not for each type of message (docs/decisions.md).
pub(crate) fn catch(risky: &mut dyn Risky) -> Result<(), Reason> {
    contain_inline(|| risky.run())
}

/// Does the same as [`contain`] for what returns nothing.
pub(crate) fn attempt(f: impl FnOnce()) -> Result<(), Reason> {
    catch(&mut RiskyCall::new(f))
}

/// Runs `f`. A panic has already been printed and has no further effect.
pub(crate) fn ignore(f: impl FnOnce()) {
    let _ = attempt(f);
}

/// Drops a value that may be a user's, and returns a panic of its destructor as a reason.
pub(crate) fn try_drop<T>(value: T) -> Result<(), Reason> {
    if const { !needs_drop::<T>() } {
        return Ok(());
    }
    catch(&mut RiskyDrop(Some(value)))
}

/// Does the same as [`try_drop`]. The panic has already been printed and has no further effect.
pub(crate) fn drop_contained<T>(value: T) {
    let _ = try_drop(value);
}

/// Drops values that may be a user's one by one, each contained. The first panic goes on when all are dropped, unless this
/// thread unwinds already: a second panic that leaves a destructor would abort the program.
pub fn drop_one_by_one<I: IntoIterator>(values: I) {
    let mut first = None;
    for value in values {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
            match first {
                None => first = Some(panic),
                Some(_) => drop_contained(panic),
            }
        }
    }
    match first {
        Some(panic) if panicking() => drop_contained(panic),
        Some(panic) => resume_unwind(panic),
        None => {}
    }
}

/// Calls `tracing`. The subscriber and the code that formats a reason are user code.
pub(crate) fn log_contained(f: impl FnOnce()) {
    ignore(f);
}

/// Returns the reason of a process that failed again while it ended.
///
/// If `first` is a failure, it is the cause. If it is not, the later failure becomes the
/// reason.
#[must_use]
#[inline]
pub fn first_failure(first: Reason, then: Result<(), Reason>) -> Reason {
    match then {
        Ok(()) => first,
        Err(then) => first_of_two(first, then),
    }
}

#[cold]
fn first_of_two(first: Reason, then: Reason) -> Reason {
    if first.is_abnormal() { first } else { then }
}

/// Does the same as [`contain`] for a panic that is used as an answer. The panic is not
/// reported.
///
/// # Errors
/// Returns [`Reason::Panic`] if `f` panics.
pub fn contain_quietly<T>(f: impl FnOnce() -> T) -> Result<T, Reason> {
    let before = set_quiet(true);
    let outcome = contain(f);
    set_quiet(before);
    outcome
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::process::panics::{is_quiet, note_panic_locations, raise};
    use std::panic::catch_unwind;

    #[test]
    fn a_quiet_containment_is_quiet_only_until_its_end() {
        let outcome = contain_quietly(|| {
            assert!(contain_quietly(|| panic!("within")).is_err());
            is_quiet()
        });
        assert_eq!((outcome, is_quiet()), (Ok(true), false));
    }

    #[test]
    fn a_raised_panic_has_no_location_despite_an_equal_message() {
        note_panic_locations();
        assert!(catch_unwind(|| panic!("the same")).is_err());
        let Err(Reason::Panic(raised)) = contain(|| raise("the same")) else { panic!("no panic") };
        assert_eq!((raised.message(), raised.location()), ("the same", None));
    }
}
