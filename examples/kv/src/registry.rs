//! The registry: which bucket has which name.
//!
//! A [`Registry`] is a value, shared by its clones. Its owner is an agent with a name, so that
//! everything in the node finds it. A bucket registers itself when it starts. Its name is free
//! again when it ends, before anything hears of its end.
//!
//! When the owner ends, nothing finds this registry any more, and the next owner has an empty
//! one.

use crate::bucket::{BucketAddress, Entries};
use krarup::groups::Registry;
use krarup::prelude::*;
use krarup::{Agent, AgentAddress, AgentMessage, LookupError};

/// The name of the owner.
pub(crate) const OWNER: &str = "kv.registry";

/// The buckets by their names.
pub(crate) type Names = Registry<String, AgentMessage<Entries>>;

/// The address of the owner.
pub(crate) type OwnerAddress = AgentAddress<Names>;

/// Makes the owner.
pub(crate) fn owner() -> Agent<Names, fn() -> Names> {
    Agent::new(Names::new)
}

/// Returns the registry of the owner that lives now.
pub(crate) async fn names<M: Send + 'static>(ctx: &mut Context<M>) -> Result<Names> {
    let owner: OwnerAddress = ctx.lookup(OWNER)?;
    Ok(owner.get(Names::clone).await?)
}

/// Returns the bucket of this name.
pub(crate) async fn find<M: Send + 'static>(
    ctx: &mut Context<M>,
    name: &str,
) -> Result<Option<BucketAddress>, CallError> {
    let owner: Result<OwnerAddress, LookupError> = ctx.lookup(OWNER);
    // Without an owner there is no bucket: each ends with it.
    let Ok(owner) = owner else { return Ok(None) };
    let name = name.to_owned();
    owner.get(move |names| names.get(&name)).await
}
