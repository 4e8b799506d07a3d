//! The listener: remembers what the board says, and comes back when the board does.

use crate::board::{ORDERS, Orders};
use krarup::prelude::*;
use std::time::Duration;

/// The name of the listener.
pub(crate) const LISTENER: &str = "listener";

/// How long it waits before it looks for the board again.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) enum ToListener {
    Subscribe,
    Heard(Orders),
    Tell(Reply<String>),
}

impl From<Orders> for ToListener {
    fn from(orders: Orders) -> Self {
        ToListener::Heard(orders)
    }
}

#[derive(Default)]
pub(crate) struct Listener {
    heard: Vec<String>,
}

impl Actor for Listener {
    type Message = ToListener;

    async fn init(&mut self, ctx: &mut Context<ToListener>) -> Result {
        subscribe(ctx)
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<ToListener>,
        message: ToListener,
    ) -> Result {
        match message {
            ToListener::Subscribe => subscribe(ctx)?,
            ToListener::Heard(Orders(orders)) => self.heard.push(orders.to_string()),
            ToListener::Tell(reply) => reply.send(std::mem::take(&mut self.heard).join(" ")),
        }
        Ok(())
    }

    async fn handle_down(&mut self, ctx: &mut Context<ToListener>, _: Down) -> Result {
        self.heard.push("down".to_owned());
        ctx.send_after(PAUSE, ToListener::Subscribe);
        Ok(())
    }
}

fn subscribe(ctx: &mut Context<ToListener>) -> Result {
    match ctx.topic::<Orders>(ORDERS) {
        Ok(orders) => drop(ctx.subscribe(&orders).start()?),
        // The board is being restarted.
        Err(_) => drop(ctx.send_after(PAUSE, ToListener::Subscribe)),
    }
    Ok(())
}
