//! What comes to a state actor while it cannot handle it: the order in which it is handled then
//! (rules O2, O5), and the room that it keeps meanwhile (rules M5, M6).

use crate::state_support::{
    COUNTS, Doer, DoerAddress, HOUR, Kept, Others, SECOND, asks, doer, job, limited, numbers,
};
use crate::support::{Log, poll_once, simulations};
use krarup::behavior::behavior_fn;
use krarup::mailbox::Overflow;
use krarup::prelude::*;
use krarup::state::{StateCalls, StateMessage, Stateful};
use krarup::testing::Probe;
use std::sync::{Arc, Mutex};

/// Has it ask a process so often, and not wait, and once with a short time; that process, and
/// the tokens of the asks.
fn asking(sim: &Simulation, doer: &DoerAddress, asks: usize) -> (Pid, Vec<Kept>) {
    let probe = Probe::<Kept>::spawn(sim);
    let other = probe.address();
    doer.notice(job("asks").doing(move |scope| {
        Box::pin(async move {
            for _ in 0..asks {
                scope.ask_then(&other, |reply| reply, |n: u32| n.to_string()).timeout(HOUR).start();
            }
            scope.ask_then(&other, |reply| reply, |n: u32| n.to_string()).timeout(SECOND).start();
            Ok(())
        })
    }))
    .unwrap();
    let tokens = (0..=asks).map(|_| probe.expect(SECOND)).collect();
    sim.run_until_idle();
    (probe.pid(), tokens)
}

/// How many notices are taken until its mailbox is full.
fn accepted(doer: &DoerAddress) -> usize {
    (0..20).filter(|_| doer.notice(job("n")).is_ok()).count()
}

#[test]
fn o2_outcomes_are_handled_in_their_classes_and_in_the_order_in_which_they_came() {
    // What waits in the mailbox comes in one turn.
    for sim in (0..5).map(Simulation::new) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let (to, tokens) = asking(&sim, &doer, 4);
        let mut tokens: Vec<_> = tokens.into_iter().map(Some).collect();
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        doer.notice(job("both").doing(move |scope| {
            Box::pin(async move {
                let fails = scope.call(&other, |reply| reply).timeout(HOUR).start();
                let log = scope.with(|doer| doer.log.clone());
                log.note(format!("awaited {}", fails.await.is_err()));
                Ok(())
            })
        }))
        .unwrap();
        let fails = probe.expect(SECOND);
        doer.suspend().wait().unwrap();
        log.take();
        // The last class first, and in each class another order than that of the asks.
        sim.advance(SECOND);
        doer.event(job("e")).unwrap();
        doer.notice(job("n")).unwrap();
        asks(&sim, &log, &doer, job("a"));
        sim.run_until_idle();
        drop(fails);
        sim.run_until_idle();
        drop(tokens[1].take());
        sim.run_until_idle();
        for answered in [3, 0, 2] {
            tokens[answered].take().unwrap().send(u32::try_from(answered).unwrap());
            sim.run_until_idle();
        }
        assert_eq!(log.take(), Vec::<String>::new());
        doer.resume();
        sim.run_until_idle();
        let mut lines = log.take();
        lines.retain(|line| !line.starts_with("a answered"));
        let timeout = format!("exception {}", CallError::Timeout { to, limit: SECOND });
        let failed = format!("exception {}", CallError::NoReply { to });
        let expected = [
            "reply 3",
            "reply 0",
            "reply 2",
            "awaited true",
            "both done",
            &failed,
            "ask a",
            "notice n",
            &timeout,
            "event e",
        ];
        assert_eq!(lines, expected);
    }
}

#[test]
fn o2_events_of_all_kinds_are_handled_in_the_order_in_which_they_came() {
    // One turn takes in all of them.
    for sim in (0..5).map(Simulation::new) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let others = [Others::of(&sim, &doer), Others::of(&sim, &doer)];
        let probe = Probe::<Kept>::spawn(&sim);
        let (asked, to) = (probe.address(), probe.pid());
        doer.notice(job("sets").doing(move |scope| {
            Box::pin(async move {
                for rings in 1..3 {
                    let timeout = 2 * rings * SECOND;
                    scope.after((2 * rings - 1) * SECOND, job(format!("timer {rings}")));
                    scope
                        .ask_then(&asked, |reply| reply, |n| n.to_string())
                        .timeout(timeout)
                        .start();
                }
                Ok(())
            })
        }))
        .unwrap();
        let _late = [probe.expect(SECOND), probe.expect(SECOND)];
        doer.suspend().wait().unwrap();
        log.take();
        for (others, round) in others.iter().zip(1..) {
            doer.event(job(format!("event {round}"))).unwrap();
            others.linked.send(()).unwrap();
            sim.run_until_idle();
            others.monitored.send(()).unwrap();
            sim.run_until_idle();
        }
        sim.send(doer.pid(), 5_u8).unwrap();
        sim.advance(4 * SECOND);
        assert_eq!(log.take(), Vec::<String>::new());
        doer.resume();
        sim.run_until_idle();
        // Its own are in its hands already; what is sent lies in its lane of the mailbox.
        let mut expected = Vec::new();
        for round in [1, 2] {
            let timeout = CallError::Timeout { to, limit: 2 * round * SECOND };
            expected.extend([format!("event timer {round}"), format!("exception {timeout}")]);
        }
        let sent = ["event event 1", "event event 2", "exit boom", "down boom", "exit boom"];
        expected.extend(sent.into_iter().chain(["down boom", "other u8"]).map(String::from));
        let mut lines = log.take();
        lines.retain(|line| !line.ends_with("done"));
        assert_eq!(lines, expected);
    }
}

#[test]
fn o2_an_idle_timeout_is_an_event_behind_earlier_ones() {
    for sim in (0..3).map(Simulation::new) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        doer.notice(job("sets").doing(|scope| {
            Box::pin(async move {
                scope.with_context(|_, ctx| ctx.set_idle_timeout(Some(SECOND)));
                scope.after(SECOND, job("timer"));
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        log.take();
        sim.advance(SECOND);
        assert_eq!(log.take(), ["event timer", "silence"]);
    }
}

#[test]
fn o2_a_second_look_finds_an_ask_behind_notices() {
    for sim in (0..3).map(Simulation::new) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let itself = doer.clone();
        doer.notice(job("sends").doing(move |_| {
            Box::pin(async move {
                (0..2).for_each(|n| itself.notice(job(n.to_string())).unwrap());
                itself.send(StateMessage::Ask(job("a"))).unwrap();
                Ok(())
            })
        }))
        .unwrap();
        doer.event(job("e")).unwrap();
        sim.run_until_idle();
        let lines = log.take();
        assert_eq!(lines[2..], ["ask a", "notice 0", "notice 1", "event e"], "{lines:?}");
    }
}

#[test]
fn o7_a_stopping_actor_begins_no_event_and_waits_for_running_ones() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let others = Others::of(&sim, &doer);
        asks(&sim, &log, &doer, job("slow").waiting(2 * SECOND));
        doer.event(job("begun").waiting(3 * SECOND)).unwrap();
        doer.event(job("sets").doing(|scope| {
            Box::pin(async move {
                scope.after(SECOND, job("timer"));
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        doer.process().request_stop(Reason::Normal);
        sim.run_until_idle();
        log.take();
        let dead = sim.stats().dead_letters;
        doer.event(job("event")).unwrap();
        others.linked.send(()).unwrap();
        others.monitored.send(()).unwrap();
        sim.send(doer.pid(), 5_u8).unwrap();
        sim.advance(4 * SECOND);
        let ends = [
            "begun done",
            "cleaned normal",
            "dropped",
            "slow answered slow",
            "slow done",
            "terminate normal",
        ];
        assert_eq!(log.take_sorted(), ends);
        assert_eq!(sim.stats().dead_letters, dead + 2, "messages that a process has sent");
    }
}

#[test]
fn o5_a_message_of_another_type_is_an_event_of_its_sender_in_the_order_of_events() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        doer.notice(job("takes").doing(|scope| {
            Box::pin(async move {
                scope.with_context(|_, ctx| ctx.take_others());
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        doer.suspend().wait().unwrap();
        log.take();
        doer.event(job("first")).unwrap();
        let (to, node) = (doer.clone(), sim.node().clone());
        let stranger = behavior_fn(move |_: Context<()>| async move {
            node.send(to.pid(), 5_u8).map_err(SendError::without_message)?;
            to.event(job("second")).map_err(SendError::without_message)?;
            Ok(())
        });
        let sender = sim.spawn(move || stranger).start().unwrap().pid();
        sim.run_until_idle();
        doer.resume();
        sim.run_until_idle();
        let mut events = log.take();
        assert!(events.contains(&format!("other u8 of {sender}")), "{events:?}");
        events.retain(|line| line.starts_with("event"));
        assert_eq!(events, ["event first", "event second"]);
    }
}

#[test]
fn o5_a_timer_that_has_rung_can_be_taken_back_until_its_event_is_handled() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        doer.notice(job("sets").doing(|scope| {
            Box::pin(async move {
                let taken = scope.after(SECOND, job("taken back"));
                scope.after(SECOND, job("left"));
                scope.sleep(SECOND).await;
                // A reply, in a way: it goes before all events.
                assert!(scope.cancel(taken) && !scope.cancel(taken));
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        doer.suspend().wait().unwrap();
        sim.advance(2 * SECOND);
        doer.resume();
        sim.run_until_idle();
        assert_eq!(log.take(), ["notice sets", "sets done", "event left"]);
    }
}

#[test]
fn o8_the_inspection_counts_classes_and_flights_and_shows_a_barrier() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let (_, mut tokens) = asking(&sim, &doer, 3);
        let _late = tokens.pop();
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(10 * SECOND));
        sim.run_until_idle();
        (0..3).for_each(|_| asks(&sim, &log, &doer, job("a")));
        (0..4).for_each(|_| doer.notice(job("n")).unwrap());
        sim.run_until_idle();
        doer.suspend().wait().unwrap();
        drop(tokens.pop());
        tokens.into_iter().for_each(|token| token.send(1));
        // One is not answered in time, which is an event.
        sim.advance(SECOND);
        let items =
            ["replies", "exceptions", "asks", "notices", "events", "in_flight", "pending_promises"];
        let barrier = || doer.inspect().wait().unwrap().value("barrier").cloned();
        assert_eq!(numbers(&doer, items), [2, 1, 3, 4, 1, 1, 4].map(Some));
        assert_eq!(barrier(), Some(true.into()));
        doer.resume();
        sim.run_until_idle();
        assert_eq!(numbers(&doer, items), [0, 0, 3, 4, 0, 1, 0].map(Some));
        sim.advance(20 * SECOND);
        assert_eq!(numbers(&doer, items), [Some(0); 7]);
        assert_eq!(barrier(), Some(false.into()));
    }
}

#[test]
fn m5_a_batch_frees_the_room_of_its_messages() {
    for sim in simulations(3) {
        for is_ask in [false, true] {
            let log = Log::new();
            let doer = limited(&sim, &log, 4, 10);
            let letter = move |name: &str| {
                let job = job(name).batch();
                if is_ask { StateMessage::Ask(job) } else { StateMessage::Notice(job) }
            };
            for _ in 0..3 {
                asks(&sim, &log, &doer, job("barrier").barrier().waiting(SECOND));
                sim.run_until_idle();
                (0..4).for_each(|_| assert!(doer.send(letter("in")).is_ok()));
                // Of these the bound knows nothing.
                (0..3).for_each(|_| doer.notify(letter("beyond")));
                sim.run_until_idle();
                assert!(doer.notice(job("n")).unwrap_err().is_full());
                sim.advance(2 * SECOND);
                assert_eq!(
                    log.take().iter().filter(|line| line.contains("in in in in")).count(),
                    1
                );
                assert_eq!(doer.waiting(), 0);
            }
            asks(&sim, &log, &doer, job("barrier").barrier().waiting(SECOND));
            sim.run_until_idle();
            assert_eq!(accepted(&doer), 4);
        }
    }
}

#[test]
fn m5_messages_beyond_the_bound_free_no_room_of_others() {
    for sim in simulations(3) {
        for (is_ask, is_batch) in [(false, false), (false, true), (true, false), (true, true)] {
            let log = Log::new();
            let doer = limited(&sim, &log, 2, 1);
            let letter = |job| {
                if is_ask { StateMessage::Ask(job) } else { StateMessage::Notice(job) }
            };
            asks(&sim, &log, &doer, job("first").waiting(SECOND));
            sim.run_until_idle();
            for _ in 0..3 {
                let beyond = job("beyond");
                doer.notify(letter(if is_batch { beyond.batch() } else { beyond }));
            }
            assert!(doer.send(letter(job("slow").waiting(20 * SECOND))).is_ok());
            doer.notice(job("waits")).unwrap();
            assert_eq!(accepted(&doer), 0);
            sim.advance(2 * SECOND);
            // The slow one has begun, and the other one has its room.
            assert_eq!(accepted(&doer), 1);
        }
    }
}

#[test]
fn m5_the_first_notice_and_self_sends_do_not_change_the_bound() {
    for sim in simulations(3) {
        let log = Log::new();
        let state = Doer::new(&log);
        let first = job("first");
        let doer = sim.spawn(move || Stateful::new(state).first(first)).mailbox(4).wait().unwrap();
        sim.run_until_idle();
        let me = doer.clone();
        for _ in 0..3 {
            let me = me.clone();
            doer.notice(job("fills").doing(move |scope| {
                Box::pin(async move {
                    (0..4).for_each(|_| me.notice(job("own")).unwrap());
                    let other = scope.sender();
                    me.send(StateMessage::Ask(job("one more"))).unwrap_err();
                    assert_eq!(other, None);
                    Ok(())
                })
            }))
            .unwrap();
            // It looks for letters once more before this.
            doer.event(job("e")).unwrap();
            sim.run_until_idle();
            assert_eq!((log.count("notice own"), doer.waiting()), (4, 0));
            log.take();
        }
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(SECOND));
        sim.run_until_idle();
        assert_eq!(accepted(&doer), 4);
    }
}

#[test]
fn o1_an_actor_that_sends_itself_something_is_its_sender() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let me = doer.clone();
        let says = |name: &'static str| {
            job(name).doing(move |scope| {
                Box::pin(async move {
                    let own = scope.sender() == Some(scope.pid());
                    scope.with(|doer| doer.log.note(format!("{name} own {own}")));
                    Ok(())
                })
            })
        };
        doer.notice(job("sends").doing(move |_| {
            Box::pin(async move {
                me.notice(says("notice")).unwrap();
                me.send(StateMessage::Ask(says("ask"))).unwrap();
                me.event(says("event")).unwrap();
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        assert_eq!(log.count("own true"), 3, "{:?}", log.lines());
    }
}

#[test]
fn o1_handlers_of_events_do_not_count_towards_the_limit() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = limited(&sim, &log, 4, 1);
        (0..3).for_each(|_| doer.event(job("event").waiting(HOUR)).unwrap());
        sim.run_until_idle();
        assert_eq!(numbers(&doer, COUNTS), [Some(3), Some(0), Some(0)]);
        asks(&sim, &log, &doer, job("a").waiting(SECOND));
        sim.run_until_idle();
        doer.notice(job("n")).unwrap();
        sim.run_until_idle();
        assert_eq!((log.count("ask a"), log.count("notice n")), (1, 0));
        // What it holds back is behind no barrier.
        let inspected = doer.inspect().wait().unwrap();
        assert_eq!(inspected.value("barrier"), Some(&false.into()));
        sim.advance(SECOND);
        assert_eq!(log.count("notice n"), 1);
    }
}

#[test]
fn m6_the_oldest_message_is_dropped_in_every_state_of_the_actor() {
    for sim in simulations(5) {
        for (most, is_ask) in [(1, true), (10, true), (1, false)] {
            let log = Log::new();
            let state = Doer::new(&log);
            let doer = sim
                .spawn(move || Stateful::new(state).most_in_flight(most))
                .mailbox(3)
                .overflow(Overflow::DropOldest)
                .wait()
                .unwrap();
            // Three come together; the first holds the others back.
            let holds = job("holds").barrier_if(most > 1).waiting(SECOND);
            let holds = if is_ask { StateMessage::Ask(holds) } else { StateMessage::Notice(holds) };
            doer.send(holds).unwrap();
            (0..2).for_each(|number| doer.notice(job(number.to_string())).unwrap());
            sim.run_until_idle();
            for number in 2..10 {
                doer.notice(job(number.to_string())).unwrap();
                // It has something to do, and has what is at hand sorted in before that.
                doer.event(job("e")).unwrap();
                if number % 2 == 0 {
                    sim.run_until_idle();
                }
            }
            sim.advance(2 * SECOND);
            let mut lines = log.take();
            assert_eq!(lines.iter().filter(|line| *line == "event e").count(), 8);
            lines.retain(|line| line.starts_with("notice") && line != "notice holds");
            assert_eq!(lines, ["notice 7", "notice 8", "notice 9"]);
        }
    }
}

#[test]
fn o7_a_suspended_finishing_actor_continues_when_it_is_resumed() {
    for (at_its_end, is_event) in [(false, false), (true, false), (true, true)] {
        let (sim, log) = (Simulation::new(1), Log::new());
        let doer = doer(&sim, &log);
        let (itself, kept) = (doer.clone(), Arc::new(Mutex::new(None)));
        let suspension = Arc::clone(&kept);
        asks(
            &sim,
            &log,
            &doer,
            job("barrier").barrier().doing(move |scope| {
                Box::pin(async move {
                    scope.sleep(SECOND).await;
                    if at_its_end {
                        // Somebody else does it, just before the handler ends.
                        let other = std::thread::spawn(move || {
                            if is_event {
                                itself.event(job("later")).unwrap();
                            }
                            let mut suspends = Box::pin(itself.suspend());
                            assert!(poll_once(&mut suspends).is_pending());
                            *suspension.lock().unwrap() = Some(suspends);
                        });
                        other.join().unwrap();
                    }
                    Ok(())
                })
            }),
        );
        sim.run_until_idle();
        if !is_event {
            doer.notice(job("later")).unwrap();
            sim.run_until_idle();
        }
        doer.finish();
        sim.run_until_idle();
        if !at_its_end {
            doer.suspend().wait().unwrap();
        }
        log.take();
        sim.advance(2 * SECOND);
        let done: &[&str] =
            if at_its_end { &["barrier done", "barrier answered barrier"] } else { &[] };
        assert_eq!(log.take(), done);
        assert!(doer.is_alive(), "it has something to handle");
        doer.resume();
        sim.run_until_idle();
        let lines = log.take();
        let later = if is_event { "event later" } else { "notice later" };
        assert!(lines.contains(&later.to_owned()), "{lines:?}");
        assert!(!doer.is_alive() && lines.contains(&"terminate normal".to_owned()), "{lines:?}");
        assert_eq!(sim.stats().dead_letters, 0);
    }
}
