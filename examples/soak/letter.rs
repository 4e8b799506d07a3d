//! Messages that are counted wherever they end, and timers' too.

use crate::ledger::{Counts, Ledger};
use krarup::prelude::*;
use krarup::{SendError, Timestamp};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Whom a message is for. Each kind has a message type of its own, so that the node's dead
/// letters, which name the type, can be compared kind by kind.
pub(crate) trait Kind: Send + Sync + 'static {
    const PLACE: usize;
}

/// How many kinds there are, and what they are called.
pub(crate) const KINDS: [&str; 4] = ["named", "pool", "crowd", "brief"];

pub(crate) struct Named;
pub(crate) struct Pooled;
pub(crate) struct Crowd;
pub(crate) struct Brief;

impl Kind for Named {
    const PLACE: usize = 0;
}
impl Kind for Pooled {
    const PLACE: usize = 1;
}
impl Kind for Crowd {
    const PLACE: usize = 2;
}
impl Kind for Brief {
    const PLACE: usize = 3;
}

/// What a worker is sent.
pub(crate) enum Job<K: Kind> {
    Work(Letter<K>),
    /// Work, and the same for one of the named.
    Pass(Letter<K>),
    Ask(Letter<K>, Reply<Pid>),
    Panic(Letter<K>),
    End(Letter<K>, Reason),
    /// Its own timer.
    Tick(Tick),
}

impl<K: Kind> Job<K> {
    /// Its sender has it back.
    pub(crate) fn refused(self) {
        match self {
            Job::Work(letter)
            | Job::Pass(letter)
            | Job::Ask(letter, _)
            | Job::Panic(letter)
            | Job::End(letter, _) => letter.end(|counts| &counts.refused),
            Job::Tick(_) => {}
        }
    }
}

/// Whoever sends gives back what was refused.
pub(crate) fn sent<K: Kind>(outcome: std::result::Result<(), SendError<Job<K>>>) {
    if let Err(refused) = outcome {
        refused.into_message().refused();
    }
}

/// One message, counted when it is written and where it ends: once.
pub(crate) struct Letter<K: Kind> {
    ledger: Option<Arc<Ledger>>,
    kind: PhantomData<K>,
}

impl<K: Kind> Letter<K> {
    pub(crate) fn write(ledger: &Arc<Ledger>) -> Self {
        ledger.counts[K::PLACE].sent.fetch_add(1, Ordering::Relaxed);
        Letter { ledger: Some(Arc::clone(ledger)), kind: PhantomData }
    }

    pub(crate) fn handled(self) {
        self.end(|counts| &counts.handled);
    }

    fn end(mut self, how: impl Fn(&Counts) -> &std::sync::atomic::AtomicU64) {
        if let Some(ledger) = self.ledger.take() {
            how(&ledger.counts[K::PLACE]).fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Nobody handled it and nobody has it back: a dead letter, if the node says so too.
impl<K: Kind> Drop for Letter<K> {
    fn drop(&mut self) {
        if let Some(ledger) = self.ledger.take() {
            ledger.counts[K::PLACE].dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A call was not accepted, and its request, which it holds, was dropped where it was made.
pub(crate) fn call_refused<K: Kind>(ledger: &Ledger) {
    let counts = &ledger.counts[K::PLACE];
    counts.refused.fetch_add(1, Ordering::Relaxed);
    counts.dropped.fetch_sub(1, Ordering::Relaxed);
}

/// The message of a timer: it rings, or goes with its process or with the timer.
pub(crate) struct Tick {
    due: Timestamp,
    ledger: Option<Arc<Ledger>>,
}

impl Tick {
    pub(crate) fn new(ledger: &Arc<Ledger>, due: Timestamp) -> Self {
        ledger.ticks.sent.fetch_add(1, Ordering::Relaxed);
        Tick { due, ledger: Some(Arc::clone(ledger)) }
    }

    pub(crate) fn rings(mut self, now: Timestamp) {
        if let Some(ledger) = self.ledger.take() {
            ledger.ticks.handled.fetch_add(1, Ordering::Relaxed);
            ledger.lose_if(now < self.due, || {
                format!("a timer that is due at {} rang at {now}", self.due)
            });
        }
    }
}

impl Drop for Tick {
    fn drop(&mut self) {
        if let Some(ledger) = self.ledger.take() {
            ledger.ticks.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
