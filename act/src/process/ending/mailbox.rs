//! The mailbox of a process that is ending: two stages close it, and drop what was left in it.
//!
//! What handles the entries of Main is compiled for each type of message, the rest once.

use super::Ending;
use crate::cold_box::ColdBox;
use crate::mailbox::cold::ColdMailbox;
use crate::mailbox::control_entry::ControlEntry;
use crate::mailbox::drain::{DrainedMailbox, Dropped};
use crate::mailbox::entry::MailboxEntry;
use crate::mailbox::inbox_core::InboxCore;
use crate::observe::item_log::ItemLog;
use crate::process::cell::Cell;
use crate::process::crash::drop_contained;
use crate::process::crash_reporting::DeathNote;
use crate::process::progress::ContextMark;
use crate::process::{current, last_item};
use crate::traces::carried::CarriedContext;
use crate::traces::open_span::OpenSpan;
use krarup_gen::{DeadLetterCause, TraceEnd};
use std::any::type_name;
use std::sync::Arc;
use std::time::Duration;

/// The mailbox of a process that is ending.
pub(super) trait EndedMailbox {
    fn close(&mut self, ending: &mut Ending<'_>);

    /// Whether something was left in it when it was closed.
    fn has_entries(&self) -> bool;

    /// Drops the entries. Reply tokens in them fail their calls later, after the name is free.
    fn drop_entries(&mut self, ending: &mut Ending<'_>);

    /// Drops what a stage that did not complete has left.
    fn let_go(&mut self);
}

/// The mailbox of a process with messages of these types.
pub(super) struct EndedMailboxOf<'a, M, C> {
    cell: &'a Cell<M, C>,
    remains: Option<DrainedMailbox<M>>,
}

impl<'a, M, C> EndedMailboxOf<'a, M, C> {
    pub(super) fn new(cell: &'a Cell<M, C>) -> Self {
        EndedMailboxOf { cell, remains: None }
    }
}

impl Ending<'_> {
    /// Notes what is known of the mailbox before it is closed. Returns what records its items.
    #[inline]
    fn note_mailbox(
        &mut self,
        inbox: &mut InboxCore,
        (message, command): (&'static str, &'static str),
        (beside_main, ran): (u64, Duration),
    ) -> Option<Arc<ItemLog>> {
        let core = self.core;
        // A bare process that ended without ever waiting has not failed to start.
        self.initialised = core.progress.has_started()
            || (!core.progress.notes(ContextMark::StopsInOrder)
                && self.reason.is_normal()
                && !self.ignored);
        self.messages = core.messages(inbox, beside_main);
        if self.reason.is_abnormal() {
            let last = last_item::left(core.pid(), message, command);
            self.death = Some(DeathNote::of(core, inbox, last, ran));
            // Those in a batch were dropped with the context.
            self.letters_lost = core.waiting(inbox) as u64;
        }
        self.muted = inbox.take_muted(u64::MAX);
        inbox.cold_if_any().and_then(|cold| cold.item_log.take())
    }

    fn end_log(&mut self, log: &ItemLog) {
        log.end_trace(TraceEnd::Ended);
        self.recorded = log.recorded();
    }

    /// Counts and drops what lies in the cold part of the mailbox before the entries of Main.
    fn drop_before_main(&mut self, cold: &mut ColdMailbox) {
        let letters = std::cell::Cell::new(0);
        cold.drop_before_main(&|dropped| {
            if let Dropped::Control(
                ControlEntry::Message { sender, message }
                | ControlEntry::Traced { sender, message, .. },
            ) = &dropped
            {
                let cause = DeadLetterCause::Unhandled;
                if let Dropped::Control(ControlEntry::Traced { context, .. }) = &dropped {
                    OpenSpan::lost(context, message.type_name(), cause.as_str());
                }
                letters.set(letters.get() + 1);
                self.core.dead_letter_named(message.type_name(), *sender, cause);
            }
            current::not_begun(|| drop_contained(dropped));
        });
        self.letters_lost += letters.get();
        self.starter = cold.starter.take();
    }

    /// Drops what lies in the cold part of the mailbox after the entries of Main, and keeps the senders that wait for
    /// room.
    fn drop_after_main(&mut self, cold: Option<ColdBox<ColdMailbox>>) {
        self.cold = cold;
        if let Some(cold) = &mut self.cold {
            cold.drop_after_main(&|dropped| current::not_begun(|| drop_contained(dropped)));
        }
    }

    /// Counts a message on Main that nobody handles.
    fn note_lost(
        &mut self,
        message: &'static str,
        sender: u64,
        context: Option<&CarriedContext>,
        takes_room: bool,
    ) {
        let cause = DeadLetterCause::Unhandled;
        if let Some(context) = context {
            OpenSpan::lost(context, message, cause.as_str());
        }
        self.letters_lost += u64::from(!takes_room);
        self.core.dead_letter_named(message, sender, cause);
    }
}

impl<M: Send + 'static, C: Send + 'static> EndedMailbox for EndedMailboxOf<'_, M, C> {
    fn close(&mut self, ending: &mut Ending<'_>) {
        let (cell, types) = (self.cell, (type_name::<M>(), type_name::<C>()));
        let mut inbox = cell.inbox.lock();
        let log = ending.note_mailbox(&mut inbox, types, (cell.beside_main(), cell.running_time()));
        let remains = inbox.close();
        drop(inbox);
        self.remains = (!remains.is_empty()).then_some(remains);
        if let Some(log) = log {
            ending.end_log(&log);
        }
    }

    fn has_entries(&self) -> bool {
        self.remains.is_some()
    }

    fn drop_entries(&mut self, ending: &mut Ending<'_>) {
        let Some(DrainedMailbox { first, main, mut cold }) = self.remains.take() else { return };
        if let Some(cold) = &mut cold {
            ending.drop_before_main(cold);
        }
        if let Some(entry) = first {
            drop_entry(ending, entry);
        }
        if let Some(main) = main {
            for entry in main.into_inner() {
                drop_entry(ending, entry);
            }
        }
        ending.drop_after_main(cold);
    }

    fn let_go(&mut self) {
        if let Some(remains) = self.remains.take() {
            drop_contained(remains);
        }
    }
}

/// Counts and drops an entry of Main.
fn drop_entry<M>(ending: &mut Ending<'_>, entry: MailboxEntry<M>) {
    if entry.is_letter() {
        ending.note_lost(entry.type_name(), entry.sender(), entry.context(), entry.takes_room());
    }
    current::not_begun(|| drop_contained(entry));
}
