//! 3. Links and monitors: how a process is notified that another one has ended.
//!
//! A monitor only observes: when the other process ends, a notice arrives, and that is
//! all. A link joins two processes: one that ends abnormally ends the processes linked to
//! it as well, unless they trap exits. A process that traps exits gets a notice instead.
//!
//! The example runs in a bare process, an async function that receives.
//!
//! ```sh
//! cargo run --release --example 03_links_and_monitors
//! ```

use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;

/// A process that ends when it is told to, with the reason it is given.
struct Mortal;

impl Actor for Mortal {
    type Message = Reason;

    async fn handle_message(&mut self, _: &mut Context<Reason>, reason: Reason) -> Result {
        Err(reason)
    }
}

/// Starts the story. The reply is sent at its end.
struct Tell(Reply<()>);

async fn story(mut ctx: Context<Tell>) -> Result {
    let Received::Message(Tell(done)) = ctx.receive().await else { return Ok(()) };

    println!("A monitor reports an end and has no other effect.");
    let ada = ctx.spawn(|| Mortal).await?;
    ctx.monitor(ada.pid());
    ada.send(Reason::error("ran out of disk"))?;
    println!("  ada ended: {}", next_down(&mut ctx).await);

    println!("A monitor of a process that does not exist reports at once.");
    ctx.monitor(ada.pid());
    println!("  ada ended: {}", next_down(&mut ctx).await);

    println!("A link ends both processes: bob ends, and so does carol.");
    let carol = ctx.spawn(|| Mortal).await?;
    let peer = carol.pid();
    let bob = ctx.spawn(move || behavior_fn(move |ctx| linked_to(peer, ctx))).await?;
    ctx.monitor(carol.pid());
    bob.send(Reason::error("division by zero"))?;
    println!("  carol ended: {}", next_down(&mut ctx).await);

    println!("A process that traps exits gets a notice instead.");
    ctx.trap_exits(true);
    let dan = ctx.spawn(|| Mortal).link().await?;
    dan.send(Reason::error("lost the connection"))?;
    if let Received::Exit(exit) = ctx.receive().await {
        println!("  dan ended: {}; this process continues", exit.reason);
    }

    println!("A kill cannot be trapped. Other processes see the reason \"killed\".");
    let eve = ctx.spawn(|| Mortal).link().await?;
    ctx.exit(eve.pid(), Reason::Kill);
    if let Received::Exit(exit) = ctx.receive().await {
        println!("  eve ended: {}", exit.reason);
    }

    done.send(());
    Ok(())
}

/// A process that links itself to a peer and then ends with the reason it is sent.
async fn linked_to(peer: Pid, mut ctx: Context<Reason>) -> Result {
    ctx.link(peer);
    match ctx.receive().await {
        Received::Message(reason) => Err(reason),
        _ => Ok(()),
    }
}

/// Returns the exit reason of the next monitored process that ends.
async fn next_down(ctx: &mut Context<Tell>) -> Reason {
    loop {
        if let Received::Down(down) = ctx.receive().await {
            return down.reason;
        }
    }
}

fn main() -> Result {
    let node = Node::start("tour@localhost")?;
    let teller = node.spawn(|| behavior_fn(story)).wait()?;
    teller.call(Tell).wait()?;
    node.stop().wait()
}
