//! A process with the lock of its own mailbox, so that it can be parked there.
//!
//! ```text
//!   LockedLife { inbox: guard ──► Cell.inbox ◄── Cell ◄── Life.cell, life }
//!        │
//!        ├─ unlock: the lock is released, the life is returned
//!        └─ park:   the life goes into the inbox; the end of this value releases the lock
//! ```
//!
//! The lock lies in the cell, on which the life itself has the handle, and which another worker may free as soon
//! as the lock is released. Safe code would hold a second handle for that moment: two atomic operations in each turn, a
//! fifth of the time of a message (docs/decisions.md). docs/architecture.md names the other files with `unsafe`.

#![allow(
    unsafe_code,
    reason = "two atomic operations less for each turn; argued below, docs/decisions.md"
)]

use super::{Cell, Life};
use crate::host::ready::{Ready, RunTurn};
use crate::lock::LockGuard;
use crate::mailbox::inbox::Inbox;
use crate::mailbox::inbox_core::MailboxPhase;
use crate::mailbox::muted_senders::MutedSender;
use std::pin::Pin;
use std::sync::Arc;

type PinnedLife<M, C, S, F> = Pin<Box<Life<M, C, S, F>>>;

pub(super) struct LockedLife<M: Send + 'static, C: Send + 'static, S, F> {
    /// Dropped first: the lock is released while the life is still here, or has just been parked.
    inbox: LockGuard<'static, Inbox<M>>,
    life: LifeSlot<PinnedLife<M, C, S, F>>,
}

/// What is here until it is parked. An `Option` would have a debug build compile the methods of all options again when
/// a handler is edited (docs/decisions.md).
enum LifeSlot<L> {
    Here(L),
    Parked,
}

impl<M, C, S, F> LockedLife<M, C, S, F>
where
    M: Send + 'static,
    C: Send + 'static,
    Life<M, C, S, F>: RunTurn + 'static,
{
    #[inline]
    pub(super) fn new(life: PinnedLife<M, C, S, F>) -> Self {
        let cell: *const Cell<M, C> = Arc::as_ptr(&life.cell);
        // SAFETY: the guard must not be used after the cell is freed. The cell lives as long as any of its handles;
        // one is `life.cell`, which nobody can take from a `Life`.
        // - `inbox` is not asked for after `park`, so this guard does not take the life out again.
        // - Until `park`, the life is a field of the same value as the guard, and is dropped after it.
        // - `park` puts the life into the mailbox that is locked, and nothing unwinds in between. Who takes it out has
        //   the lock, so that happens after the guard has released it. The release is one store into the cell, and the
        //   last access to it.
        // - Only that store has a reference into the cell as an argument while the cell can be freed: that of the
        //   lock, whose target may go away during the call as that of the count of an `Arc` may.
        let inbox = unsafe { &*cell }.inbox.lock();
        LockedLife { inbox, life: LifeSlot::Here(life) }
    }

    #[inline]
    pub(super) fn inbox(&mut self) -> &mut Inbox<M> {
        debug_assert!(matches!(self.life, LifeSlot::Here(_)), "the process has been parked");
        &mut self.inbox
    }

    /// The life itself, which still runs.
    #[inline]
    pub(super) fn life(&self) -> &Life<M, C, S, F> {
        match &self.life {
            LifeSlot::Here(life) => life,
            LifeSlot::Parked => unreachable!("nothing is asked after the process has been parked"),
        }
    }

    /// Whether the mailbox holds anything that the process has not begun to handle.
    pub(super) fn has_unhandled(&self) -> bool {
        self.life().cell.has_unhandled(&self.inbox)
    }

    /// Takes out the muted senders that have waited long enough.
    pub(super) fn take_due(&mut self) -> Option<Vec<Arc<dyn MutedSender>>> {
        if !self.inbox.has_cold() {
            return None;
        }
        let LockedLife { inbox, life } = self;
        match life {
            LifeSlot::Here(life) => life.cell.take_due(inbox),
            LifeSlot::Parked => None,
        }
    }

    /// Parks the process, and is the last thing to do: the lock is released when this value is dropped. It is not
    /// taken by value, so that no function has the guard as its argument while the cell is freed.
    #[inline]
    pub(super) fn park(&mut self, phase: MailboxPhase) {
        // Asked while the life is still here: nothing unwinds once it is on its way.
        debug_assert!(self.inbox.has_place(phase));
        self.life().cell.progress.rest();
        if let LifeSlot::Here(life) = std::mem::replace(&mut self.life, LifeSlot::Parked) {
            self.inbox.park(phase, Ready::new(life));
        }
    }

    /// Releases the lock.
    #[inline]
    pub(super) fn unlock(self) -> PinnedLife<M, C, S, F> {
        let LockedLife { inbox, life } = self;
        drop(inbox);
        let LifeSlot::Here(life) = life else { unreachable!("a process is parked last") };
        life
    }
}
