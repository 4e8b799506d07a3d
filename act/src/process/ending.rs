//! The end of a process, stage by stage (rule D6).
//!
//! ```text
//!  state dropped ─► cleaners ─► log ─► mailbox closed ─► its entries dropped ─► names free
//!    ─► calls fail ─► relations closed ─► subscribers, links and monitors notified
//!    ─► the spawner and the waiting senders notified ─► the reason dropped
//! ```
//!
//! The relations of a process that has none are closed with the stage "names free".
//!
//! Nearly every stage runs user code: destructors, wakers, subscribers, the formatting of a
//! reason. Any of it may panic. So the stages are functions that run one after the other, and each is contained:
//! the next stage runs even if one fails. Values that a later stage needs lie in [`Ending`]. A
//! stage that handles several things contains each of them. A stage that would find nothing to do is left out; whether
//! it would is asked of fields alone, so that this cannot panic.
//!
//! Only two stages handle messages: those of [`EndedMailbox`] ([`mailbox`]), which is compiled for each type of message. The others are
//! compiled once.

mod mailbox;

use self::mailbox::{EndedMailbox, EndedMailboxOf};
use super::asked_to_end::ask_to_end;
use super::bonds;
use super::cell::Cell;
use super::cell_core::CellCore;
use super::contained::contain_inline;
use super::crash::{drop_contained, ignore, log_contained};
use super::crash_reporting::{Dead, DeathNote, logs_crashes, report};
use super::current::{self, OrphanCause};
use super::muting::release;
use super::process::Process;
use super::progress::ProcessMark;
use super::relations::{Bonds, Retired};
use crate::calls::slot::SlotSender;
use crate::cold_box::ColdBox;
use crate::host::host::ProcessEnd;
use crate::lifecycle::cleaners::Cleaners;
use crate::mailbox::cold::ColdMailbox;
use crate::mailbox::muted_senders::MutedSender;
use krarup_gen::{
    Ignore, MessageTotals, Name, Reason, Recorded, RecordedItem, SpawnError, one_line,
};
use std::sync::Arc;
use tracing::level_filters::LevelFilter;

type EndStage<'a> = fn(&mut Ending<'a>, &mut dyn EndedMailbox);

/// A process that is ending, and the values that one stage passes to the next.
struct Ending<'a> {
    core: &'a CellCore,
    process: &'a dyn Process,
    reason: Reason,
    muted: Option<Vec<Arc<dyn MutedSender>>>,
    initialised: bool,
    /// It had nothing to do. Its spawner alone hears of that (rule S2).
    ignored: bool,
    /// The spawner, if it waits for the start.
    starter: Option<SlotSender<Result<(), SpawnError>>>,
    /// The cold part of the mailbox, whose senders that wait for room are notified last.
    cold: Option<ColdBox<ColdMailbox>>,
    name: Option<Name>,
    /// No process can be bound to it any more.
    is_closed: bool,
    bonds: Option<Bonds>,
    messages: MessageTotals,
    /// If the reason is abnormal.
    death: Option<DeathNote>,
    /// What its flight recorder has kept.
    recorded: Vec<Recorded<RecordedItem>>,
    letters_lost: u64,
}

/// Ends a process whose future has been dropped. `terminate` has already run, if it runs at
/// all.
pub(super) fn end<M, C>(cell: &Cell<M, C>, reason: Reason)
where
    M: Send + 'static,
    C: Send + 'static,
{
    run_stages(cell, cell, &mut EndedMailboxOf::new(cell), reason);
}

fn run_stages(core: &CellCore, process: &dyn Process, mail: &mut dyn EndedMailbox, reason: Reason) {
    let ignored = is_ignored(core, &reason);
    let mut ending = Ending {
        core,
        process,
        reason: if ignored { Reason::Normal } else { reason },
        muted: None,
        initialised: true,
        ignored,
        starter: None,
        cold: None,
        name: None,
        is_closed: false,
        bonds: None,
        messages: MessageTotals::default(),
        death: None,
        recorded: Vec::new(),
        letters_lost: 0,
    };
    let has_cleaners = core.progress.has(ProcessMark::HasCleaners);
    ending.run(mail, has_cleaners, Ending::run_cleaners);
    ending.run(mail, ending.is_logged(), Ending::log);
    ending.run(mail, true, |ending, mail| mail.close(ending));
    ending.run(mail, ending.muted.is_some(), Ending::release_muted);
    let has_entries = mail.has_entries();
    ending.run(mail, has_entries, |ending, mail| mail.drop_entries(ending));
    ending.run(mail, true, Ending::free_names);
    ending.run(mail, current::has_orphans(), Ending::fail_calls);
    ending.run(mail, !ending.is_closed, Ending::close_relations);
    ending.run(mail, !ending.initialised, Ending::forget_failed_start);
    ending.run(mail, true, Ending::tell_subscribers);
    ending.run(mail, ending.bonds.is_some(), Ending::fire_bonds);
    ending.run(mail, ending.starter.is_some(), Ending::tell_starter);
    ending.run(mail, ending.cold.is_some(), Ending::refuse_waiters);
    ending.let_go(mail);
}

/// Whether its `init` has found that there is nothing to do.
#[inline]
fn is_ignored(core: &CellCore, reason: &Reason) -> bool {
    matches!(reason, Reason::ShutdownWith(_))
        && reason.downcast_ref::<Ignore>().is_some()
        && !core.progress.has_started()
}

impl<'a> Ending<'a> {
    /// Runs a stage if it is due, contained. Most processes end with few of the stages due.
    #[inline]
    fn run(&mut self, mail: &mut dyn EndedMailbox, is_due: bool, stage: EndStage<'a>) {
        if is_due {
            // A panic in a stage has been printed and has no further effect.
            let _ = contain_inline(|| stage(self, mail));
        }
    }

    /// Whether somebody may read the line of its end.
    fn is_logged(&self) -> bool {
        self.reason.is_abnormal() || tracing::Level::TRACE <= LevelFilter::current()
    }
}

impl Ending<'_> {
    /// Runs the cleaners. The state has been dropped and the name is not free yet, so resources
    /// that a successor needs are released before it can start.
    fn run_cleaners(&mut self, _: &mut dyn EndedMailbox) {
        if self.core.progress.has(ProcessMark::HasCleaners) {
            let cleaners = self.process.relations().take_cleaners();
            self.clean(cleaners);
        }
    }

    #[inline]
    fn clean(&self, cleaners: Cleaners) {
        let owner = self.core.pid();
        cleaners.run(owner, &self.reason, |task| ask_to_end(&*self.core.host, owner, task));
    }

    fn log(&mut self, _: &mut dyn EndedMailbox) {
        let (cell, pid, reason) = (self.core, self.core.pid(), &self.reason);
        // Asked for only if somebody hears the event.
        let name = || self.process.relations().name().cloned();
        // A dropped simulation kills the processes that still live. That needs no warning.
        let is_dropped = || {
            *reason == Reason::Killed
                && cell.host.is_stopping()
                && cell.host.simulated_link().is_some()
        };
        log_contained(|| {
            if reason.is_abnormal() && !is_dropped() {
                tracing::warn!(
                    target: "krarup", %pid, name = name().as_ref().map(Name::as_str), behavior = %self.process.behavior(),
                    reason = %one_line(reason), "process ended"
                );
            } else {
                tracing::trace!(
                    target: "krarup", %pid, name = name().as_ref().map(Name::as_str), behavior = %self.process.behavior(),
                    reason = %one_line(reason), "process ended"
                );
            }
        });
    }

    /// The senders that waited for this process to catch up go on.
    fn release_muted(&mut self, _: &mut dyn EndedMailbox) {
        if let Some(muted) = self.muted.take() {
            release(muted);
        }
    }

    /// Frees the name before any process is notified. The relations are closed after that, so a
    /// process that comes too late for them cannot learn of the end before the name is free, nor find
    /// the ended one in the node.
    ///
    /// A process that has nothing to free and nobody to notify is removed from the node under the
    /// lock of its relations, which are closed by then. That is the same order with one lock less.
    fn free_names(&mut self, _: &mut dyn EndedMailbox) {
        let end = ProcessEnd { kind: self.reason.kind(), messages: self.messages };
        let (retired, is_member) = {
            let mut relations = self.process.relations();
            self.is_closed = relations.close_if_empty();
            if self.is_closed {
                return self.core.host.retire(self.core.pid(), None, &end);
            }
            (relations.retire(), relations.is_member())
        };
        // Before the name is free, so that a successor finds its keys free (rules G2, G7).
        if is_member {
            self.core.host.memberships().end(self.core.pid());
        }
        let Some(Retired { name, aliases, cleaners }) = retired else {
            return self.core.host.retire(self.core.pid(), None, &end);
        };
        for alias in aliases {
            self.core.host.remove_alias(alias);
        }
        self.core.host.retire(self.core.pid(), name.as_ref(), &end);
        self.name = name;
        // A context can be moved out of its process, to a thread that was just adding a
        // cleaner.
        self.clean(cleaners);
    }

    /// Fails the calls whose tokens were dropped with the process.
    fn fail_calls(&mut self, _: &mut dyn EndedMailbox) {
        current::settle_orphans(OrphanCause::Ended(&self.reason));
    }

    fn close_relations(&mut self, _: &mut dyn EndedMailbox) {
        if !self.is_closed {
            self.bonds = bonds::close(self.process);
        }
    }

    /// Removes the link and the monitor of a spawner that waits for the start. It is notified of a failed start
    /// by the result of the spawn alone.
    fn forget_failed_start(&mut self, _: &mut dyn EndedMailbox) {
        if !self.initialised
            && self.starter.as_ref().is_some_and(SlotSender::is_awaited)
            && let Some(parent) = self.core.parent_pid()
        {
            let bonds = self.bonds.as_mut();
            bonds::forget_spawn(&*self.core.host, self.core.pid(), bonds, parent);
        }
    }

    fn tell_subscribers(&mut self, _: &mut dyn EndedMailbox) {
        if let Some(note) = &self.death
            && let Some(records) = self.core.host.records()
            && (records.crashes.is_on() || records.reports.is_heard() || logs_crashes())
        {
            let dead = Dead {
                reason: &self.reason,
                note,
                recorded: &self.recorded,
                name: self.name.as_ref(),
                bonds: self.bonds.as_ref(),
                initialised: self.initialised,
                letters_lost: self.letters_lost,
                messages: self.messages,
            };
            // Labels, the text of the reason and the log subscriber are user code.
            ignore(|| report(self.core, records, &dead));
        }
        self.core.host.note_ended(self.core.pid(), self.name.take(), &self.reason);
    }

    fn fire_bonds(&mut self, _: &mut dyn EndedMailbox) {
        if let Some(bonds) = self.bonds.take() {
            bonds::fire(&*self.core.host, self.core.pid(), bonds, &self.reason);
        }
    }

    fn tell_starter(&mut self, _: &mut dyn EndedMailbox) {
        if let Some(starter) = self.starter.take() {
            let reason = || if self.ignored { Ignore::reason() } else { self.reason.clone() };
            let failed = || SpawnError::Init(reason());
            let _ = starter.send(if self.initialised { Ok(()) } else { Err(failed()) });
        }
    }

    /// Refuses the senders that wait for room.
    fn refuse_waiters(&mut self, _: &mut dyn EndedMailbox) {
        let Some(cold) = &mut self.cold else { return };
        while let Some(waiter) = cold.pop_waiting() {
            // Dropping the slot wakes the sender, whose waker may be user code.
            ignore(|| waiter.refuse());
            drop_contained(waiter);
        }
    }

    /// Drops the remaining values one by one, because two panics must not coincide. Most of
    /// them remain only if a stage did not complete.
    fn let_go(&mut self, mail: &mut dyn EndedMailbox) {
        if let Some(muted) = self.muted.take() {
            muted.into_iter().for_each(drop_contained);
        }
        mail.let_go();
        if let Some(cold) = self.cold.take() {
            drop_contained(cold);
        }
        if let Some(starter) = self.starter.take() {
            drop_contained(starter);
        }
        if let Some(name) = self.name.take() {
            drop_contained(name);
        }
        // They are large, and mostly there are none.
        if let Some(bonds) = self.bonds.take() {
            drop_contained(bonds);
        }
        let reason = std::mem::replace(&mut self.reason, Reason::Normal);
        // A call whose token lies in a reason is failed by nothing else.
        if !matches!(reason, Reason::Normal | Reason::Shutdown) {
            drop_contained(reason);
        }
    }
}
