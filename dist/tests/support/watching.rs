//! Processes that tell a test what they receive.

use super::{Member, Order};
use krarup_act::{Context, Received, behavior_fn};
use krarup_dist::{ClusterCalls, NodeEvent};
use krarup_gen::{Pid, Reason, Target};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The longest wait of a test for anything.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// What a watcher has received.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    Exit(Pid, Reason),
    Down(Target, Reason),
}

/// Spawns a trapping process that links to and monitors these targets, and tells what comes.
pub(crate) fn watcher(member: &Member, link: Option<Pid>, targets: Vec<Target>) -> Receiver<Seen> {
    let (told, tells) = channel();
    let (ready, is_ready) = channel();
    let process = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        if let Some(pid) = link {
            ctx.link(pid);
        }
        for target in targets {
            match target {
                Target::Pid(pid) => ctx.monitor(pid),
                Target::Remote(name, node) => ctx.monitor((name, node)),
                Target::Node(node) => ctx.monitor(node),
                other => panic!("{other}"),
            };
        }
        let _ = ready.send(());
        loop {
            let seen = match ctx.receive().await {
                Received::Exit(exit) if exit.reason == Reason::Shutdown => return Ok(()),
                Received::Exit(exit) => Seen::Exit(exit.pid, exit.reason),
                Received::Down(down) => Seen::Down(down.target, down.reason),
                _ => continue,
            };
            let _ = told.send(seen);
        }
    });
    member.node.spawn(move || process).start().unwrap();
    is_ready.recv_timeout(LONG).unwrap();
    tells
}

/// The pid of an exported worker of another node.
pub(crate) fn remote_pid(from: &Member, name: &str, on: &Member) -> Pid {
    let worker = from.cluster.remote::<Order>(name, &on.name).unwrap();
    worker.call(Order::Who).wait().unwrap()
}

/// Tells what comes and goes.
pub(crate) fn events(member: &Member) -> Receiver<NodeEvent> {
    let (told, tells) = channel();
    let process = behavior_fn(move |mut ctx: Context<NodeEvent>| async move {
        loop {
            if let Received::Message(event) = ctx.receive().await {
                let _ = told.send(event);
            }
        }
    });
    let watcher = member.node.spawn(move || process).wait().unwrap();
    member.cluster.subscribe_nodes(watcher.recipient()).unwrap();
    tells
}

/// Waits for the next that is told.
pub(crate) fn next<T>(tells: &Receiver<T>) -> T {
    tells.recv_timeout(LONG).expect("something is told")
}

/// Waits until a condition holds.
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        std::thread::yield_now();
    }
}
