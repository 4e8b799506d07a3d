//! A child fails as soon as it is told to, and is told again when it is there again.

use super::{Measured, node};
use crate::failure::PeerFailure;
use crate::servers::runtime;
use krarup::supervisor::{ChildSpec, Supervisor};
use krarup::{Actor, Address, Context, Reason, Result};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

struct Fails {
    born: Sender<Address<()>>,
}

impl Actor for Fails {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        Ok(self.born.send(ctx.address())?)
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Err(Reason::error("told to"))
    }
}

pub(super) fn krarup(crashes: usize) -> Measured {
    let node = node()?;
    let (born, births) = channel();
    let spec = move || {
        let born = born.clone();
        let child = ChildSpec::worker("fails", move || Fails { born: born.clone() });
        Supervisor::one_for_one().intensity(u32::MAX, Duration::from_secs(1)).child(child)
    };
    let _supervisor = node.spawn(spec).wait().map_err(Reason::from)?;
    let next = || births.recv().map_err(|_| PeerFailure::Ended);
    let mut child = next()?;
    let begin = Instant::now();
    for _ in 0..crashes {
        child.send(()).map_err(|_| PeerFailure::Ended)?;
        child = next()?;
    }
    Ok((begin.elapsed(), crashes))
}

pub(super) fn tokio(crashes: usize) -> Measured {
    let runtime = runtime()?;
    let (born, births) = channel();
    let supervisor = async move {
        loop {
            let born = born.clone();
            let child = tokio::spawn(async move { child(&born).await });
            match child.await {
                Ok(Err(_)) => {}
                _ => return,
            }
        }
    };
    runtime.spawn(supervisor);
    let next = || births.recv().map_err(|_| PeerFailure::Ended);
    let mut child = next()?;
    let begin = Instant::now();
    for _ in 0..crashes {
        child.send(()).map_err(|_| PeerFailure::Ended)?;
        child = next()?;
    }
    Ok((begin.elapsed(), crashes))
}

async fn child(born: &Sender<UnboundedSender<()>>) -> std::result::Result<(), &'static str> {
    let (sender, mut messages) = unbounded_channel();
    if born.send(sender).is_err() {
        return Ok(());
    }
    match messages.recv().await {
        Some(()) => Err("told to"),
        None => Ok(()),
    }
}
