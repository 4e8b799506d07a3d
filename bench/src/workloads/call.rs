//! `call` and `call64`: requests and replies.

use super::{WorkloadResult, share};
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::{spawn_many, start};
use krarup::{Actor, Address, Context, Node, Reason, Reply, Result};

/// Replies to a number with the next one.
pub(super) struct Successor;

/// A request to the server.
pub(super) struct Increment {
    pub(super) number: u64,
    pub(super) reply: Reply<u64>,
}

impl Actor for Successor {
    type Message = Increment;

    async fn handle_message(&mut self, _: &mut Context<Increment>, request: Increment) -> Result {
        request.reply.send(request.number + 1);
        Ok(())
    }
}

/// Makes its calls one after the other, with the default timeout, and checks each reply.
struct Caller {
    server: Address<Increment>,
    calls: u64,
    latch: Latch,
}

impl Actor for Caller {
    type Message = BenchMessage;

    async fn handle_message(&mut self, _: &mut Context<BenchMessage>, _: BenchMessage) -> Result {
        for number in 0..self.calls {
            let next = self.server.call(|reply| Increment { number, reply }).await?;
            if next != number + 1 {
                return Err(Reason::error(format!("{number} was answered with {next}")));
            }
        }
        self.latch.count_down();
        Ok(())
    }
}

/// `callers` actors share `calls` calls to one server.
pub(super) fn run(node: &Node, name: &str, calls: u64, callers: usize) -> WorkloadResult {
    let calls = share(calls, callers)?;
    let done = Latch::new(callers as u64);
    let server = node.spawn(|| Successor).start()?;
    let callers = spawn_many(node, callers, |_| Caller {
        server: server.clone(),
        calls,
        latch: done.clone(),
    })?;
    let took = done.time(|| start(&callers))?;
    Ok(Measurement::of(name, calls * callers.len() as u64, took))
}
