//! Rust calls a `gen_server` of an Erlang node.
//!
//! ```sh
//! erl -name bank@127.0.0.1 -setcookie secret
//! 1> Bank = fun F(Sum) -> receive {'$gen_call', From, {deposit, _Who, N}} ->
//!        gen_server:reply(From, {ok, Sum + N}), F(Sum + N) end end,
//!    register(bank, spawn(fun() -> Bank(0) end)).
//! cargo run --release --package cluster-examples --bin call_gen_server -- secret
//! ```

use krarup::calls::UndeliveredCause;
use krarup::cluster::{Cluster, ClusterCalls, Cookie};
use krarup::prelude::*;
use serde::{Deserialize, Serialize};

/// What the bank is asked: `{deposit, <<"ann">>, 70}`, answered `{ok, Sum}` or `{error, Why}`.
#[derive(Serialize, Deserialize)]
enum Bank {
    Deposit(String, u64, Reply<Result<u64, String>>),
}

fn main() -> Result {
    let Some(cookie) = std::env::args().nth(1) else {
        return Err(Reason::error("usage: call_gen_server COOKIE"));
    };
    let node = Node::start("teller@127.0.0.1")?;
    let cookie = Cookie::new(cookie)?;
    let cluster = node.spawn_system(move || Cluster::new(cookie).epmd()).wait()?;
    let bank = cluster.remote::<Bank>("bank", "bank@127.0.0.1")?; // Nothing is sent yet.
    match bank.call(|reply| Bank::Deposit("ann".into(), 70, reply)).wait() {
        Ok(Ok(sum)) => println!("ann has {sum}"),
        Ok(Err(why)) => println!("the bank refuses: {why}"),
        Err(CallError::NoProcess { .. }) => println!("there is no bank there"),
        Err(CallError::Undelivered { cause: UndeliveredCause::NoConnection, .. }) => {
            println!("the node is away");
        }
        Err(CallError::Terminated { reason: Reason::NoConnection, .. }) => {
            println!("the node was lost: the deposit may have been made");
        }
        Err(error) => println!("{error}"),
    }
    node.stop().wait()
}
