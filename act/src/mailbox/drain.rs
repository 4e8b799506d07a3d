//! The remaining contents of a mailbox when its process ends (rules D6, D7).

use super::cold::ColdMailbox;
use super::entry::{ControlEntry, EntryQueue, MailboxEntry};
use super::overflow::Overflow;
use super::waiting_senders::WaitingSenders;
use crate::calls::slot::SlotSender;
use crate::cold_box::ColdBox;
use crate::observe::trace::Tracer;
use crate::process::current::CurrentContext;
use krarup_gen::{Reason, SpawnError};
use std::task::Waker;

/// The contents of a mailbox when it was closed, to be dropped outside its lock.
pub(crate) struct DrainedMailbox<M, C> {
    pub(super) first: Option<MailboxEntry<M>>,
    pub(super) main: EntryQueue<M>,
    pub(super) cold: Option<ColdBox<ColdMailbox<M, C>>>,
}

impl<M, C> DrainedMailbox<M, C> {
    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.main.is_none() && self.cold.is_none()
    }

    /// Drops everything, one by one and in its order, with `drop`, which must not unwind.
    /// Returns the waiters that are notified last.
    pub(crate) fn drop_all(self, drop: impl Fn(Dropped<M, C>)) -> NotifiedLast<M> {
        let DrainedMailbox { first, main, cold } = self;
        let mut last = NotifiedLast::default();
        let mut rest = (None, None, None);
        if let Some(cold) = cold {
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
            } = cold.into_inner();
            if let Some(context) = context {
                drop(Dropped::Context(context));
            }
            if let Some(waker) = receiver {
                drop(Dropped::Receiver(waker));
            }
            let waiting = (!waiting.is_empty()).then_some(waiting);
            last = NotifiedLast { starter, waiting };
            rest = (pending_exit, tracer, Some(overflow));
            for lane in [urgent, system] {
                for entry in lane {
                    drop(Dropped::Control(entry));
                }
            }
        }
        if let Some(entry) = first {
            drop(Dropped::Entry(entry));
        }
        if let Some(main) = main {
            for entry in *main {
                drop(Dropped::Entry(entry));
            }
        }
        let (pending_exit, tracer, overflow) = rest;
        if let Some(reason) = pending_exit {
            drop(Dropped::PendingExit(reason));
        }
        if let Some(tracer) = tracer {
            drop(Dropped::Tracer(tracer));
        }
        if let Some(overflow) = overflow {
            drop(Dropped::Overflow(overflow));
        }
        last
    }
}

/// The waiters that are notified of the end after everything else is done (rule D6).
pub(crate) struct NotifiedLast<M> {
    pub(crate) starter: Option<SlotSender<Result<(), SpawnError>>>,
    /// The senders that wait for room, if there are any.
    pub(crate) waiting: Option<WaitingSenders<M>>,
}

impl<M> Default for NotifiedLast<M> {
    fn default() -> Self {
        NotifiedLast { starter: None, waiting: None }
    }
}

/// One thing that lay in a closed mailbox.
#[allow(dead_code, reason = "held only for its destructor")]
pub(crate) enum Dropped<M, C> {
    Entry(MailboxEntry<M>),
    Control(ControlEntry<C>),
    PendingExit(Reason),
    Tracer(Tracer<M, C>),
    Overflow(Overflow<M>),
    /// A trace context; its span is a subscriber's.
    Context(Box<CurrentContext>),
    /// The waker of a pending receive; it may be user code.
    Receiver(Waker),
}
