//! The stream of events: a topic, and the process that opens it.

use krarup::prelude::*;
use krarup::topics::Publisher;
use std::fmt;

/// The name of the process that opens the topic, and of the topic.
pub(crate) const EVENTS: &str = "lease_cache.events";

/// What has happened in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CacheEvent {
    Created(String, String),
    LookedUp(String),
    Replaced(String, String),
    Deleted(String),
}

impl fmt::Display for CacheEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheEvent::Created(key, value) => write!(f, "created {key} {value}"),
            CacheEvent::LookedUp(key) => write!(f, "looked_up {key}"),
            CacheEvent::Replaced(key, value) => write!(f, "replaced {key} {value}"),
            CacheEvent::Deleted(key) => write!(f, "deleted {key}"),
        }
    }
}

/// A process that asks for the right to publish.
pub(crate) type WantsToPublish = Reply<Publisher<CacheEvent>>;

/// Opens the topic. The topic ends with it.
#[derive(Default)]
pub(crate) struct Events {
    publisher: Option<Publisher<CacheEvent>>,
}

impl Actor for Events {
    type Message = WantsToPublish;

    async fn init(&mut self, ctx: &mut Context<WantsToPublish>) -> Result {
        self.publisher = Some(ctx.open_topic(EVENTS).open()?);
        Ok(())
    }

    async fn handle_message(
        &mut self,
        _: &mut Context<WantsToPublish>,
        reply: WantsToPublish,
    ) -> Result {
        if let Some(publisher) = &self.publisher {
            reply.send(publisher.clone());
        }
        Ok(())
    }
}
