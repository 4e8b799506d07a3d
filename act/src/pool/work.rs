//! The loop of a pool's process: it handles exits of workers, commands and periodic work.
//!
//! It waits only for the next event: an item of its mailbox, a worker that has started, or a
//! time that is due. So it answers commands and obeys a stop whatever its workers do.

use super::behavior::{PoolBehavior, PoolContext};
use super::command::PoolCommand;
use super::pool_workers::PoolWorkers;
use super::pool_workers::exits::ExitOrigin;
use super::routing::Routing;
use super::size_answer::SizeAnswer;
use super::starting::Started;
use crate::behavior::Behavior;
use crate::calls::deadline::Sleep;
use crate::context::Context;
use crate::observe::inspect_request::InspectRequest;
use crate::received::Received;
use krarup_gen::{Exit, Name, Reason, ReasonRecord, Result, SupervisionAction, one_line};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

/// The context of a pool's process.
pub(super) type Own<B, P> =
    Context<<B as Behavior>::Message, PoolCommand<<P as PoolBehavior>::Command>>;

/// An item that it receives.
pub(super) type PoolMail<B, P> =
    Received<<B as Behavior>::Message, PoolCommand<<P as PoolBehavior>::Command>>;

/// The next event.
enum PoolEvent<B: Behavior, P: PoolBehavior<Job = B::Message>> {
    Item(PoolMail<B, P>),
    Started(Started<B::Message, B::Command>),
    /// Periodic work is due.
    Due,
}

/// Serves until the pool is to end, beginning with the items held during its start. Returns the
/// reason.
pub(super) async fn serve<B, R, P>(
    pool_workers: &mut PoolWorkers<B, R>,
    behavior: &mut P,
    ctx: &mut Own<B, P>,
    mut held: VecDeque<PoolMail<B, P>>,
) -> Reason
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    let mut finishing = false;
    loop {
        let event = match held.pop_front() {
            Some(item) => PoolEvent::Item(item),
            None => next::<B, R, P>(pool_workers, ctx).await,
        };
        let done = match event {
            PoolEvent::Due => {
                pool_workers.do_what_is_due(ctx);
                Ok(())
            }
            // All of the first workers have started.
            PoolEvent::Started(started) => pool_workers.settle(ctx, started).map_err(Reason::from),
            PoolEvent::Item(item) => {
                handle(pool_workers, behavior, ctx, item, &mut finishing).await
            }
        };
        if let Err(reason) = done.and_then(|()| pool_workers.start_due(ctx)) {
            return reason;
        }
        if ctx.is_stopping() {
            // A callback has asked to stop, or has received a stop.
            let told = ctx.take_stop();
            if !finishing {
                return told.unwrap_or(Reason::Normal);
            }
        }
        if finishing && pool_workers.has_left() {
            return Reason::Normal;
        }
    }
}

async fn handle<B, R, P>(
    pool_workers: &mut PoolWorkers<B, R>,
    behavior: &mut P,
    ctx: &mut Own<B, P>,
    item: PoolMail<B, P>,
    finishing: &mut bool,
) -> Result
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    match item {
        Received::Command(command) => execute(pool_workers, behavior, ctx, command).await,
        Received::Exit(exit) => handle_exit(pool_workers, behavior, ctx, exit).await,
        Received::Down(down) => {
            behavior.handle_down(&mut PoolContext::new(ctx, pool_workers), down).await
        }
        Received::Inspect(request) => {
            inspection(pool_workers, behavior, request);
            Ok(())
        }
        Received::Manage(request) => {
            pool_workers.manage(ctx, request);
            Ok(())
        }
        Received::Stop(reason) => Err(reason),
        Received::Finish => {
            *finishing = true;
            pool_workers.begin_to_stop(ctx.pid());
            Ok(())
        }
        // Main is a route, so no message arrives. A pool sets no timeout and no alarm, takes no
        // messages of other types and shows no state.
        Received::Message(_)
        | Received::Timeout
        | Received::Alarm(_)
        | Received::Other(_)
        | Received::State(_) => Ok(()),
    }
}

/// Answers an inspection.
pub(super) fn inspection<B, R, P>(
    pool_workers: &PoolWorkers<B, R>,
    behavior: &P,
    request: InspectRequest,
) where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    let mut inspection = pool_workers.inspect();
    for (item, value) in behavior.handle_inspect(&request).iter() {
        inspection.set(item, value.clone());
    }
    request.send(inspection);
}

/// The next event. Periodic work comes before messages, because others may always send more.
async fn next<B, R, P>(pool_workers: &mut PoolWorkers<B, R>, ctx: &mut Own<B, P>) -> PoolEvent<B, P>
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    if let Some(exit) = pool_workers.next_exit() {
        return PoolEvent::Item(Received::Exit(exit));
    }
    pool_workers.forget_former(ctx);
    let mut alarm = pool_workers.due().map(|due| Sleep::until(Arc::clone(ctx.host()), due));
    let mut receive = pin!(ctx.receive());
    poll_fn(|cx| {
        if let Poll::Ready(started) = pool_workers.poll_started(cx) {
            return Poll::Ready(PoolEvent::Started(started));
        }
        if let Some(alarm) = &mut alarm
            && Pin::new(alarm).poll(cx).is_ready()
        {
            return Poll::Ready(PoolEvent::Due);
        }
        receive.as_mut().poll(cx).map(PoolEvent::Item)
    })
    .await
}

async fn execute<B, R, P>(
    pool_workers: &mut PoolWorkers<B, R>,
    behavior: &mut P,
    ctx: &mut Own<B, P>,
    command: PoolCommand<P::Command>,
) -> Result
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    match command {
        PoolCommand::AddWorkers(count, reply) => {
            pool_workers.add(ctx, count, Some(SizeAnswer::Typed(reply)));
        }
        PoolCommand::RemoveWorkers(count, reply) => {
            reply.send(pool_workers.remove(ctx.pid(), count));
        }
        PoolCommand::Workers(reply) => reply.send(pool_workers.pids()),
        PoolCommand::Drain(reply) => pool_workers.drain(Some(reply)),
        PoolCommand::Reopen(reply) => reply.send(pool_workers.reopen()),
        PoolCommand::Statistics(reply) => reply.send(pool_workers.statistics()),
        PoolCommand::Own(command) => {
            return behavior
                .handle_command(&mut PoolContext::new(ctx, pool_workers), command)
                .await;
        }
    }
    Ok(())
}

/// Handles the end of a worker, or an exit signal.
async fn handle_exit<B, R, P>(
    pool_workers: &mut PoolWorkers<B, R>,
    behavior: &mut P,
    ctx: &mut Own<B, P>,
    exit: Exit,
) -> Result
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    match pool_workers.note_exit(ctx, &exit) {
        ExitOrigin::Stale => Ok(()),
        ExitOrigin::Other => {
            behavior.handle_exit(&mut PoolContext::new(ctx, pool_workers), exit).await
        }
        ExitOrigin::Worker => {
            pool_workers.record(SupervisionAction::Restarting, exit.pid, |event| {
                event.reason = Some(ReasonRecord::of(&exit.reason));
            });
            tracing::debug!(
                target: "krarup", pool = %ctx.pid(), pool_name = ctx.own_name().as_ref().map(Name::as_str),
                worker = %exit.pid, reason = %one_line(&exit.reason),
                "replacing a dead worker"
            );
            behavior.handle_worker_exit(&mut PoolContext::new(ctx, pool_workers), &exit).await
        }
    }
}
