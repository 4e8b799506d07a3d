//! The servers of a Krarup node.

use crate::side::requests::BenchRequest;
use krarup::{Actor, Context, Result};

/// How many receivers of casts there are.
pub(crate) const SINKS: u64 = 8;

/// The name of a receiver of casts.
pub(crate) fn sink(number: u64) -> String {
    format!("sink{number}")
}

/// Answers, and counts casts.
#[derive(Default)]
pub(crate) struct BenchServer {
    count: u64,
}

impl Actor for BenchServer {
    type Message = BenchRequest;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<BenchRequest>,
        request: BenchRequest,
    ) -> Result {
        match request {
            BenchRequest::Add(a, b, reply) => reply.send(a + b),
            BenchRequest::Echo(bytes, reply) => reply.send(bytes),
            BenchRequest::Item(..) => self.count += 1,
            BenchRequest::Count(reply) => reply.send(std::mem::take(&mut self.count)),
            BenchRequest::Me(reply) => reply.send(ctx.pid()),
        }
        Ok(())
    }
}
