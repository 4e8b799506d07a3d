//! Topics of the node: those that it opens for others, and those about itself (rules E1, E12).

use crate::node::Node;
use krarup_act::{Host, OpenTopic, Topic, TopicInfo};
use krarup_gen::{DeadLetter, Lifecycle, Report, TopicLookupError};
use std::sync::Arc;

impl Node {
    /// Opens a topic of the node under this name: it ends with the node, or when it is closed.
    /// For topics that belong to a process use
    /// [`Context::open_topic`](krarup_act::Context::open_topic).
    pub fn open_topic<T>(&self, name: impl AsRef<str>) -> OpenTopic<T>
    where
        T: Clone + Send + Sync + 'static,
    {
        self.open_unnamed_topic().name(name)
    }

    /// Opens a topic of the node without a name: it is reached by its publishers only.
    pub fn open_unnamed_topic<T>(&self) -> OpenTopic<T>
    where
        T: Clone + Send + Sync + 'static,
    {
        OpenTopic::outside(Arc::clone(self.dispatcher_host()) as _)
    }

    /// Returns the topic with this name (rule E1). The variable gives the type of its events.
    ///
    /// # Errors
    /// [`TopicLookupError`]: no topic has the name, or its events are of another type.
    pub fn topic<T>(&self, name: &str) -> Result<Topic<T>, TopicLookupError>
    where
        T: Clone + Send + Sync + 'static,
    {
        Topic::find(&**self.dispatcher_host(), name)
    }

    /// Returns a description of each topic of the node, in the order in which they were opened
    /// (rule E11).
    #[must_use]
    pub fn topics(&self) -> Vec<TopicInfo> {
        self.dispatcher_host().core.topics.infos()
    }

    /// Returns the topic of dead letters: messages that were not handled (rules M7, D7, E12). A
    /// subscriber hears of all but those that were sent to itself, so also of those of its own sends: one that sends to
    /// an ended process at each of them makes the next, without end. Compared with
    /// [`Node::subscribe_dead_letters`], a subscription to the topic can be limited
    /// ([`Subscribe::at_most`](krarup_act::Subscribe::at_most)), and messages are made in the turns
    /// of the subscriber.
    #[must_use]
    pub fn dead_letters(&self) -> Topic<DeadLetter> {
        let host = self.dispatcher_host();
        host.core.own_events.dead_letters(|| host.next_ref(), &host.core.topics)
    }

    /// Returns the topic of reports: what the node itself has to say, as values (rule X8). There are
    /// at most ten reports of a kind within a second; each says how many were left out before it
    /// (rule X9). A subscriber does not hear of what it has caused: reports about itself, about
    /// the tasks it owns, about a process that failed with its message in hand, and what is made
    /// in its own turns (rule X11).
    ///
    /// Reports are log events of `tracing` too, with a target that begins with `krarup`.
    ///
    /// ```
    /// # use krarup_act::{Actor, Context, Topic};
    /// # use krarup_gen::{Report, Result};
    /// struct Reporter {
    ///     reports: Topic<Report>,
    /// }
    ///
    /// impl Actor for Reporter {
    ///     type Message = Report;
    ///
    ///     async fn init(&mut self, ctx: &mut Context<Report>) -> Result {
    ///         ctx.subscribe(&self.reports).start()?;
    ///         Ok(())
    ///     }
    ///
    ///     async fn handle_message(&mut self, _: &mut Context<Report>, report: Report) -> Result {
    ///         // One line; `{report:#}` is the long form.
    ///         println!("{report}");
    ///         Ok(())
    ///     }
    /// }
    /// # let node = krarup_node::Node::start("reports@localhost")?;
    /// let reports = node.reports();
    /// node.spawn_system(move || Reporter { reports: reports.clone() }).wait()?;
    /// # node.stop().wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reports(&self) -> Topic<Report> {
        let host = self.dispatcher_host();
        let core = &host.core;
        core.own_events.reports(|| host.next_ref(), &core.topics, &core.records.reports)
    }

    /// Returns the topic of the starts and ends of processes (rules X4, E12). A subscriber hears of
    /// all lives but its own. See [`Node::dead_letters`].
    #[must_use]
    pub fn lives(&self) -> Topic<Lifecycle> {
        let host = self.dispatcher_host();
        host.core.own_events.lives(|| host.next_ref(), &host.core.topics)
    }
}
