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

use krarup::Dynamic;
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

/// The messages of the caretaker.
enum News {
    Life(Lifecycle),
    Letter(DeadLetter),
}

impl From<Lifecycle> for News {
    fn from(event: Lifecycle) -> Self {
        News::Life(event)
    }
}

impl From<DeadLetter> for News {
    fn from(letter: DeadLetter) -> Self {
        News::Letter(letter)
    }
}

/// Prints the lifecycle events and dead letters of the node.
struct Caretaker;

impl Actor for Caretaker {
    type Message = News;

    async fn init(&mut self, ctx: &mut Context<News>) -> Result {
        ctx.subscribe_lifecycle();
        ctx.subscribe_dead_letters();
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<News>, news: News) -> Result {
        match news {
            News::Life(Lifecycle::Spawned { pid, name, behavior, .. }) => {
                let name = name.map_or(behavior.to_string(), |name| name.to_string());
                println!("  caretaker: {pid} is new: {name}");
            }
            News::Life(Lifecycle::Ended { pid, reason, .. }) => {
                println!("  caretaker: {pid} has ended: {reason}");
            }
            News::Life(_) => {}
            News::Letter(letter) => println!("  caretaker: nobody handled: {letter}"),
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

    println!("A caretaker subscribes to what becomes of others. The shop opens:");
    let node = Simulation::new(1);
    node.spans();
    node.spawn(|| Caretaker).name("caretaker").wait()?;
    node.spawn(shop).name("shop").wait()?;
    node.run_until_idle();

    println!("A trace shows what the till receives.");
    let till: Address<Sale> = node.lookup("till")?;
    node.trace(till.pid());
    till.send(Sale::Bread(3))?;
    till.send(Sale::Bread(4))?;
    node.run_until_idle();
    node.stop_trace(till.pid());
    node.run_until_idle();

    println!("The tree: who lives, below whom, and how much they have handled.");
    for tree in node.tree() {
        print!("{tree}");
    }

    println!("The till says of itself: {}", till.inspect().wait()?);
    println!("Its state: {:?}", till.state::<Till>().wait()?);

    println!("Suspended, it handles no sales. Its mail waits, and its bound holds:");
    till.suspend().wait()?;
    let sold = (1..).find_map(|n| till.send(Sale::Bread(n)).err().map(|error| (n, error)));
    if let Some((n, error)) = sold {
        println!("  sale {n}: {error}");
    }
    // A snapshot is taken without involving the process, whatever it is doing. The requests
    // above, for its inspection, its state and its suspension, are messages that it has handled.
    let info = till.info();
    println!(
        "  {} is {}; {} came in, {} are handled, {} wait",
        info.pid, info.state, info.messages_in, info.handled, info.main
    );
    till.resume();
    node.run_until_idle();
    println!("Resumed: {}", till.inspect().wait()?);

    println!("A robbery, and a sale behind it. The supervisor opens another till:");
    till.send(Sale::Robbery)?;
    till.send(Sale::Bread(9))?;
    node.run_until_idle();

    println!("Whoever has the address of the old one hears of it:");
    if let Err(error) = till.send(Sale::Bread(10)) {
        println!("  {error}");
    }
    node.run_until_idle();

    let stats = node.stats();
    println!(
        "The node has counted: {} processes, {} spawned, {} dead letters",
        stats.processes, stats.spawned, stats.dead_letters
    );

    println!("The node stops in order, whoever started last first:");
    node.stop().wait()
}
