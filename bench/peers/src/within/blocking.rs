//! Jobs beside the workers, one after the other.

use super::{Measured, node};
use crate::failure::PeerFailure;
use crate::servers::runtime;
use krarup::{Actor, Context, Reason, Reply, Result};
use std::time::Instant;

struct Blocker;

struct RunJobs(usize, Reply<()>);

impl Actor for Blocker {
    type Message = RunJobs;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<RunJobs>,
        RunJobs(jobs, reply): RunJobs,
    ) -> Result {
        for job in 0..jobs {
            if ctx.block(move || job).await? != job {
                return Err(Reason::error("another job's result"));
            }
        }
        reply.send(());
        Ok(())
    }
}

pub(super) fn krarup(jobs: usize) -> Measured {
    let node = node()?;
    let blocker = node.spawn(|| Blocker).wait().map_err(Reason::from)?;
    let begin = Instant::now();
    let call = blocker.call(|reply| RunJobs(jobs, reply)).no_timeout();
    call.wait().map_err(Reason::from)?;
    Ok((begin.elapsed(), jobs))
}

pub(super) fn tokio(jobs: usize) -> Measured {
    let runtime = runtime()?;
    let begin = Instant::now();
    let task = runtime.spawn(async move {
        for job in 0..jobs {
            let done = tokio::task::spawn_blocking(move || job).await;
            if done.ok() != Some(job) {
                return Err(PeerFailure::Ended);
            }
        }
        Ok(())
    });
    runtime.block_on(task).map_err(|_| PeerFailure::Ended)??;
    Ok((begin.elapsed(), jobs))
}
