//! The front: a line of a client is an order.

use crate::board::{BOARD, ToBoard};
use crate::makers::{MAKERS, Make};
use krarup::io::{Channel, Lines, Protocol};
use krarup::pool::PoolCommand;
use krarup::prelude::*;
use krarup::{NamedAddress, NamedCallError};
use std::convert::Infallible;

/// The name of the front.
pub(crate) const FRONT: &str = "front";
/// A longer line ends the connection.
const LONGEST_LINE: usize = 256;

/// What a line needs to be answered. It stays right when the makers or the board are restarted.
pub(crate) struct Counter {
    makers: NamedAddress<Make, PoolCommand>,
    board: NamedAddress<ToBoard>,
}

impl Counter {
    pub(crate) fn near<M: Send + 'static>(ctx: &Context<M>) -> Result<Self> {
        Ok(Counter { makers: ctx.named_address(MAKERS)?, board: ctx.named_address(BOARD)? })
    }

    pub(crate) async fn answer(&self, line: &str) -> String {
        let Some(product) = line.strip_prefix("make ") else { return "what?".to_owned() };
        let product = product.to_owned();
        // A call by name may make the request more than once.
        let order = move |made| Make { product: product.clone(), made };
        match self.makers.call(order).await {
            Ok(made) => match self.board.send(ToBoard::Order) {
                Ok(()) => made,
                Err(error) => format!("not counted: {error}"),
            },
            Err(NamedCallError::Call { error: CallError::Terminated { reason, .. }, .. }) => {
                format!("failed: {reason}")
            }
            Err(error) => format!("failed: {error}"),
        }
    }
}

/// A connection: a process of its own, which waits for its own orders alone.
#[derive(Default)]
pub(crate) struct Connection {
    counter: Option<Counter>,
}

impl Protocol for Connection {
    // No process sends it messages.
    type Message = Infallible;
    type Codec = Lines;

    fn codec(&self) -> Lines {
        Lines::new(LONGEST_LINE)
    }

    async fn connected(&mut self, channel: &mut Channel<Self>) -> Result {
        self.counter = Some(Counter::near(channel.context())?);
        Ok(())
    }

    async fn received(&mut self, channel: &mut Channel<Self>, line: String) -> Result {
        let Some(counter) = &self.counter else { return Err(Reason::error("not connected")) };
        let answer = counter.answer(&line).await;
        Ok(channel.send_or_wait(&answer).await?)
    }
}
