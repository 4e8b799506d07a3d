//! The makers: a pool of three.

use krarup::prelude::*;

/// The name of the pool.
pub(crate) const MAKERS: &str = "makers";
/// How many makers there are.
const SIZE: usize = 3;
/// How many orders wait for each of them at most.
const WAITING: usize = 16;

pub(crate) struct Make {
    pub(crate) product: String,
    pub(crate) made: Reply<String>,
}

#[derive(Default)]
pub(crate) struct Maker {
    made: u32,
}

impl Actor for Maker {
    type Message = Make;

    async fn handle_message(&mut self, _: &mut Context<Make>, order: Make) -> Result {
        if order.product == "smoke" {
            return Err(Reason::error("on fire"));
        }
        self.made += 1;
        order.made.send(format!("{}, the maker's number {}", order.product, self.made));
        Ok(())
    }
}

pub(crate) fn makers() -> Pool<Maker> {
    Pool::new(SIZE, Maker::default).mailbox(WAITING)
}
