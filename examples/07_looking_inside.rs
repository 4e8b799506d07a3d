//! 7. Looking inside: what a node reports about itself while it runs.
//!
//! The example inspects a shop with a till, two cooks and a supervisor: which processes
//! are alive, how many messages wait in each mailbox, what a process reports about itself,
//! which messages it receives, which processes were spawned and have ended, and which
//! messages were not handled. The shop implements only `inspect` and `state` for that,
//! which the actor itself answers.
//!
//! It runs in a simulation, so that its output is the same each time; a real node has the same
//! methods. The lines that the node logs by itself, as `tracing` events, begin with a level.
//!
//! ```sh
//! cargo run --release --example 07_looking_inside
//! ```

use krarup::addressing::Dynamic;
use krarup::observe::{DeadLetter, Lifecycle};
use krarup::prelude::*;
use std::io;
use tracing::Level;

#[derive(Clone, Debug, Default)]
struct Till {
    taken: u32,
}

enum Sale {
    Bread(u32),
    /// A sale that makes the till fail.
    Robbery,
}

impl Actor for Till {
    type Message = Sale;

    async fn handle_message(&mut self, _: &mut Context<Sale>, sale: Sale) -> Result {
        match sale {
            Sale::Bread(price) => {
                self.taken += price;
                // The span around the turn says which process logs this line.
                tracing::info!(price, "bread sold");
            }
            Sale::Robbery => return Err(Reason::error("the till is gone")),
        }
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("taken", self.taken)
    }

    fn state(&self) -> Option<Dynamic> {
        Some(Dynamic::new(self.clone()))
    }
}

struct Cook;

impl Actor for Cook {
    type Message = &'static str;

    async fn handle_message(&mut self, _: &mut Context<Self::Message>, _: &'static str) -> Result {
        Ok(())
    }
}

/// The messages of the observer.
enum NodeEvent {
    Lifecycle(Lifecycle),
    DeadLetter(DeadLetter),
}

impl From<Lifecycle> for NodeEvent {
    fn from(event: Lifecycle) -> Self {
        NodeEvent::Lifecycle(event)
    }
}

impl From<DeadLetter> for NodeEvent {
    fn from(letter: DeadLetter) -> Self {
        NodeEvent::DeadLetter(letter)
    }
}

/// Prints the lifecycle events and dead letters of the node.
struct Observer;

impl Actor for Observer {
    type Message = NodeEvent;

    async fn init(&mut self, ctx: &mut Context<NodeEvent>) -> Result {
        ctx.subscribe_lifecycle();
        ctx.subscribe_dead_letters();
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<NodeEvent>, event: NodeEvent) -> Result {
        match event {
            NodeEvent::Lifecycle(Lifecycle::Spawned { pid, name, behavior, .. }) => {
                let name = name.map_or(behavior.to_string(), |name| name.to_string());
                println!("  observer: {pid} was spawned: {name}");
            }
            NodeEvent::Lifecycle(Lifecycle::Ended { pid, reason, .. }) => {
                println!("  observer: {pid} has ended: {reason}");
            }
            NodeEvent::Lifecycle(_) => {}
            NodeEvent::DeadLetter(letter) => println!("  observer: not handled: {letter}"),
        }
        Ok(())
    }
}

fn shop() -> Supervisor {
    Supervisor::one_for_one()
        .child(ChildSpec::worker("till", Till::default).name("till").mailbox(3))
        .child(ChildSpec::supervisor("kitchen", || Pool::new(2, || Cook)).name("kitchen"))
}

fn main() -> Result {
    tracing_subscriber::fmt()
        .with_writer(io::stdout)
        .with_max_level(Level::INFO)
        .without_time()
        .init();

    println!("An observer subscribes to lifecycle events and dead letters. The shop starts:");
    let node = Simulation::new(1);
    node.spans();
    node.spawn(|| Observer).name("observer").wait()?;
    node.spawn(shop).name("shop").wait()?;
    node.run_until_idle();

    println!("A trace shows what the till receives.");
    let till: Address<Sale> = node.lookup("till")?;
    node.trace_to_log(till.pid());
    till.send(Sale::Bread(3))?;
    till.send(Sale::Bread(4))?;
    node.run_until_idle();
    node.stop_trace(till.pid());
    node.run_until_idle();

    println!("The process tree, with the number of messages that each process has handled:");
    for tree in node.tree() {
        print!("{tree}");
    }

    println!("The inspection of the till: {}", till.inspect().wait()?);
    println!("Its state: {:?}", till.state::<Till>().wait()?);

    println!("The suspended till handles no sales. Messages wait up to its bound:");
    till.suspend().wait()?;
    let sold = (1..).find_map(|n| till.send(Sale::Bread(n)).err().map(|error| (n, error)));
    if let Some((n, error)) = sold {
        println!("  sale {n}: {error}");
    }
    // A snapshot is taken without involving the process, whatever it is doing. The requests
    // above, for its inspection, its state and its suspension, are messages that it has handled.
    let info = till.info();
    println!(
        "  {} is {}: {} messages received, {} handled, {} waiting",
        info.pid, info.state, info.messages_in, info.handled, info.main
    );
    till.resume();
    node.run_until_idle();
    println!("The inspection after it was resumed: {}", till.inspect().wait()?);

    println!(
        "The till fails at a robbery, with a sale behind it. The supervisor starts another till:"
    );
    till.send(Sale::Robbery)?;
    till.send(Sale::Bread(9))?;
    node.run_until_idle();

    println!("A send to the address of the old till fails:");
    if let Err(error) = till.send(Sale::Bread(10)) {
        println!("  {error}");
    }
    node.run_until_idle();

    let stats = node.stats();
    println!(
        "The counters of the node: {} processes, {} spawned, {} dead letters",
        stats.processes, stats.spawned, stats.dead_letters
    );

    println!("The node stops its processes, the last started first:");
    node.stop().wait()
}
