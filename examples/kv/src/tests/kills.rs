//! Statement 9: processes are killed, whichever and whenever, and no value is lost but with its
//! bucket.

use crate::application::KV;
use crate::buckets::BUCKETS;
use crate::registry::{Names, OWNER, OwnerAddress};
use crate::tests::history::{History, Home, Sent, home};
use crate::tests::world::{Client, World, real, simulated};
use krarup::Watch;
use krarup::application::ApplicationState;
use krarup::prelude::*;
use krarup::supervisor::SupervisorAddress;
use krarup::testing::Faults;
use std::cell::Cell;

const NAMES: [&str; 3] = ["a", "b", "c"];
/// One less than there are names.
const LIMIT: usize = 2;
const CLIENTS: usize = 4;

/// A client and the command that it waits for.
struct Caller<'w> {
    client: Option<Box<dyn Client + 'w>>,
    waits: Option<(&'static str, Sent, Home, String)>,
}

/// Clients of one server, and what they have learned.
struct Storm<'w> {
    world: &'w dyn World,
    callers: Vec<Caller<'w>>,
    killed: Vec<Watch>,
    history: History,
}

impl<'w> Storm<'w> {
    fn new(world: &'w dyn World) -> Self {
        let callers = (0..CLIENTS).map(|_| Caller { client: None, waits: None }).collect();
        Storm { world, callers, killed: Vec::new(), history: History::default() }
    }

    /// One client sends a command or takes its answer, or processes run, or one is killed.
    fn step(&mut self) {
        let world = self.world;
        match world.choose(40) {
            0 => self.kill_any(),
            1..8 => world.run(),
            _ => {
                let caller = world.choose(CLIENTS);
                if self.callers[caller].waits.is_some() {
                    self.take_answer(caller);
                } else {
                    self.send(caller);
                }
            }
        }
    }

    /// Kills a process of the application, and waits for nothing.
    fn kill_any(&mut self) {
        let node = self.world.node();
        let infos = node.processes().into_iter().filter_map(|pid| node.process_info(pid));
        let all: Vec<_> = infos.filter(|info| info.application.is_some()).collect();
        if !all.is_empty() {
            let victim = all[self.world.choose(all.len())].pid;
            self.killed.push(node.watch(victim));
            node.kill(victim);
        }
    }

    fn send(&mut self, caller: usize) {
        let world = self.world;
        if self.callers[caller].client.is_none() {
            revive(world);
            self.callers[caller].client = world.try_connect();
        }
        if self.callers[caller].client.is_none() {
            return;
        }
        // The last one is there the least often.
        let mut name = NAMES[world.choose(5) % NAMES.len()];
        let known = self.history.keys();
        let (sent, command) = match world.choose(8) {
            0 | 1 => (Sent::Create, format!("CREATE {name}")),
            number @ 2..6 if !known.is_empty() => {
                let key;
                (name, key) = known[world.choose(known.len())].clone();
                let known = self.history.known(name, &key);
                if number == 2 {
                    self.history.forget(name, &key);
                    let command = format!("DELETE {name} {key}");
                    (Sent::Delete { key }, command)
                } else {
                    let command = format!("GET {name} {key}");
                    (Sent::Get { key, known }, command)
                }
            }
            _ => {
                let key = self.history.new_key();
                let command = format!("PUT {name} {key} {key}");
                (Sent::Put { key }, command)
            }
        };
        let home = home(world, name);
        let Caller { client, waits } = &mut self.callers[caller];
        if let Some(client) = client {
            client.say(&command);
        }
        *waits = Some((name, sent, home, command));
    }

    fn take_answer(&mut self, caller: usize) {
        let Caller { client, waits } = &mut self.callers[caller];
        let Some((name, sent, before, command)) = waits.take() else { return };
        let lines = client.as_mut().map(|client| client.answer(&command)).unwrap_or_default();
        if lines.is_empty() {
            *client = None;
        }
        let after = home(self.world, name);
        self.history.answered(name, &sent, &lines, [before, after]);
    }

    /// Takes all answers, reads everything back, and shows that the application is whole.
    fn end(mut self) -> History {
        let world = self.world;
        for caller in 0..CLIENTS {
            self.take_answer(caller);
        }
        self.callers.clear();
        for killed in self.killed {
            killed.wait().expect("an end");
        }
        let (mut client, buckets, owner) = at_rest(world);
        for (name, key) in self.history.keys() {
            let known = self.history.known(name, &key);
            let (now, command) = (home(world, name), format!("GET {name} {key}"));
            let sent = Sent::Get { key, known };
            self.history.answered(name, &sent, &client.ask(&command), [now, now]);
        }
        // No bucket is left that has no name, and no name that has no bucket.
        let names = owner.get(Names::keys).wait().expect("an owner");
        assert_eq!(world.processes("Bucket").len(), names.len());
        assert_eq!(buckets.count_children().wait().expect("a supervisor").active, names.len());
        // And as many as ever can be made.
        let made = NAMES.iter().filter(|name| client.ask(&format!("CREATE {name}")) == ["OK"]);
        assert_eq!(made.count(), LIMIT);
        drop(client);
        world.node().stop_application(KV).wait().expect("a stop");
        assert_eq!(world.node().applications()[0].processes, 0);
        self.history
    }
}

/// Starts the application again if it has ended.
fn revive(world: &dyn World) {
    if matches!(world.state(), ApplicationState::Ended(_)) {
        // If a process is killed meanwhile, it may fail.
        let _ = world.node().start_application(KV).wait();
    }
}

/// Waits until the application runs, and everything that was killed has been replaced.
fn at_rest(world: &dyn World) -> (Box<dyn Client + '_>, SupervisorAddress<String>, OwnerAddress) {
    let mut found = None;
    world.until("the application is at rest", &mut || {
        revive(world);
        let (Ok(buckets), Ok(owner)) = (world.node().lookup(BUCKETS), world.node().lookup(OWNER))
        else {
            return false;
        };
        let (buckets, owner): (SupervisorAddress<String>, OwnerAddress) = (buckets, owner);
        let Ok(count) = buckets.count_children().wait() else { return false };
        if count.active != world.processes("Bucket").len() {
            return false;
        }
        let Some(mut client) = world.try_connect() else { return false };
        // It has been killed, too, if it does not answer.
        let answers = client.ask("GET a k");
        found = Some((client, buckets, owner));
        !answers.is_empty()
    });
    found.expect("what was found")
}

/// How many seeds are tried, unless the environment variable `KV_SEEDS` says how many.
const SEEDS: u64 = 300;

#[test]
fn kv_9_every_answered_put_is_read_back_or_its_bucket_is_gone() {
    let told = std::env::var("KV_SEEDS").ok();
    let seeds = told.map_or(SEEDS, |text| text.parse().expect("KV_SEEDS is a number"));
    let (read_back, gone) = (Cell::new(0), Cell::new(0));
    simulated(0..seeds, LIMIT, |world| {
        // After each turn one process in the node may be killed.
        let one_in = [30, 60, 120][world.choose(3)];
        world.sim.faults(Faults::new().kill_one_in(one_in).at_most(8));
        let mut storm = Storm::new(world);
        for _ in 0..100 {
            storm.step();
        }
        world.sim.faults(Faults::new());
        let history = storm.end();
        read_back.set(read_back.get() + history.read_back);
        gone.set(gone.get() + history.gone);
    });
    println!("{seeds} seeds: {} read back, {} gone", read_back.get(), gone.get());
    let seeds = usize::try_from(seeds).expect("a number");
    assert!(read_back.get() > 3 * seeds, "only {} values were read back", read_back.get());
    assert!(gone.get() > seeds / 4, "only {} values were lost", gone.get());
}

#[test]
fn kv_9_every_answered_put_is_read_back_over_tcp() {
    real(LIMIT, |world| {
        // How often the kills meet a value is up to the threads: it goes on until enough were read back.
        let mut storm = Storm::new(world);
        let mut steps = 0;
        while steps < 2000 || (storm.history.read_back <= 50 && steps < 200_000) {
            storm.step();
            steps += 1;
        }
        let history = storm.end();
        assert!(history.read_back > 50, "only {} values were read back", history.read_back);
    });
}
