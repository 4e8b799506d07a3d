//! All buckets: children of a dynamic supervisor.

use crate::bucket::Bucket;
use crate::protocol::Answer;
use crate::registry;
use krarup::prelude::*;
use krarup::supervisor::{ChildTemplate, StartChildError, SupervisorAddress};

/// The name of the supervisor of the buckets.
pub(crate) const BUCKETS: &str = "kv.buckets";

/// Makes the supervisor of at most so many buckets. A bucket is temporary: one that has failed
/// is not restarted, because its entries are lost, and an empty bucket in its place would hide
/// that.
pub(crate) fn supervisor(limit: usize) -> Supervisor<String> {
    let bucket = ChildTemplate::worker("bucket", Bucket::new).restart(RestartType::Temporary);
    Supervisor::simple_one_for_one(bucket).max_children(limit)
}

/// Makes a bucket, unless there is one of this name. The name of a bucket that ends is free before its
/// supervisor hears of the end. For that moment a full server can answer `FULL` once more.
pub(crate) async fn create<M: Send + 'static>(
    ctx: &mut Context<M>,
    name: String,
) -> Result<Answer> {
    let buckets: SupervisorAddress<String> = ctx.lookup(BUCKETS)?;
    match buckets.start_child(name.clone()).await {
        // `None`: the name was taken.
        Ok(Some(_) | None) => Ok(Answer::Done),
        // The supervisor has not even tried. A bucket that is there needs no room.
        Err(StartChildError::Full { .. }) => match registry::find(ctx, &name).await? {
            Some(_) => Ok(Answer::Done),
            None => Ok(Answer::Full),
        },
        Err(error) => Err(error.into()),
    }
}
