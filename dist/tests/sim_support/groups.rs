//! Nodes of a simulation that carry their groups to each other.

use super::{Member, Order, Worker};
use krarup_act::{Actor, Address, Context, Groups};
use krarup_dist::etf::{ExternalPid, Term};
use krarup_dist::{Cluster, HasCluster, SimNetwork};
use krarup_gen::{GroupChange, Name, Pid, Result, SendError};
use krarup_node::Simulation;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A member as every node has it: its node, and its number there.
pub(crate) type Known = (String, u32);

/// Starts a node that carries its groups in the scope `pg`.
pub(crate) fn carrying(sim: &Simulation, net: &SimNetwork, name: &str) -> Result<Member> {
    Member::with_settings(sim, net, name, |cluster: Cluster| cluster.groups("pg"))
}

/// The nodes `a@sim`, `b@sim` and so on, which carry their groups in the scope `pg`.
pub(crate) fn carrying_all<const N: usize>(
    sim: &Simulation,
    net: &SimNetwork,
) -> Result<[Member; N]> {
    let names = ["a@sim", "b@sim", "c@sim", "d@sim", "e@sim"];
    let all: Result<Vec<Member>> = names[..N].iter().map(|name| carrying(sim, net, name)).collect();
    Ok(all?.try_into().unwrap_or_else(|_| unreachable!("there are so many")))
}

/// Uses the connections of all pairs, which dials.
pub(crate) fn mesh(members: &[&Member]) {
    for (at, one) in members.iter().enumerate() {
        for other in &members[at + 1..] {
            let sent = one.remote("nobody", &other.name).send(Order::Note(1));
            sent.map_err(SendError::without_message).unwrap();
        }
    }
}

/// Spawns a process of a node.
pub(crate) fn process(of: &Member) -> Result<Address<Order>> {
    Ok(of.node.spawn(Worker::default).wait()?)
}

/// Has a process join a group of its node.
pub(crate) fn join(of: &Member, group: &str, member: &Address<Order>) {
    of.node.groups().join(group, &member.recipient::<Order>()).unwrap();
}

pub(crate) fn known(of: &Member, pid: Pid) -> Known {
    match of.cluster.cluster().unwrap().pid_term(pid).unwrap() {
        Term::Pid(pid) => {
            let ExternalPid { node, id, .. } = &*pid;
            (node.to_string(), *id)
        }
        other => panic!("{other} is no pid"),
    }
}

/// The members of a group in one scope, as a node has them, sorted.
pub(crate) fn view_in(of: &Member, groups: &Groups, group: &str) -> Vec<Known> {
    let mut all: Vec<_> = groups.pids(group).into_iter().map(|pid| known(of, pid)).collect();
    all.sort();
    all
}

/// The members of a group, as a node has them, sorted.
pub(crate) fn view(of: &Member, group: &str) -> Vec<Known> {
    view_in(of, &of.node.groups(), group)
}

/// How often each member was told to have joined more than left, and how many changes were told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) counts: BTreeMap<(Name, Pid), usize>,
    pub(crate) joined: usize,
    pub(crate) left: usize,
}

/// Watches all groups of a node.
struct Watcher {
    told: Arc<Mutex<Told>>,
}

impl Actor for Watcher {
    type Message = GroupChange;

    async fn init(&mut self, ctx: &mut Context<GroupChange>) -> Result {
        let groups = ctx.groups();
        let (now, _) = ctx.watch_groups(&groups)?;
        let mut told = self.told.lock().unwrap();
        for (group, pids) in now {
            for pid in pids {
                *told.counts.entry((group.clone(), pid)).or_default() += 1;
            }
        }
        Ok(())
    }

    async fn handle_message(
        &mut self,
        _: &mut Context<GroupChange>,
        change: GroupChange,
    ) -> Result {
        let mut told = self.told.lock().unwrap();
        let key = (change.group().clone(), change.pid());
        if let GroupChange::Joined { .. } = change {
            told.joined += 1;
            *told.counts.entry(key).or_default() += 1;
            return Ok(());
        }
        told.left += 1;
        let count = told.counts.get_mut(&key).expect("who leaves has joined");
        *count -= 1;
        if *count == 0 {
            told.counts.remove(&key);
        }
        Ok(())
    }
}

/// Spawns a process of a node that watches all its groups.
pub(crate) fn watched(of: &Member) -> Result<Arc<Mutex<Told>>> {
    let told = Arc::new(Mutex::new(Told::default()));
    let watcher = Watcher { told: Arc::clone(&told) };
    of.node.spawn(move || watcher).wait()?;
    Ok(told)
}

/// What was told is what there is.
pub(crate) fn check_told(of: &Member, told: &Mutex<Told>) {
    let mut counts: BTreeMap<(Name, Pid), usize> = BTreeMap::new();
    let groups = of.node.groups();
    for name in groups.names() {
        for pid in groups.pids(name.as_str()) {
            *counts.entry((name.clone(), pid)).or_default() += 1;
        }
    }
    assert_eq!(told.lock().unwrap().counts, counts, "{}", of.name);
}
