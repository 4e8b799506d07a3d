//! A bucket: an agent that holds keys and their values.

use crate::registry;
use krarup::observe::Inspection;
use krarup::prelude::*;
use krarup::supervisor::Ignore;
use krarup::{Agent, AgentAddress, AgentMessage};
use std::collections::BTreeMap;

/// The value of the agent.
pub(crate) type Entries = BTreeMap<String, String>;

/// The address of a bucket.
pub(crate) type BucketAddress = AgentAddress<Entries>;

/// An agent that registers itself under a name before it serves.
pub(crate) struct Bucket {
    name: String,
    agent: Agent<Entries, fn() -> Entries>,
}

impl Bucket {
    pub(crate) fn new(name: String) -> Self {
        Bucket { name, agent: Agent::new(Entries::new) }
    }
}

impl Actor for Bucket {
    type Message = AgentMessage<Entries>;

    async fn init(&mut self, ctx: &mut Context<Self::Message>) -> Result {
        let names = registry::names(ctx).await?;
        // The name is taken: there is such a bucket, which stays as it is. This one does not
        // start, and that is no failure.
        ctx.register_in(&names, self.name.clone()).map_err(|_| Ignore::reason())?;
        self.agent.init(ctx).await
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<Self::Message>,
        function: Self::Message,
    ) -> Result {
        self.agent.handle_message(ctx, function).await
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("bucket", self.name.as_str())
    }
}

/// Returns the value of a key, if it has one.
pub(crate) async fn get(bucket: &BucketAddress, key: String) -> Result<Option<String>, CallError> {
    bucket.get(move |entries| entries.get(&key).cloned()).await
}

/// Gives a key a value.
pub(crate) async fn put(
    bucket: &BucketAddress,
    key: String,
    value: String,
) -> Result<(), CallError> {
    bucket
        .update(move |entries| {
            entries.insert(key, value);
        })
        .await
}

/// Takes the value of a key away, if it has one.
pub(crate) async fn delete(bucket: &BucketAddress, key: String) -> Result<(), CallError> {
    bucket
        .update(move |entries| {
            entries.remove(&key);
        })
        .await
}
