//! 26. A method for each message: `#[derive(Protocol)]`, with the feature `derive`.
//!
//! It is never needed: `counter.add(n)` is `counter.send(Counter::Add(n))`, and `counter.total()` is
//! `counter.call(Counter::Total)`. Handlers, types and errors are the same.
//!
//! ```sh
//! cargo run --release --example 26_derived_calls --features derive
//! ```

use krarup::Protocol;
use krarup::prelude::*;
use std::time::Duration;

/// The messages of a counter: the counter of `01_counter`.
#[derive(Protocol)]
enum Counter {
    /// Adds a number.
    Add(u64),
    /// Returns the sum.
    Total(Reply<u64>),
    /// Returns whether the sum is within these bounds.
    IsWithin { least: u64, most: u64, reply: Reply<bool> },
}

#[derive(Default)]
struct CounterServer {
    total: u64,
}

impl Actor for CounterServer {
    type Message = Counter;

    async fn handle_message(&mut self, _: &mut Context<Counter>, message: Counter) -> Result {
        match message {
            Counter::Add(n) => self.total += n,
            Counter::Total(reply) => reply.send(self.total),
            Counter::IsWithin { least, most, reply } => {
                reply.send((least..=most).contains(&self.total));
            }
        }
        Ok(())
    }
}

fn main() -> Result {
    let node = Node::start("derived@localhost")?;
    let counter = node.spawn(CounterServer::default).wait()?;
    for n in 1..=100 {
        counter.add(n)?;
    }
    println!("1 + 2 + .. + 100 = {}", counter.total().wait()?);
    let within = counter.is_within(5000, 6000).timeout(Duration::from_secs(1)).wait()?;
    println!("within 5000 and 6000: {within}");
    node.stop().wait()
}
