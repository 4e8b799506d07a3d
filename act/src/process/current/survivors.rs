//! What survives a panic of the process, until its turn takes it.
//!
//! A panic unwinds through the future of the process, which cannot be polled again, to its turn. What the
//! process still has to do then, `terminate` (rule D5), needs values of that future. A guard in the future moves them out of it
//! while it unwinds, and puts here a function that makes another future of them. The turn catches the panic next and takes it.
//!
//! ```text
//!   poll ──► handler panics ──► guard dropped: survive ──► caught: take_survivor ──► Stage::Terminating
//!   end  ──► future dropped, and its destructor panics: survive ──► caught: drop_survivor
//! ```
//!
//! Nothing of a user's runs between the two. A guard that is dropped outside a turn of its own process leaves nothing.

use super::local::pid;
use crate::process::crash::drop_contained;
use crate::sync::thread_local;
use krarup_gen::{Pid, Reason, Result};
use std::cell::{Cell, RefCell};
use std::pin::Pin;

/// The rest of a process that has panicked.
pub(crate) type Rest = Pin<Box<dyn Future<Output = Result> + Send>>;

/// Makes the rest of a process that has panicked with this reason.
pub(crate) type Survivor = Box<dyn FnOnce(Reason) -> Rest + Send>;

thread_local! {
    /// Whether there is one. Cheaper to read than the place, which has a destructor.
    static HAS_SURVIVOR: Cell<bool> = const { Cell::new(false) };
    /// With the process to which it belongs.
    static SURVIVOR: RefCell<Option<(Pid, Survivor)>> = const { RefCell::new(None) };
}

/// Keeps what survives the panic that unwinds now.
#[cold]
pub(crate) fn survive(owner: Pid, survivor: Survivor) {
    HAS_SURVIVOR.with(|has| has.set(true));
    SURVIVOR.with(|place| *place.borrow_mut() = Some((owner, survivor)));
}

/// Whether something has survived the panic that was just caught.
#[inline]
pub(crate) fn has_survivor() -> bool {
    HAS_SURVIVOR.with(Cell::get)
}

fn take() -> Option<(Pid, Survivor)> {
    HAS_SURVIVOR.with(|has| has.set(false));
    SURVIVOR.with(RefCell::take)
}

/// Takes what has survived the panic of the current process that was just caught.
#[cold]
pub(crate) fn take_survivor() -> Option<Survivor> {
    let (owner, survivor) = take()?;
    if pid() == Some(owner) {
        return Some(survivor);
    }
    drop_contained(survivor);
    None
}

/// Drops what has survived a panic of a destructor of the future. A panic in this has been printed and has no further
/// effect: the other one came first.
#[cold]
pub(crate) fn drop_survivor() {
    drop_contained(take());
}
