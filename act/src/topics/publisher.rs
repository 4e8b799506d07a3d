//! Publishing to a topic.

use super::hearer::SettleMark;
use super::settling::Settling;
use super::table::AnyTopic;
use super::topic::Topic;
use super::topic_core::TopicCore;
use crate::calls::slot::slot;
use crate::host::host::Host;
use crate::observe::recording::report_missed;
use crate::observe::watched_job::Mark;
use crate::process::current;
use krarup_gen::{PublishError, Reason};
use std::any::type_name;
use std::fmt;
use std::sync::Arc;

/// The right to publish to a topic: a value, cheap to clone, given away at will.
///
/// One or several publish to a topic, any number of processes hear of it, each in its own mailbox;
/// no process is in between. A topic is opened by a process
/// ([`Context::open_topic`](crate::Context::open_topic)) and ends with it, or by the node
/// (`Node::open_topic`).
///
/// | rule | what holds |
/// |---|---|
/// | E2 | a subscriber gets the kept events and then each later one once, in the order of each publisher |
/// | E4 | a process that has ended is no subscriber any more when others are told of its end |
/// | E6 | the topic ends with its opener; each subscriber gets one [`Down`](krarup_gen::Down), behind all events |
/// | E7 | events that wait do not count for the bound of the mailbox; each subscription has its own limit |
/// | E8 | publishing never waits, and makes no message under a lock |
///
/// ```
/// # use krarup_act::{Actor, Context, Publisher, Topic};
/// # use krarup_gen::Result;
/// #[derive(Clone)]
/// struct Price(u32);
///
/// struct Exchange {
///     prices: Option<Publisher<Price>>,
/// }
///
/// impl Actor for Exchange {
///     type Message = Price;
///
///     async fn init(&mut self, ctx: &mut Context<Price>) -> Result {
///         self.prices = Some(ctx.open_topic::<Price>("prices").keep(10).open()?);
///         Ok(())
///     }
///
///     async fn handle_message(&mut self, _: &mut Context<Price>, price: Price) -> Result {
///         if let Some(prices) = &self.prices {
///             let published = prices.publish(price)?;
///             println!("{} heard, {} missed", published.heard, published.missed);
///         }
///         Ok(())
///     }
/// }
///
/// struct Chart;
///
/// impl Actor for Chart {
///     type Message = Price;
///
///     async fn init(&mut self, ctx: &mut Context<Price>) -> Result {
///         let prices: Topic<Price> = ctx.topic("prices")?;
///         let kept: Vec<Price> = ctx.subscribe(&prices).start()?;
///         println!("{} prices so far", kept.len());
///         Ok(())
///     }
///
///     async fn handle_message(&mut self, _: &mut Context<Price>, price: Price) -> Result {
///         println!("{}", price.0);
///         Ok(())
///     }
/// }
/// ```
pub struct Publisher<T> {
    core: Arc<TopicCore<T>>,
    host: Arc<dyn Host>,
}

/// How many subscribers an event has reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Published {
    /// The number of subscribers at which the event waits now.
    pub heard: usize,
    /// The number of events that subscribers have missed now, because too many waited already.
    pub missed: usize,
}

impl Published {
    pub(crate) fn new(heard: usize, missed: usize) -> Self {
        Published { heard, missed }
    }
}

impl<T: Clone + Send + Sync + 'static> Publisher<T> {
    pub(crate) fn new(core: Arc<TopicCore<T>>, host: Arc<dyn Host>) -> Self {
        Publisher { core, host }
    }

    /// Publishes an event to all subscribers, and never waits (rule E8). Each gets its own clone.
    ///
    /// A subscriber without a limit that is not numbered gets the event as a message at once: it is
    /// cloned and converted here, without a lock, and costs hardly more than a send (rule E13). For
    /// others it is cloned and converted in the turn in which they take it. A clone or a conversion
    /// that panics loses that delivery alone, which is logged, and counted by the topic as missed
    /// ([`TopicInfo`](crate::TopicInfo)), but not in the result.
    ///
    /// # Errors
    /// [`PublishError::Ended`]: the topic has ended. The error holds the event.
    pub fn publish(&self, event: T) -> Result<Published, PublishError<T>> {
        match self.core.publish(event, &[]) {
            Ok((heard, missed)) => {
                self.note_missed(missed);
                Ok(Published::new(heard, missed))
            }
            Err(event) => Err(PublishError::Ended { event, topic: self.core.id().clone() }),
        }
    }

    /// Returns a future that is ready when all events that were published before this call have
    /// been handled or missed by the processes that are subscribed now (rule E10; `sync_notify` of
    /// OTP's `gen_event`). A process that ends does not hold it up. The calling process itself is
    /// not waited for: it cannot handle an event meanwhile. There is no time limit;
    /// [`NodeClock::timeout`](crate::NodeClock::timeout) sets one. A subscriber that waits for the caller
    /// is not found as a cycle of calls is.
    pub fn settled(&self) -> Settling {
        let (waiter, told) = slot();
        let mark: Mark = Arc::new(SettleMark::new(waiter));
        self.core.mark(&mark, current::pid());
        Settling::new(Arc::clone(&self.host), told)
    }

    /// Ends the topic (rule E6): its name is free, and each subscriber gets a
    /// [`Down`](krarup_gen::Down) with [`Reason::Normal`]. Nothing is published any more. Closing a
    /// topic that has ended does nothing.
    pub fn close(&self) {
        if let Some(topics) = self.host.topics() {
            topics.remove(self.core.id());
        }
        AnyTopic::end(&*self.core, &Reason::Normal);
    }

    /// Returns the topic, to subscribe to.
    #[must_use]
    pub fn topic(&self) -> Topic<T> {
        Topic::new(Arc::clone(&self.core))
    }

    /// Reports that subscribers have missed an event (rules E7, X8).
    pub(crate) fn note_missed(&self, missed: usize) {
        if let Some(count) = self.core.note_missed(missed, || self.host.now()) {
            report_missed(&*self.host, self.core.id(), count);
        }
    }

    pub(crate) fn core(&self) -> &Arc<TopicCore<T>> {
        &self.core
    }

    pub(crate) fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }
}

impl<T> Clone for Publisher<T> {
    fn clone(&self) -> Self {
        Publisher { core: Arc::clone(&self.core), host: Arc::clone(&self.host) }
    }
}

impl<T: Clone + Send + Sync + 'static> fmt::Debug for Publisher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Publisher<{}>({})", type_name::<T>(), self.core.id())
    }
}
