//! The remaining contents of a mailbox when its process ends (rules D6, D7).

use super::cold::ColdMailbox;
use super::control_entry::ControlEntry;
use super::entry::{EntryQueue, MailboxEntry};
use super::waiting_senders::WaitingSenders;
use crate::calls::slot::SlotSender;
use crate::cold_box::ColdBox;
use crate::process::current::CurrentContext;
use krarup_gen::{Reason, SpawnError};
use std::any::Any;
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

/// What lies in the cold part of a closed mailbox beside the entries of Main.
#[derive(Default)]
pub(crate) struct DrainedCold {
    pending_exit: Option<Reason>,
    tracer: Option<Box<dyn Any + Send>>,
    overflow: Option<Box<dyn Any + Send>>,
    /// The spawner, notified of the end after everything else is done (rule D6).
    pub(crate) starter: Option<SlotSender<Result<(), SpawnError>>>,
    /// The senders that wait for room, if there are any, notified last.
    pub(crate) waiting: Option<WaitingSenders>,
}

impl DrainedCold {
    /// Drops what goes before the entries of Main, one by one and in its order, with `drop`, which must not unwind.
    /// Returns the rest.
    pub(crate) fn of(cold: ColdMailbox, drop: &dyn Fn(Dropped)) -> Self {
        // Field by field, so that a new field cannot be dropped unnoticed.
        let ColdMailbox {
            pending_exit,
            exit_source: _,
            urgent,
            system,
            starter,
            overflow,
            waiting,
            suspended: _,
            tracer,
            // Closed when the mailbox was; no value of a user.
            item_log: _,
            log_changed: _,
            receiver,
            panics: _,
            // Released when the mailbox was closed.
            awaited: _,
            context,
            muted: _,
        } = cold;
        if let Some(context) = context {
            drop(Dropped::Context(context));
        }
        if let Some(waker) = receiver {
            drop(Dropped::Receiver(waker));
        }
        for lane in [urgent, system] {
            for entry in lane {
                drop(Dropped::Control(entry));
            }
        }
        let waiting = (!waiting.is_empty()).then_some(waiting);
        DrainedCold { pending_exit, tracer, overflow, starter, waiting }
    }

    /// Drops what comes after the entries of Main.
    pub(crate) fn drop_rest(&mut self, drop: &dyn Fn(Dropped)) {
        if let Some(reason) = self.pending_exit.take() {
            drop(Dropped::PendingExit(reason));
        }
        for value in [self.tracer.take(), self.overflow.take()].into_iter().flatten() {
            drop(Dropped::Value(value));
        }
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
