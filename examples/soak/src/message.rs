//! Messages and timers that are counted wherever they end.

use crate::counters::{Counters, KindCounters};
use krarup::prelude::*;
use krarup::{SendError, Timestamp};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The kind of process that a message is for. Each kind has its own message type, so that
/// the node's dead letters, which name the type, can be compared kind by kind.
pub(crate) trait Kind: Send + Sync + 'static {
    const PLACE: usize;
}

/// The names of the kinds.
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

/// The messages of a worker.
pub(crate) enum Job<K: Kind> {
    Work(CountedMessage<K>),
    /// Does work, and sends the same to one of the named workers.
    Pass(CountedMessage<K>),
    Ask(CountedMessage<K>, Reply<Pid>),
    Panic(CountedMessage<K>),
    End(CountedMessage<K>, Reason),
    /// A timer of the worker's own.
    Tick(Tick),
}

impl<K: Kind> Job<K> {
    /// Counts a message that its sender got back.
    pub(crate) fn refused(self) {
        match self {
            Job::Work(message)
            | Job::Pass(message)
            | Job::Ask(message, _)
            | Job::Panic(message)
            | Job::End(message, _) => message.end(|counts| &counts.refused),
            Job::Tick(_) => {}
        }
    }
}

/// Counts the message as refused if the send failed.
pub(crate) fn sent<K: Kind>(outcome: std::result::Result<(), SendError<Job<K>>>) {
    if let Err(refused) = outcome {
        refused.into_message().refused();
    }
}

/// One message, counted when it is made and exactly once where it ends.
pub(crate) struct CountedMessage<K: Kind> {
    counters: Option<Arc<Counters>>,
    kind: PhantomData<K>,
}

impl<K: Kind> CountedMessage<K> {
    pub(crate) fn new(counters: &Arc<Counters>) -> Self {
        counters.counts[K::PLACE].sent.fetch_add(1, Ordering::Relaxed);
        CountedMessage { counters: Some(Arc::clone(counters)), kind: PhantomData }
    }

    pub(crate) fn handled(self) {
        self.end(|counts| &counts.handled);
    }

    fn end(mut self, how: impl Fn(&KindCounters) -> &std::sync::atomic::AtomicU64) {
        if let Some(counters) = self.counters.take() {
            how(&counters.counts[K::PLACE]).fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A message that is neither handled nor given back becomes a dead letter. The node must
/// report it too.
impl<K: Kind> Drop for CountedMessage<K> {
    fn drop(&mut self) {
        if let Some(counters) = self.counters.take() {
            counters.counts[K::PLACE].dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Corrects the counts for a call that was not accepted: its request was dropped at the caller.
pub(crate) fn call_refused<K: Kind>(counters: &Counters) {
    let counts = &counters.counts[K::PLACE];
    counts.refused.fetch_add(1, Ordering::Relaxed);
    counts.dropped.fetch_sub(1, Ordering::Relaxed);
}

/// The message of a timer: it fires, or is dropped with its process or with the timer.
pub(crate) struct Tick {
    due: Timestamp,
    counters: Option<Arc<Counters>>,
}

impl Tick {
    pub(crate) fn new(counters: &Arc<Counters>, due: Timestamp) -> Self {
        counters.ticks.sent.fetch_add(1, Ordering::Relaxed);
        Tick { due, counters: Some(Arc::clone(counters)) }
    }

    pub(crate) fn fires(mut self, now: Timestamp) {
        if let Some(counters) = self.counters.take() {
            counters.ticks.handled.fetch_add(1, Ordering::Relaxed);
            counters.record_loss_if(now < self.due, || {
                format!("a timer that is due at {} fired at {now}", self.due)
            });
        }
    }
}

impl Drop for Tick {
    fn drop(&mut self) {
        if let Some(counters) = self.counters.take() {
            counters.ticks.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}
