//! A node with the processes that a driver in Erlang probes, to see whether it can tell this
//! node from one of its own.
//!
//! ```sh
//! cargo run --release --package cluster-examples --bin cluster_peer -- peer@127.0.0.1 secret
//! ```
//!
//! It prints `ready` when it can be reached, and ends when it is asked to.

mod calc;
mod echo;
mod functions;
mod groups;
mod nodes;
mod puppet;
mod sink;
mod state;
mod terms;

use krarup::cluster::etf::Term;
use krarup::cluster::{
    Cluster, ClusterCalls, Cookie, ExportSupervisor, GroupNames, Sys, TermMessage,
};
use krarup::prelude::*;
use std::env;
use std::time::Duration;

/// The tick time that the driver expects.
const TICK_TIME: Duration = Duration::from_secs(8);

fn main() -> Result {
    let mut arguments = env::args().skip(1);
    let (Some(name), Some(cookie)) = (arguments.next(), arguments.next()) else {
        return Err(Reason::error("usage: cluster_peer NODE COOKIE"));
    };
    let node = Node::start(name)?;
    let cookie = Cookie::new(cookie)?;
    let cluster = move || {
        Cluster::new(cookie)
            .epmd()
            .tick_time(TICK_TIME)
            .carries::<TermMessage>()
            .export::<calc::Calc>("calc", Sys::Status)
            .export::<TermMessage>("state", Sys::All)
            .groups(groups::SCOPE)
            .group_names(GroupNames::Atoms)
    };
    let (done, is_done) = std::sync::mpsc::channel();
    node.spawn(calc::CalcServer::default).name("calc").wait()?;
    node.spawn(|| echo::Echo).name("echo").wait()?;
    node.spawn(|| echo::Who).name("who").wait()?;
    let slow = node.spawn(echo::Slow::default).name("slow").wait()?;
    node.spawn(|| puppet::Maker).name("maker").wait()?;
    node.spawn(sink::Sink::default).name("sink").wait()?;
    node.spawn(move || nodes::Control { done }).name("ctl").wait()?;
    let often = |supervisor: Supervisor| supervisor.intensity(1000, Duration::from_secs(1));
    node.spawn(move || {
        often(Supervisor::one_for_one())
            .child(ChildSpec::worker("phoenix", state::Counting::default).name("phoenix"))
            .child(ChildSpec::worker("state", state::Counting::default).name("state"))
    })
    .wait()?;
    node.spawn(|| {
        Supervisor::one_for_one()
            .child(ChildSpec::worker("one", state::Counting::default))
            .child(ChildSpec::worker("two", state::Counting::default))
    })
    .name("tree")
    .wait()?;
    let cluster = node.spawn_system(cluster).wait()?;
    cluster.export_supervisor_of("tree", &["one", "two"])?;
    for name in ["ctl", "echo", "grouper", "maker", "nodes", "phoenix", "sink", "slow", "who"] {
        cluster.export::<TermMessage>(name)?;
    }
    node.spawn(nodes::Comings::default).name("nodes").wait()?;
    node.spawn(groups::Grouper::default).name("grouper").wait()?;
    functions::serve(&cluster, slow)?;
    println!("ready");
    let _: std::result::Result<(), _> = is_done.recv();
    node.stop().wait()
}

/// An answer that everybody gives.
pub(crate) fn ok() -> Term {
    Term::atom("ok")
}
