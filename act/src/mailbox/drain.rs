//! The remaining contents of a mailbox when its process ends (rules D6, D7).

use super::cold::ColdMailbox;
use super::control_entry::ControlEntry;
use super::entry::{EntryQueue, MailboxEntry};
use super::permit::WaitsForRoom;
use crate::cold_box::ColdBox;
use crate::process::current::CurrentContext;
use krarup_gen::Reason;
use std::any::Any;
use std::sync::Arc;
use std::task::Waker;

/// The contents of a mailbox when it was closed, to be dropped outside its lock.
pub(crate) struct DrainedMailbox<M> {
    pub(crate) first: Option<MailboxEntry<M>>,
    pub(crate) main: EntryQueue<M>,
    pub(crate) cold: Option<ColdBox<ColdMailbox>>,
}

impl<M> DrainedMailbox<M> {
    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.main.is_none() && self.cold.is_none()
    }
}

impl ColdMailbox {
    /// Drops what goes before the entries of Main, one by one and in its order, with `drop`, which must not unwind.
    /// In place: to move all of it costs more than what is there.
    pub(crate) fn drop_before_main(&mut self, drop: &dyn Fn(Dropped)) {
        // Field by field, so that a new field cannot be dropped unnoticed.
        let ColdMailbox {
            pending_exit: _,
            exit_source: _,
            urgent,
            system,
            // The spawner and the senders in line are notified last (rule D6).
            starter: _,
            waiting: _,
            overflow: _,
            dropped: _,
            suspended: _,
            tracer: _,
            // Closed when the mailbox was; no value of a user.
            item_log: _,
            log_changed: _,
            receiver,
            panics: _,
            without_context: _,
            // Released when the mailbox was closed.
            awaited: _,
            context,
            muted: _,
        } = self;
        if let Some(context) = context.take() {
            drop(Dropped::Context(context));
        }
        if let Some(waker) = receiver.take() {
            drop(Dropped::Receiver(waker));
        }
        for lane in [urgent, system] {
            while let Some(entry) = lane.pop_front() {
                drop(Dropped::Control(entry));
            }
        }
    }

    /// Drops what comes after the entries of Main.
    pub(crate) fn drop_after_main(&mut self, drop: &dyn Fn(Dropped)) {
        if let Some(reason) = self.pending_exit.take() {
            drop(Dropped::PendingExit(reason));
        }
        for value in [self.tracer.take(), self.overflow.take()].into_iter().flatten() {
            drop(Dropped::Value(value));
        }
    }

    /// Removes the first of the senders that wait for room.
    pub(crate) fn pop_waiting(&mut self) -> Option<Arc<dyn WaitsForRoom>> {
        self.waiting.pop()
    }
}

/// One thing that lay in the cold part of a closed mailbox.
#[allow(dead_code, reason = "held only for its destructor")]
pub(crate) enum Dropped {
    Control(ControlEntry),
    PendingExit(Reason),
    /// A tracer, or an overflow choice.
    Value(Box<dyn Any + Send>),
    /// A trace context; its span is a subscriber's.
    Context(Box<CurrentContext>),
    /// The waker of a pending receive; it may be user code.
    Receiver(Waker),
}
