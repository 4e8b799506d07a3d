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
//! goes by the queues, so it is no recursion (rule E8). Subscribers that come later in the outer
//! publication have the inner event first.

use crate::addressing::address::Address;
use crate::host::ready::Ready;
use crate::process::crash::{contain, drop_contained, ignore};
use crate::process::small_map::SmallMap;
use crate::sync::{AtomicU64, Ordering, thread_local};
use krarup_gen::{Pid, Reason, Ref};
use std::cell::Cell;
use std::sync::Arc;

/// Makes a message of an event, its number, and how many were missed before it.
pub(crate) type MakeMessage<T, M> = fn(T, u64, u64) -> M;

/// A subscriber that takes events without a queue.
pub(crate) trait DirectHearer<T>: Send + Sync {
    fn pid(&self) -> Pid;

    /// Makes a message of the event and puts it into the mailbox. Runs code of a user, which may
    /// panic. Called without a lock.
    fn deliver(&self, event: &T, number: u64) -> DirectPut;

    /// Schedules its process. Runs an executor, which may be a user's.
    fn schedule(&self, ready: Ready);

    /// The event is not for it.
    fn skip(&self);

    /// No message could be made of the event (rule E8).
    fn fail(&self);
}

/// What became of an event for one subscriber.
pub(crate) enum DirectPut {
    /// It waits. The process is to be scheduled, or has been.
    Waits(Option<Ready>),
    /// The process has ended.
    Gone,
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

    fn deliver(&self, event: &T, number: u64) -> DirectPut {
        let message = {
            let _making = Making::begin();
            (self.make)(T::clone(event), number, 0)
        };
        match self.subscriber.put_event(message, self.reference) {
            Ok(ready) => DirectPut::Waits(ready),
            Err(message) => {
                drop_contained(message);
                DirectPut::Gone
            }
        }
    }

    fn schedule(&self, ready: Ready) {
        self.subscriber.host().schedule(ready);
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
    /// How many events the topic had passed on when it ended with an exit signal, plus 1; 0 before.
    end: AtomicU64,
}

impl DirectCount {
    pub(crate) fn skip(&self) {
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }

    /// The topic has ended with an exit signal, when it had passed on so many events.
    pub(crate) fn ends(&self, passed_on: u64) {
        self.end.store(passed_on + 1, Ordering::Relaxed);
    }

    /// Whether events may still wait in the mailbox after the end of the topic.
    fn is_waited_for(&self) -> bool {
        let end = self.end.load(Ordering::Relaxed);
        end > 0 && self.untaken(end - 1) > 0
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

/// How many counts a process holds before it looks for those that are not needed any more.
const FIRST_SWEEP: usize = 16;

/// The direct counts of the subscriptions of one process, by their references.
#[derive(Debug, Default)]
pub(crate) struct DirectCounts {
    held: SmallMap<Ref, Arc<DirectCount>>,
    /// How many were needed when they were last looked through.
    needed: usize,
}

impl DirectCounts {
    /// Adds the count of a new subscription.
    pub(crate) fn add(&mut self, reference: Ref, count: Arc<DirectCount>) {
        // An exit signal that was the notice of an end has removed nothing here. Events may still
        // wait before it. All are looked through when their number has doubled, so a process that
        // is subscribed to many topics pays no more for each than one with few.
        if self.held.len() >= FIRST_SWEEP.max(2 * self.needed) {
            self.held.retain(|_, count| Arc::strong_count(count) > 1 || count.is_waited_for());
            self.needed = self.held.len();
        }
        self.held.insert(reference, count);
    }

    pub(crate) fn remove(&mut self, reference: Ref) {
        self.held.remove(&reference);
    }

    /// Counts an event that is taken off the mailbox. Returns false if its subscription has ended.
    pub(crate) fn take(&self, reference: Ref) -> bool {
        self.held.get(&reference).is_some_and(|count| {
            count.take();
            true
        })
    }

    /// Whether the subscription has not ended.
    pub(crate) fn has(&self, reference: Ref) -> bool {
        self.held.get(&reference).is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

thread_local! {
    static MAKING: Cell<bool> = const { Cell::new(false) };
}

/// While a message is made of an event.
struct Making {
    before: bool,
}

impl Making {
    fn begin() -> Self {
        Making { before: MAKING.with(|making| making.replace(true)) }
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.with(|making| making.set(self.before));
    }
}

/// Whether this thread runs code that makes a message of an event.
pub(crate) fn is_making() -> bool {
    MAKING.with(Cell::get)
}

/// Gives an event to all direct subscribers but those of `except`, and then schedules them: none
/// runs before all have it. Returns how many have heard of it, and calls `failed` for each that has
/// missed it.
pub(crate) fn deliver<T>(
    hearers: &DirectHearers<T>,
    event: &T,
    number: u64,
    except: &[Pid],
    mut failed: impl FnMut(Pid, Reason),
) -> usize {
    let (mut next, mut heard, mut due) = (0, 0, Vec::new());
    loop {
        let rest = || {
            while let Some(hearer) = hearers.get(next) {
                next += 1;
                if !except.is_empty() && except.contains(&hearer.pid()) {
                    hearer.skip();
                } else if let DirectPut::Waits(ready) = hearer.deliver(event, number) {
                    heard += 1;
                    due.extend(ready.map(|ready| (next - 1, ready)));
                }
            }
        };
        let Err(panic) = contain(rest) else { break };
        if let Some(hearer) = hearers.get(next - 1) {
            hearer.fail();
            failed(hearer.pid(), panic);
        }
    }
    for (at, ready) in due {
        ignore(|| hearers[at].schedule(ready));
    }
    heard
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The counts of a process that has subscribed so often; of those topics the last `live` run.
    fn counts(subscriptions: u64, live: usize) -> (DirectCounts, Vec<Arc<DirectCount>>) {
        let (mut counts, mut running) = (DirectCounts::default(), Vec::new());
        for number in 1..=subscriptions {
            let count = Arc::new(DirectCount::default());
            running.push(Arc::clone(&count));
            counts.add(Ref::new(number), count);
            if running.len() > live {
                running.remove(0);
            }
        }
        (counts, running)
    }

    #[test]
    fn e6_counts_of_topics_that_have_ended_do_not_pile_up() {
        let (counts, running) = counts(10_000, 3);
        assert!(counts.held.len() <= FIRST_SWEEP, "{}", counts.held.len());
        assert_eq!(running.len(), 3);
    }

    #[test]
    fn e13_counts_are_looked_through_when_their_number_has_doubled() {
        let (mut counts, mut running) = counts(20, usize::MAX);
        running.pop();
        for number in 21..=32 {
            let count = Arc::new(DirectCount::default());
            running.push(Arc::clone(&count));
            counts.add(Ref::new(number), count);
            // The one whose topic has ended is among them.
            assert_eq!(counts.held.len() as u64, number);
        }
        counts.add(Ref::new(33), Arc::default());
        assert_eq!(counts.held.len(), 32);
    }
}
