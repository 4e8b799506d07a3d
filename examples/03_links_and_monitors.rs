//! 3. Links and monitors: how processes hear of each other's end.
//!
//! A monitor looks on: when the other ends, a notice comes, and that is all. A link is
//! a common fate: a process that ends abnormally takes those linked to it with it,
//! unless they trap exits; to them it is a notice too.
//!
//! The story is told by a bare process, an async function that receives.
//!
//! ```sh
//! cargo run --release --example 03_links_and_monitors
//! ```

use krarup::prelude::*;
use krarup::{Received, behavior_fn};

/// A process that ends when and as it is told.
struct Mortal;

impl Actor for Mortal {
    type Message = Reason;

    async fn handle_message(&mut self, _: &mut Context<Reason>, reason: Reason) -> Result {
        Err(reason)
    }
}

/// "Tell the story": the reply comes when it has been told.
struct Tell(Reply<()>);

async fn story(mut ctx: Context<Tell>) -> Result {
    let Received::Message(Tell(done)) = ctx.receive().await else { return Ok(()) };

    println!("A monitor looks on.");
    let ada = ctx.spawn(|| Mortal).await?;
    ctx.monitor(ada.pid());
    ada.send(Reason::error("ran out of disk"))?;
    println!("  ada ended: {}", next_down(&mut ctx).await);

    println!("A monitor on somebody who is not there fires at once.");
    ctx.monitor(ada.pid());
    println!("  ada ended: {}", next_down(&mut ctx).await);

    println!("A link is a common fate: bob ends, and carol with him.");
    let carol = ctx.spawn(|| Mortal).await?;
    let peer = carol.pid();
    let bob = ctx.spawn(move || behavior_fn(move |ctx| linked_to(peer, ctx))).await?;
    ctx.monitor(carol.pid());
    bob.send(Reason::error("division by zero"))?;
    println!("  carol ended: {}", next_down(&mut ctx).await);

    println!("Whoever traps exits hears of the end instead.");
    ctx.trap_exits(true);
    let dan = ctx.spawn(|| Mortal).link().await?;
    dan.send(Reason::error("lost the connection"))?;
    if let Received::Exit(exit) = ctx.receive().await {
        println!("  dan ended: {}; I live on", exit.reason);
    }

    println!("A kill cannot be trapped; others see it as \"killed\".");
    let eve = ctx.spawn(|| Mortal).link().await?;
    ctx.exit(eve.pid(), Reason::Kill);
    if let Received::Exit(exit) = ctx.receive().await {
        println!("  eve ended: {}", exit.reason);
    }

    done.send(());
    Ok(())
}

/// A process that links itself to a peer and then ends as it is told.
async fn linked_to(peer: Pid, mut ctx: Context<Reason>) -> Result {
    ctx.link(peer);
    match ctx.receive().await {
        Received::Message(reason) => Err(reason),
        _ => Ok(()),
    }
}

/// Why the next monitored process ended.
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
