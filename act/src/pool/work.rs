//! What a pool's process does while it lives: it hears of its workers, obeys, and keeps time.

use super::behavior::{PoolBehavior, PoolContext};
use super::command::PoolCommand;
use super::routing::Routing;
use super::staff::Staff;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::deadline::Sleep;
use crate::received::Received;
use krarup_gen::{Exit, Reason, Result};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

type Own<B, P> = Context<<B as Behavior>::Message, PoolCommand<<P as PoolBehavior>::Command>>;

/// Serves until the pool is to end; with what reason.
pub(super) async fn serve<B, R, P>(
    staff: &mut Staff<B, R>,
    behavior: &mut P,
    ctx: &mut Own<B, P>,
) -> Reason
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    let mut finishing = false;
    loop {
        let done = match next(staff, ctx).await {
            None => staff.do_what_is_due(ctx).await.map_or(Ok(()), Err),
            Some(Received::Command(command)) => obey(staff, behavior, ctx, command).await,
            Some(Received::Exit(exit)) => handle_exit(staff, behavior, ctx, exit).await,
            Some(Received::Down(down)) => {
                behavior.handle_down(&mut PoolContext::new(ctx, staff), down).await
            }
            Some(Received::Inspect(reply)) => {
                let mut inspection = staff.inspect();
                for (item, value) in behavior.inspect().iter() {
                    inspection.set(item, value.clone());
                }
                reply.send(inspection);
                Ok(())
            }
            Some(Received::Stop(reason)) => Err(reason),
            Some(Received::Finish) => {
                finishing = true;
                staff.remove(usize::MAX);
                Ok(())
            }
            // Main is a route, so no message comes; a pool sets no timeout, takes no others
            // and shows no state.
            Some(
                Received::Message(_) | Received::Timeout | Received::Other(_) | Received::State(_),
            ) => Ok(()),
        };
        if let Err(reason) = done {
            return reason;
        }
        if ctx.is_stopping() {
            // One of the callbacks wants to stop, or has received a stop.
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

/// The next item, or `None` when something is due.
async fn next<B, R, P>(
    staff: &Staff<B, R>,
    ctx: &mut Context<B::Message, PoolCommand<P>>,
) -> Option<Received<B::Message, PoolCommand<P>>>
where
    B: Behavior,
    R: Routing<B::Message>,
    P: Send + 'static,
{
    let Some(due) = staff.due() else { return Some(ctx.receive().await) };
    let mut alarm = Sleep::until(Arc::clone(ctx.host()), due);
    let mut receive = pin!(ctx.receive());
    poll_fn(|cx| match receive.as_mut().poll(cx) {
        Poll::Ready(item) => Poll::Ready(Some(item)),
        Poll::Pending => Pin::new(&mut alarm).poll(cx).map(|()| None),
    })
    .await
}

async fn obey<B, R, P>(
    staff: &mut Staff<B, R>,
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
        PoolCommand::AddWorkers(count, reply) => reply.send(staff.add(ctx, count).await),
        PoolCommand::RemoveWorkers(count, reply) => reply.send(staff.remove(count)),
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

/// A worker has ended, or somebody else wants the pool to.
async fn handle_exit<B, R, P>(
    staff: &mut Staff<B, R>,
    behavior: &mut P,
    ctx: &mut Own<B, P>,
    exit: Exit,
) -> Result
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    if staff.was_leaving(exit.pid) {
        return Ok(());
    }
    if !staff.has(exit.pid) {
        return behavior.handle_exit(&mut PoolContext::new(ctx, staff), exit).await;
    }
    tracing::debug!(
        target: "krarup", pool = %ctx.pid(), worker = %exit.pid, reason = %exit.reason,
        "replacing a dead worker"
    );
    behavior.handle_worker_exit(&mut PoolContext::new(ctx, staff), &exit).await?;
    staff.miss(exit.pid);
    staff.replace_missing(ctx).await.map_or(Ok(()), Err)
}
