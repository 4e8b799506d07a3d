//! The load of a state actor, the class in which it is queued (rule O8), and what it does in a turn.

use crate::state_support::{Doer, DoerAddress, HOUR, Kept, SECOND, doer, job};
use crate::support::{Log, simulations};
use krarup::behavior::behavior_fn;
use krarup::dispatcher::Class;
use krarup::prelude::*;
use krarup::state::{StateCalls, Stateful};
use krarup::testing::Probe;

#[test]
fn o8_the_inspection_shows_the_load_and_whether_it_is_high() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let idle = doer.inspect().wait().unwrap();
    assert_eq!(idle.number("pending_promises"), Some(0));
    assert_eq!(idle.value("high"), Some(&true.into()));
    let probe = Probe::<Kept>::spawn(&sim);
    let other = probe.address();
    doer.notice(job("asks").doing(move |scope| {
        Box::pin(
            async move { scope.call(&other, |reply| reply).await.map(drop).map_err(Into::into) },
        )
    }))
    .unwrap();
    let _token = probe.expect(SECOND);
    let waits = doer.inspect().wait().unwrap();
    assert_eq!(waits.number("pending_promises"), Some(1));
    assert_eq!(waits.value("high"), Some(&false.into()));
}

/// One whose load says in which class it is queued.
fn varying(sim: &Simulation, log: &Log) -> DoerAddress {
    let state = Doer::new(log);
    let doer = sim.spawn(move || Stateful::new(state)).class(Class::Varying).wait().unwrap();
    sim.run_until_idle();
    log.take();
    doer
}

/// Has it ask so often, and not wait; the tokens of its asks.
fn asking(sim: &Simulation, doer: &DoerAddress, asks: usize) -> Vec<Kept> {
    let probe = Probe::<Kept>::spawn(sim);
    let other = probe.address();
    doer.notice(job("asks").doing(move |scope| {
        Box::pin(async move {
            for _ in 0..asks {
                scope.ask_then(&other, |reply| reply, |n: u32| n.to_string()).timeout(HOUR).start();
            }
            Ok(())
        })
    }))
    .unwrap();
    let tokens = (0..asks).map(|_| probe.expect(SECOND)).collect();
    sim.run_until_idle();
    tokens
}

#[test]
fn o8_an_actor_without_unanswered_asks_is_queued_as_high() {
    for sim in simulations(3) {
        let log = Log::new();
        let (varying, plain) = (varying(&sim, &log), doer(&sim, &log));
        let classes = || (varying.info().class, plain.info().class);
        assert_eq!(classes(), (Class::High, Class::Normal));
        let tokens = (asking(&sim, &varying, 1), asking(&sim, &plain, 1));
        assert_eq!(classes(), (Class::Normal, Class::Normal));
        drop(tokens);
        sim.run_until_idle();
        assert_eq!(classes(), (Class::High, Class::Normal));
    }
}

#[test]
fn o8_more_than_two_replies_left_at_the_end_of_a_turn_make_it_high() {
    // A poll handles 64 of them.
    for (answers, goes_high) in [(64 + 2, false), (64 + 3, true)] {
        let (sim, log) = (Simulation::with_throughput(1, 1), Log::new());
        let doer = varying(&sim, &log);
        let mut tokens = asking(&sim, &doer, answers + 1);
        let _one_is_outstanding = tokens.pop();
        log.take();
        tokens.into_iter().for_each(|token| token.send(1));
        // The first had it queued; the others do not promote it.
        assert_eq!(doer.info().class, Class::Normal);
        let high_turns = || sim.stats().dispatchers[0].high_turns;
        let before = high_turns();
        let mut classes = Vec::new();
        while sim.step().is_some() {
            classes.push((log.lines().len(), doer.info().class));
        }
        let next = if goes_high { Class::High } else { Class::Normal };
        assert_eq!(classes[..2], [(64, next), (answers, Class::Normal)]);
        assert_eq!(high_turns() - before, u64::from(goes_high));
    }
}

#[test]
fn o8_replies_that_the_last_handler_of_a_turn_has_brought_are_of_its_load() {
    for (more, next) in [(2, Class::Normal), (3, Class::High)] {
        let (sim, log) = (Simulation::with_throughput(1, 1), Log::new());
        let doer = varying(&sim, &log);
        let mut last = asking(&sim, &doer, more + 1);
        let _one_is_outstanding = last.pop();
        let tokens = asking(&sim, &doer, 63);
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        doer.notice(job("answers").doing(move |scope| {
            Box::pin(async move {
                let _ = scope.call(&other, |reply| reply).timeout(HOUR).await;
                last.into_iter().for_each(|token| token.send(1));
                Ok(())
            })
        }))
        .unwrap();
        let token = probe.expect(SECOND);
        sim.run_until_idle();
        log.take();
        tokens.into_iter().chain([token]).for_each(|token| token.send(1));
        sim.step();
        assert_eq!((log.lines().len(), doer.info().class), (64, next));
    }
}

#[test]
fn o8_more_than_four_events_left_at_the_end_of_a_turn_make_it_high() {
    let (sim, log) = (Simulation::with_throughput(1, 1), Log::new());
    let doer = varying(&sim, &log);
    let _outstanding = asking(&sim, &doer, 1);
    log.take();
    for _ in 0..6 {
        doer.event(job("event")).unwrap();
    }
    let mut left = Vec::new();
    while sim.step().is_some() {
        left.push(doer.info().class);
    }
    // Five are left after the first, four after the second.
    let mut expected = [Class::Normal; 6];
    expected[0] = Class::High;
    assert_eq!((&left[..6], log.lines().len()), (&expected[..], 6));
}

#[test]
fn o8_a_high_state_actor_precedes_others_16_times_in_a_row() {
    for seed in 0..20 {
        let (sim, log) = (Simulation::with_throughput(seed, 1), Log::new());
        let doer = varying(&sim, &log);
        let noted = log.clone();
        let normal = sim.spawn(|| {
            behavior_fn(move |mut ctx: Context<()>| async move {
                loop {
                    ctx.receive().await;
                    noted.note("normal");
                }
            })
        });
        let normal = normal.start().unwrap();
        sim.run_until_idle();
        for _ in 0..100 {
            normal.send(()).unwrap();
            doer.notice(job("n")).unwrap();
        }
        sim.run_until_idle();
        let lines = log.take();
        let rows: Vec<usize> = lines.split(|line| line == "normal").map(<[_]>::len).collect();
        assert_eq!(rows[..7], [16, 16, 16, 16, 16, 16, 4], "{rows:?}");
        assert!(sim.stats().dispatchers[0].high_turns >= 100);
    }
}

#[test]
fn a_turn_handles_as_many_letters_as_it_may_receive() {
    // What a state actor does in one poll beyond what it receives has a bound of its own.
    let sim = Simulation::with_throughput(1, 1000);
    let log = Log::new();
    let doer = doer(&sim, &log);
    (0..300).for_each(|_| doer.notice(job("n")).unwrap());
    sim.step();
    assert_eq!(log.count("notice n"), 300);
}
