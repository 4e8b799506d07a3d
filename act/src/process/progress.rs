//! The progress of a process: counters and flags that its turns write for others to read.

use super::current;
use super::turn_word::TurnWord;
use super::waker::WakingCount;
use crate::lock::Lock;
use crate::sync::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// Values that the process writes while it runs and that others may read. A field has one writer,
/// the turn, except where a comment says more. So relaxed loads and stores are enough.
#[repr(C)]
pub(crate) struct Progress {
    /// How many user messages were taken off Main.
    pub(crate) taken: AtomicU64,
    /// How many messages were sent, whether a worker runs it, and whether its relations are closed.
    pub(super) turn: TurnWord,
    /// The word of a [`super::awaited::AwaitedProcess`]: the process that this one waits for,
    /// if it waits for nothing else. Valid while the process is Waiting. A thread that makes it
    /// ready adds, under the mailbox's lock, that nothing else could have woken it.
    pub(crate) waits_for: AtomicU64,
    /// The marks of [`ContextMark`] that are set. Whoever has the context writes them.
    context: AtomicU8,
    /// The lock of its relations. It is here because there is a byte.
    pub(super) relations: Lock<()>,
    /// Whether a control lane holds an entry or an exit is pending. Written by any thread under
    /// the mailbox's lock, read without it before every message. A sender's store can be seen
    /// late, but no later than at the next lock (rule M4).
    pub(crate) attention: AtomicBool,
    /// The marks of [`ProcessMark`] that are set. Several threads set marks, each of them its own.
    marks: AtomicU8,
    /// How many handles can wake it. The handles count themselves.
    pub(super) waking: WakingCount,
}

/// What is seldom changed of a process, a bit each in `Progress::marks`.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum ProcessMark {
    /// It will be poked. Set and cleared by the turn; the poke clears it under the mailbox's lock.
    Listed = 1,
    /// It has cleaners. A hint, so that a process without cleaners takes no lock for them. They are stored with
    /// its relations.
    HasCleaners = 2,
    /// Its pid was sent to another node. Set by any thread, once.
    Exposed = 4,
    /// It has a tracer, for those that look. Written under the mailbox's lock, and by the turn.
    Traced = 8,
    /// Its behaviour holds messages that it has received and not handled. Set and cleared by the turn.
    HoldsMessages = 16,
    /// It has set a class for itself. Set by the turn.
    HasClass = 32,
    /// The class that it has set last is high. Set and cleared by the turn.
    IsHigh = 64,
    /// It was linked to its parent when it was spawned, as by OTP's `start_link`. Set before its first turn.
    LinkedAtSpawn = 128,
}

/// What the context of a process has noted, a bit each in `Progress::context`. They are here and not in the context,
/// where they would be a word of their own in each process.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum ContextMark {
    /// The process has not started ([`Context::initialised`](crate::Context::initialised)).
    NotStarted = 1,
    /// Messages take the slow path, on which the next entry of Main is not always the
    /// next item: Main is a route, stashed messages are replayed, a tracer, a flight recorder
    /// or a trace is set, the job in progress is watched, received messages keep their room, messages have an order, or the
    /// process is suspended.
    SlowPath = 2,
    /// The process stops after this message: set by [`Context::stop`](crate::Context::stop), and by a stop that was
    /// received in a handler.
    Stops = 4,
    /// A stop requested by the parent or the node arrives as an item
    /// ([`Context::stop_in_order`](crate::Context::stop_in_order)).
    StopsInOrder = 8,
    /// A spawner waits for the start, and its slot is in the mailbox.
    HasStarter = 16,
    /// An actor serves: a panic now is one of its handlers, which it survives for its `terminate`
    /// (`current/survivors.rs`).
    Serves = 32,
    /// It runs its `terminate`, or is about to.
    Ends = 64,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Progress {
            taken: AtomicU64::new(0),
            turn: TurnWord::new(),
            waits_for: AtomicU64::new(0),
            context: AtomicU8::new(ContextMark::NotStarted as u8),
            relations: Lock::new(()),
            attention: AtomicBool::new(false),
            marks: AtomicU8::new(0),
            waking: WakingCount::new(),
        }
    }

    #[inline]
    pub(crate) fn has(&self, mark: ProcessMark) -> bool {
        self.marks.load(Ordering::Relaxed) & mark as u8 != 0
    }

    pub(crate) fn set(&self, mark: ProcessMark, is_set: bool) {
        if is_set {
            self.marks.fetch_or(mark as u8, Ordering::Relaxed);
        } else {
            self.marks.fetch_and(!(mark as u8), Ordering::Relaxed);
        }
    }

    /// Does the same as [`Progress::set`] for what mostly changes nothing. For one thread that sets the mark.
    #[inline]
    pub(crate) fn change(&self, mark: ProcessMark, is_set: bool) {
        if self.has(mark) != is_set {
            self.set(mark, is_set);
        }
    }

    /// Whether it has set a class for itself.
    #[inline]
    pub(crate) fn has_class(&self) -> bool {
        self.has(ProcessMark::HasClass)
    }

    /// Whether the class that it set last is high.
    pub(crate) fn is_high(&self) -> bool {
        self.has(ProcessMark::IsHigh)
    }

    /// Whether the context has noted this.
    #[inline]
    pub(crate) fn notes(&self, mark: ContextMark) -> bool {
        self.context.load(Ordering::Relaxed) & mark as u8 != 0
    }

    /// Notes this for the context, or that it is so no more. For whoever has the context.
    #[inline]
    pub(crate) fn note(&self, mark: ContextMark, is_set: bool) {
        let others = self.context.load(Ordering::Relaxed) & !(mark as u8);
        self.context.store(others | if is_set { mark as u8 } else { 0 }, Ordering::Relaxed);
    }

    /// Whether the process has started.
    #[inline]
    pub(crate) fn has_started(&self) -> bool {
        !self.notes(ContextMark::NotStarted)
    }

    /// Whether the process has started, and the next entry of Main is its next item.
    #[inline]
    pub(crate) fn takes_directly(&self) -> bool {
        const NOT: u8 = ContextMark::NotStarted as u8 | ContextMark::SlowPath as u8;
        self.context.load(Ordering::Relaxed) & NOT == 0
    }

    /// Ends a turn.
    #[inline]
    pub(crate) fn rest(&self) {
        self.turn.rest(current::take_sent());
    }

    /// Counts a user message that was taken off Main.
    #[inline]
    pub(crate) fn count_taken(&self) {
        self.taken.store(self.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
