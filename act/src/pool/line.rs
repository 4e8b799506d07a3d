//! Who stands in line at a pool for room at any of its workers (rule M6): senders that wait,
//! and messages whose room went down with a worker.
//!
//! ```text
//!                      the line, one for the pool
//!   send_or_wait ──►  [ heir ] [ sender ] [ sender ] ...
//!                        ▲ first: it was accepted already
//!          its scout     │ room, the first time any worker has some
//!   worker 1 [scout] ────┤
//!   worker 2 [scout] ────┘     a worker that has room and a scout in its own line offers it
//! ```
//!
//! While anybody is in the line one scout stands for it in the mailbox of every worker. A worker
//! gives room to the scout as it would to a sender of its own; the scout gives it to the first
//! in the line, and goes on standing there while there is another. Whoever joins the line
//! first joins, then places the scouts: so either a worker finds the scout, or the scout
//! finds room.

use super::ticket::Era;
use crate::lock::Lock;
use crate::mailbox::permit::Waiter;
use std::collections::VecDeque;
use std::sync::Arc;

/// Somebody in line.
pub(super) enum Standing<M> {
    Sender(Arc<Waiter<M>>),
    Heir(Heir<M>),
}

/// A message that was accepted into room at a worker which has died since.
pub(super) struct Heir<M> {
    pub(super) message: M,
    pub(super) sender: u64,
    /// Keeps the end of a drain away until it is handled.
    pub(super) era: Arc<Era>,
}

pub(super) struct Queue<M>(Lock<VecDeque<Standing<M>>>);

impl<M> Queue<M> {
    pub(super) fn new() -> Self {
        Queue(Lock::new(VecDeque::new()))
    }

    /// Joins as the last, once.
    pub(super) fn join(&self, waiter: &Arc<Waiter<M>>) {
        let mut line = self.0.lock();
        if !line.iter().any(|standing| standing.is(waiter)) {
            line.push_back(Standing::Sender(Arc::clone(waiter)));
        }
    }

    pub(super) fn leave(&self, waiter: &Arc<Waiter<M>>) {
        self.0.lock().retain(|standing| !standing.is(waiter));
    }

    /// Goes before all who only wait.
    pub(super) fn inherit(&self, heir: Heir<M>) {
        let mut line = self.0.lock();
        let heirs = line.iter().take_while(|s| matches!(s, Standing::Heir(_))).count();
        line.insert(heirs, Standing::Heir(heir));
    }

    /// Is the first again, having been it before.
    pub(super) fn put_back(&self, heir: Heir<M>) {
        self.0.lock().push_front(Standing::Heir(heir));
    }

    pub(super) fn next(&self) -> Option<Standing<M>> {
        self.0.lock().pop_front()
    }

    /// Whether anybody still waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.0.lock().iter().any(|standing| match standing {
            Standing::Sender(waiter) => waiter.is_waiting(),
            Standing::Heir(_) => true,
        })
    }

    /// Messages that were accepted.
    pub(super) fn heirs(&self) -> usize {
        self.0.lock().iter().filter(|standing| matches!(standing, Standing::Heir(_))).count()
    }

    /// Sends those away that only wait; the line is empty of them then.
    pub(super) fn dismiss(&self) {
        let mut dismissed = Vec::new();
        self.0.lock().retain(|standing| match standing {
            Standing::Sender(waiter) => {
                dismissed.push(Arc::clone(waiter));
                false
            }
            Standing::Heir(_) => true,
        });
        dismissed.iter().for_each(|waiter| waiter.refuse());
    }
}

impl<M> Standing<M> {
    fn is(&self, waiter: &Arc<Waiter<M>>) -> bool {
        matches!(self, Standing::Sender(other) if Arc::ptr_eq(other, waiter))
    }
}
