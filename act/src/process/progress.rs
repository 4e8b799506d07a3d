//! How far a process is: what its turns count and write down for others to read.

use super::current;
use crate::sync::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use krarup_gen::Timestamp;

/// What the process itself writes while it runs and others may read: each field has
/// one writer, the turn, so relaxed loads and stores are enough, except where a
/// comment says more.
pub(crate) struct Progress {
    /// User messages taken off Main.
    pub(crate) taken: AtomicU64,
    /// Messages taken off the control lanes.
    pub(crate) controls: AtomicU64,
    /// Messages sent, until the end of the last turn.
    pub(crate) sent: AtomicU64,
    /// The number of the process whose answer it waits for, if it does nothing else; 0: it
    /// does not, or not only. Holds while the process is Waiting.
    pub(crate) waits_for: AtomicU64,
    /// Running time, nanoseconds. Written by whoever looks at the workers, who is one.
    pub(crate) ran: AtomicU64,
    /// Messages this turn may still handle, and [`FIRST`].
    pub(crate) budget: AtomicU32,
    /// When this turn must end, in nanoseconds of the node's time; 0: no matter when.
    pub(crate) deadline: AtomicU64,
    /// What the future wants, having returned `Pending`: see [`Wants`].
    pub(crate) wants: AtomicU8,
    /// Main was looked at since the future was last polled.
    pub(crate) looked: AtomicBool,
    /// A worker is in it.
    pub(crate) running: AtomicBool,
    /// Something lies on the control lanes, or the process is doomed. Written by
    /// anyone under the mailbox's lock, read without it before every message: a
    /// sender's store can be seen late, but no later than the next lock (rule M4).
    pub(crate) attention: AtomicBool,
}

/// In the budget: the turn has handled nothing. However late it is, a turn handles one
/// message, or a process would come round for ever.
const FIRST: u32 = 1 << 31;

/// Why a future returned `Pending`.
pub(crate) struct Wants;

impl Wants {
    /// Something else than a message: it waits inside a handler.
    pub(crate) const OTHER: u8 = 0;
    /// A message, and it has none.
    pub(crate) const MESSAGE: u8 = 1;
    /// Another turn: its budget is used up.
    pub(crate) const TURN: u8 = 2;
}

impl Progress {
    pub(crate) fn new() -> Self {
        Progress {
            taken: AtomicU64::new(0),
            controls: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            waits_for: AtomicU64::new(0),
            ran: AtomicU64::new(0),
            budget: AtomicU32::new(0),
            deadline: AtomicU64::new(0),
            wants: AtomicU8::new(Wants::OTHER),
            looked: AtomicBool::new(false),
            running: AtomicBool::new(false),
            attention: AtomicBool::new(false),
        }
    }

    /// Begins a turn.
    pub(crate) fn begin(&self, budget: u32, deadline: Option<Timestamp>) {
        self.budget.store(budget | FIRST, Ordering::Relaxed);
        self.deadline.store(deadline.map_or(0, |due| due.as_nanos().max(1)), Ordering::Relaxed);
        self.running.store(true, Ordering::Relaxed);
    }

    /// Ends a turn.
    #[inline]
    pub(crate) fn rest(&self) {
        self.running.store(false, Ordering::Relaxed);
        let sent = current::take_sent();
        if sent > 0 {
            self.sent.store(self.sent.load(Ordering::Relaxed) + sent, Ordering::Relaxed);
        }
    }

    /// A user message was taken off Main.
    #[inline]
    pub(crate) fn count_taken(&self) {
        self.taken.store(self.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Takes one message's worth of the turn; false if nothing is left of it.
    #[inline]
    pub(crate) fn spend(&self, now: impl FnOnce() -> Timestamp) -> bool {
        let budget = self.budget.load(Ordering::Relaxed);
        let left = budget & !FIRST;
        if left == 0 {
            return false;
        }
        let deadline = self.deadline.load(Ordering::Relaxed);
        if deadline != 0 && budget & FIRST == 0 && now().as_nanos() >= deadline {
            return false;
        }
        self.budget.store(left - 1, Ordering::Relaxed);
        true
    }
}
