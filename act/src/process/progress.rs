//! How far a process is: what its turns count and write down for others to read.

use super::current;
use crate::sync::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// What the process itself writes while it runs and others may read: each field has
/// one writer, the turn, so relaxed loads and stores are enough, except where a
/// comment says more.
#[repr(C)]
pub(crate) struct Progress {
    /// User messages taken off Main.
    pub(crate) taken: AtomicU64,
    /// Messages sent, until the end of the last turn.
    pub(crate) sent: AtomicU64,
    /// Whom it waits for, if it does nothing else: the word of a [`super::awaited::Wait`]. Holds
    /// while the process is Waiting. Who makes it ready then adds, under the mailbox's lock,
    /// that nothing else could have woken it.
    pub(crate) waits_for: AtomicU64,
    /// It will be poked. Set by the turn, taken back under the mailbox's lock.
    pub(crate) listed: AtomicBool,
    /// Turns to sit out: see `Life::run`; or [`AT_SEAT`]. Written under the mailbox's lock where
    /// it is not 0, and read there by whoever calls the process.
    pub(crate) debt: AtomicU8,
    /// The class it has said to be of, if it says so itself: see [`Said`].
    pub(crate) said: AtomicU8,
    /// A worker is in it.
    pub(crate) running: AtomicBool,
    /// It has cleaners. A hint, so that who has none takes no lock for them: they lie
    /// among its relations.
    pub(crate) has_cleaners: AtomicBool,
    /// Something lies on the control lanes, or the process is doomed. Written by
    /// anyone under the mailbox's lock, read without it before every message: a
    /// sender's store can be seen late, but no later than the next lock (rule M4).
    pub(crate) attention: AtomicBool,
    /// Messages taken off the control lanes.
    pub(crate) controls: AtomicU64,
    /// Running time, nanoseconds. Written by whoever looks at the workers, who is one.
    pub(crate) ran: AtomicU64,
}

/// As `Progress::debt`: what the process owes has been left at its worker's seat.
pub(crate) const AT_SEAT: u8 = u8::MAX;

/// What a process has said of its class, as `Progress::said`; 0: nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Said {
    Normal = 1,
    High = 2,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Progress {
            taken: AtomicU64::new(0),
            controls: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            waits_for: AtomicU64::new(0),
            ran: AtomicU64::new(0),
            listed: AtomicBool::new(false),
            debt: AtomicU8::new(0),
            said: AtomicU8::new(0),
            running: AtomicBool::new(false),
            has_cleaners: AtomicBool::new(false),
            attention: AtomicBool::new(false),
        }
    }

    /// Whether it has said anything of its class.
    #[inline]
    pub(crate) fn says_class(&self) -> bool {
        self.said.load(Ordering::Relaxed) != 0
    }

    /// Whether it has said last that it is of high class.
    pub(crate) fn says_high(&self) -> bool {
        self.said.load(Ordering::Relaxed) == Said::High as u8
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
}
