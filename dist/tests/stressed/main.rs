//! Three to seven nodes with messages, calls, links, monitors and groups, while connections break,
//! nodes are cut off, stand still, crash and start again, and processes end: over many seeds, and
//! everything is accounted for (rule Zsim3).

#[path = "../sim_support/mod.rs"]
mod sim_support;
#[path = "../stress_support/mod.rs"]
mod stress_support;
mod world;

use krarup_dist::{ClusterCalls, HasCluster, SimNetwork};
use krarup_gen::{Pid, Reason, Result, SendError};
use krarup_node::Simulation;
use sim_support::groups::Known;
use sim_support::{Choices, Member, Order, members, some_turns};
use std::collections::BTreeMap;
use std::time::Duration;
use stress_support::agent::AgentOrder;
use stress_support::agent_log::{AgentEvent, StressTotals};
use stress_support::letters::count_letters;
use stress_support::service::StressJob;
use world::{GROUP, StressNode, StressWorld};

/// How much happens in a run.
const ROUNDS: usize = 30;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result {
    if holds { Ok(()) } else { Err(Reason::error(what())) }
}

/// Names are right, and messages and calls arrive: from every node at every other.
fn check_reach(world: &mut StressWorld<'_>) -> Result {
    let count = world.nodes.len();
    let mut told = Vec::new();
    for from in 0..count {
        for to in (0..count).filter(|to| *to != from) {
            for service in 0..2 {
                let stock = world.named(from, to, service)?;
                let pid = stock.call(StressJob::Who).wait()?;
                let right = world.nodes[to].services[service].address.pid();
                ensure(pid.id() == right.id() && pid.node() > 0, || {
                    format!("service {service} of {} is {pid}, not {right}", world.nodes[to].name)
                })?;
                told.push(world.tell((from, 0), (to, service), service == 0, 9)?);
                world.sim.run_until_idle();
            }
        }
    }
    world.sim.advance(Duration::from_secs(1));
    for number in told {
        let fate = world.run.fates.of(number);
        ensure(fate.handled == 1, || format!("at rest, message {number} is {fate:?}"))?;
    }
    Ok(())
}

/// All nodes have the members of all nodes.
fn check_groups(world: &StressWorld<'_>) -> Result {
    let known = |of: &StressNode, pids: Vec<Pid>| -> Result<Vec<Known>> {
        let mut all = Vec::new();
        for pid in pids {
            let term = of.cluster.cluster()?.pid_term(pid).ok_or(Reason::error("no such pid"))?;
            let krarup_dist::etf::Term::Pid(pid) = term else {
                return Err(Reason::error(format!("{term} is no pid")));
            };
            all.push((pid.node.to_string(), pid.id));
        }
        all.sort();
        Ok(all)
    };
    let mut expected = Vec::new();
    for of in &world.nodes {
        expected.extend(known(of, of.node.groups().local_pids(GROUP))?);
    }
    expected.sort();
    for of in &world.nodes {
        let members = known(of, of.node.groups().pids(GROUP))?;
        ensure(members == expected, || {
            format!("{} has the members {members:?}, not {expected:?}", of.name)
        })?;
    }
    Ok(())
}

/// All nodes are of one opinion about connections and links.
fn check_agreement(world: &StressWorld<'_>) -> Result {
    let mut pairs = 0;
    for (at, one) in world.nodes.iter().enumerate() {
        for other in &world.nodes[at + 1..] {
            let links = |of: &StressNode, with: &StressNode| -> Result<Option<usize>> {
                let all = of.cluster.connections()?;
                let with = all.iter().find(|connection| connection.node.as_str() == with.name);
                Ok(with.map(|connection| connection.links))
            };
            let (here, there) = (links(one, other)?, links(other, one)?);
            ensure(here == there, || {
                format!("{} has {here:?} links with {}, which has {there:?}", one.name, other.name)
            })?;
            pairs += usize::from(here.is_some());
        }
    }
    let connections = world.net.connections();
    ensure(connections.len() == pairs, || format!("{pairs} pairs have {connections:?}"))
}

/// Nothing of a bond, a call or a handshake is left.
fn check_clean(world: &StressWorld<'_>) -> Result {
    for of in &world.nodes {
        let inspection = of.node.inspect(of.cluster.pid()).wait()?;
        for item in ["calls", "handshakes", "dials"] {
            let left = inspection.number(item).unwrap_or(u64::MAX);
            ensure(left == 0, || format!("{} has {left} {item} at rest", of.name))?;
        }
        for connection in of.cluster.connections()? {
            let (links, monitors) = (connection.links, connection.monitors);
            // Each scope of groups monitors that of the other node.
            let scopes = (connection.foreign_monitors, connection.bound_processes);
            ensure((links, monitors) == (0, 1) && scopes == (1, 1), || {
                format!("at rest, {} has {connection:?}", of.name)
            })?;
        }
        let stats = of.cluster.stats()?;
        ensure((stats.undecodable, stats.denied, stats.dropped) == (0, 0, 0), || {
            format!("{} has {stats:?}", of.name)
        })?;
    }
    Ok(())
}

/// Everything that was sent and asked for is accounted for.
fn check_ledger(world: &StressWorld<'_>) -> Result<StressTotals> {
    let (mut totals, mut untold) = (StressTotals::default(), BTreeMap::new());
    let running = world.nodes.iter().flat_map(|node| &node.agents);
    for agent in running.chain(&world.ended.agents) {
        let log = agent.log.lock().unwrap();
        let checked = log.check(&agent.name, &world.run.fates, &mut untold);
        totals.add(&checked.map_err(Reason::error)?);
    }
    let to_nobody = world.to_nobody();
    for (node, untold) in untold {
        let counted = to_nobody[&node] + world.stale();
        ensure(untold <= counted, || {
            format!("{untold} messages to {node} disappeared, of which it counts {counted}")
        })?;
    }
    // A node that was stopped may not have counted all of its own.
    if world.ended.letters.is_empty() {
        let read = world.nodes.iter().map(|node| node.letters.lock().unwrap().read);
        let counted = read.sum::<usize>();
        // Calls and what the test itself has sent are letters, too.
        ensure(totals.dropped <= counted, || {
            format!("{counted} messages are dead letters, of {} dropped", totals.dropped)
        })?;
    }
    let services = world.nodes.iter().flat_map(|node| &node.services);
    let seen = services.map(|service| &service.seen).chain(&world.ended.seen);
    for seen in seen {
        check_order(world, &seen.lock().unwrap().notes)?;
    }
    Ok(totals)
}

/// The messages of an agent at one process are in the order in which they were sent.
fn check_order(world: &StressWorld<'_>, notes: &[u64]) -> Result {
    let running = world.nodes.iter().flat_map(|node| &node.agents);
    for agent in running.chain(&world.ended.agents) {
        let log = agent.log.lock().unwrap();
        let sent = log.sent_numbers();
        let of: Vec<_> = notes.iter().filter(|number| sent.contains(number)).collect();
        ensure(of.is_sorted_by(|one, next| one < next), || {
            format!("the messages of {} were handled as {of:?}", agent.name)
        })?;
    }
    Ok(())
}

fn run(sim: &Simulation) -> Result<StressTotals> {
    let choices = Choices(sim);
    let mut world = StressWorld::new(sim, 3 + choices.below(5))?;
    for _ in 0..ROUNDS {
        world.act()?;
        some_turns(sim, choices.below(60));
        if choices.below(4) == 0 {
            sim.advance(choices.millis(20_000));
        }
    }
    world.rest();
    check_reach(&mut world)?;
    check_agreement(&world)?;
    check_groups(&world)?;
    for agent in world.nodes.iter().flat_map(|node| &node.agents) {
        agent.log.lock().unwrap().events.push(AgentEvent::Rest);
    }
    // All that was bound ends.
    for node in &world.nodes {
        node.services.iter().for_each(|service| node.node.kill(service.address.pid()));
    }
    world.settle();
    for at in 0..world.nodes.len() {
        // The monitors of nodes.
        for other in &world.nodes[at + 1..] {
            world.nodes[at].cluster.disconnect(other.name)?;
        }
    }
    world.settle();
    let totals = check_ledger(&world)?;
    check_agreement(&world)?;
    for node in &world.nodes {
        node.agents.iter().for_each(|agent| agent.does(AgentOrder::End));
    }
    world.settle();
    check_clean(&world)?;
    Ok(totals)
}

/// `CLUSTER_SEEDS` says how many seeds; 10 000 take minutes (docs/verification.md).
#[test]
fn zsim3_everything_is_accounted_for_in_clusters_of_three_to_seven_nodes_under_stress() {
    let seeds = std::env::var("CLUSTER_SEEDS").map_or(60, |seeds| seeds.parse().unwrap());
    let first = std::env::var("CLUSTER_FIRST_SEED").map_or(0, |seed| seed.parse().unwrap());
    let mut totals = StressTotals::default();
    Simulation::explore(first..first + seeds, |sim| {
        totals.add(&run(sim)?);
        Ok(())
    });
    println!("{seeds} seeds: {totals:?}");
    // Each of these ways was taken.
    let StressTotals { handled, refused, dropped, lost, untold, .. } = totals;
    let StressTotals { answered, monitors, links, .. } = totals;
    let least = [handled, dropped, lost, untold, answered, monitors, links].into_iter().min();
    assert!(seeds < 50 || least > Some(0), "{totals:?}");
    // Few meet a node without a cluster.
    assert!(seeds < 200 || refused > 0, "{totals:?}");
}

#[test]
fn zid5_a_message_to_an_earlier_incarnation_is_a_dead_letter_where_it_was_sent() {
    let (sim, net) = (Simulation::new(3), SimNetwork::new());
    let [a, b] = members(&sim, &net).unwrap();
    a.worker("stock").unwrap();
    let letters = count_letters(&b.node).unwrap();
    let pid = b.remote("stock", "a@sim").call(Order::Who).wait().unwrap();
    let old = b.cluster.remote_pid::<Order>(pid).unwrap();
    a.node.stop().wait().unwrap();
    drop(a);
    sim.advance(Duration::from_secs(1));
    // Nobody knows yet that it is another one, so the message waits for the dial.
    let again = Member::start(&sim, &net, "a@sim").unwrap();
    again.worker("stock").unwrap();
    old.send(Order::Note(7)).unwrap();
    sim.advance(Duration::from_secs(1));
    let stock = b.remote("stock", "a@sim");
    assert_eq!(stock.call(Order::Notes).wait(), Ok(Vec::new()));
    assert_eq!(letters.lock().unwrap().stale, 1);
    // Now it is known.
    assert!(matches!(old.send(Order::Note(8)), Err(SendError::NoProcess { .. })));
}
