//! 1. A process: state that only the process itself can touch, reached by messages.
//!
//! `send` queues a message and returns at once; `call` sends a request and waits for the reply.
//!
//! ```sh
//! cargo run --release --example 01_counter
//! ```

use krarup::prelude::*;

/// The messages of a counter. A request is a message with a `Reply` in it.
enum Counter {
    Add(u64),
    Total(Reply<u64>),
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
        }
        Ok(())
    }
}

fn main() -> Result {
    let node = Node::start("tour@localhost")?;
    let counter = node.spawn(CounterServer::default).name("counter").wait()?;
    println!("{} runs on {}", counter.pid(), node.name());

    // Messages from one sender arrive in the order sent, so the call comes last and its
    // answer counts all of them.
    for n in 1..=100 {
        counter.send(Counter::Add(n))?;
    }
    let total = counter.call(Counter::Total).wait()?;
    println!("1 + 2 + .. + 100 = {total}");

    // An address is typed: `counter` takes a `Counter` and nothing else. A program that
    // has only the name looks the address up and states which message type it expects.
    let found: Address<Counter> = node.lookup("counter")?;
    println!("the name \"counter\" belongs to {}", found.pid());

    // A send to a process that has ended is an error, and gives the message back.
    counter.stop().wait()?;
    if let Err(SendError::NoProcess { message: Counter::Add(n), .. }) =
        counter.send(Counter::Add(7))
    {
        println!("the counter has stopped: Add({n}) was returned to its sender");
    }

    node.stop().wait()
}
