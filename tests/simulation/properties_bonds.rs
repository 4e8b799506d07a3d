//! Links and monitors against a graph, while processes that trap and that do not are linked,
//! monitored and ended, in random order (rules L1 to L9).

use crate::support::{Act, Does, Log, Puppet, asked, boom};
use krarup::Ref;
use krarup::prelude::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Clone, Debug)]
enum Step {
    Link(usize, usize),
    Unlink(usize, usize),
    Monitor(usize, usize),
    /// One of all monitors that stand.
    Demonitor(prop::sample::Index),
    Return(usize, bool),
    Kill(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let one = || 0..NAMES.len();
    prop_oneof![
        8 => (one(), one()).prop_map(|(a, b)| Step::Link(a, b)),
        3 => (one(), one()).prop_map(|(a, b)| Step::Unlink(a, b)),
        5 => (one(), one()).prop_map(|(a, b)| Step::Monitor(a, b)),
        2 => any::<prop::sample::Index>().prop_map(Step::Demonitor),
        1 => (one(), any::<bool>()).prop_map(|(a, fails)| Step::Return(a, fails)),
        1 => one().prop_map(Step::Kill),
    ]
}

/// What the processes should be to each other.
struct Graph {
    pids: Vec<Pid>,
    traps: Vec<bool>,
    alive: Vec<bool>,
    links: BTreeSet<(usize, usize)>,
    monitors: BTreeMap<Ref, (usize, usize)>,
    /// What each is to hear, by its number.
    heard: Vec<(usize, String)>,
}

impl Graph {
    fn link(&mut self, a: usize, b: usize) {
        if a == b {
            return;
        }
        if self.alive[b] {
            self.links.insert((a.min(b), a.max(b)));
        } else {
            self.signal(a, b, &Reason::NoProcess);
        }
    }

    fn monitor(&mut self, a: usize, b: usize, monitor: Ref) {
        if a == b {
            return;
        }
        if self.alive[b] {
            self.monitors.insert(monitor, (a, b));
        } else {
            self.tell(a, "down", b, &Reason::NoProcess);
        }
    }

    fn tell(&mut self, to: usize, what: &str, of: usize, reason: &Reason) {
        self.heard.push((to, format!("{} {what} {} {reason}", NAMES[to], self.pids[of])));
    }

    /// An exit signal of a link.
    fn signal(&mut self, to: usize, from: usize, reason: &Reason) {
        if self.traps[to] {
            self.tell(to, "exit", from, reason);
        } else if reason.is_abnormal() {
            self.end(to, reason);
        }
    }

    fn end(&mut self, who: usize, reason: &Reason) {
        if !std::mem::replace(&mut self.alive[who], false) {
            return;
        }
        let linked: Vec<_> = self.links.iter().copied().collect();
        for (a, b) in linked.into_iter().filter(|(a, b)| *a == who || *b == who) {
            self.links.remove(&(a, b));
            self.signal(if a == who { b } else { a }, who, reason);
        }
        let monitors: Vec<_> = self.monitors.iter().map(|(r, m)| (*r, *m)).collect();
        for (monitor, (a, b)) in monitors {
            if b == who {
                self.tell(a, "down", b, reason);
            }
            if a == who || b == who {
                self.monitors.remove(&monitor);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn l5_links_and_monitors_match_the_model(
        seed in any::<u64>(),
        traps in prop::collection::vec(any::<bool>(), NAMES.len()),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let puppets: Vec<Address<Act>> = NAMES
            .iter()
            .zip(&traps)
            .map(|(name, traps)| {
                let log = &log;
                let puppet =
                    if *traps { Puppet::trapping(name, log) } else { Puppet::new(name, log) };
                sim.spawn(move || puppet).wait().unwrap()
            })
            .collect();
        let mut graph = Graph {
            pids: puppets.iter().map(Address::pid).collect(),
            traps,
            alive: vec![true; NAMES.len()],
            links: BTreeSet::new(),
            monitors: BTreeMap::new(),
            heard: Vec::new(),
        };
        for step in steps {
            let actor = match step {
                Step::Link(a, _)
                | Step::Unlink(a, _)
                | Step::Monitor(a, _)
                | Step::Return(a, _)
                | Step::Kill(a) => a,
                Step::Demonitor(_) => NAMES.len(),
            };
            if graph.alive.get(actor) == Some(&false) {
                continue;
            }
            match step {
                Step::Link(a, b) => {
                    let pid = graph.pids[b];
                    puppets[a].tells(move |ctx| ctx.link(pid));
                    graph.link(a, b);
                }
                Step::Unlink(a, b) => {
                    let pid = graph.pids[b];
                    puppets[a].tells(move |ctx| ctx.unlink(pid));
                    graph.links.remove(&(a.min(b), a.max(b)));
                }
                Step::Monitor(a, b) => {
                    let pid = graph.pids[b];
                    let monitor = asked(&sim, &puppets[a], move |ctx| ctx.monitor(pid));
                    graph.monitor(a, b, monitor);
                }
                Step::Demonitor(which) if !graph.monitors.is_empty() => {
                    let which = which.index(graph.monitors.len());
                    let (monitor, (a, _)) =
                        graph.monitors.iter().nth(which).map(|(r, m)| (*r, *m)).unwrap();
                    let there = asked(&sim, &puppets[a], move |ctx| ctx.demonitor(monitor));
                    prop_assert!(there);
                    graph.monitors.remove(&monitor);
                }
                Step::Demonitor(_) => {}
                Step::Return(a, fails) => {
                    let reason = if fails { boom() } else { Reason::Normal };
                    puppets[a].dies(reason.clone());
                    graph.end(a, &reason);
                }
                Step::Kill(a) => {
                    sim.kill(puppets[a].pid());
                    graph.end(a, &Reason::Killed);
                }
            }
            sim.run_until_idle();
            // Who ends in the same wave may or may not have heard of the others before.
            let heard = std::mem::take(&mut graph.heard);
            let mut expected: Vec<_> =
                heard.into_iter().filter(|(who, _)| graph.alive[*who]).map(|(_, l)| l).collect();
            expected.sort();
            let of_the_living = |line: &String| {
                let who = NAMES.iter().position(|name| line.starts_with(name));
                (line.contains(" exit ") || line.contains(" down "))
                    && who.is_some_and(|who| graph.alive[who])
            };
            let lines: Vec<_> = log.take_sorted().into_iter().filter(of_the_living).collect();
            prop_assert_eq!(lines, expected);
            for (who, puppet) in puppets.iter().enumerate() {
                prop_assert_eq!(puppet.is_alive(), graph.alive[who]);
                if !graph.alive[who] {
                    continue;
                }
                let info = puppet.info();
                let mut links: Vec<Pid> = graph
                    .links
                    .iter()
                    .filter(|(a, b)| *a == who || *b == who)
                    .map(|(a, b)| graph.pids[if *a == who { *b } else { *a }])
                    .collect();
                links.sort();
                prop_assert_eq!(info.links, links);
                let monitors = graph.monitors.values().filter(|(a, _)| *a == who).count();
                let monitored_by = graph.monitors.values().filter(|(_, b)| *b == who).count();
                prop_assert_eq!((info.monitors, info.monitored_by), (monitors, monitored_by));
            }
        }
    }
}
