//! An element: it holds the value of one key until its lease is over.

use crate::events::{CacheEvent, EVENTS, WantsToPublish};
use crate::store::{Keys, STORE};
use krarup::prelude::*;
use krarup::supervisor::Ignore;
use krarup::topics::Publisher;
use std::time::Duration;

/// What an element is asked for.
pub(crate) enum ElementRequest {
    Fetch(Reply<String>),
    Replace(String, Reply<()>),
    Delete(Reply<()>),
    /// Fails while it is handled.
    Crash(#[expect(dead_code, reason = "it is never answered")] Reply<()>),
    LeaseOver,
}

/// The arguments of a child of the supervisor.
#[derive(Clone)]
pub(crate) struct NewElement {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) lease: Duration,
}

pub(crate) struct Element {
    new: NewElement,
    events: Option<Publisher<CacheEvent>>,
}

impl Element {
    pub(crate) fn new(new: NewElement) -> Self {
        Element { new, events: None }
    }

    fn publish(&self, event: CacheEvent) {
        if let Some(events) = &self.events {
            // Without a topic nobody hears, and this process is about to be ended.
            let _ = events.publish(event);
        }
    }
}

impl Actor for Element {
    type Message = ElementRequest;

    async fn init(&mut self, ctx: &mut Context<ElementRequest>) -> Result {
        let store: Address<Reply<Keys>> = ctx.lookup(STORE)?;
        let keys = store.call(|reply| reply).await?;
        let events: Address<WantsToPublish> = ctx.lookup(EVENTS)?;
        let events = events.call(|reply| reply).await?;
        let NewElement { key, value, lease } = self.new.clone();
        // A living process has the key: this one does not start, and that is no failure.
        ctx.register_in(&keys, key.clone()).map_err(|_| Ignore::reason())?;
        self.events = Some(events);
        self.publish(CacheEvent::Created(key, value));
        ctx.send_after(lease, ElementRequest::LeaseOver);
        Ok(())
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<ElementRequest>,
        request: ElementRequest,
    ) -> Result {
        match request {
            ElementRequest::Fetch(reply) => {
                self.publish(CacheEvent::LookedUp(self.new.key.clone()));
                reply.send(self.new.value.clone());
            }
            ElementRequest::Replace(value, reply) => {
                self.publish(CacheEvent::Replaced(self.new.key.clone(), value.clone()));
                self.new.value = value;
                reply.send(());
            }
            ElementRequest::Delete(reply) => {
                reply.send(());
                ctx.stop();
            }
            ElementRequest::Crash(_) => return Err(Reason::error("crash")),
            ElementRequest::LeaseOver => ctx.stop(),
        }
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<ElementRequest>, _: &Reason) {
        self.publish(CacheEvent::Deleted(self.new.key.clone()));
    }
}
