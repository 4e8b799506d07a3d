//! Stopping a service: the order, what is answered, what is refused, and what happens to a process that does not end.
//! In virtual time, so that each line has its second.
//!
//! ```sh
//! cargo run --package recipes --bin stopping
//! ```

use krarup::behavior::{Behavior, Received, behavior_fn};
use krarup::prelude::*;
use krarup::supervisor::Shutdown;
use krarup::{Recipient, Timestamp};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn say<M: Send + 'static>(ctx: &Context<M>, text: &str) {
    let now = ctx.now().since(Timestamp::from_nanos(0));
    println!("  {:>4.1} s  {text}", now.as_secs_f64());
}

/// Writes what it has when it is stopped.
struct Store;

impl Actor for Store {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
        say(ctx, "the store has written everything");
    }
}

/// A job takes a second.
struct Worker;

impl Actor for Worker {
    type Message = Reply<()>;

    async fn handle_message(&mut self, ctx: &mut Context<Reply<()>>, reply: Reply<()>) -> Result {
        ctx.sleep(SECOND).await;
        reply.send(());
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Reply<()>>, _: &Reason) {
        say(ctx, "a worker ends");
    }
}

/// Accepts requests and gives them to the pool. Asked to stop, it accepts no more, waits for the answers to those that
/// it has accepted, and ends: a listener does the same.
fn front() -> impl Behavior<Message = Reply<()>> {
    behavior_fn(|mut ctx: Context<Reply<()>>| async move {
        let pool: Address<Reply<()>, PoolCommand> = ctx.lookup("pool")?;
        ctx.stop_in_order();
        ctx.initialised();
        loop {
            match ctx.receive().await {
                Received::Message(request) => {
                    pool.send(request).map_err(SendError::without_message)?;
                }
                Received::Stop(reason) => {
                    say(&ctx, "the front accepts no more");
                    pool.drain().await?;
                    say(&ctx, "the front has answered everything");
                    return Err(reason);
                }
                _ => {}
            }
        }
    })
}

/// Does not end before an hour is over.
struct Stubborn;

impl Actor for Stubborn {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        ctx.sleep(SECOND * 3600).await;
        Ok(())
    }
}

/// Asks for this many jobs, each from a process of its own, and says how many had which outcome.
fn clients(sim: &Simulation, to: Recipient<Reply<()>>, count: usize) -> Result {
    let clients = behavior_fn(move |ctx: Context<()>| async move {
        let calls: Vec<_> = (0..count)
            .map(|_| to.clone())
            .map(|to| async move { to.call(|reply| reply).await })
            .collect();
        let (mut answered, mut refused) = (0, 0);
        for outcome in ctx.tasks(calls).await {
            match outcome {
                Ok(Ok(())) => answered += 1,
                Ok(Err(error)) if !error.was_begun() => refused += 1,
                outcome => return Err(Reason::error(format!("not expected: {outcome:?}"))),
            }
        }
        say(&ctx, &format!("clients: {answered} answered, {refused} refused and not begun"));
        Ok(())
    });
    // A service, so that it sees the stop to its end.
    sim.spawn_system(move || clients).start()?;
    sim.advance(SECOND / 2);
    Ok(())
}

fn back_end() -> Supervisor {
    Supervisor::one_for_one()
        .child(ChildSpec::worker("store", || Store))
        .child(ChildSpec::supervisor("pool", || Pool::new(2, || Worker).mailbox(10)).name("pool"))
}

fn main() -> Result {
    println!("a front that drains, before the pool, before the store:");
    let sim = Simulation::new(1);
    sim.spawn(|| {
        let drains = Shutdown::Timeout(SECOND * 8); // longer than what it may have accepted
        back_end().child(ChildSpec::worker("front", front).name("front").shutdown(drains))
    })
    .wait()?;
    let front: Address<Reply<()>> = sim.lookup("front")?;
    clients(&sim, front.recipient(), 6)?;
    sim.stop().timeout(SECOND * 30).wait()?;

    println!("a pool that is stopped, and not drained:");
    let sim = Simulation::new(1);
    sim.spawn(back_end).wait()?;
    let pool: Address<Reply<()>, PoolCommand> = sim.lookup("pool")?;
    clients(&sim, pool.recipient(), 6)?;
    sim.stop().wait()?;

    println!("a pool that is drained first:");
    let sim = Simulation::new(1);
    sim.spawn(back_end).wait()?;
    let pool: Address<Reply<()>, PoolCommand> = sim.lookup("pool")?;
    clients(&sim, pool.recipient(), 6)?;
    pool.drain().wait()?;
    sim.stop().wait()?;

    println!("a child that does not end within its two seconds:");
    let sim = Simulation::new(1);
    sim.spawn(|| {
        let stubborn = ChildSpec::worker("stubborn", || Stubborn).name("stubborn");
        Supervisor::one_for_one()
            .child(ChildSpec::worker("store", || Store))
            .child(stubborn.shutdown(Shutdown::Timeout(SECOND * 2)))
    })
    .wait()?;
    let stubborn: Address<()> = sim.lookup("stubborn")?;
    stubborn.send(())?;
    sim.run_until_idle();
    let end = stubborn.watch();
    let stopped = sim.stop().wait();
    println!(
        "  the child: {}; the stop: {}",
        end.wait()?.reason,
        if stopped.is_ok() { "in order" } else { "failed" }
    );
    Ok(())
}
