//! The board: publishes once a second how many orders there were, while somebody listens.

use krarup::Ref;
use krarup::prelude::*;
use krarup::topics::{Audience, Publisher};
use std::time::Duration;

/// The name of the board.
pub(crate) const BOARD: &str = "board";
/// The name of its topic.
pub(crate) const ORDERS: &str = "orders";

/// How many orders there were: the event.
#[derive(Clone, Copy)]
pub(crate) struct Orders(pub(crate) u64);

pub(crate) enum ToBoard {
    Order,
    Tick,
    Audience(Audience),
}

impl From<Audience> for ToBoard {
    fn from(audience: Audience) -> Self {
        ToBoard::Audience(audience)
    }
}

#[derive(Default)]
pub(crate) struct Board {
    publisher: Option<Publisher<Orders>>,
    timer: Option<Ref>,
    orders: u64,
}

impl Actor for Board {
    type Message = ToBoard;

    async fn init(&mut self, ctx: &mut Context<ToBoard>) -> Result {
        self.publisher = Some(ctx.open_topic(ORDERS).tell_audience().open()?);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<ToBoard>, message: ToBoard) -> Result {
        match message {
            ToBoard::Order => self.orders += 1,
            ToBoard::Audience(Audience::Some) | ToBoard::Tick => self.tick(ctx)?,
            ToBoard::Audience(Audience::None) => self.silence(ctx),
        }
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("orders", self.orders)
    }
}

impl Board {
    fn tick(&mut self, ctx: &mut Context<ToBoard>) -> Result {
        self.silence(ctx);
        if let Some(publisher) = &self.publisher {
            publisher.publish(Orders(self.orders))?;
        }
        self.timer = Some(ctx.send_after(Duration::from_secs(1), ToBoard::Tick));
        Ok(())
    }

    fn silence(&mut self, ctx: &mut Context<ToBoard>) {
        if let Some(timer) = self.timer.take() {
            ctx.disarm(timer);
        }
    }
}
