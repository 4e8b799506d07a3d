//! Opening topics (rules E1, E5, E6).

use super::audience::{Audience, AudienceListener, AudienceQueue};
use super::own_topics::OwnTopics;
use super::publisher::Publisher;
use super::table::AnyTopic;
use super::topic::Topic;
use super::topic_core::{TopicCore, TopicSettings};
use crate::context::Context;
use crate::host::host::{CheckedName, Host};
use krarup_gen::{Name, OpenTopicError, Pid, TopicId, TopicLookupError};
use std::fmt;
use std::sync::{Arc, Weak};

/// A topic that is to be opened; made by [`Context::open_topic`] and by `Node::open_topic`.
///
/// `M` is the type of the messages of the opener.
#[must_use = "nothing is opened before `open`"]
pub struct OpenTopic<T, M = ()> {
    host: Arc<dyn Host>,
    name: Option<CheckedName>,
    keep: usize,
    opener: Option<(Pid, Arc<OwnTopics>)>,
    /// Makes the listener of the audience.
    tell: Option<Arc<dyn AudienceListener<T>>>,
    /// Makes the listener for this opener, if it is a process.
    listen: Option<ListenerMaker<T, M>>,
}

type ListenerMaker<T, M> =
    Box<dyn FnOnce(fn(Audience) -> M) -> Arc<dyn AudienceListener<T>> + Send>;

impl<T: Clone + Send + Sync + 'static> OpenTopic<T> {
    /// Opens a topic of the node. For hosts.
    pub fn outside(host: Arc<dyn Host>) -> Self {
        OpenTopic { host, name: None, keep: 0, opener: None, tell: None, listen: None }
    }
}

impl<T: Clone + Send + Sync + 'static, M: Send + 'static> OpenTopic<T, M> {
    /// Gives the topic a name, 1 to 255 bytes. Names of topics are not names of processes.
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.name = Some(Name::new(name));
        self
    }

    /// Keeps the last `n` events for subscribers that come later (rule E2). By default none is
    /// kept.
    pub fn keep(mut self, n: usize) -> Self {
        self.keep = n;
        self
    }

    /// Opens the topic.
    ///
    /// # Errors
    /// [`OpenTopicError`]: another topic has the name, the text is no valid name, or the process has
    /// ended or the node stopped. Nothing has changed then.
    pub fn open(self) -> Result<Publisher<T>, OpenTopicError> {
        let OpenTopic { host, name, keep, opener, tell, listen: _ } = self;
        let name = name.transpose()?;
        if host.has_stopped() {
            return Err(OpenTopicError::NodeStopped(host.node_name().to_owned()));
        }
        let id = TopicId { name: name.clone(), reference: host.next_ref() };
        let (pid, own) = opener.unzip();
        let opened_by = own.as_ref().map_or_else(Weak::new, Arc::downgrade);
        let core = TopicCore::new(TopicSettings {
            id,
            opener: pid,
            keep,
            audience: tell,
            opened_by,
            direct: true,
        });
        let topic = Arc::clone(&core) as Arc<dyn AnyTopic>;
        if let Some(topics) = host.topics()
            && let Err(by) = topics.add(Arc::clone(&topic))
            && let Some(name) = name
        {
            return Err(OpenTopicError::NameTaken { name, by });
        }
        let publisher = Publisher::new(core, host);
        if let (Some(own), Some(pid)) = (own, pid)
            && !own.add_opened(topic)
        {
            publisher.close();
            return Err(OpenTopicError::NoProcess(pid));
        }
        Ok(publisher)
    }
}

impl<T: Clone + Send + Sync + 'static, M: From<Audience> + Send + 'static> OpenTopic<T, M> {
    /// Tells the opener when the topic gets its first subscriber and when it has lost its last one,
    /// strictly in turn (rule E5). The messages are made from an [`Audience`], and do not count
    /// towards the bound of the mailbox.
    pub fn tell_audience(mut self) -> Self {
        if let Some(listen) = self.listen.take() {
            self.tell = Some(listen(M::from));
        }
        self
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Opens a topic under this name; see [`Publisher`]. It ends with this process (rule E6).
    ///
    /// A state that was replaced in place ([`InPlace`](crate::InPlace)) has not ended its process,
    /// so its topics are open: it closes them in `before_restart`, or the next state finds the
    /// publisher where it was kept.
    pub fn open_topic<T>(&mut self, name: impl AsRef<str>) -> OpenTopic<T, M>
    where
        T: Clone + Send + Sync + 'static,
    {
        self.open_unnamed_topic().name(name)
    }

    /// Opens a topic without a name: it is reached by its publishers
    /// ([`Publisher::topic`]) only.
    pub fn open_unnamed_topic<T>(&mut self) -> OpenTopic<T, M>
    where
        T: Clone + Send + Sync + 'static,
    {
        let (host, myself) = (self.node_host(), self.address());
        let opener = Some((self.pid(), self.own_topics()));
        let listen = move |make| AudienceQueue::new(myself, make) as Arc<dyn AudienceListener<T>>;
        OpenTopic { host, name: None, keep: 0, opener, tell: None, listen: Some(Box::new(listen)) }
    }

    /// Returns the topic with this name (rule E1). The variable gives the type of its events:
    /// `let prices: Topic<Price> = ctx.topic("prices")?`.
    ///
    /// # Errors
    /// [`TopicLookupError`]: no topic has the name, or its events are of another type.
    pub fn topic<T>(&self, name: &str) -> Result<Topic<T>, TopicLookupError>
    where
        T: Clone + Send + Sync + 'static,
    {
        Topic::find(&**self.host(), name)
    }

    /// Returns the topics of this process, which it gets when it first needs them. A cleaner ends
    /// them with the process.
    pub(crate) fn own_topics(&mut self) -> Arc<OwnTopics> {
        if let Some(own) = &self.cold().topics {
            return Arc::clone(own);
        }
        let own = Arc::new(OwnTopics::default());
        self.cold().topics = Some(Arc::clone(&own));
        let (ended, host) = (Arc::clone(&own), Arc::downgrade(self.host()));
        self.on_end(move |end| {
            // A host that is gone has no table.
            let host = host.upgrade();
            ended.end(host.as_ref().and_then(|host| host.topics()), end.reason);
        });
        own
    }
}

impl<T, M> fmt::Debug for OpenTopic<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTopic")
            .field("name", &self.name)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}
