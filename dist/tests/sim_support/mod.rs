//! Nodes of one simulation that are a cluster over a simulated network.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod groups;
pub(crate) mod otp_scope;

use krarup_act::{Actor, Context, Recipient, Reply};
use krarup_dist::{
    Cluster, ClusterAddress, ClusterCalls, Cookie, HasCluster, NodeEvent, SimNetwork,
};
use krarup_gen::{
    CallError, Down, Exit, Name, NodeName, Pid, Reason, Ref, Result, SendError, Target,
    UndeliveredCause,
};
use krarup_node::{Node, Simulation};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A node with a cluster.
pub(crate) struct Member {
    pub(crate) node: Node,
    pub(crate) cluster: ClusterAddress,
    pub(crate) name: String,
}

impl Member {
    /// Starts a node whose cluster ticks as given.
    pub(crate) fn ticking(
        sim: &Simulation,
        net: &SimNetwork,
        name: &str,
        tick: Duration,
    ) -> Result<Member> {
        Member::with(sim, net, name, "secret", move |cluster| cluster.tick_time(tick))
    }

    /// Starts a node whose cluster has these settings.
    pub(crate) fn with_settings(
        sim: &Simulation,
        net: &SimNetwork,
        name: &str,
        settings: impl FnOnce(Cluster) -> Cluster + Send + 'static,
    ) -> Result<Member> {
        Member::with(sim, net, name, "secret", settings)
    }

    /// Starts a node whose cluster has this cookie and these settings.
    pub(crate) fn with(
        sim: &Simulation,
        net: &SimNetwork,
        name: &str,
        cookie: &str,
        settings: impl FnOnce(Cluster) -> Cluster + Send + 'static,
    ) -> Result<Member> {
        let node = sim.beside(name)?;
        let (net, cookie) = (net.clone(), Cookie::new(cookie)?);
        let cluster = move || settings(Cluster::new(cookie).network(&net));
        let cluster = node.spawn_system(cluster).wait()?;
        cluster.carry::<Order>()?;
        Ok(Member { node, cluster, name: name.to_owned() })
    }

    pub(crate) fn start(sim: &Simulation, net: &SimNetwork, name: &str) -> Result<Member> {
        Member::ticking(sim, net, name, Duration::from_secs(60))
    }

    /// Spawns a worker with this exported name.
    pub(crate) fn worker(&self, name: &str) -> Result<Pid> {
        let worker = self.node.spawn(Worker::default).name(name).wait()?;
        self.cluster.export::<Order>(name)?;
        Ok(worker.pid())
    }

    /// Spawns an observer.
    pub(crate) fn observer(&self) -> Result<Observed> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let address = self.node.spawn(move || Observer { seen: told }).wait()?;
        Ok(Observed { address, seen })
    }

    /// A recipient for the process with this name on another node.
    pub(crate) fn remote(&self, name: &str, on: &str) -> Recipient<Order> {
        self.cluster.remote::<Order>(name, on).unwrap()
    }

    /// The names of the connected nodes.
    pub(crate) fn peers(&self) -> Vec<String> {
        self.cluster.nodes().unwrap().iter().map(ToString::to_string).collect()
    }

    /// The pid of a process of another node, as this node has it.
    pub(crate) fn pid_of(&self, pid: Pid, on: &Member) -> Pid {
        let term = on.cluster.cluster().unwrap().pid_term(pid).unwrap();
        self.cluster.cluster().unwrap().pid(&term).unwrap()
    }

    /// Records the nodes that come up and go down.
    pub(crate) fn node_events(&self) -> Result<Arc<Mutex<Vec<NodeEvent>>>> {
        let events = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&events);
        let process = self.node.spawn(move || Nodes { events: told }).wait()?;
        self.cluster.subscribe_nodes(process.recipient())?;
        Ok(events)
    }

    /// The number of calls to other nodes without an outcome.
    pub(crate) fn calls(&self) -> u64 {
        let inspection = self.node.inspect(self.cluster.pid()).wait().unwrap();
        inspection.number("calls").unwrap()
    }

    /// The number of links with this node, if there is a connection.
    pub(crate) fn links_with(&self, node: &str) -> Option<usize> {
        let connections = self.cluster.connections().unwrap();
        let with = connections.iter().find(|connection| connection.node.as_str() == node);
        with.map(|connection| connection.links)
    }

    /// Nothing is left of any bond or call with another node.
    pub(crate) fn check_clean(&self) {
        for connection in self.cluster.connections().unwrap() {
            assert_eq!(
                (
                    connection.links,
                    connection.monitors,
                    connection.foreign_monitors,
                    connection.bound_processes
                ),
                (0, 0, 0, 0),
                "{} has {connection:?}",
                self.name
            );
        }
    }
}

/// The nodes `a@sim`, `b@sim` and so on.
pub(crate) fn members<const N: usize>(sim: &Simulation, net: &SimNetwork) -> Result<[Member; N]> {
    let names = ["a@sim", "b@sim", "c@sim", "d@sim"];
    let all: Result<Vec<Member>> =
        names[..N].iter().map(|name| Member::start(sim, net, name)).collect();
    Ok(all?.try_into().unwrap_or_else(|_| unreachable!("there are so many")))
}

/// The error of a call whose request has not reached its callee.
pub(crate) fn undelivered(to: impl Into<Target>, cause: UndeliveredCause) -> CallError {
    CallError::Undelivered { to: Box::new(to.into()), cause }
}

/// The error of a call to the process with this name on that node, to which there is no connection.
pub(crate) fn not_connected(name: &str, node: &str) -> CallError {
    let to = (Name::new(name).unwrap(), NodeName::new(node).unwrap());
    undelivered(to, UndeliveredCause::NoConnection)
}

/// What a worker is told.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    Add(i64, i64, Reply<i64>),
    Who(Reply<Pid>),
    Note(i64),
    Notes(Reply<Vec<i64>>),
    End(Option<String>),
    Keep(Reply<()>),
}

/// A process that obeys orders.
#[derive(Default)]
pub(crate) struct Worker {
    notes: Vec<i64>,
    kept: Vec<Reply<()>>,
}

impl Actor for Worker {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        match order {
            Order::Add(a, b, reply) => reply.send(a + b),
            Order::Who(reply) => reply.send(ctx.pid()),
            Order::Note(number) => self.notes.push(number),
            Order::Notes(reply) => reply.send(self.notes.clone()),
            Order::End(Some(text)) => return Err(Reason::error(text)),
            Order::End(None) => ctx.stop(),
            Order::Keep(reply) => self.kept.push(reply),
        }
        Ok(())
    }
}

/// Records what a cluster tells of other nodes.
struct Nodes {
    events: Arc<Mutex<Vec<NodeEvent>>>,
}

impl Actor for Nodes {
    type Message = NodeEvent;

    async fn handle_message(&mut self, _: &mut Context<NodeEvent>, event: NodeEvent) -> Result {
        self.events.lock().unwrap().push(event);
        Ok(())
    }
}

/// The choices of a test, by the seed of its simulation.
pub(crate) struct Choices<'a>(pub(crate) &'a Simulation);

impl Choices<'_> {
    /// A number below `count`.
    pub(crate) fn below(&self, count: usize) -> usize {
        self.0.choose(count)
    }

    /// A time below so many milliseconds.
    pub(crate) fn millis(&self, count: u32) -> Duration {
        let millis = self.below(usize::try_from(count).unwrap());
        Duration::from_millis(u64::try_from(millis).unwrap())
    }
}

/// Runs some turns, at most this many.
pub(crate) fn some_turns(sim: &Simulation, most: usize) {
    for _ in 0..most {
        if sim.step().is_none() {
            return;
        }
    }
}

/// What an observer does.
pub(crate) enum Watching {
    Link(Pid),
    Unlink(Pid),
    Monitor(Target, Reply<Ref>),
    Demonitor(Ref),
    /// Calls, and notes the outcome.
    Add(Recipient<Order>, Duration),
    Keep(Recipient<Order>, Duration),
    Tell(Recipient<Order>, i64),
    End,
}

/// What an observer has seen, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    Exit(Pid, Reason),
    Down(Ref, Target, Reason),
    Sum(std::result::Result<i64, CallError>),
}

/// Traps exits, and records what it gets.
pub(crate) struct Observer {
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// An observer from outside.
pub(crate) struct Observed {
    pub(crate) address: krarup_act::Address<Watching, Watching>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Observed {
    pub(crate) fn pid(&self) -> Pid {
        self.address.pid()
    }

    pub(crate) fn does(&self, watching: Watching) {
        self.address.send(watching).map_err(SendError::without_message).unwrap();
    }

    pub(crate) fn monitor(&self, target: impl Into<Target>) -> Ref {
        let target = target.into();
        self.address.call(|reply| Watching::Monitor(target, reply)).wait().unwrap()
    }

    /// As [`Observed::monitor`]; an error if the observer is busy with a call.
    pub(crate) fn try_monitor(
        &self,
        target: impl Into<Target>,
    ) -> std::result::Result<Ref, CallError> {
        let target = target.into();
        self.address
            .call(|reply| Watching::Monitor(target, reply))
            .timeout(Duration::from_millis(1))
            .wait()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

impl Observer {
    fn saw(&self, seen: Seen) {
        self.seen.lock().unwrap().push(seen);
    }
}

impl Actor for Observer {
    type Message = Watching;

    async fn init(&mut self, ctx: &mut Context<Watching>) -> Result {
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Watching>, doing: Watching) -> Result {
        match doing {
            Watching::Link(pid) => ctx.link(pid),
            Watching::Unlink(pid) => ctx.unlink(pid),
            Watching::Monitor(target, reply) => reply.send(ctx.monitor(target)),
            Watching::Demonitor(monitor) => drop(ctx.demonitor(monitor)),
            Watching::Add(to, limit) => {
                let seen = Arc::clone(&self.seen);
                let call = to.call(|reply| Order::Add(20, 3, reply)).timeout(limit);
                let sum = call.await;
                seen.lock().unwrap().push(Seen::Sum(sum));
            }
            Watching::Keep(to, limit) => {
                let kept = to.call(Order::Keep).timeout(limit).await;
                self.saw(Seen::Sum(kept.map(|()| 0)));
            }
            Watching::Tell(to, number) => drop(to.send(Order::Note(number))),
            Watching::End => ctx.stop(),
        }
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Watching>, exit: Exit) -> Result {
        self.saw(Seen::Exit(exit.pid, exit.reason));
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<Watching>, down: Down) -> Result {
        self.saw(Seen::Down(down.monitor, down.target, down.reason));
        Ok(())
    }
}
