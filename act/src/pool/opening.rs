//! The start of a pool: its first workers, one after the other, and the entries that arrive in
//! the meantime.
//!
//! During its start the pool answers inspections, reports that it cannot be resized yet, and
//! obeys a stop. All other entries are held until it has started, and so is every command
//! behind a held one, because the commands of one sender keep their order.

use super::behavior::PoolBehavior;
use super::command::PoolCommand;
use super::pool_workers::PoolWorkers;
use super::routing::Routing;
use super::size_answer::SizeAnswer;
use super::starting::{Started, WorkerPurpose};
use super::work::{Own, PoolMail, inspection};
use crate::behavior::Behavior;
use crate::received::Received;
use krarup_gen::{Reason, Result, SpawnError};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// The entries that were held.
pub(super) type EarlyMail<B, P> = VecDeque<PoolMail<B, P>>;

enum OpeningEvent<B: Behavior, P: PoolBehavior<Job = B::Message>> {
    Started(Started<B::Message, B::Command>),
    Item(PoolMail<B, P>),
}

/// Starts the first workers. Returns the entries that were held, or the reason with which the
/// pool ends.
pub(super) async fn open<B, R, P>(
    pool_workers: &mut PoolWorkers<B, R>,
    behavior: &mut P,
    ctx: &mut Own<B, P>,
) -> Result<EarlyMail<B, P>>
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    let mut held = VecDeque::new();
    for _ in 0..pool_workers.settings.size {
        pool_workers.begin(ctx, WorkerPurpose::First).map_err(start_failure)?;
        loop {
            match next::<B, R, P>(pool_workers, ctx).await {
                OpeningEvent::Started(started) => {
                    pool_workers.settle(ctx, started).map_err(start_failure)?;
                    break;
                }
                OpeningEvent::Item(item) => {
                    serve_or_hold(pool_workers, behavior, ctx, item, &mut held)?;
                }
            }
        }
    }
    pool_workers.open();
    Ok(held)
}

async fn next<B, R, P>(
    pool_workers: &mut PoolWorkers<B, R>,
    ctx: &mut Own<B, P>,
) -> OpeningEvent<B, P>
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    // Main is not received: its messages are to go along the route.
    let mut receive = pin!(ctx.receive_control());
    poll_fn(|cx| match pool_workers.poll_started(cx) {
        Poll::Ready(started) => Poll::Ready(OpeningEvent::Started(started)),
        Poll::Pending => receive.as_mut().poll(cx).map(OpeningEvent::Item),
    })
    .await
}

fn serve_or_hold<B, R, P>(
    pool_workers: &mut PoolWorkers<B, R>,
    behavior: &mut P,
    ctx: &Own<B, P>,
    item: PoolMail<B, P>,
    held: &mut EarlyMail<B, P>,
) -> Result
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    let is_command = |item: &PoolMail<B, P>| matches!(item, Received::Command(_));
    let in_order = !held.iter().any(is_command);
    match item {
        Received::Stop(reason) => return Err(reason),
        Received::Inspect(request) => inspection(pool_workers, behavior, request),
        Received::Command(PoolCommand::Workers(reply)) if in_order => {
            reply.send(pool_workers.pids());
        }
        Received::Command(PoolCommand::Statistics(reply)) if in_order => {
            reply.send(pool_workers.statistics());
        }
        Received::Command(PoolCommand::AddWorkers(count, reply)) if in_order => {
            pool_workers.add(ctx, count, Some(SizeAnswer::Typed(reply)));
        }
        Received::Command(PoolCommand::RemoveWorkers(count, reply)) if in_order => {
            reply.send(pool_workers.remove(ctx.pid(), count));
        }
        item => held.push_back(item),
    }
    Ok(())
}

/// The reason of a pool whose first workers could not be started.
fn start_failure(error: SpawnError) -> Reason {
    match error {
        SpawnError::Init(reason) => reason,
        error => error.into(),
    }
}
