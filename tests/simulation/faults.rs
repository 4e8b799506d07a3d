//! Faults in a simulation: at chosen steps, and from the seed.

use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::testing::{Fault, Faults, Probe, Victim};
use krarup::{CannotWait, Recipient, Timestamp};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Tells its listener of every number, of its start and of its `terminate`.
struct Echo(Recipient<String>);

enum Say {
    This(&'static str),
    Ask(Reply<&'static str>),
}

impl Actor for Echo {
    type Message = Say;

    async fn init(&mut self, _: &mut Context<Say>) -> Result {
        self.tell("started");
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Say>, say: Say) -> Result {
        match say {
            Say::This(text) => self.tell(text),
            Say::Ask(reply) => reply.send("here"),
        }
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Say>, reason: &Reason) {
        self.tell(&format!("terminate: {reason}"));
    }
}

impl Echo {
    fn tell(&self, text: &str) {
        self.0.send(text.to_owned()).unwrap();
    }
}

fn echo(sim: &Simulation, listener: &Probe<'_, String>, bound: usize) -> Address<Say> {
    let to = listener.recipient();
    sim.spawn(move || Echo(to)).name("echo").mailbox(bound).start().unwrap()
}

/// The lines of the trace that tell of faults.
fn faults_of(sim: &Simulation) -> Vec<String> {
    let trace = sim.last_steps().to_string();
    let faults = trace.lines().filter_map(|line| Some(line.split_once("fault  ")?.1.trim()));
    faults.map(str::to_owned).collect()
}

#[test]
fn t3_a_process_is_killed_at_a_chosen_step() {
    Simulation::explore(0..20, |sim| {
        let listener = Probe::<String>::spawn(sim);
        let echo = echo(sim, &listener, 9);
        sim.run_until_idle();
        let turns = sim.stats().dispatchers[0].turns;
        sim.faults(Faults::new().at_step(turns + 1, Fault::Kill, "echo"));
        echo.send(Say::This("one"))?;
        // The listener has had its turn for what came before.
        listener.expect_message(SECOND, &"started".to_owned());
        listener.expect_message(SECOND, &"one".to_owned());
        listener.expect_none(SECOND);
        assert!(!echo.is_alive());
        assert_eq!(faults_of(sim), ["<0.2.0> \"echo\" Echo is killed"]);
        Ok(())
    });
}

#[test]
fn t3_a_process_panics_at_its_next_message_and_terminates() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    let echo = echo(&sim, &listener, 9);
    sim.faults(Faults::new().at_step(0, Fault::Panic, echo.pid()));
    listener.expect_message(SECOND, &"started".to_owned());
    listener
        .expect_message(SECOND, &"terminate: panic: injected fault of the simulation".to_owned());
    assert!(!echo.is_alive());
    assert_eq!(faults_of(&sim), ["<0.2.0> \"echo\" Echo panics at its next message"]);
}

#[test]
fn t3_a_delayed_process_is_late_while_time_moves_on() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    let echo = echo(&sim, &listener, 9);
    listener.expect(SECOND);
    sim.faults(Faults::new().at_step(0, Fault::Delay(7 * SECOND), "echo"));
    // Somebody's turn, after which it strikes.
    listener.address().send("go".to_owned()).unwrap();
    listener.expect(SECOND);
    assert_eq!(
        echo.call(Say::Ask).wait(),
        Err(CallError::Timeout { to: echo.pid(), limit: 5 * SECOND })
    );
    echo.send(Say::This("late")).unwrap();
    listener.expect_none(Duration::from_millis(1_999));
    listener.expect_message(Duration::from_millis(1), &"late".to_owned());
    assert_eq!(sim.now(), Timestamp::ZERO + 7 * SECOND);
    assert_eq!(faults_of(&sim), ["<0.2.0> \"echo\" Echo is delayed for 7s"]);
}

#[test]
fn t3_new_faults_release_delayed_processes() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    let echo = echo(&sim, &listener, 1);
    listener.expect(SECOND);
    let both = Faults::new().at_step(0, Fault::Delay(SECOND), "echo").at_step(
        0,
        Fault::Fill(SECOND),
        "echo",
    );
    sim.faults(both);
    listener.address().send("go".to_owned()).unwrap();
    listener.expect(SECOND);
    assert!(
        matches!(echo.send(Say::This("no")), Err(SendError::Full { to, .. }) if to == echo.pid())
    );
    sim.faults(Faults::new());
    echo.send(Say::This("yes")).unwrap();
    listener.expect_message(Duration::ZERO, &"yes".to_owned());
}

#[test]
fn t3_new_faults_take_back_a_panic_that_has_not_struck() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    let echo = echo(&sim, &listener, 1);
    listener.expect(SECOND);
    sim.faults(Faults::new().at_step(0, Fault::Panic, "echo"));
    listener.address().send("go".to_owned()).unwrap();
    listener.expect(SECOND);
    sim.faults(Faults::new());
    echo.send(Say::This("yes")).unwrap();
    listener.expect_message(Duration::ZERO, &"yes".to_owned());
    assert!(echo.is_alive());
}

#[test]
fn t3_a_mailbox_is_full_for_a_time_and_then_there_is_room() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    let echo = echo(&sim, &listener, 3);
    listener.expect(SECOND);
    sim.faults(Faults::new().at_step(0, Fault::Fill(SECOND), Victim::Anyone));
    listener.address().send("go".to_owned()).unwrap();
    listener.expect(SECOND);
    assert!(
        matches!(echo.send(Say::This("no")), Err(SendError::Full { to, .. }) if to == echo.pid())
    );
    assert_eq!(echo.call(Say::Ask).wait(), Err(CallError::Full { to: echo.pid() }));
    // Who waits gets room when there is some.
    let patient = echo.clone();
    sim.spawn(move || {
        behavior_fn(move |_: Context<()>| async move {
            let sent = patient.send_or_wait(Say::This("patient")).await;
            sent.map_err(SendError::without_message)?;
            Ok(())
        })
    })
    .start()
    .unwrap();
    listener.expect_none(Duration::from_millis(999));
    listener.expect_message(Duration::from_millis(1), &"patient".to_owned());
    assert_eq!(echo.call(Say::Ask).wait(), Ok("here"));
    let full = "the mailbox of <0.2.0> \"echo\" Echo is full for 1s";
    assert_eq!(faults_of(&sim), [full]);
}

#[test]
fn t3_an_init_fails_and_nothing_of_it_has_run() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    sim.faults(Faults::new().at_step(0, Fault::FailInit, "echo"));
    let to = listener.recipient();
    let failed = sim.spawn(move || Echo(to)).name("echo").wait().unwrap_err();
    assert_eq!(failed, SpawnError::Init(Reason::error("injected fault of the simulation")));
    assert_eq!(sim.whereis("echo"), None);
    listener.expect_none(SECOND);
    assert_eq!(faults_of(&sim), ["<0.2.0> \"echo\" Echo fails to start"]);
    // Only the first start.
    echo(&sim, &listener, 9);
    listener.expect_message(SECOND, &"started".to_owned());
}

#[test]
fn t3_a_supervisor_tries_again_when_a_restart_fails_to_start() {
    Simulation::explore(0..40, |sim| {
        let listener = Probe::<String>::spawn(sim);
        let to = listener.recipient();
        let shop = || {
            let echo = ChildSpec::worker("echo", move || Echo(to.clone())).name("echo");
            Supervisor::one_for_one().intensity(3, SECOND).child(echo)
        };
        sim.spawn(shop).wait()?;
        listener.expect_message(SECOND, &"started".to_owned());
        sim.faults(Faults::new().at_step(0, Fault::FailInit, "echo"));
        sim.kill(sim.whereis("echo").expect("a child"));
        listener.expect_message(SECOND, &"started".to_owned());
        assert_eq!(faults_of(sim).len(), 1);
        Ok(())
    });
}

#[test]
fn t3_a_chosen_fault_without_a_victim_is_reported() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    // A mailbox without a bound is never full.
    let roomy = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.receive().await;
        Ok(())
    });
    let roomy = sim.spawn(move || roomy).name("roomy").wait().unwrap();
    let fill = Fault::Fill(SECOND);
    let chosen = Faults::new().at_step(0, Fault::Kill, "nobody").fill_one_in(1, SECOND);
    let chosen = chosen.at_step(0, fill, Victim::Anyone).at_step(0, fill, "roomy");
    sim.faults(chosen);
    listener.address().send("go".to_owned()).unwrap();
    listener.expect(SECOND);
    assert!(roomy.is_alive());
    let nobody = ["Kill does not find \"nobody\"", "Fill(1s) finds no process"];
    assert_eq!(faults_of(&sim), [nobody[0], nobody[1], "Fill(1s) does not find \"roomy\""]);
}

/// Two echoes that a supervisor starts again, under many faults of one kind.
fn a_shop(seed: u64, faults: Faults) -> Vec<String> {
    let sim = Simulation::new(seed);
    let listener = Probe::<String>::spawn(&sim);
    let to = listener.recipient();
    let child = |name: &'static str| {
        let to = to.clone();
        ChildSpec::worker(name, move || Echo(to.clone())).name(name).mailbox(4)
    };
    let (anna, bert) = (child("anna"), child("bert"));
    let shop = || Supervisor::one_for_one().intensity(u32::MAX, SECOND).child(anna).child(bert);
    let shop = sim.spawn(shop).name("shop").wait().unwrap();
    sim.faults(faults.spare(shop.pid()));
    for _ in 0..30 {
        for name in ["anna", "bert"] {
            if let Ok(echo) = sim.lookup::<Say, Say>(name) {
                let _ = echo.send(Say::This("hello"));
            }
        }
        sim.advance(Duration::from_millis(10));
    }
    let lines = faults_of(&sim);
    sim.faults(Faults::new());
    sim.advance(SECOND);
    assert!(sim.is_alive(shop.pid()) && sim.is_alive(listener.pid()));
    assert!(sim.whereis("anna").is_some() && sim.whereis("bert").is_some());
    lines
}

#[test]
fn t3_each_kind_of_fault_comes_by_chance_from_the_seed() {
    let tenth = Duration::from_millis(100);
    let kinds: [(Faults, &str); 5] = [
        (Faults::new().kill_one_in(9), "is killed"),
        (Faults::new().panic_one_in(9), "panics at its next message"),
        (Faults::new().delay_one_in(9, tenth), "is delayed for"),
        (Faults::new().fill_one_in(9, tenth), "is full for"),
        (Faults::new().kill_one_in(9).fail_init_one_in(2), "fails to start"),
    ];
    for (faults, text) in kinds {
        let runs: Vec<_> = (0..10).map(|seed| a_shop(seed, faults.clone())).collect();
        let of_kind = |run: &Vec<String>| run.iter().filter(|line| line.contains(text)).count();
        assert!(runs.iter().map(of_kind).max() > Some(2), "{text}: {runs:?}");
        // Another time, the same.
        assert_eq!(a_shop(3, faults.clone()), runs[3]);
        let limited = a_shop(3, faults.clone().at_most(2));
        assert!(limited.len() <= 2, "{limited:?}");
        let of_anna = a_shop(3, faults.clone().only("anna"));
        assert!(of_anna.iter().all(|line| line.contains("\"anna\"")), "{of_anna:?}");
        assert_eq!(a_shop(3, faults.at_most(0)), Vec::<String>::new());
    }
}

#[test]
fn t3_random_times_are_whole_milliseconds_within_the_limit() {
    let tenth = Duration::from_millis(100);
    let lines = (0..20).flat_map(|seed| a_shop(seed, Faults::new().delay_one_in(5, tenth)));
    let mut times: Vec<u64> = lines
        .map(|line| {
            let (_, time) = line.split_once("is delayed for ").expect("a delay");
            time.strip_suffix("ms").expect("milliseconds").parse().expect("a whole number")
        })
        .collect();
    times.sort_unstable();
    assert!(times[0] >= 1 && times[0] < 20, "{times:?}");
    assert!(times[times.len() - 1] <= 100 && times[times.len() - 1] > 80, "{times:?}");
}

#[test]
fn x2_a_simulation_with_a_delayed_process_stops_and_is_dropped() {
    for orderly in [false, true] {
        let sim = Simulation::new(1);
        let listener = Probe::<String>::spawn(&sim);
        let echo = echo(&sim, &listener, 2);
        let both = Faults::new().at_step(0, Fault::Delay(SECOND), "echo").at_step(
            0,
            Fault::Fill(3600 * SECOND),
            "echo",
        );
        sim.faults(both);
        listener.expect(SECOND);
        if orderly {
            sim.node().stop().wait().unwrap();
            assert_eq!((sim.processes(), sim.stats().timers), (Vec::new(), 0));
        }
        drop(sim.last_steps());
        drop(listener);
        drop(sim);
        assert!(!echo.is_alive());
    }
}

/// Processes that wait for numbers, each with a bound.
fn idlers(sim: &Simulation, count: usize) -> Vec<Address<u32>> {
    let idler = || {
        behavior_fn(|mut ctx: Context<u32>| async move {
            while let krarup::behavior::Received::Message(_) = ctx.receive().await {}
            Ok(())
        })
    };
    let all: Vec<_> = (0..count)
        .map(|n| sim.spawn(idler).name(format!("idler {n}")).mailbox(2).start().unwrap())
        .collect();
    sim.run_until_idle();
    all
}

/// One turn, after which faults may strike.
fn one_turn(sim: &Simulation) {
    let turn = sim.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) })).start().unwrap();
    while sim.is_alive(turn.pid()) {
        sim.step();
    }
}

#[test]
fn t3_all_kinds_of_faults_together_are_no_more_than_were_allowed() {
    let second = Faults::new()
        .kill_one_in(1)
        .panic_one_in(1)
        .delay_one_in(1, SECOND)
        .fill_one_in(1, SECOND)
        .fail_init_one_in(1);
    for limit in 0..=6_usize {
        let sim = Simulation::new(limit as u64);
        idlers(&sim, 20);
        sim.faults(second.clone().at_most(limit as u64));
        for _ in 0..10 {
            sim.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) })).start().unwrap();
            sim.step();
        }
        assert_eq!(faults_of(&sim).len(), limit, "{:?}", faults_of(&sim));
    }
    // Each kind by itself strikes after one turn, if nothing forbids it.
    let sim = Simulation::new(1);
    idlers(&sim, 20);
    sim.faults(second.fail_init_one_in(0));
    sim.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) })).start().unwrap();
    sim.step();
    assert_eq!(faults_of(&sim).len(), 4, "{:?}", faults_of(&sim));
}

#[test]
fn t3_starts_that_fail_count_among_the_faults_and_chosen_ones_do_not() {
    let sim = Simulation::new(3);
    sim.faults(Faults::new().fail_init_one_in(1).kill_one_in(1).at_most(2).at_step(
        0,
        Fault::FailInit,
        "chosen",
    ));
    let start = |name: &str| {
        let idle = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
                Ok(())
            })
        };
        sim.spawn(idle).name(name).wait().is_ok()
    };
    // The chosen one fails beside the two by chance; a start that has failed leaves nobody to kill.
    let started = ["chosen", "first", "second", "third", "fourth"].map(start);
    assert_eq!(started, [false, false, false, true, true]);
    assert_eq!(faults_of(&sim).len(), 3);
    // What is chosen strikes though there may be none by chance.
    sim.faults(Faults::new().at_most(0).kill_one_in(1).at_step(0, Fault::Kill, "third"));
    one_turn(&sim);
    sim.run_until_idle();
    assert_eq!((sim.whereis("third"), sim.whereis("fourth").is_some()), (None, true));
}

#[test]
fn t3_chosen_faults_come_at_their_step_and_once_and_new_faults_take_their_place() {
    let sim = Simulation::new(1);
    idlers(&sim, 6);
    let turns = || sim.stats().dispatchers[0].turns;
    let living = || (0..6).filter(|n| sim.whereis(&format!("idler {n}")).is_some()).count();
    let (first, kill) = (turns(), Fault::Kill);
    sim.faults(
        Faults::new()
            .at_step(first + 2, kill, "idler 0")
            .at_step(first + 2, kill, "idler 1")
            .at_step(first + 1_000, kill, "idler 2"),
    );
    one_turn(&sim);
    assert_eq!((turns(), living(), faults_of(&sim).len()), (first + 1, 6, 0));
    one_turn(&sim);
    sim.run_until_idle();
    assert_eq!(living(), 4);
    assert_eq!(faults_of(&sim).len(), 2);
    (0..20).for_each(|_| one_turn(&sim));
    assert_eq!((living(), faults_of(&sim).len()), (4, 2));
    // A step that is past strikes after the next turn; what was to come is forgotten.
    sim.faults(Faults::new().at_step(first, kill, "idler 3"));
    one_turn(&sim);
    (0..1_000).for_each(|_| one_turn(&sim));
    assert_eq!((living(), sim.whereis("idler 3")), (3, None));
}

#[test]
fn t3_random_faults_respect_exclusions_and_chosen_faults_hit_even_excluded_processes() {
    let (kill, anyone) = (Fault::Kill, Victim::Anyone);
    for seed in 0..20 {
        let sim = Simulation::new(seed);
        let all = idlers(&sim, 4);
        let pids: Vec<Pid> = all.iter().map(Address::pid).collect();
        // Two are spared, one by its pid and one by its name.
        sim.faults(Faults::new().kill_one_in(1).spare(pids[0]).spare("idler 2"));
        for _ in 0..5 {
            one_turn(&sim);
            sim.run_until_idle();
        }
        let alive: Vec<bool> = all.iter().map(Address::is_alive).collect();
        assert_eq!(alive, [true, false, true, false]);
        // Nobody may be hit: not by chance, and not as anyone.
        let only = Faults::new().kill_one_in(1).only(pids[1]).at_step(0, kill, anyone.clone());
        sim.faults(only.clone());
        (0..5).for_each(|_| one_turn(&sim));
        assert!(all[0].is_alive() && all[2].is_alive());
        sim.faults(only.at_step(0, kill, pids[2]).at_step(0, kill, "idler 0").spare(pids[2]));
        one_turn(&sim);
        sim.run_until_idle();
        assert!(!all[0].is_alive() && !all[2].is_alive());
    }
    // A start is one of anyone's only if it may be hit.
    let sim = Simulation::new(1);
    sim.faults(Faults::new().at_step(0, Fault::FailInit, anyone).only("second"));
    let start = |name: &str| {
        let idle = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
                Ok(())
            })
        };
        sim.spawn(idle).name(name).wait().is_ok()
    };
    assert_eq!(["first", "second", "third"].map(start), [true, false, true]);
    sim.faults(Faults::new().fail_init_one_in(1).only("fifth"));
    assert_eq!(["fourth", "fifth", "sixth"].map(start), [true, false, true]);
}

#[test]
fn t3_a_start_fails_at_its_step_and_not_before() {
    let sim = Simulation::new(1);
    let start = |name: &str| {
        sim.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) })).name(name).wait().is_ok()
    };
    assert!(start("one"));
    let turns = sim.stats().dispatchers[0].turns;
    sim.faults(Faults::new().at_step(turns + 2, Fault::FailInit, "two"));
    // Its own first turn would be the next; then somebody else's start is.
    assert!(start("two"));
    assert!(start("three"));
    assert!(!start("two"));
    assert!(start("two"));
}

#[test]
fn t3_the_last_setting_of_a_fault_counts_and_one_in_zero_is_never() {
    let sim = Simulation::new(1);
    let all = idlers(&sim, 3);
    let last = Faults::new().kill_one_in(1).kill_one_in(0).fail_init_one_in(1).fail_init_one_in(0);
    sim.faults(last.panic_one_in(0).delay_one_in(0, SECOND).fill_one_in(0, SECOND));
    (0..20).for_each(|_| one_turn(&sim));
    assert_eq!(faults_of(&sim), Vec::<String>::new());
    sim.faults(Faults::new().delay_one_in(1, 9 * SECOND).delay_one_in(1, Duration::from_millis(1)));
    one_turn(&sim);
    let lines = faults_of(&sim);
    assert!(lines[0].ends_with("is delayed for 1ms"), "{lines:?}");
    // Less than a millisecond is one.
    sim.faults(Faults::new().fill_one_in(1, Duration::ZERO).only(all[0].pid()));
    one_turn(&sim);
    assert!(faults_of(&sim)[1].ends_with("is full for 1ms"), "{:?}", faults_of(&sim));
}

#[test]
fn t3_a_delayed_process_is_not_delayed_twice_at_once_but_again_later() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    let echo = echo(&sim, &listener, 9);
    listener.expect(SECOND);
    // In one turn, and while it lasts: the first counts.
    let delay = |time| Faults::new().at_step(0, Fault::Delay(time), "echo");
    sim.faults(delay(2 * SECOND).at_step(0, Fault::Delay(9 * SECOND), "echo").at_step(
        0,
        Fault::Delay(SECOND),
        "echo",
    ));
    one_turn(&sim);
    let held = "<0.2.0> \"echo\" Echo is delayed for 2s";
    let lines = [held, "Delay(9s) does not find \"echo\"", "Delay(1s) does not find \"echo\""];
    assert_eq!(faults_of(&sim), lines);
    echo.send(Say::This("late")).unwrap();
    listener.expect_none(Duration::from_millis(1_999));
    listener.expect_message(Duration::from_millis(1), &"late".to_owned());
    // When it is over another may come.
    sim.faults(delay(3 * SECOND));
    one_turn(&sim);
    echo.send(Say::This("later")).unwrap();
    listener.expect_none(Duration::from_millis(2_999));
    listener.expect_message(Duration::from_millis(1), &"later".to_owned());
    // By chance nobody is hit twice at a time, and nothing says so.
    sim.faults(Faults::new().delay_one_in(1, SECOND).only("echo"));
    (0..9).for_each(|_| one_turn(&sim));
    assert_eq!(faults_of(&sim).len(), 5, "{:?}", faults_of(&sim));
}

/// A probe's own turns come whatever holds it up, so it can end meanwhile.
#[test]
fn t3_a_delayed_process_that_has_ended_holds_up_nothing() {
    let sim = Simulation::new(1);
    let probe = Probe::<u32>::spawn(&sim);
    let never = idlers(&sim, 1);
    sim.faults(Faults::new().at_step(0, Fault::Delay(9 * SECOND), probe.pid()));
    one_turn(&sim);
    assert_eq!(faults_of(&sim).len(), 1);
    probe.run(|ctx| ctx.exit(ctx.pid(), Reason::Kill));
    assert!(!sim.is_alive(probe.pid()));
    // Nothing is to come, so time does not move.
    assert_eq!(sim.watch(never[0].pid()).wait(), Err(CannotWait::Stalled));
    assert_eq!(sim.now(), Timestamp::ZERO);
}

#[test]
fn t3_several_delays_and_full_mailboxes_each_last_their_own_time() {
    let sim = Simulation::new(1);
    let all = idlers(&sim, 4);
    let chosen = [(0, 3), (1, 1), (2, 2)].into_iter().fold(Faults::new(), |faults, (n, time)| {
        let name = format!("idler {n}");
        let full = faults.at_step(0, Fault::Fill(time * SECOND), name.as_str());
        full.at_step(0, Fault::Delay(time * SECOND), name.as_str())
    });
    sim.faults(chosen);
    one_turn(&sim);
    let full = || all.iter().filter(|one| one.send(1).is_err()).count();
    let handled = || all.iter().map(|one| one.info().handled).sum::<u64>();
    assert_eq!(full(), 3);
    sim.advance(Duration::from_millis(999));
    // The fourth has had its message.
    assert_eq!((full(), handled()), (3, 1));
    for left in [2, 1, 0] {
        sim.advance(Duration::from_millis(1));
        assert_eq!(full(), left);
        sim.advance(Duration::from_millis(999));
    }
    sim.run_until_idle();
    assert_eq!(sim.stats().dispatchers[0].queued, 0);
}

#[test]
fn t3_probes_and_their_pipes_are_never_hit_by_faults() {
    let sim = Simulation::new(1);
    let probe = Probe::<u32>::spawn(&sim);
    let node = sim.node().clone();
    let asks = node.clone();
    let everything = || Faults::new().kill_one_in(1).panic_one_in(1).delay_one_in(1, SECOND);
    sim.faults(everything().fail_init_one_in(1));
    probe.pipe(async move {
        let sleeper = krarup::Timestamp::ZERO;
        assert!(asks.now() >= sleeper);
        7
    });
    probe.expect_message(Duration::ZERO, &7);
    (0..9).for_each(|n| {
        probe.address().send(n).unwrap();
        probe.expect_message(Duration::ZERO, &n);
    });
    assert_eq!(faults_of(&sim), Vec::<String>::new());
}

/// A real node stops on a thread, which no fault can hit.
#[test]
fn t3_the_process_that_stops_a_node_is_never_hit_by_faults() {
    for seed in 0..20 {
        let sim = Simulation::new(seed);
        let waits = || behavior_fn(|_: Context<()>| std::future::pending::<Result>());
        (0..3).for_each(|_| drop(sim.spawn(waits).start().unwrap()));
        let everything = Faults::new().kill_one_in(2).panic_one_in(2).delay_one_in(2, SECOND);
        sim.faults(everything.fail_init_one_in(1));
        sim.stop().wait().unwrap();
        assert!(sim.processes().is_empty());
        let lines = faults_of(&sim);
        assert!(lines.iter().all(|line| !line.contains("node stop")), "{lines:?}");
    }
}

#[test]
fn t3_delayed_processes_continue_at_their_times_across_large_time_steps() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    let tells = |name: &'static str| {
        let to = listener.recipient();
        let tells = behavior_fn(move |mut ctx: Context<()>| async move {
            while let krarup::behavior::Received::Message(()) = ctx.receive().await {
                let line = format!("{name} at {}", ctx.now());
                to.send(line).map_err(SendError::without_message)?;
            }
            Ok(())
        });
        sim.spawn(move || tells).name(name).mailbox(1).start().unwrap()
    };
    let all = ["one", "two", "three"].map(tells);
    sim.run_until_idle();
    let (delay, fill) = (|n| Fault::Delay(n * SECOND), |n| Fault::Fill(n * SECOND));
    let faults = Faults::new().at_step(0, delay(2), "one").at_step(0, delay(1), "two");
    sim.faults(faults.at_step(0, delay(3), "three"));
    one_turn(&sim);
    all.iter().for_each(|one| one.send(()).unwrap());
    sim.advance(9 * SECOND);
    assert_eq!(listener.take_messages(), ["two at 1s", "one at 2s", "three at 3s"]);
    // And who waits for room that a fault has taken.
    let begun = sim.now();
    sim.faults(Faults::new().at_step(0, fill(2), "one").at_step(0, fill(1), "two"));
    one_turn(&sim);
    let waits = all[0].send_or_wait(()).wait();
    assert_eq!((waits, sim.now() - begun), (Ok(()), 2 * SECOND));
}

#[test]
fn t3_the_seed_chooses_the_victim_among_all_candidates() {
    let hit = |faults: Faults| {
        let hit = |seed| {
            let sim = Simulation::new(seed);
            idlers(&sim, 4);
            sim.faults(faults.clone());
            one_turn(&sim);
            faults_of(&sim).pop().unwrap()
        };
        let all: std::collections::BTreeSet<String> = (0..60).map(hit).collect();
        all.len()
    };
    assert_eq!(hit(Faults::new().kill_one_in(1)), 4);
    assert_eq!(hit(Faults::new().at_step(0, Fault::Kill, Victim::Anyone)), 4);
    assert_eq!(hit(Faults::new().kill_one_in(1).only("idler 2")), 1);
}

#[test]
fn t3_an_init_that_has_begun_does_not_fail_any_more() {
    let sim = Simulation::new(1);
    let all = idlers(&sim, 2);
    sim.faults(Faults::new().fail_init_one_in(1).at_step(0, Fault::FailInit, "idler 0"));
    all.iter().for_each(|one| one.send(1).unwrap());
    sim.run_until_idle();
    assert!(all.iter().all(|one| one.is_alive() && one.info().handled == 1));
    assert_eq!(faults_of(&sim), Vec::<String>::new());
}
