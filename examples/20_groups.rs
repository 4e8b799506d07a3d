//! Groups, a registry and partitions: who serves what, who has which key, and many supervisors in the
//! place of one.
//!
//! `cargo run --example 20_groups`

use krarup::groups::{GroupChange, Registry};
use krarup::prelude::*;
use krarup::supervisor::{ChildTemplate, PartitionLookup, Partitions};
use std::time::Duration;

/// A message of a shelf.
enum Stock {
    Count(Reply<u32>),
    Close,
}

/// Is in the group "stock" as long as it lives.
struct Shelf(u32);

impl Actor for Shelf {
    type Message = Stock;

    async fn init(&mut self, ctx: &mut Context<Stock>) -> Result {
        // In `init`: the next incarnation joins again.
        ctx.join("stock")?;
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Stock>, message: Stock) -> Result {
        match message {
            Stock::Count(reply) => reply.send(self.0),
            Stock::Close => ctx.stop(),
        }
        Ok(())
    }
}

/// Hears of each shelf that comes or goes.
struct Clerk;

enum Note {
    Change(GroupChange),
    /// Answered when everything before has been noted.
    Noted(Reply<()>),
}

impl From<GroupChange> for Note {
    fn from(change: GroupChange) -> Self {
        Note::Change(change)
    }
}

impl Actor for Clerk {
    type Message = Note;

    async fn init(&mut self, ctx: &mut Context<Note>) -> Result {
        let (now, _watch) = ctx.watch_group("stock")?;
        println!("clerk: {} shelves", now.len());
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Note>, note: Note) -> Result {
        match note {
            Note::Change(change) => println!("clerk: {change}"),
            Note::Noted(reply) => reply.send(()),
        }
        Ok(())
    }
}

enum Say {
    Add(u32),
    Total(Reply<u32>),
}

/// The session of a customer, found by the customer's number.
struct Session {
    customer: u64,
    sessions: Registry<u64, Say>,
    total: u32,
}

impl Actor for Session {
    type Message = Say;

    async fn init(&mut self, ctx: &mut Context<Say>) -> Result {
        // A second session of this customer would not start.
        ctx.register_in(&self.sessions, self.customer)?;
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Say>, message: Say) -> Result {
        match message {
            Say::Add(sum) => self.total += sum,
            Say::Total(reply) => reply.send(self.total),
        }
        Ok(())
    }
}

/// A supervisor of the sessions of one partition: a customer starts one.
fn shard(sessions: &Registry<u64, Say>) -> Supervisor<u64> {
    let sessions = sessions.clone();
    let make = move |customer| Session { customer, sessions: sessions.clone(), total: 0 };
    Supervisor::simple_one_for_one(ChildTemplate::worker("session", make))
        .intensity(100, Duration::from_secs(1))
        .max_children(10_000)
}

fn main() -> Result {
    let node = Node::builder("shop").start()?;

    // A group: all who serve the stock, of whatever type.
    let clerk = node.spawn(|| Clerk).wait()?;
    for items in 1..=3 {
        node.spawn(move || Shelf(items)).wait()?;
    }
    let shelves = node.groups().members::<Stock>("stock");
    let mut items = 0;
    for shelf in &shelves {
        items += shelf.call(Stock::Count).wait()?;
    }
    println!("{items} items on {} shelves", shelves.len());
    if let Some(shelf) = node.groups().any::<Stock>("stock") {
        shelf.send(Stock::Close).map_err(krarup::SendError::without_message)?;
        node.watch(shelf.pid()).wait()?;
    }
    // Whoever has heard of the end finds one member less.
    println!("{} shelves are left", node.groups().pids("stock").len());
    clerk.call(Note::Noted).wait()?;

    // A registry by number, and eight supervisors of sessions, each for an eighth of the customers.
    let sessions = Registry::new();
    let held = sessions.clone();
    let shards = node.spawn(move || Partitions::new(8, move |_| shard(&held))).wait()?;
    for customer in [7, 8, 4711] {
        let eighth = shards.of(&customer)?;
        eighth.start_child(customer).wait()?;
        println!("customer {customer} is in partition {}", shards.index_of(&customer)?);
    }
    sessions.send(&7, Say::Add(30)).map_err(krarup::groups::KeySendError::without_message)?;
    println!("customer 7: {}", sessions.call(&7, Say::Total).wait()?);
    println!("sessions of {} customers", sessions.len());

    // The session dies, and its successor has the key.
    if let Some(session) = sessions.get(&7) {
        node.kill(session.pid());
        node.watch(session.pid()).wait()?;
    }
    while sessions.get(&7).is_none() {
        std::thread::yield_now();
    }
    println!("customer 7, a new session: {}", sessions.call(&7, Say::Total).wait()?);
    node.stop().wait()?;
    Ok(())
}
