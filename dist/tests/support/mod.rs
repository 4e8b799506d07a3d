//! Two nodes of this program that are a cluster, over sockets.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod log;
pub(crate) mod otp;
pub(crate) mod raw;
pub(crate) mod scripted;
pub(crate) mod served;
pub(crate) mod watching;

use krarup_act::{Actor, Context, Reply};
use krarup_dist::{Cluster, ClusterAddress, ClusterCalls, ConnectionInfo, Cookie, HasCluster};
use krarup_gen::{
    CallError, Name, NodeName, Pid, Reason, Result, SendError, Target, UndeliveredCause,
};
use krarup_node::Node;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A node with a cluster.
pub(crate) struct Member {
    pub(crate) node: Node,
    pub(crate) cluster: ClusterAddress,
    pub(crate) name: String,
}

impl Member {
    /// Starts a node that knows where these others are.
    pub(crate) fn start(name: &str, cookie: &str, others: &[&Member]) -> Member {
        let known: Vec<_> =
            others.iter().map(|other| (other.name.clone(), other.address())).collect();
        Member::with(name, cookie, move |cluster| {
            let peer = |cluster: Cluster, (name, address): (String, SocketAddr)| {
                cluster.peer(name, address)
            };
            known.into_iter().fold(cluster, peer)
        })
    }

    /// Starts a node whose cluster has these settings.
    pub(crate) fn with(
        name: &str,
        cookie: &str,
        settings: impl FnOnce(Cluster) -> Cluster + Send + 'static,
    ) -> Member {
        let node = Node::start(name).unwrap();
        let cookie = Cookie::new(cookie).unwrap();
        let cluster = node.spawn_system(move || settings(Cluster::new(cookie))).wait().unwrap();
        cluster.carry::<Order>().unwrap();
        Member { node, cluster, name: name.to_owned() }
    }

    /// The only connection.
    pub(crate) fn connection(&self) -> ConnectionInfo {
        let mut all = self.cluster.connections().unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.cluster.cluster().unwrap().listens_at().unwrap()
    }

    /// Spawns a worker with this exported name.
    pub(crate) fn worker(&self, name: &str) -> Pid {
        let worker = self.node.spawn(Worker::default).name(name).wait().unwrap();
        self.cluster.export::<Order>(name).unwrap();
        worker.pid()
    }
}

/// Two nodes, the second of which knows where the first is.
pub(crate) fn pair(label: &str) -> (Member, Member) {
    let first = Member::start(&format!("{label}_a@127.0.0.1"), "secret", &[]);
    let second = Member::start(&format!("{label}_b@127.0.0.1"), "secret", &[&first]);
    (first, second)
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
    /// Adds.
    Add(i64, i64, Reply<i64>),
    /// Its pid.
    Who(Reply<Pid>),
    /// Is counted.
    Note(i64),
    /// The sum of the notes.
    Total(Reply<i64>),
    /// Ends with this text as its error; normally without one.
    End(Option<String>),
    /// Is never answered.
    Keep(Reply<()>),
    /// The number of those that it keeps.
    Kept(Reply<usize>),
    /// The token is dropped.
    Drop(Reply<()>),
    /// Has another process answer.
    Pass(Pid, Reply<i64>),
}

/// A process that obeys orders.
#[derive(Default)]
pub(crate) struct Worker {
    total: i64,
    kept: Vec<Reply<()>>,
}

impl Actor for Worker {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        match order {
            Order::Add(a, b, reply) => reply.send(a + b),
            Order::Who(reply) => reply.send(ctx.pid()),
            Order::Note(number) => self.total += number,
            Order::Total(reply) => reply.send(self.total),
            Order::End(Some(text)) => return Err(Reason::error(text)),
            Order::End(None) => ctx.stop(),
            Order::Keep(reply) => self.kept.push(reply),
            Order::Kept(reply) => reply.send(self.kept.len()),
            Order::Drop(reply) => drop(reply),
            Order::Pass(to, reply) => {
                let to = ctx.remote_pid::<Order>(to)?;
                to.send(Order::Add(40, 2, reply)).map_err(SendError::without_message)?;
            }
        }
        Ok(())
    }
}
