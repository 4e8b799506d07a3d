//! What survives a panic of the process, until its turn takes it.
//!
//! A panic unwinds through the future of the process, which cannot be polled again, to its turn. What the
//! process still has to do then, `terminate` (rule D5), needs values of that future. A guard in the future moves them out of it
//! while it unwinds, and puts here a function that makes another future of them. The turn catches the panic next and takes it.
//!
//! ```text
//!   poll ──► handler panics ──► guard dropped: survive ──► caught: take_survivor ──► Stage::Terminating
//!   end  ──► future dropped, and its destructor panics: survive ──► caught: take_survivor, and dropped
//! ```
//!
//! The guard is the last value of the future that is dropped, and the turn takes before it drops what was thrown
//! ([`contain_and_take`](crate::process::contained::contain_and_take)). So nothing of a user's runs between the two, and there is at most
//! one. A guard that is dropped outside a turn of its own process leaves nothing.

use super::local::pid;
use crate::process::crash::drop_contained;
use crate::sync::thread_local;
use krarup_gen::{Pid, Reason, Result};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::pin::Pin;

/// The rest of a process that has panicked.
pub(crate) type Rest = Pin<Box<dyn Future<Output = Result> + Send>>;

/// Makes the rest of a process that has panicked with this reason.
pub(crate) type Survivor = Box<dyn FnOnce(Reason) -> Rest + Send>;

/// A survivor with the process to which it belongs. Without a destructor: a thread has such a place until it has ended,
/// also while its other places are destroyed, which may run processes.
type LeftBehind = ManuallyDrop<Option<(Pid, Survivor)>>;

thread_local! {
    static SURVIVOR: Cell<LeftBehind> = const { Cell::new(ManuallyDrop::new(None)) };
}

fn replace(left: Option<(Pid, Survivor)>) -> Option<(Pid, Survivor)> {
    ManuallyDrop::into_inner(SURVIVOR.with(|place| place.replace(ManuallyDrop::new(left))))
}

/// Keeps what survives the panic that unwinds now.
#[cold]
pub(crate) fn survive(owner: Pid, survivor: Survivor) {
    if let Some(before) = replace(Some((owner, survivor))) {
        drop_contained(before);
    }
}

/// Takes what has survived the panic of the current process that was just caught.
#[cold]
pub(crate) fn take_survivor() -> Option<Survivor> {
    let (owner, survivor) = replace(None)?;
    if pid() == Some(owner) {
        return Some(survivor);
    }
    replace(Some((owner, survivor)));
    None
}
