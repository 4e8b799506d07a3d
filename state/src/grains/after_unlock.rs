//! Work that is left for after the directory is unlocked.
//!
//! Wakers, and the effects of a returned permit, are user code. They never run under the
//! lock, because they may use the same directory. Each is contained, so a panic in one
//! does not keep the others from running.

use krarup_act::{Permit, contain};
use std::task::Waker;

/// Created before the directory is locked, so that it is dropped, and does its work, after
/// the unlock.
pub(crate) struct AfterUnlock<M> {
    /// Room in a grain's mailbox that is no longer needed.
    pub(crate) permits: Vec<Permit<M>>,
    /// Wakers to wake.
    pub(crate) woken: Vec<Waker>,
    /// Outdated wakers to drop.
    pub(crate) stale: Vec<Waker>,
}

impl<M> Default for AfterUnlock<M> {
    fn default() -> Self {
        AfterUnlock { permits: Vec::new(), woken: Vec::new(), stale: Vec::new() }
    }
}

impl<M> Drop for AfterUnlock<M> {
    fn drop(&mut self) {
        for permit in self.permits.drain(..) {
            let _ = contain(|| drop(permit));
        }
        for waker in self.woken.drain(..) {
            let _ = contain(|| waker.wake());
        }
        for waker in self.stale.drain(..) {
            let _ = contain(|| drop(waker));
        }
    }
}
