//! 9. Pools that adapt: one that grows with its queue, and one that routes each key to the
//!    same worker.
//!
//! The first pool has two workers and may grow to six. It grows in a burst and shrinks
//! after it, and no job is lost. A job that has waited too long is not run, because its
//! sender no longer waits. The second pool sends all orders of a customer to one clerk,
//! which sees them in order. A new clerk takes over some customers; the others keep
//! theirs. Then the pool is drained, as it would be before a restart.
//!
//! Time is virtual here, so minutes pass at once.
//!
//! ```sh
//! cargo run --release --example 09_pools_that_adapt
//! ```

use krarup::pool::{ByKey, Elastic};
use krarup::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

/// A picture to resize, which takes a second.
struct Picture;

#[derive(Default)]
struct Resizer;

impl Actor for Resizer {
    type Message = Picture;

    async fn handle_message(&mut self, ctx: &mut Context<Picture>, _: Picture) -> Result {
        ctx.sleep(Duration::from_secs(1)).await;
        Ok(())
    }
}

fn elastic(node: &Simulation) -> Result {
    println!("a pool of 2 to 6 workers gets 100 pictures, which may wait for 15 s:");
    let pool = || {
        Pool::new(2, Resizer::default)
            .mailbox(50)
            .time_to_live(Duration::from_secs(15))
            .elastic(Elastic::between(2, 6).grow_at(5).cool_down(Duration::from_secs(3)))
            .measured()
    };
    let pool = node.spawn(pool).name("pictures").wait()?;
    for _ in 0..100 {
        pool.send(Picture)?;
    }
    for _ in 0..9 {
        let now = pool.statistics().wait()?;
        let done = now.service.map_or(0, |service| service.count);
        println!(
            "  {:>5} {} workers, {:>2} wait, {done:>2} done, {:>2} too old",
            format!("{:.0?}", node.now()),
            now.workers,
            now.waiting,
            now.expired,
        );
        node.advance(Duration::from_secs(5));
    }
    let end = pool.statistics().wait()?;
    if let Some(wait) = end.wait {
        println!(
            "  those that were done waited {:.1?} or less, half of them {:.1?}",
            wait.max, wait.p50
        );
    }
    Ok(())
}

/// An order of a customer. The clerk replies with its pid and the number of this
/// customer's orders that it has seen.
struct Order {
    customer: u32,
    reply: Reply<(Pid, u32)>,
}

#[derive(Default)]
struct Clerk {
    seen: BTreeMap<u32, u32>,
}

impl Actor for Clerk {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        let seen = self.seen.entry(order.customer).or_default();
        *seen += 1;
        order.reply.send((ctx.pid(), *seen));
        Ok(())
    }
}

fn keyed(node: &Simulation) -> Result {
    println!("each customer keeps the same clerk:");
    let pool = || {
        Pool::new(3, Clerk::default).mailbox(10).routing(ByKey::new(|order: &Order| order.customer))
    };
    let pool = node.spawn(pool).name("orders").wait()?;
    let order = |customer| pool.call(move |reply| Order { customer, reply }).wait();
    let mut clerks = BTreeMap::new();
    for customer in 1..=9 {
        clerks.insert(customer, order(customer)?.0);
    }
    let show = |clerks: &BTreeMap<u32, Pid>| {
        let mut customers: BTreeMap<Pid, Vec<u32>> = BTreeMap::new();
        for (customer, clerk) in clerks {
            customers.entry(*clerk).or_default().push(*customer);
        }
        for (clerk, customers) in customers {
            println!("  {clerk} has {customers:?}");
        }
    };
    show(&clerks);
    println!("one more clerk, and the second order of each customer:");
    pool.add_workers(1).wait()?;
    let mut moved = Vec::new();
    for customer in 1..=9 {
        let (clerk, seen) = order(customer)?;
        if clerks.insert(customer, clerk) != Some(clerk) {
            moved.push(customer);
        } else if seen != 2 {
            println!("  the state of customer {customer} was lost");
        }
    }
    show(&clerks);
    println!("  moved: {moved:?}; the others were known");

    pool.drain().wait()?;
    println!("drained: {}", order(1).map_or_else(|error| error.to_string(), |_| "taken".into()));
    println!("reopened: {}", pool.reopen().wait()?);
    println!("pool: {}", pool.inspect().wait()?);
    Ok(())
}

fn main() -> Result {
    let node = Simulation::new(9);
    elastic(&node)?;
    keyed(&node)
}
