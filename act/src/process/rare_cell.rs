//! The parts of a cell that most processes never use, and that are read without the mailbox's lock.
//!
//! ```text
//!  cell ── rare ──► RareCell: route, running time, links, monitors, name, ..
//!                       └── more ──► SeldomUsed: held messages, counts
//! ```
//!
//! The counts are atomics of the standard library also in a model of threads, which does not see how the boxes are
//! published. Nothing depends on their order.
//!
//! A supervised process has a link, and so the first of the two boxes; few have the second.

use super::messages_in_hand::MessagesInHand;
use super::relations::Relations;
use crate::addressing::route::Route;
use once_cell::race::OnceBox;
use spin::mutex::SpinMutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The parts of a cell that most processes never use. Made when the first of them is needed, and kept until the cell
/// is freed.
pub(crate) struct RareCell<M> {
    /// Set if this process is a route instead of having a Main lane: messages are handed on (a
    /// pool). Each send to a process with links looks here.
    pub(super) route: OnceBox<Box<dyn Route<M>>>,
    /// Running time in nanoseconds. Only the watchdog, which looks at the workers, writes it.
    ran: AtomicU64,
    more: OnceBox<SeldomUsed>,
    /// Its lock is one that nobody waits for: whoever uses the relations has the lock of the process's relations
    /// ([`LockedRelations`](super::locked_relations::LockedRelations)).
    pub(super) relations: SpinMutex<Relations>,
}

impl<M> Default for RareCell<M> {
    fn default() -> Self {
        RareCell {
            route: OnceBox::new(),
            ran: AtomicU64::new(0),
            more: OnceBox::new(),
            relations: SpinMutex::default(),
        }
    }
}

/// What even fewer processes have.
#[derive(Default)]
struct SeldomUsed {
    /// The messages that its behaviour holds, from the first one on.
    in_hand: OnceBox<Arc<MessagesInHand>>,
    /// How many messages were taken that Main does not count: those of the control lanes, and
    /// events of topics. Written by the turn.
    beside_main: AtomicU64,
    /// How many messages are in the stash. Written by the turn.
    stashed: AtomicUsize,
}

impl<M> RareCell<M> {
    fn more(&self) -> &SeldomUsed {
        self.more.get_or_init(Box::default)
    }

    pub(super) fn in_hand(&self) -> Option<&Arc<MessagesInHand>> {
        self.more.get()?.in_hand.get()
    }

    pub(super) fn begin_to_hold(&self) -> &Arc<MessagesInHand> {
        self.more().in_hand.get_or_init(Box::default)
    }

    pub(super) fn beside_main(&self) -> u64 {
        self.more.get().map_or(0, |more| more.beside_main.load(Ordering::Relaxed))
    }

    pub(super) fn count_beside_main(&self) {
        self.more().beside_main.store(self.beside_main() + 1, Ordering::Relaxed);
    }

    pub(super) fn stashed(&self) -> usize {
        self.more.get().map_or(0, |more| more.stashed.load(Ordering::Relaxed))
    }

    pub(super) fn set_stashed(&self, messages: usize) {
        self.more().stashed.store(messages, Ordering::Relaxed);
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
