//! The subscription of one process to one topic: the events that it has not taken.
//!
//! ```text
//!                      the topic, locked                     the subscriber, in its turn
//!   publish(event) ──► events: ┌───┬───┬───┬───┐ oldest ──► one event, made a message
//!                              │ 7 │ 6 │ 5 │ 4 │
//!                              └───┴───┴───┴───┘
//!                      mailbox: .. ticket, message, ticket, ticket, message, ticket ──► taken
//! ```
//!
//! There is a ticket in the mailbox for each event that waits, so events and messages alternate as
//! they came. At `at_most` events a new one replaces the oldest, is missed, or ends the subscription
//! (rule E7). A replaced event leaves its ticket to the next one. Without a limit, and without
//! numbers, events need no queue ([`super::direct`]).

use super::direct::{DirectCount, DirectHearer, DirectSubscriber, MakeMessage};
use super::event_ticket::{EventTicket, Redeemed, TicketIssuer};
use super::hearer::{Effects, Hearer, HearerLoad};
use super::own_topics::{Departure, OwnTopics};
use super::subscription_options::{SubscriptionOptions, WhenFull};
use super::topic_core::TopicCore;
use crate::addressing::address::Address;
use crate::lock::Lock;
use crate::observe::watched_job::Mark;
use crate::process::crash::{contain, drop_contained};
use crate::process::process::Via;
use krarup_gen::{Down, Exit, Inspection, Pid, Reason, Ref, Target, TooSlow};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

pub(crate) struct TopicSubscription<T, M, C> {
    subscriber: Address<M, C>,
    reference: Ref,
    topic: Arc<TopicCore<T>>,
    own: Weak<OwnTopics>,
    itself: Weak<TopicSubscription<T, M, C>>,
    direct: Arc<DirectCount>,
    queue: Lock<SubscriptionQueue<T, M>>,
}

struct SubscriptionQueue<T, M> {
    options: SubscriptionOptions<T, M>,
    items: VecDeque<QueuedItem<T>>,
    /// How many of the items are events.
    untaken: usize,
    /// How many events were offered, and the place of the last one that was taken among them.
    offered: u64,
    taken: u64,
    missed: u64,
    /// How many events the topic had passed on when they last began to come directly.
    direct_since: Option<u64>,
    /// How many it passed on in earlier such times.
    direct_before: u64,
    /// Events get no place any more.
    closed: bool,
    /// A publisher waits for room here.
    awaited: bool,
}

enum QueuedItem<T> {
    Event {
        event: Arc<T>,
        /// Its number in the topic.
        number: u64,
        /// Its place among the events that were offered to this subscription.
        place: u64,
    },
    End(Reason),
}

impl<T, M> SubscriptionQueue<T, M> {
    /// The options count from here on.
    fn begin(&mut self, passed_on: u64) {
        self.direct_before = self.passed_on_directly(passed_on);
        self.direct_since = self.options.is_direct.then_some(passed_on);
    }

    /// How many events the topic has passed on while they came directly.
    fn passed_on_directly(&self, passed_on: u64) -> u64 {
        self.direct_before + self.direct_since.map_or(0, |since| passed_on.saturating_sub(since))
    }
}

impl<T, M, C> TopicSubscription<T, M, C>
where
    T: Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    pub(crate) fn new(
        subscriber: Address<M, C>,
        reference: Ref,
        topic: Arc<TopicCore<T>>,
        own: &Arc<OwnTopics>,
        options: SubscriptionOptions<T, M>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|itself| TopicSubscription {
            subscriber,
            reference,
            topic,
            own: Arc::downgrade(own),
            itself: Weak::clone(itself),
            direct: Arc::default(),
            queue: Lock::new(SubscriptionQueue {
                options,
                items: VecDeque::new(),
                untaken: 0,
                offered: 0,
                taken: 0,
                missed: 0,
                direct_since: None,
                direct_before: 0,
                closed: false,
                awaited: false,
            }),
        })
    }

    /// What its process has taken of the events that came directly.
    pub(crate) fn direct_count(&self) -> &Arc<DirectCount> {
        &self.direct
    }

    /// Puts a ticket into the mailbox for an item that was queued.
    fn put_ticket(self: Arc<Self>, effects: &mut Effects<T>) {
        let ticket = EventTicket::new(Arc::clone(&self) as Arc<dyn TicketIssuer<M>>);
        match self.subscriber.put_ticket(ticket) {
            Ok(None) => {}
            Ok(Some(ready)) => effects.ready.push((Arc::clone(self.subscriber.host()), ready)),
            // The process has ended, and its end removes the subscription.
            Err(ticket) => drop(ticket.withdraw()),
        }
    }

    fn make(&self, event: Arc<T>, make: MakeMessage<T, M>, number: u64, gap: u64) -> Option<M> {
        let made = contain(|| {
            let event = Arc::try_unwrap(event).unwrap_or_else(|shared| T::clone(&shared));
            make(event, number, gap)
        });
        made.inspect_err(|panic| self.failed(panic, gap)).ok()
    }

    /// Counts an event of which no message could be made (rule E8).
    #[cold]
    fn failed(&self, panic: &Reason, gap: u64) {
        let mut queue = self.queue.lock();
        queue.missed += 1;
        // It is missed before the next event, as those before it were.
        queue.taken -= gap + 1;
        drop(queue);
        self.topic.note_failed(self.subscriber.pid(), panic);
    }

    /// Closes the queue, and empties it if nothing in it is to be taken any more.
    fn close(&self, empties: bool) {
        let mut queue = self.queue.lock();
        queue.closed = true;
        let emptied = if empties { std::mem::take(&mut queue.items) } else { VecDeque::new() };
        if empties {
            queue.untaken = 0;
        }
        drop(queue);
        emptied.into_iter().for_each(drop_contained);
    }
}

impl<T, M, C> Hearer<T> for TopicSubscription<T, M, C>
where
    T: Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    fn pid(&self) -> Pid {
        self.subscriber.pid()
    }

    fn begin(&self, passed_on: u64) {
        self.queue.lock().begin(passed_on);
    }

    fn direct(&self) -> Option<Arc<dyn DirectHearer<T>>> {
        let queue = self.queue.lock();
        queue.options.is_direct.then(|| {
            Arc::new(DirectSubscriber {
                subscriber: self.subscriber.clone(),
                reference: self.reference,
                make: queue.options.make,
                count: Arc::clone(&self.direct),
            }) as _
        })
    }

    fn pass_over(&self) {
        if self.queue.lock().direct_since.is_some() {
            self.direct.skip();
        }
    }

    fn hear(self: Arc<Self>, event: &Arc<T>, number: u64, at_all: bool, effects: &mut Effects<T>) {
        let mut queue = self.queue.lock();
        if queue.closed {
            return;
        }
        if queue.direct_since.is_some() {
            if !at_all {
                return;
            }
            self.direct.skip();
        }
        queue.offered += 1;
        let place = queue.offered;
        let item = QueuedItem::Event { event: Arc::clone(event), number, place };
        if queue.untaken < queue.options.at_most {
            queue.items.push_back(item);
            queue.untaken += 1;
            drop(queue);
            effects.heard += 1;
            return self.put_ticket(effects);
        }
        queue.missed += 1;
        effects.missed += 1;
        match queue.options.when_full {
            WhenFull::DropOldest => {
                if let Some(QueuedItem::Event { event, .. }) = queue.items.pop_front() {
                    effects.events.push(event);
                }
                queue.items.push_back(item);
                drop(queue);
                effects.heard += 1;
            }
            WhenFull::End => {
                let at_most = queue.options.at_most;
                let reason = Reason::error(TooSlow { topic: self.topic.id().clone(), at_most });
                queue.items.push_back(QueuedItem::End(reason));
                queue.closed = true;
                drop(queue);
                effects.ended.push(Arc::clone(&self) as Arc<dyn Hearer<T>>);
                self.put_ticket(effects);
            }
            WhenFull::DropNewest | WhenFull::Wait => {}
        }
    }

    fn end(self: Arc<Self>, opener: Option<Pid>, reason: &Reason, effects: &mut Effects<T>) {
        let mut queue = self.queue.lock();
        if std::mem::replace(&mut queue.closed, true) {
            return;
        }
        effects.ended.push(Arc::clone(&self) as Arc<dyn Hearer<T>>);
        let from = opener.unwrap_or_else(|| self.subscriber.host().node_pid());
        // A signal to oneself would end oneself, even a normal one.
        if queue.options.linked && !from.is_same_process(self.subscriber.pid()) {
            self.direct.ends(queue.passed_on_directly(self.topic.passed_on()));
            drop(queue);
            let exit = Exit { pid: from, reason: reason.clone() };
            let put = self.subscriber.process().put_exit(exit, Via::Signal);
            effects
                .ready
                .extend(put.ready.map(|ready| (Arc::clone(self.subscriber.host()), ready)));
        } else {
            queue.items.push_back(QueuedItem::End(reason.clone()));
            drop(queue);
            self.put_ticket(effects);
        }
    }

    fn adopt(&self, later: Arc<dyn Hearer<T>>, passed_on: u64, effects: &mut Effects<T>) {
        // The types of messages of a process never change.
        if let Ok(later) = later.into_any().downcast::<Self>() {
            let options = later.queue.lock().options;
            let mut queue = self.queue.lock();
            queue.options = options;
            queue.begin(passed_on);
            drop(queue);
            effects.values.push(Box::new(later));
        }
    }

    fn is_full(&self) -> bool {
        let mut queue = self.queue.lock();
        let full = !queue.closed
            && queue.options.when_full == WhenFull::Wait
            && queue.untaken >= queue.options.at_most;
        queue.awaited |= full;
        full
    }

    fn forget(self: Arc<Self>) {
        if let Some(own) = self.own.upgrade() {
            own.forget_subscription(&(Arc::clone(&self) as Arc<dyn Departure>));
        }
    }

    fn mark(&self, mark: &Mark) {
        self.subscriber.mark(mark);
    }

    fn load(&self) -> HearerLoad {
        let queue = self.queue.lock();
        let passed_on = queue.passed_on_directly(self.topic.passed_on());
        let direct = usize::try_from(self.direct.untaken(passed_on)).unwrap_or(usize::MAX);
        HearerLoad { untaken: queue.untaken + direct, missed: queue.missed + self.direct.missed() }
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl<T, M, C> TicketIssuer<M> for TopicSubscription<T, M, C>
where
    T: Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    fn redeem(&self) -> Option<Redeemed<M>> {
        let mut queue = self.queue.lock();
        match queue.items.pop_front()? {
            QueuedItem::End(reason) => {
                drop(queue);
                let target = Target::Topic(self.topic.id().clone());
                Some(Redeemed::Down(Down { monitor: self.reference, target, reason }))
            }
            QueuedItem::Event { event, number, place } => {
                queue.untaken -= 1;
                let gap = place - queue.taken - 1;
                queue.taken = place;
                let make = queue.options.make;
                let awaited = std::mem::take(&mut queue.awaited);
                drop(queue);
                if awaited {
                    self.topic.wake_waiting();
                }
                self.make(event, make, number, gap).map(Redeemed::Message)
            }
        }
    }

    fn lose(&self) {
        let mut queue = self.queue.lock();
        let lost = queue.items.pop_front();
        if matches!(lost, Some(QueuedItem::Event { .. })) {
            queue.untaken -= 1;
        }
        drop(queue);
        drop_contained(lost);
    }

    fn has_message(&self) -> bool {
        matches!(self.queue.lock().items.front(), Some(QueuedItem::Event { .. }))
    }
}

impl<T, M, C> Departure for TopicSubscription<T, M, C>
where
    T: Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    fn topic(&self) -> u64 {
        self.topic.number()
    }

    fn reference(&self) -> Ref {
        self.reference
    }

    fn load(&self) -> HearerLoad {
        Hearer::load(self)
    }

    fn describe(&self) -> Inspection {
        let load = Hearer::load(self);
        Inspection::new()
            .with("topic", self.topic.id().to_string())
            .with("untaken", load.untaken)
            .with("missed", load.missed)
    }

    fn depart(&self, with_process: bool) {
        if let Some(itself) = self.itself.upgrade() {
            self.topic.remove(&(itself as Arc<dyn Hearer<T>>));
        }
        // What waits when the process ends is dropped with its mailbox, as dead letters.
        self.close(!with_process);
    }
}
