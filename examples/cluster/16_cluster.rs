//! 16. Two nodes: a supervised service on one, and a client on the other that watches it.
//!
//! Both nodes live in this program and talk over sockets of this machine, by the protocol of
//! Erlang nodes. The client calls the service by its name, is told when the process behind the
//! name ends, and calls its successor by the same name. Then the connection is given up: the
//! client is told of that, too, and the next call dials again.
//!
//! ```sh
//! cargo run --release --package cluster-examples --bin 16_cluster
//! ```

use krarup::cluster::{Cluster, ClusterAddress, ClusterCalls, Cookie, HasCluster};
use krarup::prelude::*;
use krarup::{Name, NodeName};
use serde::{Deserialize, Serialize};

/// What the stock is asked. Nothing in it says on which node the stock is.
#[derive(Serialize, Deserialize)]
enum Stock {
    Take(u32, Reply<Result<u32, String>>),
    Spoil,
}

struct StockServer {
    left: u32,
}

impl Actor for StockServer {
    type Message = Stock;

    async fn handle_message(&mut self, _: &mut Context<Stock>, message: Stock) -> Result {
        match message {
            Stock::Take(count, reply) => match self.left.checked_sub(count) {
                Some(left) => {
                    self.left = left;
                    reply.send(Ok(left));
                }
                None => reply.send(Err(format!("only {} are left", self.left))),
            },
            Stock::Spoil => return Err(Reason::error("the stock is spoilt")),
        }
        Ok(())
    }
}

/// Buys, and says what happens to the stock.
struct Buyer {
    node: NodeName,
}

enum Order {
    Buy(u32, Reply<String>),
}

impl Actor for Buyer {
    type Message = Order;

    async fn init(&mut self, ctx: &mut Context<Order>) -> Result {
        ctx.monitor((Name::new("stock")?, self.node.clone()));
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        let Order::Buy(count, reply) = order;
        let stock = ctx.remote::<Stock>("stock", self.node.as_str())?;
        reply.send(match stock.call(move |reply| Stock::Take(count, reply)).await {
            Ok(Ok(left)) => format!("bought {count}, {left} are left"),
            Ok(Err(why)) => format!("bought none: {why}"),
            Err(error) => format!("no answer: {error}"),
        });
        Ok(())
    }

    async fn handle_down(&mut self, ctx: &mut Context<Order>, down: Down) -> Result {
        println!("buyer: the stock is gone: {}", down.reason);
        // The monitor was for one process: the name has another one now, or will.
        if down.reason != Reason::NoProcess {
            ctx.monitor((Name::new("stock")?, self.node.clone()));
        }
        Ok(())
    }
}

fn main() -> Result {
    let shop = Node::start("shop@127.0.0.1")?;
    let stock = || ChildSpec::worker("stock", || StockServer { left: 10 }).name("stock");
    shop.spawn(move || Supervisor::one_for_one().child(stock())).wait()?;
    let cookie = || Cookie::new("a secret of all nodes");
    let (ours, theirs) = (cookie()?, cookie()?);
    let shop_cluster: ClusterAddress = shop.spawn_system(move || Cluster::new(ours)).wait()?;
    shop_cluster.export::<Stock>("stock")?;

    // With `.epmd()` on both, the nodes would find each other by name.
    let address = shop_cluster.cluster()?.listens_at().ok_or(Reason::error("not listening"))?;
    let desk = Node::start("desk@127.0.0.1")?;
    let cluster = move || Cluster::new(theirs).peer("shop@127.0.0.1", address);
    let desk_cluster = desk.spawn_system(cluster).wait()?;
    let node = NodeName::new("shop@127.0.0.1")?;
    let buyer = desk.spawn(move || Buyer { node }).wait()?;

    let buy = |count| buyer.call(move |reply| Order::Buy(count, reply)).wait();
    println!("{}", buy(3)?);
    println!("{}", buy(8)?);
    println!("connected: {:?}", desk_cluster.nodes()?);

    let first = shop.whereis("stock");
    desk_cluster.remote::<Stock>("stock", "shop@127.0.0.1")?.send(Stock::Spoil)?;
    if let Some(first) = first {
        shop.watch(first).wait()?;
    }
    println!("{}", buy(1)?);
    println!("{}", buy(1)?);

    desk_cluster.disconnect("shop@127.0.0.1")?;
    println!("{}", buy(1)?);
    desk.stop().wait()?;
    shop.stop().wait()
}
