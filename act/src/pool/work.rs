//! The loop of a pool's process: it handles exits of workers, commands and periodic work.
//!
//! It waits only for the next event: an item of its mailbox, a worker that has started, or a
//! time that is due. So it answers commands and obeys a stop whatever its workers do.

use super::behavior::{PoolBehavior, PoolContext};
use super::command::PoolCommand;
use super::routing::Routing;
use super::staff::{ExitOrigin, PoolWorkers};
use super::starting::Started;
use crate::behavior::Behavior;
use crate::calls::deadline::Sleep;
use crate::context::Context;
use crate::observe::inspect_request::InspectRequest;
use crate::received::Received;
use krarup_gen::{Exit, Reason, Result};
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
    staff: &mut PoolWorkers<B, R>,
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
            None => next::<B, R, P>(staff, ctx).await,
        };
        let done = match event {
            PoolEvent::Due => {
                staff.do_what_is_due(ctx);
                Ok(())
            }
            // All of the first workers have started.
            PoolEvent::Started(started) => staff.settle(ctx, started).map_err(Reason::from),
            PoolEvent::Item(item) => handle(staff, behavior, ctx, item, &mut finishing).await,
        };
        if let Err(reason) = done.and_then(|()| staff.start_due(ctx)) {
            return reason;
        }
        if ctx.is_stopping() {
            // A callback has asked to stop, or has received a stop.
            let told = ctx.take_stop();
            if !finishing {
                return told.unwrap_or(Reason::Normal);
            }
        }
        if finishing && staff.has_left() {
            return Reason::Normal;
        }
    }
}

async fn handle<B, R, P>(
    staff: &mut PoolWorkers<B, R>,
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
        Received::Command(command) => execute(staff, behavior, ctx, command).await,
        Received::Exit(exit) => handle_exit(staff, behavior, ctx, exit).await,
        Received::Down(down) => behavior.handle_down(&mut PoolContext::new(ctx, staff), down).await,
        Received::Inspect(request) => {
            inspection(staff, behavior, request);
            Ok(())
        }
        Received::Stop(reason) => Err(reason),
        Received::Finish => {
            *finishing = true;
            staff.begin_to_stop(ctx.pid());
            Ok(())
        }
        // Main is a route, so no message arrives. A pool sets no timeout, takes no messages of
        // other types and shows no state.
        Received::Message(_) | Received::Timeout | Received::Other(_) | Received::State(_) => {
            Ok(())
        }
    }
}

/// Answers an inspection.
pub(super) fn inspection<B, R, P>(staff: &PoolWorkers<B, R>, behavior: &P, request: InspectRequest)
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    let mut inspection = staff.inspect();
    for (item, value) in behavior.handle_inspect(&request).iter() {
        inspection.set(item, value.clone());
    }
    request.send(inspection);
}

/// The next event. Periodic work comes before messages, because others may always send more.
async fn next<B, R, P>(staff: &mut PoolWorkers<B, R>, ctx: &mut Own<B, P>) -> PoolEvent<B, P>
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    if let Some(exit) = staff.next_exit() {
        return PoolEvent::Item(Received::Exit(exit));
    }
    staff.forget_former(ctx);
    let mut alarm = staff.due().map(|due| Sleep::until(Arc::clone(ctx.host()), due));
    let mut receive = pin!(ctx.receive());
    poll_fn(|cx| {
        if let Poll::Ready(started) = staff.poll_started(cx) {
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
    staff: &mut PoolWorkers<B, R>,
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
        PoolCommand::AddWorkers(count, reply) => staff.add(ctx, count, Some(reply)),
        PoolCommand::RemoveWorkers(count, reply) => reply.send(staff.remove(ctx.pid(), count)),
        PoolCommand::Workers(reply) => reply.send(staff.pids()),
        PoolCommand::Drain(reply) => staff.drain(Some(reply)),
        PoolCommand::Reopen(reply) => reply.send(staff.reopen()),
        PoolCommand::Statistics(reply) => reply.send(staff.statistics()),
        PoolCommand::Own(command) => {
            return behavior.handle_command(&mut PoolContext::new(ctx, staff), command).await;
        }
    }
    Ok(())
}

/// Handles the end of a worker, or an exit signal.
async fn handle_exit<B, R, P>(
    staff: &mut PoolWorkers<B, R>,
    behavior: &mut P,
    ctx: &mut Own<B, P>,
    exit: Exit,
) -> Result
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    match staff.note_exit(ctx, &exit) {
        ExitOrigin::Stale => Ok(()),
        ExitOrigin::Other => behavior.handle_exit(&mut PoolContext::new(ctx, staff), exit).await,
        ExitOrigin::Worker => {
            tracing::debug!(
                target: "krarup", pool = %ctx.pid(), worker = %exit.pid, reason = %exit.reason,
                "replacing a dead worker"
            );
            behavior.handle_worker_exit(&mut PoolContext::new(ctx, staff), &exit).await
        }
    }
}
