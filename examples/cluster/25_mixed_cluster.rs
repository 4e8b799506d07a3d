//! 25. A mixed cluster: two nodes of this program, and one of Erlang/OTP where `erl` is there.
//!
//! They call each other in both directions, have one group over all of them, and see it when a node
//! goes away. The Erlang node is started by this program, runs the script below, and is found by the
//! port mapper that it brings. Without `erl` the two nodes do the same without it.
//!
//! ```sh
//! cargo run --release --package cluster-examples --bin 25_mixed_cluster
//! ```

use krarup::Recipient;
use krarup::cluster::{Cluster, ClusterAddress, ClusterCalls, Cookie, HasCluster};
use krarup::groups::GroupChange;
use krarup::prelude::*;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

/// What a stock is asked, on whatever node: `gen_server:call(Stock, {take, 2})`, answered `{ok, Left}` or
/// `{error, Why}`; `gen_server:call(Stock, {take_at, Node, 2})` has it ask the one of another node.
#[derive(Serialize, Deserialize)]
enum Stock {
    Take(u32, Reply<Result<u32, String>>),
    TakeAt(String, u32, Reply<Result<u32, String>>),
}

/// The stock of the Erlang node: it takes the same messages, and is a member of the same group.
const ERLANG_STOCK: &str = "
    pg:start(pg),
    Stock = fun Loop(Left) ->
        receive
            {'$gen_call', From, {take, N}} when N =< Left ->
                gen_server:reply(From, {ok, Left - N}), Loop(Left - N);
            {'$gen_call', From, {take, _}} ->
                gen_server:reply(From, {error, <<\"Erlang has too few\">>}), Loop(Left);
            {'$gen_call', From, {take_at, Node, N}} ->
                Answer = gen_server:call({stock, binary_to_atom(Node)}, {take, N}),
                gen_server:reply(From, Answer), Loop(Left)
        end
    end,
    register(stock, spawn(fun() -> pg:join(<<\"stock\">>, self()), Stock(100) end)),
    io:format(\"ready~n\"),
    receive never -> ok end.";

struct StockServer {
    left: u32,
}

impl Actor for StockServer {
    type Message = Stock;

    async fn init(&mut self, ctx: &mut Context<Stock>) -> Result {
        Ok(ctx.join("stock")?)
    }

    async fn handle_message(&mut self, ctx: &mut Context<Stock>, message: Stock) -> Result {
        match message {
            Stock::Take(count, reply) => {
                let left = self.left.checked_sub(count);
                self.left = left.unwrap_or(self.left);
                reply.send(left.ok_or(format!("only {} are left", self.left)));
            }
            Stock::TakeAt(node, count, reply) => {
                let stock = ctx.remote::<Stock>("stock", node.as_str())?;
                reply.send(match stock.call(move |reply| Stock::Take(count, reply)).await {
                    Ok(answer) => answer,
                    Err(error) => Err(error.to_string()),
                });
            }
        }
        Ok(())
    }
}

/// Sees the members of the group, and monitors each that joins.
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
        ctx: &mut Context<GroupChange>,
        change: GroupChange,
    ) -> Result {
        match change {
            GroupChange::Joined { pid, .. } => {
                self.members += 1;
                ctx.monitor(pid);
            }
            _ => self.members -= 1,
        }
        println!("desk sees: {change}, now {}", self.members);
        let _ = self.told.send(self.members);
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<GroupChange>, down: Down) -> Result {
        println!("desk is told: {} is down: {}", down.target, down.reason);
        Ok(())
    }
}

/// An Erlang node, which is killed when this is dropped.
struct Erlang(Child);

impl Erlang {
    fn start(name: &str, cookie: &str) -> Option<Self> {
        let child = Command::new("erl")
            .args(["-noinput", "-name", name, "-setcookie", cookie, "-eval", ERLANG_STOCK])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut erlang = Erlang(child.ok()?);
        let mut line = String::new();
        BufReader::new(erlang.0.stdout.take()?).read_line(&mut line).ok()?;
        (line.trim() == "ready").then_some(erlang)
    }
}

impl Drop for Erlang {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a node with a cluster. `others` are found where they are known to be, or by the port mapper.
fn start(
    (name, cookie): (&str, &str),
    has_epmd: bool,
    others: &[(&str, std::net::SocketAddr)],
) -> Result<(Node, ClusterAddress)> {
    let node = Node::start(name)?;
    let mut cluster = Cluster::new(Cookie::new(cookie)?).carries::<Stock>().groups("pg");
    for (other, at) in others {
        cluster = cluster.peer(*other, *at);
    }
    if has_epmd {
        cluster = cluster.epmd();
    }
    let cluster = node.spawn_system(move || cluster).wait()?;
    Ok((node, cluster))
}

fn until(told: &Receiver<usize>, members: usize) -> Result {
    while told.recv().map_err(|_| Reason::error("nobody watches"))? != members {}
    Ok(())
}

fn shown(answer: std::result::Result<Result<u32, String>, CallError>) -> String {
    match answer {
        Ok(Ok(left)) => format!("{left} are left"),
        Ok(Err(why)) => format!("none: {why}"),
        Err(error) => format!("no answer: {error}"),
    }
}

fn main() -> Result {
    let id = std::process::id();
    let name = |alive: &str| format!("{alive}_{id}@127.0.0.1");
    let (desk_name, shop_name, erl_name) = (name("desk"), name("shop"), name("erl"));
    let cookie = format!("a_secret_of_{id}");
    let erlang = Erlang::start(&erl_name, &cookie);
    if erlang.is_none() {
        println!("erl is not here: two nodes go on without it");
    }
    let has_epmd = erlang.is_some();

    let (desk, desk_cluster) = start((&desk_name, &cookie), has_epmd, &[])?;
    let at = desk_cluster.cluster()?.listens_at().ok_or(Reason::error("not listening"))?;
    let (told, changes) = channel();
    desk.spawn(move || Watcher { told, members: 0 }).wait()?;
    desk.spawn(|| StockServer { left: 10 }).name("stock").wait()?;
    desk_cluster.export::<Stock>("stock")?;
    until(&changes, 1)?;
    let (shop, shop_cluster) = start((&shop_name, &cookie), has_epmd, &[(&desk_name, at)])?;
    shop.spawn(|| StockServer { left: 20 }).name("stock").wait()?;
    shop_cluster.export::<Stock>("stock")?;
    // Nodes that are connected have each other's groups.
    shop.task(shop_cluster.connect(&desk_name)?).wait()?;
    until(&changes, 2)?;

    // Calls in both directions: desk to shop, and shop back to desk.
    let take = |of: &Recipient<Stock>, count| {
        shown(of.call(move |reply| Stock::Take(count, reply)).wait())
    };
    let take_at = |of: &Recipient<Stock>, node: &str, count| {
        let node = node.to_owned();
        shown(of.call(move |reply| Stock::TakeAt(node, count, reply)).wait())
    };
    let of_shop = desk_cluster.remote::<Stock>("stock", &shop_name)?;
    println!("desk takes 5 at shop: {}", take(&of_shop, 5));
    println!("shop takes 3 at desk: {}", take_at(&of_shop, &desk_name, 3));

    if let Some(erlang) = erlang {
        desk.task(desk_cluster.connect(&erl_name)?).wait()?;
        until(&changes, 3)?;
        let of_erlang = desk_cluster.remote::<Stock>("stock", &erl_name)?;
        println!("desk takes 30 at erl: {}", take(&of_erlang, 30));
        println!("desk takes 300 at erl: {}", take(&of_erlang, 300));
        println!("erl takes 2 at shop: {}", take_at(&of_erlang, &shop_name, 2));
        println!("one of each member of the group:");
        for member in desk.groups().members::<Stock>("stock") {
            println!("  {}: {}", member.pid(), take(&member, 1));
        }
        // The Erlang node is killed: its member has left, and calls to it fail.
        drop(erlang);
        until(&changes, 2)?;
        println!("desk takes 1 at erl: {}", take(&of_erlang, 1));
    }

    // A node that stops is told at once.
    shop.stop().wait()?;
    until(&changes, 1)?;
    println!("desk takes 1 at shop: {}", take(&of_shop, 1));
    println!("desk is connected with {:?}", desk_cluster.nodes()?);
    desk.stop().wait()
}
