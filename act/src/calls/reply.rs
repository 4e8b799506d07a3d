//! The token with which a request is answered.

use crate::calls::slot::{SlotReceiver, SlotSender, slot_for};
use crate::process::current::{self, OrphanCause};
use krarup_gen::CallError;
use std::fmt;
use std::mem::forget;
use std::task::Waker;

/// The right, and the duty, to answer a call: Erlang's `From`.
///
/// A request is a message with a `Reply` in it. The token can be kept, passed on, and
/// answered later or by another process (rule C6). Dropped unanswered it fails the call
/// at once: with [`CallError::Terminated`] and the reason if it was dropped because
/// its process ended (rule C2), or [`CallError::NotBegun`] if no handler had seen the request;
/// else with [`CallError::NoReply`].
#[must_use = "a reply token that is dropped fails the call"]
pub struct Reply<T: Send + 'static> {
    slot: SlotSender<Result<T, CallError>>,
}

impl<T: Send + 'static> Reply<T> {
    pub(crate) fn new(waiter: Option<Waker>) -> (Self, SlotReceiver<Result<T, CallError>>) {
        let (sender, receiver) = slot_for(waiter);
        (Reply { slot: sender }, receiver)
    }

    /// Answers the call. An answer to a call that was given up is dropped and counted
    /// (rule C3).
    #[inline]
    pub fn send(self, value: T) {
        self.into_slot().send_or_late(Ok(value));
    }

    /// The end that fills the slot: what is left has nothing to do when it is dropped.
    #[inline]
    fn into_slot(mut self) -> SlotSender<Result<T, CallError>> {
        let slot = self.slot.take();
        forget(self);
        slot
    }

    /// Says that somebody else will answer: call it before the token goes to another process,
    /// if this one may then wait for the caller. Else such a wait would look like a cycle
    /// of calls (rule C5), for nobody can see where a token lies.
    pub fn pass_on(self) -> Self {
        self.slot.pass_on();
        self
    }

    /// Fails the call with this error: for a router that knows why nobody will answer.
    pub fn fail(self, error: CallError) {
        self.into_slot().send_or_late(Err(error));
    }
}

impl<T: Send + 'static> Drop for Reply<T> {
    fn drop(&mut self) {
        let slot = self.slot.take();
        // Inside a turn nobody knows yet whether the process is about to end with a
        // reason that the caller should hear.
        let orphan = move |fate: OrphanCause<'_>| {
            let _ = slot.send(Err(match fate {
                OrphanCause::Ended(reason) => CallError::Terminated(reason.clone()),
                OrphanCause::NotBegun(reason) => CallError::NotBegun(reason.clone()),
                OrphanCause::Dropped => CallError::NoReply,
                OrphanCause::Refused(error) => error.clone(),
            }));
        };
        if let Err(orphan) = current::adopt(orphan) {
            orphan(OrphanCause::Dropped);
        }
    }
}

impl<T: Send + 'static> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reply<{}>", std::any::type_name::<T>())
    }
}
