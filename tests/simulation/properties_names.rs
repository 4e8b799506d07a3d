//! Names against a map, while processes are spawned, fail to start, take names, give them up
//! and die, in random order (rules N2 to N4).

use crate::support::{Act, Does, Log, Puppet, asked, boom};
use krarup::prelude::*;
use krarup::{Spawn, SpawnError};
use proptest::prelude::*;
use std::collections::BTreeMap;

const NAMES: [&str; 3] = ["one", "two", "three"];

#[derive(Clone, Debug)]
enum Step {
    Spawn(Option<usize>),
    /// Its `init` fails.
    Stillborn(usize),
    Register(prop::sample::Index, usize),
    Unregister(prop::sample::Index, usize),
    Kill(prop::sample::Index),
    Fail(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let (name, which) = (|| 0..NAMES.len(), any::<prop::sample::Index>);
    prop_oneof![
        4 => prop::option::of(name()).prop_map(Step::Spawn),
        1 => name().prop_map(Step::Stillborn),
        3 => (which(), name()).prop_map(|(who, name)| Step::Register(who, name)),
        1 => (which(), name()).prop_map(|(who, name)| Step::Unregister(who, name)),
        1 => which().prop_map(Step::Kill),
        1 => which().prop_map(Step::Fail),
    ]
}

struct Stillborn;

impl Actor for Stillborn {
    type Message = ();

    async fn init(&mut self, _: &mut Context<()>) -> Result {
        Err(boom())
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn n2_names_match_the_model(
        seed in any::<u64>(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let mut alive: Vec<Address<Act>> = Vec::new();
        // Who has a name: the first by name, the second by process.
        let mut holders: BTreeMap<&str, Pid> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Spawn(name) => {
                    let name = name.map(|name| NAMES[name]);
                    let puppet = Puppet::new("puppet", &log);
                    let spawn = sim.spawn(move || puppet);
                    let spawn = name.into_iter().fold(spawn, Spawn::name);
                    let holder = name.and_then(|name| holders.get(name)).copied();
                    match (spawn.wait(), holder) {
                        (Ok(puppet), None) => {
                            holders.extend(name.map(|name| (name, puppet.pid())));
                            alive.push(puppet);
                        }
                        (Err(SpawnError::NameTaken { by, .. }), Some(holder)) => {
                            prop_assert_eq!(by, holder);
                        }
                        (spawned, holder) => prop_assert!(false, "{:?} {:?}", spawned, holder),
                    }
                }
                Step::Stillborn(name) => {
                    let taken = holders.contains_key(NAMES[name]);
                    let spawned = sim.spawn(|| Stillborn).name(NAMES[name]).wait();
                    match spawned {
                        Err(SpawnError::Init(_)) => prop_assert!(!taken),
                        Err(SpawnError::NameTaken { .. }) => prop_assert!(taken),
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
                Step::Register(who, name) if !alive.is_empty() => {
                    let puppet = &alive[who.index(alive.len())];
                    let (pid, name) = (puppet.pid(), NAMES[name]);
                    let free = !holders.contains_key(name) && !holders.values().any(|p| *p == pid);
                    let registered = asked(&sim, puppet, move |ctx| ctx.register(name).is_ok());
                    prop_assert_eq!(registered, free);
                    if free {
                        holders.insert(name, pid);
                    }
                }
                Step::Unregister(who, name) if !alive.is_empty() => {
                    let puppet = &alive[who.index(alive.len())];
                    let name = NAMES[name];
                    let freed = asked(&sim, puppet, move |ctx| ctx.unregister(name));
                    prop_assert_eq!(freed, holders.remove(name));
                }
                Step::Kill(who) | Step::Fail(who) if !alive.is_empty() => {
                    let puppet = alive.swap_remove(who.index(alive.len()));
                    if matches!(step, Step::Kill(_)) {
                        sim.kill(puppet.pid());
                    } else {
                        puppet.dies(boom());
                    }
                    holders.retain(|_, holder| *holder != puppet.pid());
                    puppet.watch().wait().unwrap();
                }
                Step::Register(..) | Step::Unregister(..) | Step::Kill(_) | Step::Fail(_) => {}
            }
            for name in NAMES {
                prop_assert_eq!(sim.whereis(name), holders.get(name).copied());
            }
            for puppet in &alive {
                let name = puppet.info().name.map(|name| name.to_string());
                let held = holders.iter().find(|(_, pid)| **pid == puppet.pid());
                prop_assert_eq!(name.as_deref(), held.map(|(name, _)| *name));
            }
            let stats = sim.stats();
            prop_assert_eq!((stats.names, stats.processes), (holders.len(), alive.len()));
        }
    }
}
