//! The death of a process, stage by stage (rule D6).
//!
//! ```text
//!   state dropped ─► cleaners ─► log ─► mailbox closed ─► what lay in it dropped ─► names free
//!     ─► calls fail ─► relations closed ─► subscribers, links and monitors told
//!     ─► the spawner and the senders in line told ─► the reason dropped
//! ```
//!
//! Nearly every stage runs code of users: destructors, wakers, subscribers, what prints a
//! reason. Any of it may panic. So a stage is a function in one list, and each is contained:
//! whatever becomes of it, the next one runs. What a stage hands to a later one lies in
//! [`Ending`]. A stage that handles several things contains each of them.

use super::bonds;
use super::cell::Cell;
use super::crash::{contain, drop_contained, tell};
use super::current::{self, OrphanCause};
use super::relations::Bonds;
use crate::mailbox::drain::{DrainedMailbox, Dropped, LastToHear};
use crate::mailbox::entry::ControlEntry;
use crate::sync::Ordering;
use krarup_gen::{DeadLetterCause, Name, Reason, SpawnError};
use std::sync::Arc;

type EndStage<M, C> = fn(&mut Ending<M, C>);

/// A process that is ending, and what one stage of its end leaves to the next.
struct Ending<M, C> {
    cell: Arc<Cell<M, C>>,
    reason: Reason,
    remains: Option<DrainedMailbox<M, C>>,
    initialised: bool,
    last_to_hear: LastToHear<M>,
    name: Option<Name>,
    bonds: Option<Box<Bonds>>,
}

/// Ends a process whose future has been dropped. `terminate` has run, if it was to run at all.
pub(super) fn end<M, C>(cell: Arc<Cell<M, C>>, reason: Reason)
where
    M: Send + 'static,
    C: Send + 'static,
{
    let stages: [EndStage<M, C>; 12] = [
        Ending::run_cleaners,
        Ending::log,
        Ending::close_mailbox,
        Ending::drop_remains,
        Ending::free_names,
        Ending::fail_calls,
        Ending::close_relations,
        Ending::forget_failed_start,
        Ending::tell_subscribers,
        Ending::fire_bonds,
        Ending::tell_starter,
        Ending::refuse_waiters,
    ];
    let mut ending = Ending {
        cell,
        reason,
        remains: None,
        initialised: true,
        last_to_hear: LastToHear::default(),
        name: None,
        bonds: None,
    };
    for stage in stages {
        // What a stage panicked with has been printed; it changes nothing.
        let _ = contain(|| stage(&mut ending));
    }
    ending.let_go();
}

impl<M: Send + 'static, C: Send + 'static> Ending<M, C> {
    /// The state is gone, the name is not free yet: what a successor will need is let go.
    fn run_cleaners(&mut self) {
        if self.cell.progress.has_cleaners.load(Ordering::Relaxed) {
            let cleaners = self.cell.locked_relations().take_cleaners();
            cleaners.run(self.cell.pid, &self.reason);
        }
    }

    fn log(&mut self) {
        let (cell, pid, reason) = (&self.cell, self.cell.pid, &self.reason);
        // A simulation that is dropped kills what still lives: nobody is to be warned of that.
        let is_dropped =
            || *reason == Reason::Killed && cell.host.is_stopping() && cell.host.wire().is_some();
        tell(|| {
            if reason.is_abnormal() && !is_dropped() {
                tracing::warn!(target: "krarup", %pid, behavior = %cell.label(), %reason, "process ended");
            } else {
                tracing::trace!(target: "krarup", %pid, behavior = %cell.label(), %reason, "process ended");
            }
        });
    }

    fn close_mailbox(&mut self) {
        let mut inbox = self.cell.inbox.lock();
        // A bare process that did its work without ever waiting has not failed to start.
        self.initialised = inbox.initialised || (!inbox.orderly && self.reason.is_normal());
        self.remains = Some(inbox.close());
    }

    /// Drops what lay in the mailbox: tokens in it fail their callers, but not before the name
    /// is free.
    fn drop_remains(&mut self) {
        let Some(remains) = self.remains.take() else { return };
        let Ending { cell, last_to_hear, .. } = self;
        *last_to_hear = remains.drop_all(|dropped| {
            match &dropped {
                Dropped::Entry(entry) if entry.is_letter() => {
                    cell.lose_named(entry.type_name(), entry.sender, DeadLetterCause::Unhandled);
                }
                Dropped::Control(ControlEntry::Message { sender, .. }) => {
                    cell.lose::<C>(*sender, DeadLetterCause::Unhandled);
                }
                _ => {}
            }
            current::not_begun(|| drop_contained(dropped));
        });
    }

    /// Frees the name, before anyone is told. The relations are closed after that, so that
    /// nobody who comes too late for them can hear of the death before the name is free.
    fn free_names(&mut self) {
        let ((name, aliases), late) = {
            let mut relations = self.cell.locked_relations();
            (relations.retire(), relations.take_cleaners())
        };
        for alias in aliases {
            self.cell.host.remove_alias(alias);
        }
        self.cell.host.retire(self.cell.pid, name.as_ref());
        self.name = name;
        // A context can be moved out of its process, to a thread that was just adding one.
        late.run(self.cell.pid, &self.reason);
    }

    /// First those whose tokens went down with the process.
    fn fail_calls(&mut self) {
        current::settle_orphans(OrphanCause::Ended(&self.reason));
    }

    fn close_relations(&mut self) {
        self.bonds = bonds::close(&*self.cell);
    }

    /// A spawner that waits for the start hears of a failed one by that alone.
    fn forget_failed_start(&mut self) {
        if !self.initialised
            && self.last_to_hear.is_start_awaited()
            && let Some(parent) = self.cell.parent_pid()
        {
            bonds::forget_link(&*self.cell.host, self.cell.pid, parent);
        }
    }

    fn tell_subscribers(&mut self) {
        self.cell.host.note_ended(self.cell.pid, self.name.take(), &self.reason);
    }

    fn fire_bonds(&mut self) {
        if let Some(bonds) = self.bonds.take() {
            bonds::fire(&*self.cell.host, self.cell.pid, *bonds, &self.reason);
        }
    }

    fn tell_starter(&mut self) {
        if let Some(starter) = self.last_to_hear.starter.take() {
            let failed = || SpawnError::Init(self.reason.clone());
            let _ = starter.send(if self.initialised { Ok(()) } else { Err(failed()) });
        }
    }

    fn refuse_waiters(&mut self) {
        for waiter in self.last_to_hear.waiting.take().into_iter().flatten() {
            // The permit that it would have got may convert a user's messages.
            let _ = contain(|| waiter.refuse());
            drop_contained(waiter);
        }
    }

    /// Drops what is left, one by one: two that panic must not meet. Most of it is left only if
    /// a stage did not come to its end.
    fn let_go(self) {
        let Ending { cell, reason, remains, initialised: _, last_to_hear, name, bonds } = self;
        drop_contained(remains);
        drop_contained(last_to_hear);
        drop_contained(name);
        drop_contained(bonds);
        // A call whose token lies in a reason can hear of nothing else.
        drop_contained(reason);
        // With the last handle on the process goes its route, which is a user's.
        drop_contained(cell);
        current::settle_orphans(OrphanCause::Dropped);
    }
}
