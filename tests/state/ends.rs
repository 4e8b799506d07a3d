//! How a state actor ends, and what holds it back from that (rules D9, L7, O7).

use crate::state_support::{Doer, HOUR, Kept, SECOND, asks, doer, job, restarting};
use crate::support::{Log, boom, poll_once, simulations};
use krarup::behavior::{BehaviorContext, Received, behavior_fn};
use krarup::prelude::*;
use krarup::state::{
    Event, First, Machine, Next, Scope, StateActor, StateCalls, StateContext, StateMachine,
    StateMessage, Stateful,
};
use krarup::testing::Probe;
use std::task::Poll;
use std::time::Duration;

#[test]
fn o7_a_stop_waits_for_handlers_in_flight_and_begins_nothing() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        asks(&sim, &log, &doer, job("slow").barrier().waiting(SECOND));
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("behind"));
        doer.notice(job("behind")).unwrap();
        sim.run_until_idle();
        let dead = sim.stats().dead_letters;
        doer.process().request_stop(Reason::Normal);
        sim.run_until_idle();
        doer.event(job("event")).unwrap();
        sim.advance(2 * SECOND);
        assert!(!doer.is_alive());
        let lines = log.take();
        assert!(!lines.contains(&"event event".to_owned()));
        assert!(lines.contains(&"slow answered slow".to_owned()), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("behind failed")), "{lines:?}");
        assert!(!lines.contains(&"notice behind".to_owned()));
        assert_eq!(sim.stats().dead_letters, dead + 3);
    }
}

#[test]
fn o7_for_every_end_calls_in_progress_fail_and_the_cleaner_runs_once() {
    for how in ["kill", "error", "panic", "exit", "state panic"] {
        for sim in simulations(5) {
            let log = Log::new();
            let doer = doer(&sim, &log);
            for number in 0..3 {
                asks(&sim, &log, &doer, job(format!("{number}")).waiting(HOUR));
            }
            asks(&sim, &log, &doer, job("3").barrier().waiting(HOUR));
            sim.run_until_idle();
            asks(&sim, &log, &doer, job("4"));
            sim.run_until_idle();
            log.take();
            match how {
                "kill" => sim.exit(doer.pid(), Reason::Kill),
                "exit" => sim.exit(doer.pid(), boom()),
                "error" => doer.event(job("fails").failing(boom())).unwrap(),
                "panic" => doer.event(job("panics").panicking()).unwrap(),
                _ => doer
                    .event(job("panics").doing(|scope| {
                        Box::pin(async move {
                            scope.with(|_| panic!("boom"));
                            Ok(())
                        })
                    }))
                    .unwrap(),
            }
            sim.run_until_idle();
            assert!(!doer.is_alive());
            assert_eq!(log.count("cleaned"), 1, "{how}");
            let lines = log.take();
            let at = |text: &str| lines.iter().position(|line| line.starts_with(text));
            assert!(at("dropped") < at("cleaned"), "{lines:?}");
            assert_eq!(at("terminate").is_some(), how != "kill" && how != "exit", "{lines:?}");
            let reason = if how == "kill" { "killed" } else { "boom" };
            for number in 0..5 {
                let failed = format!("{number} failed");
                let line = lines.iter().find(|line| line.starts_with(&failed)).expect(&failed);
                assert!(line.contains(reason), "{how}: {line}");
                assert!(at(&failed) > at("cleaned"));
            }
        }
    }
}

#[test]
fn o7_a_failed_ask_gets_the_reason_despite_a_long_terminate_or_a_restart() {
    for restarts in [0, 1] {
        for sim in simulations(3) {
            let log = Log::new();
            let mut state = Doer::restarting(&log, Ok(()));
            state.slow = SECOND;
            let doer =
                sim.spawn(move || Stateful::new(state).restarts(restarts, SECOND)).wait().unwrap();
            asks(&sim, &log, &doer, job("x").failing(boom()));
            sim.advance(2 * SECOND);
            let lines = log.take();
            let heard = lines.iter().find(|line| line.starts_with("x failed")).unwrap();
            assert!(heard.contains("boom"), "{heard}");
            assert_eq!(doer.is_alive(), restarts == 1);
        }
    }
}

#[test]
fn o7_a_bound_holds_behind_a_barrier_and_senders_get_full() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let state = Doer::new(&log);
    let doer = sim.spawn(move || Stateful::new(state)).mailbox(4).wait().unwrap();
    asks(&sim, &log, &doer, job("barrier").barrier().waiting(10 * SECOND));
    sim.run_until_idle();
    let mut accepted = 0;
    for number in 0..100 {
        if doer.notice(job(format!("{number}"))).is_ok() {
            accepted += 1;
        }
        sim.run_until_idle();
    }
    assert_eq!(accepted, 4);
    // Its own timers go on, and a kill would too.
    sim.advance(20 * SECOND);
    assert_eq!(log.count("notice"), 4);
    doer.notice(job("more")).unwrap();
    sim.run_until_idle();
    assert_eq!(log.count("notice more"), 1);
}

#[test]
fn o7_a_state_actor_in_a_pool_or_passivated_finishes_its_handlers_in_flight() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let doer = doer(&sim, &log);
    doer.notice(job("sets").doing(|scope| {
        Box::pin(async move {
            scope.with_context(|_, ctx| ctx.passivate_after(Some(SECOND)));
            Ok(())
        })
    }))
    .unwrap();
    asks(&sim, &log, &doer, job("slow").waiting(10 * SECOND));
    sim.advance(5 * SECOND);
    assert!(doer.is_alive());
    sim.advance(6 * SECOND);
    assert!(!doer.is_alive());
    assert_eq!(log.count("slow answered slow"), 1);
    assert_eq!(log.count("terminate normal"), 1);
    // A worker that is taken out of a pool.
    let log = Log::new();
    let noted = log.clone();
    let pool = sim.spawn(move || Pool::new(1, move || Stateful::new(Doer::new(&noted)))).wait();
    let pool = pool.unwrap();
    let calls = |name: &'static str| {
        let (pool, log) = (pool.clone(), log.clone());
        sim.spawn(move || {
            behavior_fn(move |_: Context<()>| async move {
                let ask = job(name).waiting(10 * SECOND);
                let call = pool.call(|reply| StateMessage::Ask(ask.answering(reply)));
                log.note(format!("{name} {:?}", call.timeout(HOUR).await));
                Ok(())
            })
        })
        .start()
        .unwrap();
        sim.run_until_idle();
    };
    calls("one");
    calls("two");
    assert_eq!(pool.remove_workers(1).wait().unwrap().size, 0);
    sim.advance(5 * SECOND);
    assert_eq!(log.count("terminate"), 0);
    sim.advance(6 * SECOND);
    assert_eq!((log.count("one Ok"), log.count("two Ok")), (1, 1));
    assert_eq!(log.count("terminate normal"), 1);
}

#[test]
fn o7_nothing_is_lost_when_kills_and_timeouts_race_with_answers() {
    let mut run = 0;
    Simulation::explore(0..300, |sim| {
        run += 1;
        let log = Log::new();
        let doer = restarting(sim, &log, 1000, Ok(()));
        let echo = sim
            .spawn(|| {
                behavior_fn(|mut ctx: Context<Kept>| async move {
                    loop {
                        if let krarup::behavior::Received::Message(token) = ctx.receive().await {
                            let wait = ctx.random() % 4;
                            ctx.sleep(Duration::from_millis(wait)).await;
                            if wait != 3 {
                                token.send(1);
                            }
                        }
                    }
                })
            })
            .wait()?;
        for number in 0..20_u32 {
            let echo = echo.clone();
            let act = job(format!("{number}")).doing(move |scope| {
                Box::pin(async move {
                    let time = Duration::from_millis(u64::from(number % 5));
                    let one = scope.call(&echo, |reply| reply).timeout(time).start();
                    let two = scope.call(&echo, |reply| reply).timeout(2 * time).start();
                    let _ = one.await;
                    if number % 7 == 0 {
                        return Err(boom());
                    }
                    let _ = two.await;
                    Ok(())
                })
            });
            asks(sim, &log, &doer, act.barrier_if(number % 3 == 0));
        }
        // Killed after any number of steps, but for some runs in which it is not.
        for _ in 0..run / 2 {
            sim.step();
        }
        if run % 2 == 0 {
            sim.kill(doer.pid());
        }
        sim.advance(SECOND);
        let ended = log.count("answered") + log.count("failed");
        assert_eq!(ended, 20, "{:?}", log.lines());
        if doer.is_alive() {
            let inspected = doer.inspect().wait()?;
            for item in ["asks", "notices", "in_flight", "pending_promises", "replies", "events"] {
                assert_eq!(inspected.number(item), Some(0), "{inspected}");
            }
        }
        Ok(())
    });
}

#[test]
fn o7_a_full_mailbox_behind_a_barrier_holds_no_stop_no_inspection_and_no_event_back() {
    for sim in simulations(5) {
        let log = Log::new();
        let state = Doer::new(&log);
        let doer = sim.spawn(move || Stateful::new(state)).mailbox(2).wait().unwrap();
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(10 * SECOND));
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("inside"));
        sim.run_until_idle();
        while doer.notice(job("n")).is_ok() {
            sim.run_until_idle();
        }
        asks(&sim, &log, &doer, job("refused"));
        sim.run_until_idle();
        let inspected = doer.inspect().wait().unwrap();
        assert_eq!((inspected.number("asks"), inspected.number("notices")), (Some(1), Some(1)));
        assert_eq!(doer.state::<u64>().wait(), Ok(0));
        doer.event(job("event")).unwrap();
        sim.run_until_idle();
        assert_eq!(log.count("event event"), 1);
        // It rests, though there is mail: no turn is taken for nothing.
        assert_eq!(sim.step(), None);
        let dead = sim.stats().dead_letters;
        doer.process().request_stop(boom());
        sim.run_until_idle();
        // From here on nothing is begun, and the barrier has its time.
        doer.event(job("late")).unwrap();
        assert!(doer.is_alive());
        sim.advance(20 * SECOND);
        assert!(!doer.is_alive());
        let lines = log.take();
        let has = |text: &str| lines.iter().any(|line| line.starts_with(text));
        assert!(has("barrier answered") && has("terminate boom") && has("cleaned boom"));
        assert!(has("refused failed") && !has("event late") && !has("notice n"), "{lines:?}");
        let inside = lines.iter().find(|line| line.starts_with("inside failed")).unwrap();
        assert!(inside.contains("boom"), "{inside}");
        // A notice, an ask, an event.
        assert_eq!(sim.stats().dead_letters, dead + 3);
    }
}

#[test]
fn o7_a_stopping_actor_does_not_restart() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 5, Ok(()));
        let fails = job("fails").doing(|scope| {
            Box::pin(async move {
                scope.sleep(SECOND).await;
                Err(boom())
            })
        });
        doer.notice(fails).unwrap();
        sim.run_until_idle();
        doer.process().request_stop(Reason::Shutdown);
        sim.advance(2 * SECOND);
        assert_eq!(log.take()[1..], ["terminate boom", "dropped", "cleaned boom"]);
    }
}

#[test]
fn x5_a_suspended_state_actor_handles_nothing_and_can_be_stopped() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        doer.notice(job("waits").doing(move |scope| {
            Box::pin(async move {
                scope.after(SECOND, job("timer"));
                scope.call(&other, |reply| reply).timeout(HOUR).await?;
                Ok(())
            })
        }))
        .unwrap();
        let token = probe.expect(SECOND);
        doer.suspend().wait().unwrap();
        log.take();
        token.send(1);
        doer.event(job("e")).unwrap();
        doer.notice(job("n")).unwrap();
        sim.advance(2 * SECOND);
        assert_eq!(log.lines(), Vec::<String>::new());
        assert_eq!(sim.step(), None);
        assert_eq!(doer.inspect().wait().unwrap().number("in_flight"), Some(1));
        assert!(doer.resume());
        sim.run_until_idle();
        let all = ["event e", "event timer", "notice n", "waits done"];
        assert_eq!(log.take_sorted(), all);
    }
}

#[test]
fn x5_a_stop_ends_a_state_actor_suspended_before_or_after_it() {
    for before in [false, true] {
        for sim in simulations(3) {
            let log = Log::new();
            let doer = doer(&sim, &log);
            asks(&sim, &log, &doer, job("slow").waiting(SECOND));
            sim.run_until_idle();
            if before {
                doer.suspend().wait().unwrap();
            }
            doer.process().request_stop(Reason::Normal);
            sim.run_until_idle();
            if !before {
                doer.suspend().wait().unwrap();
            }
            assert!(doer.is_alive());
            sim.advance(2 * SECOND);
            assert!(!doer.is_alive());
            assert_eq!(log.count("slow answered slow"), 1);
        }
    }
}

/// Looks at the state when its handler goes.
struct Leaves<'a>(&'a mut Scope<Doer>);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.with(|doer| doer.log.note("left"));
    }
}

#[test]
fn o7_values_that_a_handler_leaves_may_access_the_state_in_their_drop() {
    for how in ["restart", "error", "kill", "stop"] {
        for sim in simulations(3) {
            let log = Log::new();
            let most = u32::from(how == "restart");
            let doer = restarting(&sim, &log, most, Ok(()));
            let time = if how == "stop" { SECOND } else { HOUR };
            doer.notice(job("waits").doing(move |scope| {
                Box::pin(async move {
                    let sleep = scope.sleep(time);
                    let _leaves = Leaves(scope);
                    sleep.await;
                    Ok(())
                })
            }))
            .unwrap();
            sim.run_until_idle();
            log.take();
            match how {
                "kill" => sim.kill(doer.pid()),
                "stop" => doer.process().request_stop(Reason::Normal),
                _ => doer.event(job("fails").failing(boom())).unwrap(),
            }
            sim.advance(2 * SECOND);
            let lines = log.take();
            let at = |line: &str| lines.iter().position(|noted| noted.starts_with(line));
            assert!(
                at("left").is_some() && at("left") < at("dropped").or(at("restart")),
                "{lines:?}"
            );
            assert_eq!(doer.is_alive(), how == "restart");
        }
    }
}

#[test]
fn o7_a_finishing_actor_gets_its_answers_and_serves_earlier_messages() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        // Nobody in flight waits for the answer; and a timer is nothing to wait for.
        doer.notice(job("asks").doing(move |scope| {
            Box::pin(async move {
                scope.ask_then(&other, |reply| reply, |n: u32| n.to_string()).timeout(HOUR).start();
                scope.after(HOUR, job("timer"));
                Ok(())
            })
        }))
        .unwrap();
        let token = probe.expect(SECOND);
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(SECOND));
        sim.run_until_idle();
        doer.notice(job("behind")).unwrap();
        sim.run_until_idle();
        let dead = sim.stats().dead_letters;
        doer.finish();
        sim.advance(2 * SECOND);
        assert_eq!((doer.is_alive(), log.count("notice behind")), (true, 1));
        token.send(4);
        sim.run_until_idle();
        assert!(!doer.is_alive());
        assert_eq!((log.count("reply 4"), log.count("terminate normal")), (1, 1));
        assert_eq!((log.count("event timer"), sim.stats().dead_letters), (0, dead));
    }
}

/// Asks another process, or is busy for a second. It handles an answer for five.
struct Asks(Address<Kept>, Log);

impl StateActor for Asks {
    type Notice = bool;
    type Ask = ();
    type Reply = u32;
    type Event = ();

    async fn handle_notice(scope: &mut Scope<Self>, asks: bool) -> Result {
        if asks {
            let other = scope.with(|asks| asks.0.clone());
            scope.ask_then(&other, |reply| reply, |n: u32| n).timeout(HOUR).start();
        } else {
            scope.sleep(SECOND).await;
        }
        Ok(())
    }

    async fn handle_ask(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_reply(scope: &mut Scope<Self>, n: u32) -> Result {
        scope.sleep(5 * SECOND).await;
        scope.with(|asks| asks.1.note(n));
        Ok(())
    }
}

#[test]
fn o7_after_a_stop_an_answer_is_handled_while_a_handler_is_in_flight_and_no_answer_is_waited_for() {
    for sim in simulations(5) {
        let log = Log::new();
        let probe = Probe::<Kept>::spawn(&sim);
        let state = Asks(probe.address(), log.clone());
        let asks = sim.spawn(move || Stateful::new(state)).wait().unwrap();
        (0..2).for_each(|_| asks.notice(true).unwrap());
        let (token, never) = (probe.expect(SECOND), probe.expect(SECOND));
        asks.notice(false).unwrap();
        sim.run_until_idle();
        asks.process().request_stop(Reason::Normal);
        sim.run_until_idle();
        token.send(4);
        sim.advance(2 * SECOND);
        assert!(asks.is_alive(), "the answer is handled");
        assert_eq!(log.take(), [""; 0]);
        sim.advance(4 * SECOND);
        assert!(!asks.is_alive(), "the other answer is not waited for");
        assert_eq!(log.take(), ["4"]);
        never.send(5);
        sim.run_until_idle();
        assert_eq!(log.take(), [""; 0]);
    }
}

#[test]
fn o7_a_finishing_actor_serves_messages_behind_a_barrier() {
    for sim in simulations(3) {
        let log = Log::new();
        let state = Doer::new(&log);
        let spawn = sim.spawn(move || Stateful::new(state).most_in_flight(1));
        let doer = spawn.mailbox(8).wait().unwrap();
        // They are in here, and not in the mailbox, when it is told.
        asks(&sim, &log, &doer, job("holds").waiting(SECOND));
        sim.run_until_idle();
        (0..3).for_each(|n| doer.notice(job(n.to_string()).waiting(SECOND)).unwrap());
        sim.run_until_idle();
        doer.finish();
        for wait in [2, 1, 0] {
            sim.advance(SECOND);
            assert_eq!(doer.waiting(), wait, "those that are begun wait no more");
        }
        sim.advance(2 * SECOND);
        assert!(!doer.is_alive());
        assert_eq!((log.count("done"), log.count("terminate normal")), (4, 1));
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn o7_of_two_stops_the_first_gives_the_reason() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        asks(&sim, &log, &doer, job("slow").waiting(SECOND));
        sim.run_until_idle();
        for reason in [boom(), Reason::Normal, Reason::Shutdown] {
            doer.process().request_stop(reason);
            sim.run_until_idle();
        }
        sim.advance(2 * SECOND);
        assert_eq!((log.count("terminate boom"), log.count("terminate")), (1, 1));
    }
}

#[test]
fn o7_a_state_actor_that_stops_itself_waits_for_its_handlers_and_begins_nothing() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        asks(&sim, &log, &doer, job("slow").waiting(SECOND));
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(SECOND));
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("behind"));
        doer.notice(job("behind")).unwrap();
        sim.run_until_idle();
        let dead = sim.stats().dead_letters;
        doer.event(job("stops").doing(|scope| {
            Box::pin(async move {
                scope.with_context(|_, ctx| ctx.stop());
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        assert!(doer.is_alive());
        sim.advance(2 * SECOND);
        assert!(!doer.is_alive());
        let ends = ["slow answered slow", "barrier answered barrier", "terminate normal"];
        assert!(ends.iter().all(|line| log.count(line) == 1), "{:?}", log.lines());
        assert_eq!((log.count("behind failed"), log.count("notice behind")), (1, 0));
        assert_eq!(sim.stats().dead_letters, dead + 2);
    }
}

#[test]
fn d9_a_finishing_state_actor_that_stops_itself_begins_no_waiting_item() {
    let sims = |before| simulations(3).map(move |sim| (sim, before));
    for (sim, before) in sims(true).chain(sims(false)) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let looks = job("barrier").barrier().doing(|scope| {
            Box::pin(async move {
                scope.sleep(SECOND).await;
                scope.with_context(|doer, ctx| {
                    doer.log.note(format!("is stopping: {}", ctx.is_stopping()));
                });
                Ok(())
            })
        });
        asks(&sim, &log, &doer, looks);
        sim.run_until_idle();
        (0..3).for_each(|_| doer.notice(job("behind")).unwrap());
        sim.run_until_idle();
        let (me, dead) = (doer.clone(), sim.stats().dead_letters);
        if before {
            doer.finish();
            sim.run_until_idle();
        }
        let stops = job("stops").doing(move |scope| {
            Box::pin(async move {
                scope.with_context(|_, ctx| {
                    assert!(!ctx.is_stopping(), "to finish is not to stop");
                    ctx.stop();
                });
                if !before {
                    me.finish();
                }
                Ok(())
            })
        });
        doer.event(stops).unwrap();
        sim.run_until_idle();
        assert!(doer.is_alive(), "the barrier is in flight");
        sim.advance(2 * SECOND);
        assert!(!doer.is_alive());
        let ends = ["is stopping: true", "barrier answered barrier", "terminate normal"];
        assert!(ends.iter().all(|line| log.count(line) == 1), "{:?}", log.lines());
        assert_eq!((log.count("notice behind"), sim.stats().dead_letters), (0, dead + 3));
    }
}

/// Stops itself before it handles anything.
struct StopsAtOnce(Log);

impl StateActor for StopsAtOnce {
    type Notice = ();
    type Ask = ();
    type Reply = ();
    type Event = ();

    async fn after_mount(&mut self, ctx: &mut StateContext<Self>) -> Result {
        ctx.stop();
        Ok(())
    }

    async fn handle_notice(scope: &mut Scope<Self>, (): ()) -> Result {
        scope.with(|actor| actor.0.note("notice"));
        Ok(())
    }

    async fn handle_ask(scope: &mut Scope<Self>, (): ()) -> Result {
        scope.with(|actor| actor.0.note("ask"));
        Ok(())
    }
}

#[test]
fn d9_a_state_actor_that_stops_itself_as_it_is_mounted_starts_and_begins_nothing() {
    for finishes in [false, true] {
        for sim in simulations(3) {
            let log = Log::new();
            let state = StopsAtOnce(log.clone());
            let actor = sim.spawn(move || Stateful::new(state)).start().unwrap();
            actor.notice(()).unwrap();
            actor.send(StateMessage::Ask(())).unwrap();
            if finishes {
                actor.finish();
            }
            assert_eq!(actor.watch().wait().unwrap().reason, Reason::Normal);
            assert_eq!((log.lines().len(), sim.stats().dead_letters), (0, 2));
        }
    }
}

#[test]
fn d9_a_stop_that_a_handler_receives_ends_the_actor_with_its_reason_when_the_handlers_are_done() {
    for sim in (0..5).map(Simulation::new) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(SECOND));
        sim.run_until_idle();
        doer.notice(job("behind")).unwrap();
        sim.run_until_idle();
        let me = doer.clone();
        let receives = job("receives").doing(move |scope| {
            Box::pin(async move {
                me.process().request_stop(boom());
                let received = scope.with_context(|_, ctx| poll_once(&mut ctx.receive()));
                assert!(
                    matches!(received, Poll::Ready(Received::Stop(reason)) if reason == boom())
                );
                Ok(())
            })
        });
        doer.event(receives).unwrap();
        sim.run_until_idle();
        assert!(doer.is_alive(), "the barrier is in flight");
        sim.advance(2 * SECOND);
        assert!(!doer.is_alive());
        let ends = ["barrier answered barrier", "terminate boom"];
        assert!(ends.iter().all(|line| log.count(line) == 1), "{:?}", log.lines());
        assert_eq!(log.count("notice behind"), 0);
    }
}

#[test]
fn o7_messages_not_begun_are_dead_letters_with_their_sender() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        doer.notice(job("takes").doing(|scope| {
            Box::pin(async move {
                scope.with_context(|_, ctx| ctx.take_others());
                Ok(())
            })
        }))
        .unwrap();
        let letters = Log::new();
        let noted = letters.clone();
        sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<krarup::observe::DeadLetter>| async move {
                ctx.subscribe_dead_letters();
                loop {
                    if let Received::Message(letter) = ctx.receive().await {
                        noted.note(letter);
                    }
                }
            })
        })
        .start()
        .unwrap();
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(SECOND));
        sim.run_until_idle();
        // Events are not held back: they come when it is to end already.
        let (to, node) = (doer.clone(), sim.node().clone());
        let sends = move |late: bool| {
            let (to, node) = (to.clone(), node.clone());
            behavior_fn(move |_: Context<()>| async move {
                if late {
                    to.event(job("event")).map_err(SendError::without_message)?;
                    node.send(to.pid(), 5_u8).map_err(SendError::without_message)?;
                } else {
                    to.notice(job("notice")).map_err(SendError::without_message)?;
                    let _ = to.ask(|reply| job("ask").answering(reply)).await;
                }
                Ok(())
            })
        };
        let early = sends.clone();
        let first = sim.spawn(move || early(false)).start().unwrap().pid();
        sim.run_until_idle();
        doer.process().request_stop(Reason::Normal);
        sim.run_until_idle();
        let second = sim.spawn(move || sends(true)).start().unwrap().pid();
        sim.advance(2 * SECOND);
        assert!(!doer.is_alive());
        let lines = letters.take();
        let of = |sender: Pid, text: &str| {
            let from = format!("to {} from {sender}", doer.pid());
            lines.iter().filter(|line| line.contains(&from) && line.contains(text)).count()
        };
        assert_eq!(
            (lines.len(), of(first, "StateMessage"), of(second, "Job"), of(second, "u8")),
            (4, 2, 1, 1),
            "{lines:?}"
        );
    }
}

#[test]
fn o7_waiting_events_of_a_killed_actor_are_dead_letters() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        doer.notice(job("takes").doing(|scope| {
            Box::pin(async move {
                scope.with_context(|_, ctx| ctx.take_others());
                scope.after(SECOND, job("timer"));
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        doer.suspend().wait().unwrap();
        sim.advance(SECOND);
        (0..2).for_each(|_| doer.event(job("event")).unwrap());
        sim.send(doer.pid(), 5_u8).unwrap();
        sim.run_until_idle();
        let dead = sim.stats().dead_letters;
        sim.kill(doer.pid());
        sim.run_until_idle();
        assert_eq!(sim.stats().dead_letters, dead + 3, "its own timer is none");
    }
}

/// Rule L7, for what has callbacks of its own at its end.
#[test]
fn l7_an_exit_signal_to_oneself_ends_a_machine_and_a_state_actor_without_terminate() {
    struct Ends(Log);
    impl StateMachine for Ends {
        type State = ();
        type Message = ();
        type Internal = ();
        type Timer = ();
        async fn init(&mut self, _: &mut Context<()>) -> Result<First<Self>> {
            Ok(First::state(()))
        }
        async fn handle_event(
            &mut self,
            ctx: &mut Context<()>,
            (): (),
            _: Event<Self>,
        ) -> Result<Next<Self>> {
            ctx.exit(ctx.pid(), boom());
            Err(Reason::error("another"))
        }
        async fn terminate(&mut self, _: &mut Context<()>, (): (), reason: &Reason) {
            self.0.note(reason);
        }
    }
    struct Asked(Log);
    impl StateActor for Asked {
        type Notice = ();
        type Ask = ();
        type Reply = ();
        type Event = ();
        async fn handle_notice(scope: &mut Scope<Self>, (): ()) -> Result {
            scope.with_context(|_, ctx| ctx.exit(ctx.pid(), boom()));
            Err(Reason::error("another"))
        }
        async fn handle_ask(_: &mut Scope<Self>, (): ()) -> Result {
            Ok(())
        }
        async fn terminate(&mut self, _: &mut StateContext<Self>, reason: &Reason) {
            self.0.note(reason);
        }
    }
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let machine = sim.spawn(move || Machine::new(Ends(noted))).wait().unwrap();
        let end = machine.watch();
        machine.send(()).unwrap();
        assert_eq!(end.wait().unwrap().reason, boom());
        let noted = log.clone();
        let asked = sim.spawn(move || Stateful::new(Asked(noted))).wait().unwrap();
        let end = asked.watch();
        asked.notice(()).unwrap();
        assert_eq!(end.wait().unwrap().reason, boom());
        assert_eq!(log.take(), Vec::<String>::new());
    }
}
