//! Recording every turn of a node, exactly (rule X13).

use crate::support::simulations;
use krarup::behavior::{Behavior, behavior_fn};
use krarup::dispatcher::{Class, DispatcherOptions};
use krarup::observe::{
    NodeView, RecordTurnsError, RecordedTurn, RecordedTurns, TurnRecordingLimits,
};
use krarup::prelude::*;
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

const MINUTE: TurnRecordingLimits = TurnRecordingLimits::lasting(Duration::from_secs(60));

fn waits() -> impl Behavior<Message = u32, Command = u32> {
    behavior_fn(|mut ctx: Context<u32>| async move {
        loop {
            ctx.receive().await;
        }
    })
}

fn of(recorded: &RecordedTurns, pid: Pid) -> Vec<&RecordedTurn> {
    recorded.turns.iter().filter(|turn| turn.pid == pid).collect()
}

fn handled(recorded: &RecordedTurns, pid: Pid) -> u64 {
    of(recorded, pid).iter().map(|turn| turn.handled).sum()
}

#[test]
fn x13_a_simulation_records_each_turn_with_what_it_handled() {
    for sim in simulations(10) {
        let (one, other) = (sim.spawn(waits).wait().unwrap(), sim.spawn(waits).wait().unwrap());
        sim.run_until_idle();
        one.send(0).unwrap();
        sim.run_until_idle();
        let turns = || sim.stats().dispatchers[0].turns;
        let before = turns();
        let recording = sim.record_turns(MINUTE).unwrap();
        (0..5).for_each(|n| one.send(n).unwrap());
        sim.run_until_idle();
        sim.advance(Duration::from_secs(1));
        (0..3).for_each(|n| other.send(n).unwrap());
        sim.run_until_idle();
        let counted = turns() - before;
        let recorded = recording.finish();
        assert_eq!(recorded.turns.len() as u64, counted);
        assert_eq!((handled(&recorded, one.pid()), handled(&recorded, other.pid())), (5, 3));
        let (first, last) = (&recorded.turns[0], recorded.turns.last().unwrap());
        assert_eq!((&*first.dispatcher, first.worker, first.pid), ("simulated", 0, one.pid()));
        // A turn takes no time of a simulation.
        assert!(recorded.turns.iter().all(|turn| turn.begin == turn.end));
        assert_eq!(last.begin - first.begin, Duration::from_secs(1));
        // It is over: nothing is recorded, and another one begins anew.
        one.send(1).unwrap();
        sim.run_until_idle();
        let recording = sim.record_turns(MINUTE).unwrap();
        assert_eq!(recording.finish(), RecordedTurns::default());
    }
}

#[test]
fn x13_a_recording_ends_at_its_time_and_keeps_what_it_has() {
    for sim in simulations(5) {
        let process = sim.spawn(waits).wait().unwrap();
        sim.run_until_idle();
        let limits = TurnRecordingLimits::lasting(Duration::from_millis(100));
        let recording = sim.record_turns(limits).unwrap();
        for _ in 0..4 {
            process.send(1).unwrap();
            sim.run_until_idle();
            sim.advance(Duration::from_millis(33));
        }
        assert!(recording.is_over(sim.now()));
        process.send(1).unwrap();
        sim.run_until_idle();
        assert_eq!(handled(&recording.finish(), process.pid()), 4);
    }
}

#[test]
fn x13_nodes_of_one_simulation_record_their_own_turns() {
    let sim = Simulation::new(1);
    let other = sim.beside("other@localhost").unwrap();
    let (here, there) = (sim.spawn(waits).wait().unwrap(), other.spawn(waits).wait().unwrap());
    let recording = other.record_turns(MINUTE).unwrap();
    here.send(1).unwrap();
    there.send(1).unwrap();
    sim.run_until_idle();
    let recorded = recording.finish();
    assert!(recorded.turns.iter().all(|turn| turn.pid.creation() == there.pid().creation()));
    assert_eq!(handled(&recorded, there.pid()), 1);
}

#[test]
fn x13_there_is_one_recording_at_a_time_and_none_of_a_node_that_is_gone() {
    let sim = Simulation::new(1);
    let view: NodeView = sim.view();
    let recording = view.record_turns(MINUTE).unwrap();
    let error = view.record_turns(MINUTE).unwrap_err();
    assert!(matches!(error, RecordTurnsError::AlreadyRecording { .. }), "{error}");
    drop(recording);
    let most = TurnRecordingLimits::MOST_TURNS;
    let limits = TurnRecordingLimits { turns: most + 1, ..MINUTE };
    let error = view.record_turns(limits).unwrap_err();
    assert_eq!(error, RecordTurnsError::Turns { turns: most + 1, most });
    drop(view.record_turns(MINUTE).unwrap());
    drop(sim);
    let error = view.record_turns(MINUTE).unwrap_err();
    assert!(matches!(error, RecordTurnsError::NodeStopped(_)), "{error}");
}

/// A process that sends itself numbers down to 0, and then says so.
struct Countdown(mpsc::Sender<Pid>);

impl Actor for Countdown {
    type Message = u32;

    async fn handle_message(&mut self, ctx: &mut Context<u32>, n: u32) -> Result {
        if n == 0 {
            let _ = self.0.send(ctx.pid());
        } else {
            ctx.address().send(n - 1)?;
        }
        Ok(())
    }
}

/// No worker is in two turns at once, and no process.
fn assert_apart(recorded: &RecordedTurns) {
    let mut lanes: BTreeMap<String, Vec<&RecordedTurn>> = BTreeMap::new();
    for turn in &recorded.turns {
        lanes.entry(format!("{} {}", turn.dispatcher, turn.worker)).or_default().push(turn);
        lanes.entry(turn.pid.to_string()).or_default().push(turn);
    }
    for (lane, mut turns) in lanes {
        turns.sort_by_key(|turn| turn.begin);
        for pair in turns.windows(2) {
            assert!(pair[0].end <= pair[1].begin, "{lane}: {pair:?}");
        }
        assert!(turns.iter().all(|turn| turn.begin <= turn.end));
    }
}

#[test]
fn x13_workers_record_the_turns_of_all_kinds_and_classes_and_go_on_without() {
    const MESSAGES: u32 = 2_000;
    let node = Node::builder("recorded@localhost")
        .dispatcher("many", DispatcherOptions::new().workers(3).throughput(7))
        .dispatcher("pin", DispatcherOptions::pinned().throughput(7))
        .dispatcher("late", DispatcherOptions::new().workers(1).throughput(7))
        .start()
        .unwrap();
    let (done, is_done) = mpsc::channel();
    let spawn = |dispatcher: &'static str, class: Class| {
        let done = done.clone();
        node.spawn(move || Countdown(done)).dispatcher(dispatcher).class(class).wait().unwrap()
    };
    let mut all: Vec<_> = (0..4).map(|_| spawn("many", Class::Normal)).collect();
    all.push(spawn("many", Class::High));
    all.push(spawn("pin", Class::Normal));
    // A turn that runs when the recording begins is not recorded.
    let asleep = || node.stats().dispatchers.iter().all(|it| it.parked == it.workers);
    while !asleep() {
        std::thread::yield_now();
    }
    let recording = node.record_turns(MINUTE).unwrap();
    // This dispatcher starts only now.
    all.push(spawn("late", Class::Normal));
    let run = |all: &[Address<u32>]| {
        all.iter().for_each(|process| process.send(MESSAGES).unwrap());
        assert_eq!(is_done.iter().take(all.len()).count(), all.len());
    };
    run(&all);
    let recorded = recording.finish();
    assert_apart(&recorded);
    for process in &all {
        let turns = of(&recorded, process.pid());
        let dispatcher = node.process_info(process.pid()).unwrap().dispatcher;
        assert!(turns.iter().all(|turn| *turn.dispatcher == *dispatcher), "{turns:?}");
        // The last turn may not be over yet.
        let handled = handled(&recorded, process.pid());
        let all_but_last = u64::from(MESSAGES + 1).saturating_sub(7);
        assert!((all_but_last..=u64::from(MESSAGES + 1)).contains(&handled), "{handled}");
        assert!(turns.iter().all(|turn| turn.handled <= 7), "{turns:?}");
    }
    // The workers go on, and sleep when there is nothing to do.
    run(&all);
    while !asleep() {
        std::thread::yield_now();
    }
    node.stop().wait().unwrap();
}

#[test]
fn x13_workers_sleep_while_turns_are_recorded_and_a_stop_ends_them() {
    let node = Node::builder("recorded@localhost")
        .dispatcher("two", DispatcherOptions::new().workers(2))
        .start()
        .unwrap();
    let process = node.spawn(waits).dispatcher("two").wait().unwrap();
    // Until the process has handled this many, and both workers sleep.
    let rests_after = |handled: u64| {
        while node.process_info(process.pid()).unwrap().handled < handled
            || !node.stats().dispatchers.iter().any(|it| it.name == "two" && it.parked == 2)
        {
            std::thread::yield_now();
        }
    };
    rests_after(0);
    let recording = node.record_turns(MINUTE).unwrap();
    for n in 1..=50 {
        process.send(n).unwrap();
        rests_after(n.into());
    }
    node.stop().wait().unwrap();
    let recorded = recording.finish();
    assert_apart(&recorded);
    assert_eq!(handled(&recorded, process.pid()), 50);
    assert!(recorded.turns.iter().all(|turn| turn.end > turn.begin));
}
