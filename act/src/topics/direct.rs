//! Events that go straight into a mailbox.
//!
//! | subscription | where an event waits | who makes the message of it |
//! |---|---|---|
//! | without a limit, not numbered | in the mailbox, as a message | the publisher, without a lock (rule E8) |
//! | with [`at_most`](crate::Subscribe::at_most), or numbered | in the queue of the subscription, with a ticket in the mailbox | the subscriber, in its turn |
//!
//! A direct delivery costs hardly more than a send (rule E13): no queue, no ticket, and no count of
//! copies that the workers share. Where an event may be dropped again, or its place in the topic
//! counts, the queue decides under the lock of the topic.
//!
//! **Counts.** Neither bounds of mailboxes nor a lock count direct events. What the topic has passed
//! on since the subscription began, less what this subscription was not given, has arrived; less
//! what its process has taken, it waits (rule E7).
//!
//! **The end.** A topic that is closed while a publisher delivers ends when that publisher is done.
//! So the notice of the end is behind all events (rule E6).
//!
//! **Publishing in a conversion.** A message may be made by code that publishes. What it publishes
//! goes by the queues, so it is no recursion (rule E8).

use crate::addressing::address::Address;
use crate::process::crash::{contain, drop_contained};
use crate::sync::{AtomicU64, Ordering, thread_local};
use krarup_gen::{Pid, Reason, Ref};
use std::cell::Cell;
use std::sync::Arc;

/// Makes a message of an event, its number, and how many were missed before it.
pub(crate) type MakeMessage<T, M> = fn(T, u64, u64) -> M;

/// A subscriber that takes events without a queue.
pub(crate) trait DirectHearer<T>: Send + Sync {
    fn pid(&self) -> Pid;

    /// Makes a message of the event and puts it into the mailbox. Returns whether the process lives.
    /// Runs code of a user, which may panic; `made` says whether the message was made. Called
    /// without a lock.
    fn deliver(&self, event: &T, number: u64, made: &Cell<bool>) -> bool;

    /// The event is not for it.
    fn skip(&self);

    /// No message could be made of the event (rule E8).
    fn fail(&self);
}

/// The subscribers of a topic that take events without a queue.
pub(crate) type DirectHearers<T> = Arc<[Arc<dyn DirectHearer<T>>]>;

pub(crate) struct DirectSubscriber<T, M, C> {
    pub(crate) subscriber: Address<M, C>,
    pub(crate) reference: Ref,
    pub(crate) make: MakeMessage<T, M>,
    pub(crate) count: Arc<DirectCount>,
}

impl<T, M, C> DirectHearer<T> for DirectSubscriber<T, M, C>
where
    T: Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    fn pid(&self) -> Pid {
        self.subscriber.pid()
    }

    fn deliver(&self, event: &T, number: u64, made: &Cell<bool>) -> bool {
        let message = (self.make)(T::clone(event), number, 0);
        made.set(true);
        let sent = self.subscriber.send_event(message, self.reference);
        sent.map_err(drop_contained).is_ok()
    }

    fn skip(&self) {
        self.count.skip();
    }

    fn fail(&self) {
        self.count.skip();
        self.count.failed.fetch_add(1, Ordering::Relaxed);
    }
}

/// The numbers of a subscription that its process and publishers write.
#[derive(Debug, Default)]
pub(crate) struct DirectCount {
    /// Written in turns of the process only.
    taken: AtomicU64,
    /// Events of the topic that did not arrive directly.
    skipped: AtomicU64,
    /// Those of them of which no message could be made.
    failed: AtomicU64,
}

impl DirectCount {
    pub(crate) fn skip(&self) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self) {
        self.taken.store(self.taken.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// How many events the subscription has missed.
    pub(crate) fn missed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// How many of the events that the topic has passed on wait.
    pub(crate) fn untaken(&self, passed_on: u64) -> u64 {
        let gone = self.taken.load(Ordering::Relaxed) + self.skipped.load(Ordering::Relaxed);
        passed_on.saturating_sub(gone)
    }
}

/// The direct counts of the subscriptions of one process, by their references.
#[derive(Debug, Default)]
pub(crate) struct DirectCounts(Vec<(Ref, Arc<DirectCount>)>);

impl DirectCounts {
    /// Adds the count of a new subscription. Its reference is greater than those before.
    pub(crate) fn add(&mut self, reference: Ref, count: Arc<DirectCount>) {
        // An exit signal that was the notice of an end has removed nothing here.
        self.0.retain(|(_, count)| Arc::strong_count(count) > 1);
        self.0.push((reference, count));
    }

    pub(crate) fn remove(&mut self, reference: Ref) {
        self.0.retain(|(held, _)| *held != reference);
    }

    /// Counts an event that is taken off the mailbox. Returns false if its subscription has ended.
    pub(crate) fn take(&self, reference: Ref) -> bool {
        let place = self.0.binary_search_by_key(&reference, |(held, _)| *held);
        place.is_ok_and(|place| {
            self.0[place].1.take();
            true
        })
    }

    /// Whether the subscription has not ended.
    pub(crate) fn has(&self, reference: Ref) -> bool {
        self.0.binary_search_by_key(&reference, |(held, _)| *held).is_ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

thread_local! {
    static DELIVERING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs code that makes a message of an event.
pub(crate) fn is_delivering() -> bool {
    DELIVERING.with(Cell::get)
}

/// Gives an event to all direct subscribers but those of `except`. Returns how many have heard of
/// it, and calls `failed` for each that has missed it.
pub(crate) fn deliver<T>(
    hearers: &DirectHearers<T>,
    event: &T,
    number: u64,
    except: &[Pid],
    mut failed: impl FnMut(Pid, Reason),
) -> usize {
    let (next, heard, made) = (Cell::new(0), Cell::new(0), Cell::new(false));
    let rest = || {
        while let Some(hearer) = hearers.get(next.get()) {
            next.set(next.get() + 1);
            if !except.is_empty() && except.contains(&hearer.pid()) {
                hearer.skip();
                continue;
            }
            made.set(false);
            heard.set(heard.get() + usize::from(hearer.deliver(event, number, &made)));
        }
    };
    DELIVERING.with(|delivering| delivering.set(true));
    while let Err(panic) = contain(rest) {
        if made.get() {
            // The executor has panicked; the message is there.
            heard.set(heard.get() + 1);
        } else if let Some(hearer) = hearers.get(next.get() - 1) {
            hearer.fail();
            failed(hearer.pid(), panic);
        }
    }
    DELIVERING.with(|delivering| delivering.set(false));
    heard.get()
}
