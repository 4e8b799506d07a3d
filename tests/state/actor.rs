//! State actors (rules O1 to O4): many handlers in flight, five classes, barriers, batches.

use crate::state_support::{Doer, DoerAddress, HOUR, Job, Kept, SECOND, asks, doer, job};
use crate::support::{Log, simulations};
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::state::{Scope, StateCalls, StateMessage, Stateful};
use krarup::testing::Probe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn o1_many_handlers_are_in_flight_and_each_ask_gets_its_own_answer() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        // The first waits longest.
        for number in (1..=50_u64).rev() {
            asks(&sim, &log, &doer, job(format!("{number}")).waiting(Duration::from_secs(number)));
        }
        sim.advance(Duration::from_millis(1));
        assert_eq!(doer.inspect().wait().unwrap().number("in_flight"), Some(50));
        log.take();
        sim.advance(60 * SECOND);
        let answers: Vec<String> =
            log.take().into_iter().filter(|line| line.contains("answered")).collect();
        let expected: Vec<String> =
            (1..=50).map(|number| format!("{number} answered {number}")).collect();
        assert_eq!(answers, expected);
    }
}

#[test]
fn o1_ten_thousand_interleaved_asks_reach_the_right_askers() {
    let sim = Simulation::new(7);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let right = Arc::new(Mutex::new(0));
    for asker in 0..100_u64 {
        let (doer, right) = (doer.clone(), Arc::clone(&right));
        sim.spawn(move || {
            behavior_fn(move |_: Context<()>| async move {
                for round in 0..100_u64 {
                    let name = format!("{asker}/{round}");
                    let wait = Duration::from_millis((asker * 7 + round * 13) % 50);
                    let ask = job(name.clone()).waiting(wait);
                    let answer = doer.ask(|reply| ask.answering(reply)).await?;
                    if answer == name {
                        *right.lock().unwrap() += 1;
                    }
                }
                Ok(())
            })
        })
        .start()
        .unwrap();
    }
    sim.advance(HOUR);
    assert_eq!(*right.lock().unwrap(), 10_000);
}

#[test]
fn o1_senders_are_known_and_the_first_notice_is_its_own() {
    let sim = Simulation::new(3);
    let log = Log::new();
    // Who sent it is known to its handler, and stays so while others are begun.
    let tells = |name: &'static str| {
        job(name).doing(move |scope| {
            Box::pin(async move {
                let before = scope.sender();
                scope.sleep(SECOND).await;
                assert_eq!(scope.sender(), before);
                let whose = match before {
                    None => "nobody".to_owned(),
                    Some(pid) if pid == scope.pid() => "its own".to_owned(),
                    Some(pid) => pid.to_string(),
                };
                scope.with(|doer| doer.log.note(format!("{name} of {whose}")));
                Ok(())
            })
        })
    };
    let (state, first) = (Doer::new(&log), tells("first"));
    let doer = sim.spawn(move || Stateful::new(state).first(first)).name("doer").start().unwrap();
    doer.notice(job("sent")).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["after_mount as doer", "notice first", "notice sent"]);
    let other = doer.clone();
    let (ask, notice, event) = (tells("ask"), tells("notice"), tells("event"));
    let batch = [job("1").batch(), job("2").batch()];
    let sender = sim.spawn(move || {
        behavior_fn(move |_: Context<()>| async move {
            other.event(event).unwrap();
            other.notice(notice).unwrap();
            for notice in batch {
                other.notice(notice).unwrap();
            }
            let _ = other.ask(|reply| ask.answering(reply)).await;
            Ok(())
        })
    });
    let sender = sender.start().unwrap().pid();
    doer.notice(tells("outside")).unwrap();
    sim.advance(2 * SECOND);
    let mut lines = log.take();
    lines.retain(|line| line.contains(" of "));
    lines.sort();
    let of = |kind: &str| format!("{kind} of {sender}");
    let expected = [of("ask"), of("event"), "first of its own".into(), of("notice"), of("notices")];
    assert_eq!(lines, [&expected[..], &["outside of nobody".into()]].concat());
    assert!(doer.is_alive());
}

/// Has one thing of each class come in one poll, the last class first.
fn one_of_each(scope: &mut Scope<Doer>, answered: Kept, failed: Kept, me: &DoerAddress) {
    me.event(job("e")).unwrap();
    me.notice(job("n")).unwrap();
    me.send(StateMessage::Ask(job("a"))).unwrap();
    failed.fail(CallError::NoWorkers { to: Pid::local(7, 0) });
    answered.send(7);
    scope.with(|doer| doer.log.note("all are there"));
}

#[test]
fn o2_the_five_classes_are_handled_in_strict_order() {
    for seed in 0..20 {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        doer.notice(job("asks").doing(move |scope| {
            Box::pin(async move {
                scope.ask_then(&other, |reply| reply, |value: u32| value.to_string()).start();
                scope.ask_then(&other, |reply| reply, |value: u32| value.to_string()).start();
                Ok(())
            })
        }))
        .unwrap();
        let (answered, failed) = (probe.expect(SECOND), probe.expect(SECOND));
        let me = doer.clone();
        log.take();
        doer.notice(job("go").doing(move |scope| {
            Box::pin(async move {
                one_of_each(scope, answered, failed, &me);
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        let failure = format!("exception {}", CallError::NoWorkers { to: Pid::local(7, 0) });
        assert_eq!(
            log.take(),
            [
                "notice go",
                "all are there",
                "go done",
                "reply 7",
                failure.as_str(),
                "ask a",
                "notice n",
                "event e"
            ]
        );
    }
}

#[test]
fn o2_the_order_is_looked_at_anew_before_each() {
    // A bound makes no difference to it.
    for bound in [None, Some(50)] {
        let sim = Simulation::new(1);
        let log = Log::new();
        let state = Doer::new(&log);
        let spawn = sim.spawn(move || Stateful::new(state));
        let spawn = if let Some(bound) = bound { spawn.mailbox(bound) } else { spawn };
        let doer = spawn.wait().unwrap();
        log.take();
        an_ask_overtakes(&sim, &log, &doer);
    }
}

fn an_ask_overtakes(sim: &Simulation, log: &Log, doer: &DoerAddress) {
    let me = doer.clone();
    let first = job("1").doing(move |_| {
        Box::pin(async move {
            // An ask comes while notices wait already: it is next.
            me.send(StateMessage::Ask(job("overtakes"))).unwrap();
            Ok(())
        })
    });
    let me = doer.clone();
    doer.notice(job("go").doing(move |_| {
        Box::pin(async move {
            me.notice(first).unwrap();
            me.notice(job("2")).unwrap();
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    assert_eq!(
        log.take(),
        ["notice go", "go done", "notice 1", "1 done", "ask overtakes", "notice 2"]
    );
}

#[test]
fn o2_events_are_handled_under_a_flood_of_asks() {
    // Every ask sends the next two: there is always one.
    fn endless(me: DoerAddress) -> Job {
        job("again").doing(move |_| {
            Box::pin(async move {
                let next = endless(me.clone());
                me.send(StateMessage::Ask(next)).unwrap();
                Ok(())
            })
        })
    }
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<()>::spawn(&sim);
        let tell = probe.address();
        for _ in 0..3 {
            doer.send(StateMessage::Ask(endless(doer.clone()))).unwrap();
        }
        doer.event(job("event").doing(move |scope| {
            Box::pin(async move {
                tell.send(())?;
                scope.with_context(|_, ctx| ctx.stop());
                Ok(())
            })
        }))
        .unwrap();
        probe.expect(SECOND);
        sim.run_until_idle();
        assert!(!doer.is_alive());
    }
}

#[test]
fn o3_a_barrier_holds_asks_and_notices_back_and_nothing_else() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<Kept>::spawn(&sim);
        let (other, third) = (probe.address(), probe.address());
        // One in flight before the barrier.
        doer.notice(job("older").doing(move |scope| {
            Box::pin(async move {
                let value = scope.call(&third, |reply| reply).await?;
                scope.with(|doer| doer.log.note(format!("older has {value}")));
                Ok(())
            })
        }))
        .unwrap();
        let older = probe.expect(SECOND);
        let barrier = job("barrier").barrier().doing(move |scope| {
            Box::pin(async move {
                scope.after(SECOND, job("timer"));
                let value = scope.call(&other, |reply| reply).timeout(HOUR).await?;
                scope.with(|doer| doer.log.note(format!("barrier has {value}")));
                Ok(())
            })
        });
        asks(&sim, &log, &doer, barrier);
        let token = probe.expect(SECOND);
        asks(&sim, &log, &doer, job("a"));
        sim.run_until_idle();
        doer.notice(job("n")).unwrap();
        doer.event(job("e")).unwrap();
        log.take();
        sim.advance(2 * SECOND);
        // The older one ends, and the barrier stands.
        older.send(1);
        sim.run_until_idle();
        let inspected = doer.inspect().wait().unwrap();
        assert_eq!(inspected.value("barrier"), Some(&true.into()));
        assert_eq!(inspected.number("asks"), Some(1));
        assert_eq!(inspected.number("notices"), Some(1));
        let mut lines = log.take();
        lines.sort();
        assert_eq!(lines, ["event e", "event timer", "older done", "older has 1"]);
        // Nothing new comes, and all that waited is handled.
        token.send(2);
        sim.run_until_idle();
        let lines = log.take();
        let at = |line: &str| lines.iter().position(|noted| noted == line).expect(line);
        assert!(at("barrier done") < at("ask a") && at("ask a") < at("notice n"), "{lines:?}");
        assert!(lines.contains(&"a answered a".to_owned()));
    }
}

#[test]
fn o3_a_barrier_is_lifted_with_its_ask_for_every_outcome() {
    for how in 0..3 {
        for sim in simulations(3) {
            let log = Log::new();
            let doer = doer(&sim, &log);
            let probe = Probe::<Kept>::spawn(&sim);
            let other = probe.address();
            let barrier = job("barrier").barrier().doing(move |scope| {
                Box::pin(async move {
                    let failed = scope.call(&other, |reply| reply).timeout(3 * SECOND).await;
                    scope.with(|doer| doer.log.note(format!("failed {}", failed.is_err())));
                    Ok(())
                })
            });
            asks(&sim, &log, &doer, barrier);
            let token = probe.expect(SECOND);
            doer.notice(job("behind")).unwrap();
            sim.run_until_idle();
            assert_eq!(log.count("behind"), 0);
            match how {
                0 => drop(token),
                1 => token.fail(CallError::Full { to: Pid::local(7, 0) }),
                // It times out.
                _ => {
                    sim.advance(4 * SECOND);
                    drop(token);
                }
            }
            sim.run_until_idle();
            assert_eq!((log.count("failed true"), log.count("notice behind")), (1, 1));
        }
    }
}

#[test]
fn o3_read_and_write_around_an_await_are_one_in_a_barrier() {
    // Without the barrier they are not, which shows that the test can see it.
    for barrier in [true, false] {
        let sim = Simulation::new(11);
        let log = Log::new();
        let doer = doer(&sim, &log);
        for number in 0..20_u64 {
            let adds = job("adds").doing(move |scope| {
                Box::pin(async move {
                    let read = scope.with(|doer| doer.sum);
                    scope.sleep(Duration::from_millis(number % 3 + 1)).await;
                    scope.with(|doer| doer.sum = read + 1);
                    Ok(())
                })
            });
            asks(&sim, &log, &doer, adds.barrier_if(barrier));
        }
        sim.advance(SECOND);
        assert_eq!(doer.state::<u64>().wait().unwrap() == 20, barrier);
    }
}

#[test]
fn o4_neighbours_are_handled_together_and_the_order_stays() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let me = doer.clone();
    doer.notice(job("go").doing(move |_| {
        Box::pin(async move {
            for name in ["1", "2", "x", "3", "y", "z", "4", "5"] {
                let notice = job(name);
                let batch = name.parse::<u32>().is_ok();
                me.notice(if batch { notice.batch() } else { notice }).unwrap();
            }
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    assert_eq!(
        log.take()[2..],
        ["notices 1 2", "notice x", "notices 3", "notice y", "notice z", "notices 4 5"]
    );
}

#[test]
fn o4_every_ask_of_a_batch_has_its_answer_and_a_barrier_is_in_none() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        // What comes behind a barrier lies there together when that is done.
        asks(&sim, &log, &doer, job("first").barrier().waiting(SECOND));
        sim.run_until_idle();
        for name in ["1", "2", "3"] {
            asks(&sim, &log, &doer, job(name).batch());
        }
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("second").batch().barrier());
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("4").batch());
        sim.advance(10 * SECOND);
        let lines = log.take();
        let answered = |name: &str| lines.contains(&format!("{name} answered {name}"));
        assert!(["first", "1", "2", "3", "second", "4"].into_iter().all(answered), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.contains("answered")).count(), 6);
        let batches: Vec<String> =
            lines.into_iter().filter(|line| line.starts_with("ask")).collect();
        assert_eq!(batches.len(), 4, "{batches:?}");
        let mut together: Vec<&str> = batches[1].split(' ').collect();
        together.sort_unstable();
        assert_eq!(together, ["1", "2", "3", "asks"]);
        assert_eq!((batches[2].as_str(), batches[3].as_str()), ("ask second", "asks 4"));
    }
}
