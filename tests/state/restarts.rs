//! How a state actor fails and restarts (rule O6).

use crate::state_support::{
    Doer, HOUR, Job, Kept, Others, SECOND, asks, doer, job, numbers, restarting,
};
use crate::support::journal::Journal;
use crate::support::{Guard, Log, boom, simulations};
use krarup::Dynamic;
use krarup::prelude::*;
use krarup::state::{Promise, Scope, StateActor, StateCalls, StateContext, StateMessage, Stateful};
use krarup::supervisor::InPlaceError;
use krarup::testing::Probe;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn o6_the_hooks_run_in_their_order_and_nothing_in_between() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        asks(
            &sim,
            &log,
            &doer,
            job("hangs").doing(move |scope| {
                Box::pin(async move {
                    scope.with(|doer| doer.sum = 5);
                    scope.after(SECOND, job("of the old state"));
                    scope.call(&other, |reply| reply).await?;
                    Ok(())
                })
            }),
        );
        let _token = probe.expect(SECOND);
        log.take();
        doer.notice(job("fails").failing(boom())).unwrap();
        doer.notice(job("behind")).unwrap();
        sim.run_until_idle();
        let mut lines = log.take();
        let heard = lines.iter().position(|line| line.starts_with("hangs failed")).unwrap();
        assert!(lines.remove(heard).contains("boom"));
        assert_eq!(
            lines,
            [
                "notice fails",
                "before_restart boom",
                "restart",
                "after_restart boom",
                "notice behind"
            ]
        );
        let inspected = doer.inspect().wait().unwrap();
        assert_eq!(inspected.number("sum"), Some(0));
        assert_eq!(inspected.number("in_flight"), Some(0));
        assert_eq!(inspected.number("pending_promises"), Some(0));
        sim.advance(HOUR);
        assert_eq!(log.take(), Vec::<String>::new());
        // A panic is a failure too; two in a second are too many.
        doer.notice(job("panics").panicking()).unwrap();
        doer.notice(job("panics").panicking()).unwrap();
        sim.run_until_idle();
        let lines = log.take();
        assert_eq!(lines.iter().filter(|line| line.starts_with("after_restart")).count(), 1);
        assert_eq!(lines.iter().filter(|line| line.starts_with("terminate")).count(), 1);
        assert!(!doer.is_alive());
    }
}

/// `after_mount` does not run again, so an interval that it has set must go on.
#[test]
fn o6_timers_of_the_scope_end_with_the_state_and_timers_of_the_context_stay() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        let sets = job("sets timers").doing(|scope| {
            Box::pin(async move {
                scope.after(SECOND, job("of the scope"));
                scope.with_context(|_, ctx| {
                    ctx.send_after(SECOND, StateMessage::Notice(job("once")));
                    ctx.send_interval(SECOND, || StateMessage::Notice(job("again")));
                });
                Ok(())
            })
        });
        doer.notice(sets).unwrap();
        doer.notice(job("fails").failing(boom())).unwrap();
        sim.advance(SECOND);
        sim.advance(SECOND);
        assert_eq!(log.count("after_restart"), 1);
        let fired = ["of the scope", "notice once", "notice again"].map(|timer| log.count(timer));
        assert_eq!(fired, [0, 1, 2]);
    }
}

#[test]
fn o6_a_barrier_ends_with_its_state() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(HOUR));
        sim.run_until_idle();
        doer.notice(job("behind")).unwrap();
        doer.event(job("fails").failing(boom())).unwrap();
        sim.advance(2 * SECOND);
        assert_eq!(log.count("notice behind"), 1);
    }
}

#[test]
fn o6_without_restarts_or_a_restart_that_works_a_failure_is_the_end() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let plain = doer(&sim, &log);
    plain.notice(job("fails").failing(boom())).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["notice fails", "terminate boom", "dropped", "cleaned boom"]);

    let hopeless = restarting(&sim, &log, 2, Err(Reason::error("worse")));
    hopeless.notice(job("fails").failing(boom())).unwrap();
    sim.run_until_idle();
    assert_eq!(
        log.take(),
        [
            "notice fails",
            "before_restart boom",
            "restart",
            "restart",
            "terminate worse",
            "dropped",
            "cleaned worse"
        ]
    );

    let state = Doer::new(&log);
    let never =
        sim.spawn(move || Stateful::new(state).restarts(1, Duration::ZERO)).wait().unwrap_err();
    assert!(never.to_string().contains(&InPlaceError::ZeroPeriod.to_string()));
}

/// Its hooks do in turn what they are told; each is noted.
struct Hooked {
    log: Log,
    plan: Vec<(&'static str, Outcome)>,
    _guard: Guard,
}

#[derive(Clone, Copy)]
enum Outcome {
    Fails,
    Panics,
}

impl Hooked {
    fn hook(&mut self, hook: &'static str, reason: &Reason) -> Result {
        let reason = reason.to_string();
        let text = if reason.contains("panic of") { "panic" } else { &reason };
        self.log.note(format!("{hook}: {text}"));
        let planned = self.plan.iter().position(|(planned, _)| *planned == hook);
        match planned.map(|place| self.plan.remove(place).1) {
            None => Ok(()),
            Some(Outcome::Fails) => Err(Reason::error(format!("{hook} failed"))),
            Some(Outcome::Panics) => panic!("panic of {hook}"),
        }
    }
}

impl StateActor for Hooked {
    type Notice = ();
    type Ask = Reply<()>;
    type Reply = ();
    type Event = ();

    async fn handle_notice(_: &mut Scope<Self>, (): ()) -> Result {
        Err(boom())
    }

    async fn handle_ask(_: &mut Scope<Self>, reply: Reply<()>) -> Result {
        reply.send(());
        Ok(())
    }

    async fn before_restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) {
        let _ = self.hook("before", reason);
    }

    async fn restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) -> Result {
        self.hook("restart", reason)
    }

    async fn after_restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) -> Result {
        self.hook("after", reason)
    }

    fn state(&self) -> Option<Dynamic> {
        None
    }

    async fn terminate(&mut self, _: &mut StateContext<Self>, reason: &Reason) {
        let _ = self.hook("terminate", reason);
    }
}

#[test]
fn o6_a_hook_that_fails_or_panics_is_another_failure() {
    use Outcome::{Fails, Panics};
    let both = ["before: boom", "restart: boom"];
    let cases: [(&[_], u32, &[&str]); 6] = [
        (&[], 1, &["after: boom"]),
        (&[("before", Panics)], 1, &["after: boom"]),
        (&[("restart", Fails)], 2, &["restart: restart failed", "after: restart failed"]),
        (&[("restart", Panics)], 2, &["restart: panic", "after: panic"]),
        (
            &[("after", Fails), ("after", Panics)],
            3,
            &[
                "after: boom",
                "restart: after failed",
                "after: after failed",
                "restart: panic",
                "after: panic",
            ],
        ),
        // One failure too many.
        (&[("after", Fails)], 1, &["after: boom", "terminate: after failed"]),
    ];
    for (plan, most, then) in cases {
        for sim in simulations(3) {
            let log = Log::new();
            let guard = Guard::new(&log, "dropped");
            let state = Hooked { log: log.clone(), plan: plan.to_vec(), _guard: guard };
            let hooked =
                sim.spawn(move || Stateful::new(state).restarts(most, SECOND)).wait().unwrap();
            hooked.notice(()).unwrap();
            sim.run_until_idle();
            let lives = !then.iter().any(|line| line.starts_with("terminate"));
            let expected: Vec<&str> =
                both.iter().chain(then).chain((!lives).then_some(&"dropped")).copied().collect();
            assert_eq!(log.take(), expected);
            assert_eq!(hooked.ask(|reply| reply).wait().is_ok(), lives);
        }
    }
}

#[test]
fn o6_promises_of_the_old_state_are_dropped_and_sent_messages_stay() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        let probe = Probe::<Kept>::spawn(&sim);
        let (other, itself) = (probe.address(), doer.clone());
        let shared: Arc<Mutex<Option<Promise<u32>>>> = Arc::default();
        let (made, awaited) = (Arc::clone(&shared), Arc::clone(&shared));
        doer.notice(job("asks").doing(move |scope| {
            Box::pin(async move {
                *made.lock().unwrap() = Some(scope.promise(std::future::pending()));
                let first = scope.call(&other, |reply| reply).timeout(HOUR).start();
                let later = scope.call(&other, |reply| reply).timeout(HOUR).start();
                for _ in 0..2 {
                    scope
                        .ask_then(&other, |reply| reply, |n: u32| n.to_string())
                        .timeout(HOUR)
                        .start();
                }
                for _ in 0..2 {
                    scope
                        .ask_then(&other, |reply| reply, |n: u32| n.to_string())
                        .timeout(SECOND)
                        .start();
                }
                scope.after(SECOND, job("timer"));
                first.await?;
                drop(later);
                // It has come to something, and the actor has not looked yet.
                let asks = |reply| StateMessage::Ask(job("itself").answering(reply));
                scope.ask_then(&itself, asks, |answer| answer).start();
                Err(boom())
            })
        }))
        .unwrap();
        // One that awaits a promise that outlives it.
        doer.notice(job("awaits").doing(move |_| {
            Box::pin(std::future::poll_fn(move |cx| {
                let mut awaited = awaited.lock().unwrap();
                Pin::new(awaited.as_mut().unwrap()).poll(cx).map(|_| Ok(()))
            }))
        }))
        .unwrap();
        let mut tokens: Vec<_> = (0..6).map(|_| probe.expect(SECOND)).collect();
        // All of it comes while nothing is handled.
        doer.suspend().wait().unwrap();
        log.take();
        let _late = [tokens.pop(), tokens.pop()];
        drop(tokens.pop());
        tokens.into_iter().for_each(|token| token.send(1));
        sim.advance(2 * SECOND);
        doer.event(job("e")).unwrap();
        doer.notice(job("n")).unwrap();
        asks(&sim, &log, &doer, job("a"));
        sim.run_until_idle();
        assert_eq!(log.take(), Vec::<String>::new());
        doer.resume();
        // What is left of the old state is not seen by the new one, not even among what waits.
        while log.count("before_restart") == 0 {
            assert!(sim.step().is_some());
        }
        let items = ["replies", "exceptions", "pending_promises", "in_flight", "events"];
        let [own @ .., events] = numbers(&doer, items);
        assert_eq!(own, [0; 4].map(Some));
        assert!(events <= Some(1), "that was sent");
        sim.advance(HOUR);
        let lines = log.take();
        let hooks = ["before_restart boom", "restart", "after_restart boom"];
        assert_eq!(lines[..3], hooks, "{lines:?}");
        let mut rest = lines[3..].to_vec();
        rest.sort();
        assert_eq!(rest, ["a answered a", "ask a", "event e", "notice n"]);
        assert_eq!(numbers(&doer, items), [0; 5].map(Some));
        assert!(shared.lock().unwrap().is_some());
    }
}

/// Notes that it was dropped, and panics then.
struct SoreGuard(Guard);

impl Drop for SoreGuard {
    fn drop(&mut self) {
        let _ = &self.0;
        panic!("sore");
    }
}

#[test]
fn o6_destructors_that_panic_keep_nothing_of_the_old_state_and_are_no_failure() {
    for how in ["restart", "kill"] {
        for sim in simulations(2) {
            let log = Log::new();
            let doer = restarting(&sim, &log, 1, Ok(()));
            let probe = Probe::<Kept>::spawn(&sim);
            let kept = Arc::new(Mutex::new(Vec::new()));
            let guard = |what: &str| SoreGuard(Guard::new(&log, format!("gone: {what}")));
            for _ in 0..3 {
                // A handler, a promise, a timer that is set and one that has rung.
                let handler = guard("handler");
                let (promise, set, rung) = (guard("promise"), guard("set"), guard("rung"));
                let (other, promises) = (probe.address(), Arc::clone(&kept));
                doer.event(job("waits").doing(move |scope| {
                    Box::pin(async move {
                        let waits = scope.promise(async move {
                            let _promise = promise;
                            std::future::pending::<Result<(), CallError>>().await
                        });
                        promises.lock().unwrap().push(waits);
                        scope.after(HOUR, holding(set));
                        scope.after(SECOND, holding(rung));
                        scope.ask_then(&other, |reply| reply, |n: u32| n.to_string()).start();
                        let _handler = handler;
                        std::future::pending().await
                    })
                }))
                .unwrap();
            }
            sim.run_until_idle();
            doer.suspend().wait().unwrap();
            sim.advance(2 * SECOND);
            assert_eq!(log.count("gone"), 0);
            let end = doer.watch();
            if how == "kill" {
                sim.kill(doer.pid());
            } else {
                // An ask goes before events, such as timers.
                let fails = job("fails").failing(boom());
                doer.send(StateMessage::Ask(fails)).unwrap();
                doer.resume();
            }
            sim.run_until_idle();
            let gone = ["handler", "promise", "set", "rung"]
                .map(|what| log.count(&format!("gone: {what}")));
            assert_eq!(gone, [3; 4], "{how}");
            if how != "kill" {
                assert!(doer.is_alive(), "{:?}", log.lines());
                assert_eq!(log.count("after_restart boom"), 1);
                doer.notice(job("goes on")).unwrap();
                sim.run_until_idle();
                assert_eq!(log.count("notice goes on"), 1);
                doer.stop().wait().unwrap();
            }
            let expected = if how == "kill" { Reason::Killed } else { Reason::Normal };
            assert_eq!(end.wait().unwrap().reason, expected);
        }
    }
}

/// A job that holds a guard.
fn holding(guard: SoreGuard) -> Job {
    job("holds").doing(move |_| {
        Box::pin(async move {
            drop(guard);
            Ok(())
        })
    })
}

#[test]
fn o6_a_state_actor_that_restarts_repeatedly_shares_its_worker_and_can_be_killed() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = restarting(&sim, &log, u32::MAX, Err(boom()));
        doer.notice(job("fails").failing(boom())).unwrap();
        let noted = log.clone();
        sim.spawn(move || {
            krarup::behavior::behavior_fn(move |_: Context<()>| async move {
                noted.note("another");
                Ok(())
            })
        })
        .start()
        .unwrap();
        for _ in 0..100 {
            sim.step();
        }
        assert!(doer.is_alive() && log.count("restart") > 10);
        assert_eq!((log.count("before_restart"), log.count("another")), (1, 1));
        sim.kill(doer.pid());
        sim.run_until_idle();
        assert_eq!((doer.is_alive(), log.count("dropped")), (false, 1));
    }
}

#[test]
fn o6_tries_to_restart_take_many_turns() {
    let (sim, log) = (Simulation::with_throughput(1, 1), Log::new());
    let doer = restarting(&sim, &log, 20, Err(boom()));
    doer.notice(job("fails").failing(boom())).unwrap();
    let mut tries = Vec::new();
    while sim.step().is_some() {
        tries.push(log.lines().iter().filter(|line| *line == "restart").count());
    }
    assert!(tries.len() > 5 && tries.last() == Some(&20), "{tries:?}");
}

#[test]
fn o6_a_restart_is_logged_with_its_reason() {
    let journal = Log::new();
    let noted = journal.clone();
    let told = Journal::new(
        |event| event.target() == "krarup",
        move |fields| noted.note(format!("{fields:?}")),
    );
    tracing::subscriber::with_default(told, || {
        let sim = Simulation::new(1);
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        doer.notice(job("fails").failing(boom())).unwrap();
        sim.run_until_idle();
        let lines = journal.take();
        assert!(lines.len() == 1 && lines[0].contains("restarts"), "{lines:?}");
        assert!(lines[0].contains("boom") && lines[0].contains(&doer.pid().to_string()));
    });
}

#[test]
fn o6_a_normal_end_causes_no_restart() {
    for reason in [Reason::Normal, Reason::Shutdown] {
        let sim = Simulation::new(1);
        let log = Log::new();
        let doer = restarting(&sim, &log, 5, Ok(()));
        doer.notice(job("ends").failing(reason.clone())).unwrap();
        sim.run_until_idle();
        let ends = [format!("terminate {reason}"), "dropped".into(), format!("cleaned {reason}")];
        assert_eq!(log.take()[1..], ends);
        // Nor is one with which the hook itself wants to end.
        let doer = restarting(&sim, &log, 5, Err(reason));
        doer.notice(job("fails").failing(boom())).unwrap();
        sim.run_until_idle();
        assert_eq!(
            log.take()[1..],
            [&["before_restart boom".into(), "restart".into()], &ends[..]].concat()
        );
    }
}

#[test]
fn o6_a_state_actor_that_stops_itself_and_fails_does_not_restart() {
    for panics in [false, true] {
        for sim in simulations(3) {
            let log = Log::new();
            let doer = restarting(&sim, &log, 5, Ok(()));
            let stops = job("stops").doing(move |scope| {
                Box::pin(async move {
                    scope.with_context(|_, ctx| ctx.stop());
                    assert!(!panics, "boom");
                    Err(boom())
                })
            });
            doer.notice(stops).unwrap();
            sim.run_until_idle();
            let lines = log.take();
            assert!(lines.len() == 4 && lines[1].starts_with("terminate"), "{lines:?}");
            assert!(lines[1].contains("boom") && !doer.is_alive());
        }
    }
}

#[test]
fn o7_received_messages_not_begun_are_dead_letters_when_a_handler_fails() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        Others::of(&sim, &doer);
        let dead = sim.stats().dead_letters;
        doer.event(job("fails").failing(boom())).unwrap();
        (0..3).for_each(|_| doer.event(job("event")).unwrap());
        sim.send(doer.pid(), 5_u8).unwrap();
        doer.notice(job("notice")).unwrap();
        sim.run_until_idle();
        assert!(!doer.is_alive());
        let handled = log.count("other u8") + log.count("notice notice") + log.count("event event");
        assert_eq!(sim.stats().dead_letters, dead + 5 - u64::try_from(handled).unwrap());
        assert_eq!(log.count("event event"), 0);
    }
}

#[test]
fn o6_a_finishing_actor_that_restarts_serves_waiting_messages_and_finishes() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(SECOND));
        sim.run_until_idle();
        doer.notice(job("fails").failing(boom())).unwrap();
        doer.notice(job("behind")).unwrap();
        sim.run_until_idle();
        let end = doer.watch();
        doer.finish();
        sim.advance(2 * SECOND);
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
        assert_eq!((log.count("after_restart boom"), log.count("notice behind")), (1, 1));
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn o6_a_log_subscriber_that_panics_does_not_keep_a_state_actor_from_its_restart() {
    let told = Journal::new(|event| event.target() == "krarup", |_| panic!("a log subscriber"));
    tracing::subscriber::with_default(told, || {
        for sim in simulations(3) {
            let log = Log::new();
            let doer = restarting(&sim, &log, 1, Ok(()));
            doer.notice(job("fails").failing(boom())).unwrap();
            sim.run_until_idle();
            let hooks = ["notice fails", "before_restart boom", "restart", "after_restart boom"];
            assert_eq!(log.take(), hooks);
            assert!(doer.is_alive());
        }
    });
}
