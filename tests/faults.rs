//! Faults in a simulation: at chosen steps, and from the seed.

use krarup::prelude::*;
use krarup::{Fault, Faults, Probe, Recipient, Timestamp, Victim, behavior_fn};
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
    listener.expect_message(SECOND, &"terminate: panic: a fault of the simulation".to_owned());
    assert!(!echo.is_alive());
    assert_eq!(faults_of(&sim), ["<0.2.0> \"echo\" Echo panics at its next message"]);
}

#[test]
fn t3_who_is_held_up_comes_late_and_time_goes_on_without_it() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    let echo = echo(&sim, &listener, 9);
    listener.expect(SECOND);
    sim.faults(Faults::new().at_step(0, Fault::Delay(7 * SECOND), "echo"));
    // Somebody's turn, after which it strikes.
    listener.address().send("go".to_owned()).unwrap();
    listener.expect(SECOND);
    assert_eq!(echo.call(Say::Ask).wait(), Err(CallError::Timeout(5 * SECOND)));
    echo.send(Say::This("late")).unwrap();
    listener.expect_none(Duration::from_millis(1_999));
    listener.expect_message(Duration::from_millis(1), &"late".to_owned());
    assert_eq!(sim.now(), Timestamp::ZERO + 7 * SECOND);
    assert_eq!(faults_of(&sim), ["<0.2.0> \"echo\" Echo is held up for 7s"]);
}

#[test]
fn t3_new_faults_let_those_go_on_who_were_held_up() {
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
    assert!(matches!(echo.send(Say::This("no")), Err(SendError::Full(_))));
    sim.faults(Faults::new());
    echo.send(Say::This("yes")).unwrap();
    listener.expect_message(Duration::ZERO, &"yes".to_owned());
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
    assert!(matches!(echo.send(Say::This("no")), Err(SendError::Full(_))));
    assert_eq!(echo.call(Say::Ask).wait(), Err(CallError::Full));
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
    assert_eq!(failed, SpawnError::Init(Reason::error("a fault of the simulation")));
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
fn t3_a_chosen_fault_that_finds_nobody_says_so() {
    let sim = Simulation::new(1);
    let listener = Probe::<String>::spawn(&sim);
    let chosen = Faults::new().at_step(0, Fault::Kill, "nobody").at_step(
        0,
        Fault::Fill(SECOND),
        Victim::Anyone,
    );
    sim.faults(chosen);
    listener.address().send("go".to_owned()).unwrap();
    listener.expect(SECOND);
    assert_eq!(faults_of(&sim), ["Kill does not find \"nobody\"", "Fill(1s) finds nobody"]);
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
        (Faults::new().delay_one_in(9, tenth), "is held up for"),
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
fn t3_times_by_chance_are_whole_milliseconds_within_what_was_said() {
    let tenth = Duration::from_millis(100);
    let lines = (0..20).flat_map(|seed| a_shop(seed, Faults::new().delay_one_in(5, tenth)));
    let mut times: Vec<u64> = lines
        .map(|line| {
            let (_, time) = line.split_once("is held up for ").expect("a delay");
            time.strip_suffix("ms").expect("milliseconds").parse().expect("a whole number")
        })
        .collect();
    times.sort_unstable();
    assert!(times[0] >= 1 && times[0] < 20, "{times:?}");
    assert!(times[times.len() - 1] <= 100 && times[times.len() - 1] > 80, "{times:?}");
}

#[test]
fn x2_a_simulation_in_which_somebody_is_held_up_stops_and_is_dropped() {
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
