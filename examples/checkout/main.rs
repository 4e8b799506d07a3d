//! A checkout pool: workers that are leased, one caller at a time, as with poolboy.
//!
//! ```sh
//! cargo run --example checkout
//! ```
//!
//! A connection to a database, an open device, a licence: there are only so many, and one caller
//! needs one for itself for a while. [`Checkout::new(size, overflow, make)`](Checkout::new) keeps
//! `size` workers, and makes up to `overflow` more while none is free. A caller gets a
//! [`Lease`](lease::Lease), which it uses as the address of its worker. When the lease is dropped,
//! in whatever way, the worker is free again.
//!
//! The pool is a state machine (`gen_statem`): the drawing is in [`machine`].
//!
//! | state | is there a free worker? | may another be made? | who wants a lease |
//! |---|---|---|---|
//! | `Ready` | yes | | has one |
//! | `Overflow` | no | yes | has a new worker |
//! | `Full` | no | no | waits in line for up to its timeout, or has `Full` at once |
//!
//! | file | concept |
//! |---|---|
//! | `machine` | the settings of a pool, and the state machine: start reading here |
//! | `lease` | the lease, and how it ends |
//! | `line` | the callers that wait |
//! | `workers` | the table of the workers |
//! | `calls`, `status`, `errors` | what one asks a pool, and what it answers |
//!
//! | `poolboy` | here |
//! |---|---|
//! | `poolboy:start_link(Args, WorkerArgs)` | `node.spawn(\|\| Machine::new(Checkout::new(5, 10, Connection::new)))`, or a child of a supervisor |
//! | `checkout(Pool, true, Timeout)` | `pool.lease(timeout).await` |
//! | `checkout(Pool, false)`: `full` | `pool.lease_now().await`: `LeaseError::Full` |
//! | `checkin(Pool, Worker)` | drop the lease |
//! | `transaction(Pool, Fun)` | a block with a lease in it |
//! | `status(Pool)` | `pool.status().await` |
//! | `{strategy, lifo \| fifo}` | `.lifo()`, `.fifo()` |
//! | a caller that dies gives its worker back, which may still be busy | the worker is free when it is done with all that its last holder has sent |
//!
//! What holds of a pool, and the tests of it (in `tests/`; each runs in a simulation under many
//! seeds, and those without times on the threads of a node too):
//!
//! | | statement | tests `checkout_N_..` in |
//! |--:|---|---|
//! | 1 | It has `size` workers at the start. | `workers` |
//! | 2 | With none free, up to `overflow` more are made. Beyond that a caller waits in line up to its timeout, or has `Full` at once if it asked so. | `leases`, `times` |
//! | 3 | A lease is a value: dropped in any way (a panic, a kill, an answer that comes too late) its worker is free again. | `leases` |
//! | 4 | A worker that comes back goes to the first in line. Without a line an overflow worker ends. There are never more processes than the pool may have. | `leases`, `times` |
//! | 5 | A holder that dies gives its worker back. Its mail is not the next one's. | `leases` |
//! | 6 | A worker that dies, free or leased, is replaced; an overflow worker only if somebody waits. | `workers` |
//! | 7 | Who waits and dies, or gives up, is no longer in line, and no worker is lost to it: `free + leased = workers`, always. | `leases`, `hand_over` |
//! | 8 | Last in first out, or first in first out, as told. | `leases` |
//! | 9 | `status` says the state of the machine, and the counts. | `workers` |
//! | 10 | `extend` and `shrink` change the size by one. It does not shrink below what is leased. | `workers` |
//! | 11 | A stop ends the workers, and fails who waits with its reason. | `workers`, `times` |
//! | 12 | A worker that cannot be made fails the caller that made it be wanted, and nothing else. | `workers`, `times` |

#![forbid(unsafe_code)]

mod calls;
mod errors;
mod lease;
mod line;
mod machine;
mod status;
#[cfg(test)]
mod tests;
mod workers;

use calls::{CheckoutAddress, CheckoutCalls};
use krarup::prelude::*;
use krarup::state::Machine;
use machine::Checkout;
use status::CheckoutStatus;
use std::time::Duration;

/// How long callers wait here, if they do not say otherwise.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request to a connection.
enum Query {
    /// Asks something; the answer is a text.
    Ask(&'static str, Reply<String>),
    /// Breaks the connection.
    Break,
}

/// A worker: a connection to a database, as far as it goes.
struct Connection {
    queries: usize,
}

impl Connection {
    fn new() -> Self {
        Connection { queries: 0 }
    }
}

impl Actor for Connection {
    type Message = Query;

    async fn handle_message(&mut self, ctx: &mut Context<Query>, query: Query) -> Result {
        match query {
            Query::Ask(text, reply) => {
                self.queries += 1;
                reply.send(format!("{text} (query {} of {})", self.queries, ctx.pid()));
                Ok(())
            }
            Query::Break => Err(Reason::error("the connection is broken")),
        }
    }
}

fn show(pool: &CheckoutAddress<Query>, what: &str) -> Result {
    let status = pool.status().wait()?;
    println!(
        "{what}: {:?}, {} of {} workers free, {} beyond the size, {} leased, {} waiting, {} starting",
        status.state,
        status.free,
        status.workers,
        status.overflow,
        status.leased,
        status.waiting,
        status.starting,
    );
    assert_eq!((status.free + status.leased, status.size), (status.workers, 2));
    Ok(())
}

/// Asks for the status until it is as told: leases come back by messages, and so do ends.
fn wait_until(pool: &CheckoutAddress<Query>, is: impl Fn(CheckoutStatus) -> bool) -> Result {
    while !is(pool.status().wait()?) {
        std::thread::yield_now();
    }
    Ok(())
}

/// Leases a worker, asks it something, and gives it back at the end of the block.
async fn transaction(pool: CheckoutAddress<Query>, text: &'static str) -> Result<String> {
    let connection = pool.lease(PATIENCE).await?;
    Ok(connection.call(|reply| Query::Ask(text, reply)).await?)
}

/// Leases a worker twice, of pools of two workers: it is the same one, or they take turns.
fn orders(node: &Node) -> Result {
    for lifo in [true, false] {
        let checkout = move || {
            let checkout = Checkout::new(2, 0, Connection::new);
            Machine::new(if lifo { checkout.lifo() } else { checkout.fifo() })
        };
        let pool = node.spawn(checkout).wait()?;
        let worker = pool.lease(PATIENCE).wait()?.worker().pid();
        wait_until(&pool, |status| status.free == 2)?;
        let same = pool.lease(PATIENCE).wait()?.worker().pid() == worker;
        println!("lifo: {lifo}: the same worker again: {same}");
        pool.stop().wait()?;
    }
    Ok(())
}

fn main() -> Result {
    let node = Node::builder("checkout@localhost").start()?;
    orders(&node)?;

    let checkout = || Machine::new(Checkout::new(2, 1, Connection::new).shutdown(PATIENCE));
    let pool = node.spawn(checkout).name("connections").wait()?;
    show(&pool, "at the start")?;

    let first = pool.lease(PATIENCE).wait()?;
    let second = pool.lease(PATIENCE).wait()?;
    show(&pool, "two leases")?;
    let third = pool.lease_now().wait()?;
    show(&pool, "a third")?;
    println!("{}", first.call(|reply| Query::Ask("select 1", reply)).wait()?);

    println!(
        "a fourth, at once: {}",
        pool.lease_now().wait().map_or_else(text, |_| one_too_many())
    );
    let patience = Duration::from_millis(50);
    println!("or soon: {}", pool.lease(patience).wait().map_or_else(text, |_| one_too_many()));

    // A caller that waits has the worker that comes back.
    let waiting = node.task(transaction(pool.clone(), "select 2")).start()?;
    drop(first);
    println!("{}", waiting.wait()??);

    // A caller that panics gives its worker back, and a worker that fails is replaced.
    drop(second);
    let unlucky = pool.clone();
    let panicked = node.task(async move {
        let _connection = unlucky.lease(PATIENCE).await;
        panic!("with a connection in its hands");
    });
    println!("a caller: {}", panicked.wait().map_or_else(text, |()| one_too_many()));
    third.send(Query::Break).map_err(SendError::without_message)?;
    wait_until(&pool, |status| status.free == 2)?;
    show(&pool, "after both")?;
    let all = [pool.lease(PATIENCE).wait()?, pool.lease(PATIENCE).wait()?];
    println!("leased again: {:?}", all.each_ref().map(|lease| lease.worker().pid()));

    println!("with two leases it shrinks to: {}", pool.shrink().wait().map_or_else(text, size));
    println!("extended, its size is {}", pool.extend().wait()?);
    println!("shrunk, its size is {}", pool.shrink().wait()?);

    // A stop ends the workers; who waits has its reason.
    let last = pool.lease(PATIENCE).wait()?;
    let waiting = node.task(transaction(pool.clone(), "select 3")).start()?;
    wait_until(&pool, |status| status.waiting == 1)?;
    pool.stop().reason(Reason::shutdown("closed for today")).wait()?;
    println!("who waits: {}", waiting.wait()?.map_or_else(text, |_| one_too_many()));
    println!("the workers live: {}", last.is_alive() || all.iter().any(|lease| lease.is_alive()));
    node.stop().wait()?;
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn size(size: usize) -> String {
    size.to_string()
}

fn one_too_many() -> String {
    "has a worker, and should not".to_owned()
}
