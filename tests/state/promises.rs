//! What a state actor waits for (rule O5): promises, timeouts, timers, and other events.

use crate::state_support::{Doer, HOUR, Kept, SECOND, asks, doer, job};
use crate::support::{Log, boom, simulations};
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::state::{Promise, StateCalls, StateMessage, Stateful};
use krarup::testing::Probe;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn o5_two_are_called_at_the_same_time() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let slow = sim
            .spawn(|| {
                behavior_fn(|mut ctx: Context<Kept>| async move {
                    loop {
                        if let krarup::behavior::Received::Message(token) = ctx.receive().await {
                            ctx.sleep(SECOND).await;
                            token.send(1);
                        }
                    }
                })
            })
            .wait()
            .unwrap();
        let fast = {
            let slow = slow.clone();
            sim.spawn(move || {
                behavior_fn(move |mut ctx: Context<Kept>| async move {
                    let _ = slow;
                    loop {
                        if let krarup::behavior::Received::Message(token) = ctx.receive().await {
                            ctx.sleep(SECOND).await;
                            token.send(2);
                        }
                    }
                })
            })
            .wait()
            .unwrap()
        };
        let began = sim.now();
        asks(
            &sim,
            &log,
            &doer,
            job("both").doing(move |scope| {
                Box::pin(async move {
                    let (one, two) = (
                        scope.call(&slow, |reply| reply).start(),
                        scope.call(&fast, |reply| reply).start(),
                    );
                    assert_eq!(scope.pending(), 2);
                    assert_eq!((one.await?, two.await?), (1, 2));
                    assert_eq!(scope.pending(), 0);
                    Ok(())
                })
            }),
        );
        while log.count("both answered") == 0 {
            sim.advance(Duration::from_millis(100));
        }
        assert!(sim.now() - began <= Duration::from_millis(1200));
    }
}

#[test]
fn o5_a_timeout_is_an_event_and_a_late_answer_is_dropped() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        doer.notice(job("asks").doing(move |scope| {
            Box::pin(async move {
                scope
                    .ask_then(&other, |reply| reply, |n: u32| n.to_string())
                    .timeout(SECOND)
                    .start();
                let failed = scope.call(&other, |reply| reply).timeout(2 * SECOND).await;
                scope.with(|doer| doer.log.note(format!("{}", failed.unwrap_err())));
                Ok(())
            })
        }))
        .unwrap();
        let tokens = (probe.expect(SECOND), probe.expect(SECOND));
        log.take();
        sim.advance(5 * SECOND);
        let to = probe.pid();
        let late = CallError::Timeout { to, limit: SECOND };
        let later = CallError::Timeout { to, limit: 2 * SECOND };
        assert_eq!(
            log.take(),
            [format!("exception {late}"), later.to_string(), "asks done".to_owned()]
        );
        let before = sim.stats().late_replies;
        tokens.0.send(1);
        tokens.1.send(2);
        sim.run_until_idle();
        assert_eq!(log.take(), Vec::<String>::new());
        assert_eq!(sim.stats().late_replies, before + 2);
        assert_eq!(doer.inspect().wait().unwrap().number("pending_promises"), Some(0));
    }
}

#[test]
fn o5_a_timeout_comes_behind_asks_and_notices_and_another_failure_before_them() {
    let sim = Simulation::new(5);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let probe = Probe::<Kept>::spawn(&sim);
    let dead = Probe::<Kept>::spawn(&sim);
    sim.kill(dead.pid());
    sim.run_until_idle();
    for (other, told) in [(probe.address(), "timed out"), (dead.address(), "failed")] {
        let me = doer.clone();
        doer.notice(job("go").doing(move |scope| {
            Box::pin(async move {
                let promise = scope.call(&other, |reply| reply).timeout(Duration::ZERO).start();
                me.notice(job("n")).unwrap();
                me.send(StateMessage::Ask(job("a"))).unwrap();
                promise.await.unwrap_err();
                scope.with(|doer| doer.log.note(told));
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
    }
    assert_eq!(
        log.take(),
        [
            "notice go",
            "ask a",
            "notice n",
            "timed out",
            "go done",
            "notice go",
            "failed",
            "go done",
            "ask a",
            "notice n"
        ]
    );
}

/// What another thread is to bring.
#[derive(Clone, Default)]
struct Parcel(Arc<Mutex<(bool, Option<std::task::Waker>)>>);

impl Future for Parcel {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        let mut parcel = self.0.lock().unwrap();
        parcel.1 = Some(cx.waker().clone());
        if parcel.0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    }
}

#[test]
fn o5_no_wake_up_from_another_thread_is_lost() {
    let node = Node::start("parcels@localhost").unwrap();
    let log = Log::new();
    let state = Doer::new(&log);
    let doer = node.spawn(move || Stateful::new(state)).wait().unwrap();
    let (orders, carrier) = std::sync::mpsc::channel::<Parcel>();
    let carried = std::thread::spawn(move || {
        for parcel in carrier {
            let waker = {
                let mut parcel = parcel.0.lock().unwrap();
                parcel.0 = true;
                parcel.1.take()
            };
            waker.into_iter().for_each(std::task::Waker::wake);
        }
    });
    let (done, ended) = std::sync::mpsc::channel();
    for flight in 0..4 {
        let (orders, done) = (orders.clone(), done.clone());
        doer.notice(job("rounds").doing(move |scope| {
            Box::pin(async move {
                for round in 0..2000 {
                    let parcel = Parcel::default();
                    orders.send(parcel.clone()).unwrap();
                    if (round + flight) % 2 == 0 {
                        parcel.await;
                    } else {
                        scope
                            .promise(async move {
                                parcel.await;
                                Ok(())
                            })
                            .await?;
                    }
                }
                done.send(()).unwrap();
                Ok(())
            })
        }))
        .unwrap();
    }
    for _ in 0..4 {
        ended.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    drop(orders);
    node.stop().wait().unwrap();
    carried.join().unwrap();
}

#[test]
fn o5_a_promise_that_is_given_up_counts_no_more_and_may_lie_in_the_state() {
    let sim = Simulation::new(5);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let probe = Probe::<Kept>::spawn(&sim);
    let other = probe.address();
    let kept = Arc::new(Mutex::new(None));
    let place = Arc::clone(&kept);
    doer.notice(job("asks").doing(move |scope| {
        Box::pin(async move {
            drop(scope.call(&other, |reply| reply).start());
            let promise = scope.call(&other, |reply| reply).start();
            assert_eq!(scope.pending(), 1);
            // Within a loan of the state, as one that lies in it would be.
            let dropped = scope.call(&other, |reply| reply).start();
            scope.with(|_| drop(dropped));
            *place.lock().unwrap() = Some(promise);
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    let _given_up = probe.expect(SECOND);
    let token = probe.expect(SECOND);
    token.send(4);
    sim.run_until_idle();
    doer.notice(job("looks").doing(move |scope| {
        Box::pin(async move {
            let promise = kept.lock().unwrap().take().unwrap();
            assert_eq!(promise.await?, 4);
            assert_eq!(scope.pending(), 0);
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    assert_eq!(log.count("looks done"), 1);
}

#[test]
fn o5_timers_can_be_taken_back() {
    let sim = Simulation::new(5);
    let log = Log::new();
    let doer = doer(&sim, &log);
    doer.notice(job("sets").doing(|scope| {
        Box::pin(async move {
            let first = scope.after(SECOND, job("first"));
            scope.after(2 * SECOND, job("second"));
            assert_eq!(scope.pending(), 0);
            assert!(scope.cancel(first));
            assert!(!scope.cancel(first));
            Ok(())
        })
    }))
    .unwrap();
    sim.advance(HOUR);
    assert_eq!(log.take(), ["notice sets", "sets done", "event second"]);
}

#[test]
fn o5_ends_signals_idle_times_and_other_types_are_events() {
    let sim = Simulation::new(5);
    let log = Log::new();
    let doer = doer(&sim, &log);
    doer.notice(job("sets").doing(|scope| {
        Box::pin(async move {
            scope.with_context(|_, ctx| {
                ctx.trap_exits(true);
                ctx.take_others();
                ctx.set_idle_timeout(Some(SECOND));
                let child = ctx
                    .spawn(|| behavior_fn(|_: Context<()>| async { Err(boom()) }))
                    .link()
                    .start()
                    .unwrap();
                ctx.monitor(child.pid());
            });
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    sim.send(doer.pid(), 5_u8).unwrap();
    sim.advance(Duration::from_millis(1500));
    let mut lines = log.take();
    lines.sort();
    assert_eq!(
        lines,
        ["down boom", "exit boom", "notice sets", "other u8", "sets done", "silence"]
    );
}

/// Ready when it is polled for the second time, which it asks for at once.
async fn yields() {
    let mut yielded = false;
    std::future::poll_fn(move |cx| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

#[test]
fn o5_a_promise_that_one_handler_has_looked_at_and_another_awaits_wakes_that_other() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        let shared: Arc<Mutex<Option<Promise<u32>>>> = Arc::default();
        let (looked_at, awaited) = (Arc::clone(&shared), shared);
        doer.notice(job("looks").doing(move |scope| {
            Box::pin(async move {
                let mut promise = scope.call(&other, |reply| reply).timeout(HOUR).start();
                let looks = |cx: &mut std::task::Context<'_>| {
                    std::task::Poll::Ready(Pin::new(&mut promise).poll(cx).is_pending())
                };
                assert!(std::future::poll_fn(looks).await);
                *looked_at.lock().unwrap() = Some(promise);
                Ok(())
            })
        }))
        .unwrap();
        let token = probe.expect(SECOND);
        let noted = log.clone();
        doer.notice(job("awaits").doing(move |_| {
            Box::pin(async move {
                let promise = awaited.lock().unwrap().take().unwrap();
                noted.note(promise.await?);
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        log.take();
        token.send(7);
        sim.run_until_idle();
        assert_eq!(log.take(), ["7", "awaits done"]);
    }
}

#[test]
fn o5_handlers_that_yield_take_turns_and_are_resumed() {
    // One turn takes in all of them.
    for sim in (0..3).map(Simulation::new) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        for name in ["a", "b", "c"] {
            let noted = log.clone();
            doer.notice(job(name).doing(move |scope| {
                Box::pin(async move {
                    for round in 0..3 {
                        noted.note(format!("{round} {name}"));
                        yields().await;
                    }
                    scope.sleep(SECOND).await;
                    Ok(())
                })
            }))
            .unwrap();
        }
        sim.run_until_idle();
        let mut rounds = log.take();
        rounds.retain(|line| !line.starts_with("notice"));
        let turns = ["0 a", "0 b", "0 c", "1 a", "1 b", "1 c", "2 a", "2 b", "2 c"];
        assert_eq!(rounds, turns);
        // What they wait for now goes before an event.
        doer.suspend().wait().unwrap();
        sim.advance(SECOND);
        doer.event(job("e")).unwrap();
        doer.resume();
        sim.run_until_idle();
        assert_eq!(log.take(), ["a done", "b done", "c done", "event e"]);
    }
}

#[test]
fn o5_a_handler_or_a_promise_that_yields_lets_everything_else_go_first() {
    for promise in [false, true] {
        for sim in simulations(5) {
            let log = Log::new();
            let doer = doer(&sim, &log);
            let (goes_on, rounds) = (Arc::new(Mutex::new(true)), Arc::new(Mutex::new(0_u64)));
            let (look, count) = (Arc::clone(&goes_on), Arc::clone(&rounds));
            doer.notice(job("yields").doing(move |scope| {
                Box::pin(async move {
                    let work = async move {
                        while *look.lock().unwrap() {
                            *count.lock().unwrap() += 1;
                            yields().await;
                        }
                        Ok(())
                    };
                    if promise {
                        scope.promise(work).await?;
                    } else {
                        work.await?;
                    }
                    Ok(())
                })
            }))
            .unwrap();
            // It never rests, and yet others have their turns, and it has its own among theirs.
            for _ in 0..5 {
                sim.step();
            }
            let before = *rounds.lock().unwrap();
            doer.notice(job("n")).unwrap();
            doer.event(job("e")).unwrap();
            asks(&sim, &log, &doer, job("a"));
            for _ in 0..20 {
                sim.step();
            }
            for line in ["notice n", "event e", "a answered a"] {
                assert_eq!(log.count(line), 1, "{line}: {:?}", log.lines());
            }
            assert!(*rounds.lock().unwrap() > before);
            *goes_on.lock().unwrap() = false;
            sim.run_until_idle();
            assert_eq!(log.count("yields done"), 1);
        }
    }
}

#[test]
fn o5_an_ask_to_oneself_or_to_an_ended_process_fails_at_once() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let (me, dead) = (doer.clone(), Probe::<Kept>::spawn(&sim));
        let gone = dead.address();
        sim.kill(dead.pid());
        sim.run_until_idle();
        doer.notice(job("asks").doing(move |scope| {
            Box::pin(async move {
                let own = scope.ask(&me, |reply| job("own").answering(reply)).await;
                assert_eq!(own, Err(CallError::CallsItself(scope.pid())));
                let answer = |name: String| name;
                scope
                    .ask_then(&me, |reply| StateMessage::Ask(job("own").answering(reply)), answer)
                    .start();
                let nobody = scope.call(&gone, |reply| reply).await;
                assert_eq!(nobody, Err(CallError::NoProcess { to: gone.pid() }));
                Ok(())
            })
        }))
        .unwrap();
        let began = sim.now();
        sim.run_until_idle();
        assert_eq!((log.count("asks done"), sim.now()), (1, began));
        assert_eq!(log.count(&format!("exception {}", CallError::CallsItself(doer.pid()))), 1);
        assert_eq!(doer.inspect().wait().unwrap().number("pending_promises"), Some(0));
    }
}

#[test]
fn o5_two_that_ask_each_other_serve_each_other_but_not_through_a_barrier() {
    for barrier in [false, true] {
        for sim in simulations(3) {
            let log = Log::new();
            let (one, two) = (doer(&sim, &log), doer(&sim, &log));
            let (first, second) = (one.clone(), two);
            let back = job("there").doing(move |scope| {
                Box::pin(async move {
                    let back = scope
                        .ask(&first, |reply| job("back").answering(reply))
                        .timeout(SECOND)
                        .start();
                    let outcome = match back.await {
                        Ok(name) => name,
                        Err(error) => error.to_string(),
                    };
                    scope.with(|doer| doer.log.note(format!("heard {outcome}")));
                    Ok(())
                })
            });
            let there = job("begins").barrier_if(barrier).doing(move |scope| {
                Box::pin(async move {
                    scope.ask(&second, |reply| back.answering(reply)).await?;
                    Ok(())
                })
            });
            asks(&sim, &log, &one, there);
            sim.advance(2 * SECOND);
            assert_eq!(log.count("begins answered begins"), 1);
            let timeout = CallError::Timeout { to: one.pid(), limit: SECOND }.to_string();
            let heard = if barrier { timeout } else { "back".to_owned() };
            assert_eq!(log.count(&format!("heard {heard}")), 1, "{:?}", log.lines());
        }
    }
}
