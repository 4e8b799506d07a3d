//! Subscribing to topics (rules E2 to E4, E7).

use super::direct::MakeMessage;
use super::hearer::Hearer;
use super::own_topics::Departure;
use super::subscription::TopicSubscription;
use super::subscription_options::{SubscriptionOptions, WhenFull};
use super::topic::Topic;
use super::topic_core::Joined;
use crate::context::Context;
use crate::process::crash::{contain, log_contained};
use krarup_gen::{Ref, SubscribeError, one_line};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// An event with its number; see [`Subscribe::numbered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Numbered<T> {
    /// The number of the event in its topic; the first one has 1.
    pub number: u64,
    /// How many events the subscriber has missed between the event before and this one.
    pub missed: u64,
    /// The event.
    pub event: T,
}

/// A subscription that is to be started; made by [`Context::subscribe`].
///
/// `E` is what the messages are made from: the event, or a [`Numbered`] one.
#[must_use = "a subscription begins with `start`"]
pub struct Subscribe<'a, T, M, C, E = T> {
    context: &'a mut Context<M, C>,
    topic: Topic<T>,
    at_most: usize,
    when_full: WhenFull,
    linked: bool,
    form: PhantomData<fn() -> E>,
}

/// What the messages of a subscription are made from: an event, or a [`Numbered`] one.
pub trait EventForm<T> {
    /// Whether it holds the number of the event.
    const NUMBERED: bool;

    /// Makes it of an event, its number, and how many were missed before it.
    fn of(event: T, number: u64, missed: u64) -> Self;
}

impl<T> EventForm<T> for T {
    const NUMBERED: bool = false;

    fn of(event: T, _: u64, _: u64) -> T {
        event
    }
}

impl<T> EventForm<T> for Numbered<T> {
    const NUMBERED: bool = true;

    fn of(event: T, number: u64, missed: u64) -> Numbered<T> {
        Numbered { number, missed, event }
    }
}

impl<'a, T, M, C, E> Subscribe<'a, T, M, C, E>
where
    T: Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
    E: EventForm<T> + 'static,
{
    /// Sets how many events may wait, at least 1, and what happens to one more (rule E7). Without
    /// it their number has no bound. They never count towards the bound of the mailbox.
    pub fn at_most(mut self, n: usize, when_full: WhenFull) -> Self {
        (self.at_most, self.when_full) = (n, when_full);
        self
    }

    /// The end of the topic is an exit signal of its opener instead of a
    /// [`Down`](krarup_gen::Down): a process that does not trap exits ends with it, unless the
    /// reason is `Normal` (rule E6).
    pub fn linked(mut self) -> Self {
        self.linked = true;
        self
    }

    /// Has messages made from [`Numbered`] events.
    pub fn numbered(self) -> Subscribe<'a, T, M, C, Numbered<T>> {
        let Subscribe { context, topic, at_most, when_full, linked, .. } = self;
        Subscribe { context, topic, at_most, when_full, linked, form: PhantomData }
    }

    /// Subscribes, and returns the events that the topic has kept, the oldest first. Each later
    /// event arrives as a message, in the order of each publisher; none is in both (rule E2). With a
    /// limit or with numbers the messages are made in the turn in which the process takes them,
    /// otherwise by the publisher (rule E8). If it takes messages in
    /// an order of its own ([`Order`](crate::Order)), events have no priority: they come as notices
    /// do.
    ///
    /// A process is subscribed once (rule E3). If it was subscribed already, the new options count
    /// from now on, and nothing is returned, because it has got the kept events.
    ///
    /// # Errors
    /// [`SubscribeError`]: the topic or the process has ended, or no event may wait.
    pub fn start(self) -> Result<Vec<T>, SubscribeError>
    where
        M: From<E>,
    {
        let Subscribe { context, topic, at_most, when_full, linked, form: _ } = self;
        if at_most == 0 {
            return Err(SubscribeError::NoRoom(topic.id().clone()));
        }
        let make: MakeMessage<T, M> = |event, number, missed| M::from(E::of(event, number, missed));
        let is_direct = at_most == usize::MAX && !E::NUMBERED;
        let options = SubscriptionOptions { at_most, when_full, linked, is_direct, make };
        let own = context.own_topics();
        let core = Arc::clone(topic.core());
        let gone = SubscribeError::NoProcess(context.pid());
        let subscription = TopicSubscription::new(
            context.address(),
            context.make_ref(),
            Arc::clone(&core),
            &own,
            options,
        );
        let known = Arc::clone(&subscription) as Arc<dyn Departure>;
        let before = own.subscription(core.number());
        if before.is_none() && !own.add_subscription(Arc::clone(&known)) {
            return Err(gone);
        }
        let hearer = Arc::clone(&subscription) as Arc<dyn Hearer<T>>;
        match core.join(hearer, || own.has_ended()) {
            Joined::New(kept) => {
                // The one before has ended, and its notice waits in the mailbox.
                if before.is_some() && !own.add_subscription(Arc::clone(&known)) {
                    known.depart(true);
                    return Err(gone);
                }
                let count = Arc::clone(subscription.direct_count());
                context.cold().direct_counts.add(known.reference(), count);
                Ok(kept.into_iter().filter_map(copy).collect())
            }
            Joined::Again => Ok(Vec::new()),
            Joined::Ended => {
                own.forget_subscription(&known);
                Err(SubscribeError::Ended(topic.id().clone()))
            }
            Joined::Gone => Err(gone),
        }
    }
}

/// Clones a kept event. One whose clone panics is left out (rule E8).
fn copy<T: Clone>(event: Arc<T>) -> Option<T> {
    let copy = contain(|| Arc::try_unwrap(event).unwrap_or_else(|shared| T::clone(&shared)));
    let report = |panic: &_| {
        log_contained(
            || tracing::error!(target: "krarup", panic = %one_line(panic), "a kept event could not be cloned"),
        );
    };
    copy.inspect_err(report).ok()
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Subscribes this process to a topic; see [`Publisher`](crate::Publisher). The subscription
    /// ends with this process, with the topic, or by [`Context::unsubscribe`].
    pub fn subscribe<T>(&mut self, topic: &Topic<T>) -> Subscribe<'_, T, M, C>
    where
        T: Clone + Send + Sync + 'static,
    {
        Subscribe {
            context: self,
            topic: topic.clone(),
            at_most: usize::MAX,
            when_full: WhenFull::default(),
            linked: false,
            form: PhantomData,
        }
    }

    /// Ends the subscription of this process to a topic, and returns whether there was one. No event
    /// of the topic is received after it returns, and no notice of its end.
    pub fn unsubscribe<T>(&mut self, topic: &Topic<T>) -> bool
    where
        T: Clone + Send + Sync + 'static,
    {
        let own = self.cold.as_ref().and_then(|cold| cold.topics.clone());
        let left = own.and_then(|own| own.take_subscription(topic.core().number()));
        if let Some(left) = &left {
            left.depart(false);
            self.cold().direct_counts.remove(left.reference());
        }
        left.is_some()
    }

    /// Returns the state of the subscription of this process to a topic; `None` if it is not
    /// subscribed.
    #[must_use]
    pub fn subscription<T>(&self, topic: &Topic<T>) -> Option<SubscriptionState>
    where
        T: Clone + Send + Sync + 'static,
    {
        let own = self.cold.as_ref()?.topics.as_ref()?;
        let held = own.subscription(topic.core().number())?;
        let load = held.load();
        let (untaken, missed) = (load.untaken, load.missed);
        Some(SubscriptionState { reference: held.reference(), untaken, missed })
    }
}

/// The state of a subscription; see [`Context::subscription`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriptionState {
    /// Its reference: that of the [`Down`](krarup_gen::Down) with which it ends.
    pub reference: Ref,
    /// How many events wait to be taken.
    pub untaken: usize,
    /// How many events were missed since it began.
    pub missed: u64,
}

impl<T: Clone + Send + Sync + 'static, M, C, E> fmt::Debug for Subscribe<'_, T, M, C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscribe")
            .field("topic", &self.topic)
            .field("at_most", &self.at_most)
            .field("when_full", &self.when_full)
            .field("linked", &self.linked)
            .finish_non_exhaustive()
    }
}
