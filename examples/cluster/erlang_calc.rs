//! A Rust actor that an Erlang shell calls.
//!
//! ```sh
//! epmd -daemon
//! cargo run --release --package cluster-examples --bin erlang_calc -- secret
//! erl -name shell@127.0.0.1 -setcookie secret
//! 1> gen_server:call({calc, 'calc@127.0.0.1'}, {add, 2, 3}).
//! 5
//! 2> gen_server:cast({calc, 'calc@127.0.0.1'}, {note, 40}), {calc, 'calc@127.0.0.1'} ! {note, 2}.
//! 3> gen_server:call({calc, 'calc@127.0.0.1'}, total).
//! 42
//! 4> {calc, 'calc@127.0.0.1'} ! stop.
//! ```

use krarup::cluster::{Cluster, ClusterCalls, Cookie};
use krarup::prelude::*;
use serde::{Deserialize, Serialize};

/// Its message type says everything that can be asked.
#[derive(Serialize, Deserialize)]
enum Calc {
    Add(i64, i64, Reply<i64>),
    Note(i64),
    Total(Reply<i64>),
    Stop,
}

#[derive(Default)]
struct CalcServer {
    total: i64,
}

impl Actor for CalcServer {
    type Message = Calc;

    async fn handle_message(&mut self, ctx: &mut Context<Calc>, message: Calc) -> Result {
        match message {
            Calc::Add(a, b, reply) => reply.send(a + b),
            Calc::Note(number) => self.total += number,
            Calc::Total(reply) => reply.send(self.total),
            Calc::Stop => ctx.stop(),
        }
        Ok(())
    }
}

fn main() -> Result {
    let Some(cookie) = std::env::args().nth(1) else {
        return Err(Reason::error("usage: erlang_calc COOKIE"));
    };
    let node = Node::start("calc@127.0.0.1")?;
    let calc = node.spawn(CalcServer::default).name("calc").wait()?;
    let cookie = Cookie::new(cookie)?;
    let cluster = node.spawn_system(move || Cluster::new(cookie).epmd()).wait()?;
    cluster.export::<Calc>("calc")?; // Nothing is reachable that is not exported.
    println!("calc@127.0.0.1 can be called");
    let _ = node.watch(calc.pid()).wait();
    node.stop().wait()
}
