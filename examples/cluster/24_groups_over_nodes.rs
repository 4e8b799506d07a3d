//! 24. Groups over nodes: a buyer on one node uses whoever serves the stock, on whatever node.
//!
//! Each stock joins the group "stock" of its own node. The clusters carry the groups of their nodes
//! in the scope `pg`, as OTP's `pg` does, so the buyer finds the stocks of all nodes by
//! `ctx.groups()`, and is told by a monitor when the one that it uses is gone: because it has ended,
//! or because its node has. A member of an Erlang node would be one more, and sees them all.
//!
//! ```sh
//! cargo run --release --package cluster-examples --bin 24_groups_over_nodes
//! ```

use krarup::Recipient;
use krarup::cluster::{Cluster, ClusterCalls, Cookie, HasCluster};
use krarup::groups::GroupChange;
use krarup::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, Sender, channel};

/// What a stock is asked. Nothing in it says on which node the stock is.
#[derive(Serialize, Deserialize)]
enum Stock {
    Take(u32, Reply<Result<u32, String>>),
}

struct StockServer {
    left: u32,
}

impl Actor for StockServer {
    type Message = Stock;

    async fn init(&mut self, ctx: &mut Context<Stock>) -> Result {
        // In `init`: its next incarnation joins again.
        Ok(ctx.join("stock")?)
    }

    async fn handle_message(&mut self, ctx: &mut Context<Stock>, message: Stock) -> Result {
        let Stock::Take(count, reply) = message;
        let left = self.left.checked_sub(count);
        reply.send(match left {
            Some(left) => Ok(left),
            None => Err(format!("only {} are left at {}", self.left, ctx.node_name())),
        });
        self.left = left.unwrap_or(self.left);
        Ok(())
    }
}

/// Buys at one stock until that is gone, and then at another.
#[derive(Default)]
struct Buyer {
    stock: Option<Recipient<Stock>>,
}

enum Order {
    Buy(u32, Reply<String>),
}

impl Actor for Buyer {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        let Order::Buy(count, reply) = order;
        if self.stock.is_none() {
            // The one that has joined first.
            self.stock = ctx.groups().members("stock").into_iter().next();
            if let Some(stock) = &self.stock {
                ctx.monitor(stock.pid());
            }
        }
        let Some(stock) = &self.stock else {
            reply.send("there is no stock".to_owned());
            return Ok(());
        };
        reply.send(match stock.call(move |reply| Stock::Take(count, reply)).await {
            Ok(Ok(left)) => format!("bought {count}, {left} are left"),
            Ok(Err(why)) => format!("bought none: {why}"),
            Err(error) => format!("no answer: {error}"),
        });
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<Order>, down: Down) -> Result {
        println!("buyer: the stock is gone: {}", down.reason);
        self.stock = None;
        Ok(())
    }
}

/// Tells how many members the group has, after each change.
struct Watcher {
    told: Sender<usize>,
    members: usize,
}

impl Actor for Watcher {
    type Message = GroupChange;

    async fn init(&mut self, ctx: &mut Context<GroupChange>) -> Result {
        let (now, _watch) = ctx.watch_group("stock")?;
        self.members = now.len();
        Ok(())
    }

    async fn handle_message(
        &mut self,
        _: &mut Context<GroupChange>,
        change: GroupChange,
    ) -> Result {
        match change {
            GroupChange::Joined { .. } => self.members += 1,
            _ => self.members -= 1,
        }
        println!("watcher: {change}, now {}", self.members);
        let _ = self.told.send(self.members);
        Ok(())
    }
}

/// A node with a supervised stock, which knows where that other node is.
fn shop(name: &str, left: u32, desk: &str, at: std::net::SocketAddr) -> Result<Node> {
    let node = Node::start(name)?;
    let cookie = Cookie::new("a secret of all nodes")?;
    let desk_name = desk.to_owned();
    // With `.epmd()` on all nodes they would find each other by name.
    let cluster = move || Cluster::new(cookie).peer(desk_name, at).carries::<Stock>().groups("pg");
    let cluster = node.spawn_system(cluster).wait()?;
    let stock = move || ChildSpec::worker("stock", move || StockServer { left });
    node.spawn(move || Supervisor::one_for_one().child(stock())).wait()?;
    // Nodes that are connected have each other's groups.
    node.task(cluster.connect(desk)?).wait()?;
    Ok(node)
}

fn until(told: &Receiver<usize>, members: usize) -> Result {
    while told.recv().map_err(|_| Reason::error("nobody watches"))? != members {}
    Ok(())
}

fn main() -> Result {
    let desk = Node::start("desk@127.0.0.1")?;
    let cookie = Cookie::new("a secret of all nodes")?;
    let cluster = move || Cluster::new(cookie).carries::<Stock>().groups("pg");
    let cluster = desk.spawn_system(cluster).wait()?;
    let at = cluster.cluster()?.listens_at().ok_or(Reason::error("not listening"))?;
    let (told, changes) = channel();
    desk.spawn(move || Watcher { told, members: 0 }).wait()?;
    let buyer = desk.spawn(Buyer::default).wait()?;
    let buy = |count| buyer.call(move |reply| Order::Buy(count, reply)).wait();

    println!("{}", buy(1)?);
    let first = shop("first@127.0.0.1", 10, "desk@127.0.0.1", at)?;
    until(&changes, 1)?;
    let second = shop("second@127.0.0.1", 5, "desk@127.0.0.1", at)?;
    until(&changes, 2)?;
    println!("{}", buy(3)?);
    println!("{}", buy(8)?);

    // A stock that ends has left, and its next incarnation joins.
    if let Some(stock) = first.groups().local_pids("stock").first() {
        first.kill(*stock);
    }
    until(&changes, 1)?;
    until(&changes, 2)?;
    println!("{}", buy(1)?);

    // A node that ends takes its members with it.
    second.stop().wait()?;
    until(&changes, 1)?;
    println!("{}", buy(1)?);
    desk.stop().wait()?;
    first.stop().wait()
}
