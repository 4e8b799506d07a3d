//! Three nodes with links, monitors, calls, kills, resets and partitions, over many seeds.

use crate::sim_support::{Choices, Member, Observed, Order, Seen, Watching, members, some_turns};
use krarup_dist::SimNetwork;
use krarup_gen::{Pid, Ref, Result};
use krarup_node::{Faults, Simulation};
use std::collections::BTreeMap;
use std::time::Duration;

/// How much each process does.
const ROUNDS: u64 = 24;

/// The expectations of a run.
#[derive(Default)]
struct Expected {
    /// The monitors that were not taken away, by the observer that has them.
    monitors: Vec<(usize, Ref)>,
    /// The calls of each observer.
    calls: BTreeMap<usize, usize>,
    /// The links of each observer, made by itself or by the others.
    links: BTreeMap<usize, usize>,
    notes: i64,
}

struct World<'a> {
    sim: &'a Simulation,
    net: SimNetwork,
    members: [Member; 3],
    /// One observer for each node.
    observers: [Observed; 3],
    workers: [Pid; 3],
}

const NODES: [&str; 3] = ["a@sim", "b@sim", "c@sim"];

impl<'a> World<'a> {
    fn new(sim: &'a Simulation) -> Result<Self> {
        let net = SimNetwork::new();
        let members: [Member; 3] = members(sim, &net)?;
        let [a, b, c] = &members;
        let observers = [a.observer()?, b.observer()?, c.observer()?];
        let workers = [a.worker("stock")?, b.worker("stock")?, c.worker("stock")?];
        Ok(World { sim, net, members, observers, workers })
    }

    /// Has a process of one node do something with one of another node.
    fn act(&self, choices: &Choices<'_>, expected: &mut Expected) {
        let from = choices.below(3);
        let to = (from + 1 + choices.below(2)) % 3;
        let (here, there) = (&self.members[from], &self.members[to]);
        let (x, y) = (&self.observers[from], &self.observers[to]);
        match choices.below(10) {
            0 | 1 => {
                *expected.links.entry(from).or_default() += 1;
                *expected.links.entry(to).or_default() += 1;
                x.does(Watching::Link(here.pid_of(y.pid(), there)));
            }
            2 => x.does(Watching::Unlink(here.pid_of(y.pid(), there))),
            3 | 4 => {
                let target = here.pid_of(self.workers[to], there);
                if let Ok(monitor) = x.try_monitor(target) {
                    expected.monitors.push((from, monitor));
                }
            }
            5 | 6 => {
                *expected.calls.entry(from).or_default() += 1;
                let limit = choices.millis(30_000) + Duration::from_millis(1);
                x.does(Watching::Add(here.remote("stock", NODES[to]), limit));
            }
            7 | 8 => {
                expected.notes += 1;
                let note = i64::try_from(from).unwrap() * 1_000_000 + expected.notes;
                x.does(Watching::Tell(here.remote("stock", NODES[to]), note));
            }
            _ => here.node.kill(self.workers[from]),
        }
    }

    /// Everything that was under way comes to rest.
    fn rest(&self) {
        self.sim.faults(Faults::new());
        self.net.heal();
        self.sim.advance(Duration::from_secs(120));
        self.sim.run_until_idle();
    }

    /// All nodes are of one opinion.
    fn check_agreement(&self) {
        let mut pairs = 0;
        for (at, one) in self.members.iter().enumerate() {
            for other in &self.members[at + 1..] {
                let links = |of: &Member, with: &Member| of.links_with(&with.name);
                assert_eq!(links(one, other), links(other, one), "{} {}", one.name, other.name);
                pairs += usize::from(links(one, other).is_some());
            }
        }
        assert_eq!(self.net.connections().len(), pairs, "{:?}", self.net);
    }
}

/// The notes of each sender are in order, and none is there twice (rules Zmsg2, Zmsg3).
fn check_notes(notes: &[i64]) {
    for sender in 0..3 {
        let of: Vec<_> = notes.iter().filter(|note| **note / 1_000_000 == sender).collect();
        assert!(of.is_sorted_by(|one, next| one < next), "{notes:?}");
    }
}

fn run(sim: &Simulation) -> Result {
    let (world, choices) = (World::new(sim)?, Choices(sim));
    world.net.delay(choices.millis(20));
    sim.faults(
        Faults::new().reset_one_in(200).partition_one_in(300, Duration::from_secs(90)).at_most(4),
    );
    let mut expected = Expected::default();
    for _ in 0..ROUNDS {
        world.act(&choices, &mut expected);
        some_turns(sim, choices.below(30));
        if choices.below(4) == 0 {
            sim.advance(choices.millis(10_000));
        }
    }
    world.rest();
    world.check_agreement();
    for (member, worker) in world.members.iter().zip(&world.workers) {
        if member.node.is_alive(*worker) {
            let local = member.node.address_of::<Order, Order>(*worker)?;
            check_notes(&local.call(Order::Notes).wait()?);
        }
        member.node.kill(*worker);
    }
    world.rest();
    world.check_agreement();
    let seen = world.observers.each_ref().map(Observed::take);
    for (at, monitor) in expected.monitors {
        let is_of = |seen: &&Seen| matches!(seen, Seen::Down(of, ..) if *of == monitor);
        assert_eq!(seen[at].iter().filter(is_of).count(), 1, "{monitor} {:?}", seen[at]);
    }
    for (at, seen) in seen.iter().enumerate() {
        let count = |is: fn(&&Seen) -> bool| seen.iter().filter(is).count();
        let calls = expected.calls.get(&at).copied().unwrap_or(0);
        assert_eq!(count(|seen| matches!(seen, Seen::Sum(_))), calls, "{seen:?}");
        let links = expected.links.get(&at).copied().unwrap_or(0);
        assert!(count(|seen| matches!(seen, Seen::Exit(..))) <= links, "{seen:?}");
    }
    for observer in &world.observers {
        observer.does(Watching::End);
    }
    world.rest();
    for member in &world.members {
        assert_eq!(member.calls(), 0);
        member.check_clean();
    }
    Ok(())
}

/// `SIM_SEEDS` says how many seeds; 10 000 take minutes (docs/verification.md).
#[test]
fn zsim3_one_notice_for_each_bond_one_outcome_for_each_call_and_agreement_at_rest() {
    let seeds = std::env::var("SIM_SEEDS").map_or(150, |seeds| seeds.parse().unwrap());
    Simulation::explore(0..seeds, run);
}
