//! The process behind a probe: it keeps what comes, and does what its test tells it.

use krarup_act::{Behavior, Context, Dynamic, Received};
use krarup_gen::{Down, Exit, Inspection, Pid, Result, Timestamp};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// What came and was not expected yet.
pub(crate) type Queue<M> = Arc<Mutex<VecDeque<Arrived<M>>>>;

pub(crate) struct Arrived<M> {
    pub(crate) at: Timestamp,
    pub(crate) from: Option<Pid>,
    pub(crate) item: Item<M>,
}

pub(crate) enum Item<M> {
    Message(M),
    Exit(Exit),
    Down(Down),
    /// A message of another type, sent by pid, name or alias.
    Other(Dynamic),
}

/// Something for the probe's process to do.
pub(crate) struct Order<M>(pub(crate) Act<M>);

pub(crate) type Act<M> = Box<dyn FnOnce(&mut Context<M>) + Send>;

/// The probe as a process.
pub(crate) struct Keeper<M>(pub(crate) Queue<M>);

impl<M: Send + 'static> Behavior for Keeper<M> {
    type Message = M;
    type Command = M;

    async fn run(self, mut ctx: Context<M>) -> Result {
        ctx.trap_exits(true);
        ctx.stop_in_order(true);
        ctx.take_others(true);
        loop {
            let item = match ctx.receive().await {
                Received::Message(message) | Received::Command(message) => Item::Message(message),
                Received::Exit(exit) => Item::Exit(exit),
                Received::Down(down) => Item::Down(down),
                Received::Other(other) => match other.downcast::<Order<M>>() {
                    Ok(order) => {
                        (order.0)(&mut ctx);
                        continue;
                    }
                    Err(other) => Item::Other(other),
                },
                Received::Inspect(reply) => {
                    reply.send(Inspection::new().with("arrived", self.0.lock().len()));
                    continue;
                }
                Received::Stop(reason) => return Err(reason),
                Received::Finish => return Ok(()),
                // A state that is asked for is not shown: its token says so.
                _ => continue,
            };
            let (at, from) = (ctx.now(), ctx.sender());
            self.0.lock().push_back(Arrived { at, from, item });
        }
    }

    fn label() -> &'static str {
        "Probe"
    }
}
