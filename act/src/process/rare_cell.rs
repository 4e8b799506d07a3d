//! The parts of a cell that most processes never use, and that are read without the mailbox's lock.

use super::messages_in_hand::MessagesInHand;
use crate::addressing::route::Route;
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use once_cell::race::OnceBox;
use std::sync::Arc;
use std::time::Duration;

/// The parts of a cell that most processes never use. Made when the first of them is needed, and kept until the cell
/// is freed.
pub(crate) struct RareCell<M> {
    /// Set if this process is a route instead of having a Main lane: messages are handed on (a
    /// pool).
    pub(super) route: OnceBox<Box<dyn Route<M>>>,
    /// The messages that its behaviour holds, from the first one on.
    pub(super) in_hand: OnceBox<Arc<MessagesInHand>>,
    /// How many messages were taken that Main does not count: those of the control lanes, and
    /// events of topics. Written by the turn.
    beside_main: AtomicU64,
    /// How many messages are in the stash. Written by the turn.
    stashed: AtomicUsize,
    /// Running time in nanoseconds. Only the watchdog, which looks at the workers, writes it.
    ran: AtomicU64,
}

impl<M> Default for RareCell<M> {
    fn default() -> Self {
        RareCell {
            route: OnceBox::new(),
            in_hand: OnceBox::new(),
            beside_main: AtomicU64::new(0),
            stashed: AtomicUsize::new(0),
            ran: AtomicU64::new(0),
        }
    }
}

impl<M> RareCell<M> {
    pub(super) fn beside_main(&self) -> u64 {
        self.beside_main.load(Ordering::Relaxed)
    }

    pub(super) fn count_beside_main(&self) {
        self.beside_main.store(self.beside_main() + 1, Ordering::Relaxed);
    }

    pub(super) fn stashed(&self) -> usize {
        self.stashed.load(Ordering::Relaxed)
    }

    pub(super) fn set_stashed(&self, messages: usize) {
        self.stashed.store(messages, Ordering::Relaxed);
    }

    pub(super) fn running_time(&self) -> Duration {
        Duration::from_nanos(self.ran.load(Ordering::Relaxed))
    }

    pub(super) fn add_running_time(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let ran = self.ran.load(Ordering::Relaxed).saturating_add(time);
        self.ran.store(ran, Ordering::Relaxed);
    }
}
