//! 7. Looking inside: what a node tells about itself while it runs.
//!
//! A shop with a till, two cooks and a supervisor is looked at from all sides: who lives, what
//! waits where, what a process says of itself and what it receives, who came and who
//! went, and which messages nobody handled. Nothing has to be prepared for that but
//! `inspect` and `state`, which are the actor's own words.
//!
//! It runs in a simulation, so that it prints the same each time; a real node has the
//! same methods. What the node reports by itself, as `tracing` events, has a level before it.
//!
//! ```sh
//! cargo run --release --example 07_looking_inside
//! ```

use krarup::prelude::*;
use krarup::{DeadLetter, Dynamic, Lifecycle};
use std::io;
use tracing::Level;

#[derive(Clone, Debug, Default)]
struct Till {
    taken: u32,
}

enum Sale {
    Bread(u32),
    /// Nobody can pay this.
    Robbery,
}

impl Actor for Till {
    type Message = Sale;

    async fn handle_message(&mut self, _: &mut Context<Sale>, sale: Sale) -> Result {
        match sale {
            Sale::Bread(price) => {
                self.taken += price;
                // Whose line this is, the span around the turn says.
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

/// What the caretaker hears of.
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

/// Tells what becomes of the others.
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
    node.spans(true);
    node.spawn(|| Caretaker).name("caretaker").wait()?;
    node.spawn(shop).name("shop").wait()?;
    node.run_until_idle();

    println!("A trace shows what the till receives.");
    let till: Address<Sale> = node.lookup("till")?;
    node.trace(till.pid(), true);
    till.send(Sale::Bread(3))?;
    till.send(Sale::Bread(4))?;
    node.run_until_idle();
    node.trace(till.pid(), false);
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
    // A picture is taken without the process, whatever it does. What it was asked above,
    // its inspection, its state, its suspension, are messages that it has handled.
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
