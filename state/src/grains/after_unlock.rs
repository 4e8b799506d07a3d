//! What is left to do when the book of the grains is free again.
//!
//! Wakers, and what a permit that is given back sets going, are a user's code: none of it runs
//! while the book is locked, for it may come back to the same book. Each is contained, so that
//! one that panics keeps nobody else from its turn.

use krarup_act::{Permit, contain};
use std::task::Waker;

/// To be made before the book is locked, so that it is dropped, and does its work, behind that.
pub(crate) struct AfterUnlock<M> {
    /// Room in a grain's mailbox that nobody needs any more.
    pub(crate) permits: Vec<Permit<M>>,
    /// Whom to wake.
    pub(crate) woken: Vec<Waker>,
    /// Wakers that are out of date.
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
