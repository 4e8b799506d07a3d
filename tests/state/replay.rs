//! A seed replays whatever a program is made of (rule T2): its trace, what its listeners hear, and
//! its stop. Two runs in one program have hash maps with other keys and other places in memory, so
//! an order that comes of either shows.

use crate::state_support::{doer, job};
use crate::support::{Act, Does, Log, Puppet, asked, puppet};
use krarup::behavior::{BehaviorContext, Received, behavior_fn};
use krarup::grains::{GrainCalls, Grains};
use krarup::observe::{DeadLetter, Lifecycle};
use krarup::prelude::*;
use krarup::state::StateCalls;
use krarup::testing::{Faults, Trace};
use std::sync::Arc;
use std::time::Duration;

const MILLI: Duration = Duration::from_millis(1);

/// What is heard: all but what a probe would.
enum Heard {
    Letter(DeadLetter),
    Life(Lifecycle),
}

impl From<DeadLetter> for Heard {
    fn from(letter: DeadLetter) -> Self {
        Heard::Letter(letter)
    }
}

impl From<Lifecycle> for Heard {
    fn from(life: Lifecycle) -> Self {
        Heard::Life(life)
    }
}

/// Notes all that happens in the node.
fn listener(sim: &Simulation, log: &Log) {
    let log = log.clone();
    let listener = behavior_fn(move |mut ctx: Context<Heard>| async move {
        loop {
            match ctx.receive().await {
                Received::Message(Heard::Letter(letter)) => log.note(letter),
                Received::Message(Heard::Life(life)) => log.note(format!("{life:?}")),
                _ => return Ok(()),
            }
        }
    });
    let listener = sim.spawn_system(move || listener).start().unwrap();
    sim.subscribe_dead_letters(listener.recipient());
    sim.subscribe_lifecycle(listener.recipient());
}

/// A tree with several strategies, whose children crash by and by.
fn shop(sim: &Simulation, log: &Log) {
    let child = |name: String| {
        let log = log.clone();
        let label = name.clone();
        ChildSpec::worker(name.as_str(), move || Puppet::trapping(&label, &log)).name(name.as_str())
    };
    let crew = |first: usize, flags: fn() -> Supervisor| {
        let children: Vec<_> = (first..first + 4).map(|n| child(format!("child {n}"))).collect();
        children.into_iter().fold(flags().intensity(1_000, MILLI), Supervisor::child)
    };
    for (first, flags) in [
        (0, Supervisor::one_for_one as fn() -> Supervisor),
        (4, Supervisor::one_for_all),
        (8, Supervisor::rest_for_one),
    ] {
        let crew = crew(first, flags);
        sim.spawn(move || crew).start().unwrap();
    }
}

/// Processes that are bound to each other by links, monitors, names and aliases.
fn crowd(sim: &Simulation, log: &Log) -> Vec<Address<Act>> {
    const NAMES: [&str; 24] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r",
        "s", "t", "u", "v", "w", "x",
    ];
    let crowd: Vec<_> = NAMES.iter().map(|name| puppet(sim, name, log)).collect();
    for (n, one) in crowd.iter().enumerate() {
        let other = |step: usize| crowd[(n + step) % crowd.len()].pid();
        let others = [other(5), other(7), other(11)];
        let (name, linked) = (NAMES[n], n % 2 == 0);
        one.tells(move |ctx| {
            ctx.trap_exits(linked);
            others.iter().for_each(|pid| _ = ctx.monitor(*pid));
            if linked {
                others.iter().for_each(|pid| ctx.link(*pid));
            }
            ctx.register(name).unwrap();
        });
    }
    crowd
}

/// All that a run shows.
fn run(seed: u64) -> Vec<String> {
    let sim = Simulation::new(seed);
    let (heard, log) = (Log::new(), Log::new());
    listener(&sim, &heard);
    shop(&sim, &log);
    let crowd = crowd(&sim, &log);
    let noted = log.clone();
    let pool = sim.spawn(move || Pool::new(4, move || Puppet::new("worker", &noted))).start();
    let pool = pool.unwrap();
    let noted = log.clone();
    let grains = Grains::new(move |key: &u32| Puppet::new(&format!("grain {key}"), &noted));
    let grains = grains.idle(9 * MILLI).mailbox(3).named(|key| format!("grain/{key}"));
    let grains = sim.spawn(move || grains).start().unwrap();
    let doer = doer(&sim, &log);
    sim.faults(
        Faults::new()
            .kill_one_in(40)
            .panic_one_in(40)
            .delay_one_in(30, 5 * MILLI)
            .fill_one_in(30, 5 * MILLI)
            .fail_init_one_in(30)
            .at_most(30),
    );
    let mut shown = Vec::new();
    for round in 0..12_u32 {
        for key in 0..40 {
            let noted = log.clone();
            let act = move |ctx: &mut Context<Act>| noted.note(format!("{key} by {}", ctx.pid()));
            // All of it may fail by now, and does alike in each run.
            let act = Act::new(move |ctx| {
                act(ctx);
                Ok(())
            });
            let _ = grains.send_to(key, act);
        }
        for (n, one) in (0..).zip(&crowd) {
            let noted = log.clone();
            let _ = one.tells(move |ctx| {
                let work = noted.clone();
                drop(ctx.pipe(async move { work.note("piped") }, |()| Act::nothing()));
                ctx.send_after(MILLI * (n % 3), Act::nothing());
            });
            let _ = pool.send(Act::nothing());
        }
        for number in 0..10_u64 {
            let _ = doer.notice(job(format!("{round}/{number}")).waiting(MILLI * 3));
        }
        sim.advance(2 * MILLI);
        shown.push(sim.last_steps().to_string());
    }
    // The grains are full of messages, and others wait for them.
    for key in 0..40_u32 {
        let (to, noted) = (grains.clone(), log.clone());
        let waits = behavior_fn(move |_: Context<()>| async move {
            for _ in 0..5 {
                let sent = to.send_or_wait_to(key, Act::nothing()).await;
                noted.note(format!("{key} {:?}", sent.map_err(SendError::without_message)));
            }
            Ok(())
        });
        sim.spawn(move || waits).start().unwrap();
    }
    (0..60).for_each(|_| _ = sim.step());
    shown.push(sim.last_steps().to_string());
    sim.stop().start();
    while sim.step().is_some() {
        shown.push(sim.last_steps().last(9).to_string());
    }
    sim.advance(Duration::from_secs(60));
    shown.push(sim.last_steps().to_string());
    shown.push(format!("{:?}", sim.stats()));
    shown.extend(heard.take());
    shown.extend(log.take());
    shown
}

#[test]
fn t2_a_program_with_every_feature_replays_to_its_end() {
    let both = [1, 2].map(|seed| {
        let (one, other) = (run(seed), run(seed));
        assert!(one.len() > 1_000, "{}", one.len());
        for (place, (one, other)) in one.iter().zip(&other).enumerate() {
            assert_eq!(one, other, "at {place} of seed {seed}");
        }
        assert_eq!(one.len(), other.len());
        one
    });
    assert_ne!(both[0], both[1]);
}

/// A behavior that waits for good.
async fn idle(mut ctx: Context<()>) -> Result {
    while let Received::Message(()) = ctx.receive().await {}
    Ok(())
}

fn lines(trace: &Trace) -> Vec<String> {
    trace.to_string().lines().skip(1).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn t2_the_trace_names_processes_as_they_are_called_by_then() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let one = puppet(&sim, "one", &log);
    let other = puppet(&sim, "other", &log);
    let is_last = |line: &str| {
        let last = sim.last_steps().last(1);
        assert_eq!((last.len(), lines(&last).pop().unwrap().as_str()), (1, line));
    };
    let to = other.clone();
    let sends = move |ctx: &mut Context<Act>| {
        ctx.register("anna").unwrap();
        to.send(Act::nothing()).map_err(SendError::without_message).unwrap();
        ctx.unregister("anna").unwrap();
        ctx.register("bert").unwrap();
    };
    one.tells(sends);
    sim.step();
    is_last("0ns sent       state::support::Act to <0.2.0> by <0.1.0> \"anna\" Puppet");
    sim.step();
    is_last("0ns turn 4     <0.2.0> Puppet: 1 message");
    sim.send(one.pid(), Act::nothing()).unwrap();
    is_last("0ns sent       state::support::Act to <0.1.0> from outside");
    sim.step();
    is_last("0ns turn 5     <0.1.0> \"bert\" Puppet: 1 message");
    // Each turn has its own messages.
    (0..3).for_each(|_| drop(other.send_high(Act::nothing())));
    is_last("0ns sent       state::support::Act to <0.2.0> from outside, on System");
    sim.step();
    is_last("0ns turn 6     <0.2.0> Puppet: 3 messages");
    let sleeps = krarup::behavior::behavior_fn(idle);
    let child = sim.spawn(move || sleeps).name("child").start().unwrap();
    is_last("0ns spawned    <0.3.0> \"child\" idle");
    let all = sim.last_steps();
    let (count, text) = (all.len(), all.clone().last(2).last(1).to_string());
    assert!(text.contains(&format!("\n  .. {} before these\n", count - 1)), "{text}");
    assert_eq!(all.clone().last(count + 1), all);
    assert!(all.last(0).is_empty());
    drop(child);
}

#[test]
fn t2_the_trace_forgets_a_name_that_is_taken_away() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (one, other) = (puppet(&sim, "one", &log), puppet(&sim, "other", &log));
    let turn_of_one = || {
        asked(&sim, &one, |_| ());
        let line = lines(&sim.last_steps()).pop().unwrap();
        line.split_once("<0.1.0> ").unwrap().1.to_owned()
    };
    for (name, whose) in [("anna", &one), ("bert", &other)] {
        for from in [false, true] {
            asked(&sim, &one, move |ctx| ctx.register(name).unwrap());
            assert_eq!(turn_of_one(), format!("{name:?} Puppet: 1 message"));
            let pid = one.pid();
            let had = asked(&sim, whose, move |ctx| {
                if from {
                    ctx.unregister_from(name, pid)
                } else {
                    ctx.unregister(name) == Some(pid)
                }
            });
            assert!(had);
            assert_eq!(turn_of_one(), "Puppet: 1 message");
        }
    }
}

#[test]
fn t2_the_trace_and_listeners_get_parents_and_later_names() {
    let sim = Simulation::new(1);
    let (heard, log) = (Log::new(), Log::new());
    listener(&sim, &heard);
    let parent = puppet(&sim, "parent", &log);
    let noted = log.clone();
    let spawn = move |ctx: &mut Context<Act>| {
        ctx.spawn(move || Puppet::new("child", &noted)).start().unwrap()
    };
    let child = asked(&sim, &parent, spawn);
    asked(&sim, &child, |ctx| ctx.register("late").unwrap());
    assert!(child.dies(crate::support::boom()));
    sim.run_until_idle();
    let trace = lines(&sim.last_steps());
    let has = |line: &str| assert!(trace.iter().any(|other| other == line), "{line}: {trace:?}");
    has("0ns spawned    <0.2.0> Puppet");
    has("0ns spawned    <0.3.0> Puppet by <0.2.0>");
    has("0ns ended      <0.3.0> \"late\" Puppet: boom");
    let told = |start: &str, end: &str| {
        let is = |line: &String| line.starts_with(start) && line.contains(end);
        assert!(heard.lines().iter().any(is), "{start} {end}: {:?}", heard.lines());
    };
    told("Spawned { pid: <0.2.0>, name: None, parent: None", "");
    told("Spawned { pid: <0.3.0>, name: None, parent: Some(<0.2.0>)", "");
    told("Ended { pid: <0.3.0>, name: Some(", "late");
}

/// The alarm of a mailbox is a timer that is set in the turn of whoever sends.
#[test]
fn t2_the_trace_names_the_owner_of_a_timer_after_its_end() {
    let fired = |ends: bool| {
        let sim = Simulation::new(1);
        let log = Log::new();
        let (to, one) = (puppet(&sim, "other", &log), puppet(&sim, "one", &log));
        let to = to.recipient::<Act>();
        one.does(move |_| {
            (0..10_000).for_each(|_| to.send(Act::nothing()).ok().unwrap());
            if ends { Err(Reason::Normal) } else { Ok(()) }
        });
        sim.advance(MILLI);
        sim.last_steps().to_string()
    };
    assert!(fired(true).contains("timer      <0.2.0>, ended"), "{}", fired(true));
    assert!(fired(false).contains("timer      <0.2.0> Puppet"), "{}", fired(false));
}

#[test]
fn t2_a_turn_that_does_more_than_the_trace_holds_spoils_no_other_line() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let one = puppet(&sim, "one", &log);
    let to = puppet(&sim, "other", &log);
    one.tells(move |_| {
        (0..255).for_each(|_| assert!(to.tells(|_| {})));
    });
    sim.step();
    let trace = sim.last_steps();
    assert_eq!(trace.len(), 256);
    // The line of the turn is the first that is left.
    assert_eq!(lines(&trace)[1], "0ns turn 3     <0.1.0> Puppet: 1 message");
    sim.run_until_idle();
    let sim = Simulation::new(1);
    let (one, to) = (puppet(&sim, "one", &log), puppet(&sim, "other", &log));
    one.tells(move |_| {
        (0..256).for_each(|_| assert!(to.tells(|_| {})));
    });
    sim.step();
    let trace = sim.last_steps();
    assert!(lines(&trace)[1..].iter().all(|line| line.starts_with("0ns sent ")), "{trace}");
}

#[test]
fn t2_a_simulation_prints_how_to_recreate_it_and_counts_its_turns() {
    let sim = Simulation::with_throughput(5, 0);
    assert_eq!(format!("{sim:?}"), "Simulation(Simulation::with_throughput(5, 1), at 0ns)");
    let one = puppet(&sim, "one", &Log::new());
    (0..4).for_each(|_| assert!(one.tells(|_| {})));
    // After the last message it looks for another.
    assert_eq!((sim.run_until_idle(), sim.run_until_idle()), (5, 0));
    assert_eq!(sim.step(), None);
    one.tells(|_| {});
    assert_eq!((sim.step(), sim.step()), (Some(one.pid()), None));
    let sim = Simulation::new(5);
    let one = puppet(&sim, "one", &Log::new());
    (0..65).for_each(|_| assert!(one.tells(|_| {})));
    // The rest of the turn, and one more.
    assert_eq!(sim.run_until_idle(), 2);
}

#[test]
fn t2_a_process_runs_no_others_within_its_own_turn() {
    let sim = Arc::new(Simulation::new(1));
    let log = Log::new();
    let (one, other) = (puppet(&sim, "one", &log), puppet(&sim, "other", &log));
    let noted = log.clone();
    other.tells(move |_| noted.note("ran"));
    let (own, noted) = (Arc::downgrade(&sim), log.clone());
    one.tells(move |_| {
        let own = own.upgrade().unwrap();
        noted.note(format!("{:?} {}", own.step(), own.run_until_idle()));
        own.advance(Duration::from_secs(1));
        noted.note("over");
    });
    sim.run_until_idle();
    let lines = log.take();
    let at = |line: &str| lines.iter().position(|other| other == line).unwrap();
    assert_eq!(at("over"), at("None 0") + 1, "{lines:?}");
    assert!(lines.contains(&"ran".to_owned()));
}

#[test]
fn t3_the_first_and_the_last_seed_of_all_can_be_explored_and_fail() {
    let fails = |seeds| Simulation::try_explore(seeds, |_| Err(Reason::error("no"))).unwrap_err();
    let text = fails(u64::MAX - 1..u64::MAX).to_string();
    let seed = u64::MAX - 1;
    let again = format!(
        "seed {seed} fails: no\nit fails again with Simulation::explore({seed}..{}, ..) or \
         Simulation::with_throughput({seed}, 64)\nthe last steps of",
        u64::MAX
    );
    assert!(text.starts_with(&again), "{text}");
    let throughputs: Vec<u32> = (0..4).map(|seed| fails(seed..seed + 1).throughput()).collect();
    assert_eq!(throughputs, [64, 1, 64, 1]);
    let odd = fails(7..8);
    assert_eq!(format!("{:?}", odd.replay()), format!("{:?}", Simulation::with_throughput(7, 1)));
    assert!(odd.last_steps().is_empty());
    assert!(odd.last_steps().to_string().ends_with("\n  none"));
}

/// Spawns another when it is dropped.
struct Again(Log, Node);
impl Drop for Again {
    fn drop(&mut self) {
        let again = self.1.spawn(|| Puppet::new("late", &Log::new())).start();
        self.0.note(format!("{:?}", again.map(|late| late.pid())));
    }
}

#[test]
fn t2_a_dropped_simulation_admits_no_process_and_all_dispatcher_names_are_one() {
    let sim = Simulation::new(1);
    let log = Log::new();
    for name in ["first", "second"] {
        sim.add_dispatcher(name);
        let puppet = Puppet::new(name, &log);
        let one = sim.spawn(move || puppet).dispatcher(name).wait().unwrap();
        assert_eq!(one.info().dispatcher, name);
    }
    let unknown = sim.spawn(|| Puppet::new("p", &Log::new())).dispatcher("third").wait();
    assert_eq!(unknown.unwrap_err(), SpawnError::UnknownDispatcher("third".to_owned()));
    let stats = sim.stats();
    let names: Vec<&str> = stats.dispatchers.iter().map(|stats| stats.name.as_str()).collect();
    assert_eq!((names, stats.dispatchers[0].turns), (vec!["simulated"], 2));
    let again = Again(log.clone(), sim.node().clone());
    let ends = behavior_fn(move |mut ctx: Context<()>| async move {
        let _again = again;
        ctx.receive().await;
        Ok(())
    });
    sim.spawn(move || ends).wait().unwrap();
    drop(sim);
    assert_eq!(log.count("Err(NodeStopping)"), 1);
    assert_eq!(log.count("dropped"), 2);
}

#[test]
fn t3_a_simulation_dropped_by_a_panic_runs_none_of_its_processes() {
    let log = Log::new();
    let noted = log.clone();
    let panics = std::panic::catch_unwind(move || {
        let sim = Simulation::new(1);
        let puppet = puppet(&sim, "puppet", &noted);
        assert!(puppet.is_alive());
        noted.note("alive");
        panic!("over");
    });
    assert!(panics.is_err());
    assert_eq!(log.take(), ["alive"]);
}

#[test]
fn x4_timers_that_are_due_and_have_not_fired_are_counted() {
    let most = (0..20).map(|seed| {
        let sim = Simulation::new(seed);
        let log = Log::new();
        for _ in 0..5 {
            let noted = log.clone();
            let sleeps = behavior_fn(move |ctx: Context<()>| async move {
                ctx.sleep(MILLI).await;
                noted.note("awake");
                Ok(())
            });
            sim.spawn(move || sleeps).start().unwrap();
        }
        sim.run_until_idle();
        assert_eq!(sim.stats().timers, 5);
        sim.run_until(MILLI, "one is awake", || !log.lines().is_empty());
        let left = sim.stats().timers;
        assert!(left < 5);
        sim.run_until_idle();
        assert_eq!((sim.stats().timers, log.lines().len()), (0, 5));
        left
    });
    assert!(most.max() > Some(1));
}
