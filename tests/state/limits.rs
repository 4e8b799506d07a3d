//! What limits a state actor: how many handlers are in flight (rule O1), and how many letters wait
//! for that, wherever they are (rules M5, P2). The same of step processes that are blocked.

use crate::state_support::{COUNTS, Doer, HOUR, SECOND, asks, job, limited, numbers, restarting};
use crate::support::{Log, boom, simulations};
use krarup::Reply;
use krarup::behavior::behavior_fn;
use krarup::grains::{GrainCalls, Grains};
use krarup::mailbox::Overflow;
use krarup::prelude::*;
use krarup::state::{StateCalls, StateMessage, Stateful, StatefulError};
use krarup::step::{Commands, StepEvent, StepOutput, StepProcess, Stepped};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn o1_messages_in_flight_are_limited_and_the_next_begins_when_one_ends() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = limited(&sim, &log, 100, 3);
        // As many as may be: none of them waits.
        for name in ["1", "2", "3"] {
            asks(&sim, &log, &doer, job(name).waiting(SECOND));
        }
        sim.run_until_idle();
        assert_eq!(numbers(&doer, COUNTS), [Some(3), Some(0), Some(0)]);
        // More than that: they wait, in the order of the classes.
        doer.notice(job("n").waiting(SECOND)).unwrap();
        for name in ["4", "5", "6", "7"] {
            asks(&sim, &log, &doer, job(name).waiting(SECOND));
        }
        sim.run_until_idle();
        assert_eq!(numbers(&doer, COUNTS), [Some(3), Some(4), Some(1)]);
        // Events and timers are not held back.
        doer.event(job("e")).unwrap();
        sim.run_until_idle();
        assert_eq!(log.count("event e"), 1);
        sim.advance(SECOND);
        assert_eq!(numbers(&doer, COUNTS), [Some(3), Some(1), Some(1)]);
        sim.advance(SECOND);
        assert_eq!(numbers(&doer, COUNTS), [Some(2), Some(0), Some(0)]);
        sim.advance(SECOND);
        assert_eq!(log.count("answered"), 7);
        assert_eq!(numbers(&doer, COUNTS), [Some(0), Some(0), Some(0)]);
    }
}

#[test]
fn o1_a_handler_frees_its_place_however_it_ends_and_replies_resume_handlers_in_flight() {
    for sim in simulations(5) {
        let log = Log::new();
        let state = Doer::restarting(&log, Ok(()));
        let doer = sim
            .spawn(move || Stateful::new(state).restarts(5, SECOND).most_in_flight(1))
            .wait()
            .unwrap();
        let echo = sim
            .spawn(|| {
                behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
                    while let krarup::behavior::Received::Message(reply) = ctx.receive().await {
                        ctx.sleep(SECOND).await;
                        reply.send(1);
                    }
                    Ok(())
                })
            })
            .wait()
            .unwrap();
        // It waits for a reply, and so for nothing that is held back.
        let calls = job("calls").doing(move |scope| {
            Box::pin(async move {
                let one = scope.call(&echo, |reply| reply).start();
                scope.with(|doer| doer.log.note("waits"));
                one.await?;
                Ok(())
            })
        });
        asks(&sim, &log, &doer, calls);
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("fails").failing(boom()));
        asks(&sim, &log, &doer, job("panics").panicking());
        asks(&sim, &log, &doer, job("last"));
        sim.run_until_idle();
        assert_eq!(log.count("waits"), 1);
        assert_eq!(log.count("ask last"), 0);
        sim.advance(2 * SECOND);
        assert_eq!((log.count("calls answered"), log.count("last answered")), (1, 1));
        assert_eq!(log.count("fails failed") + log.count("panics failed"), 2);
        // A failure gives up those in flight: that makes room as well.
        asks(&sim, &log, &doer, job("endless").waiting(HOUR));
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("next"));
        doer.event(job("fails").failing(boom())).unwrap();
        sim.run_until_idle();
        assert_eq!(log.count("next answered"), 1);
    }
}

#[test]
fn o1_a_batch_counts_as_one_in_flight_and_1024_are_allowed_by_default() {
    let sim = Simulation::new(3);
    let log = Log::new();
    let doer = crate::state_support::doer(&sim, &log);
    for _ in 0..1030 {
        doer.notice(job("n").waiting(SECOND)).unwrap();
    }
    sim.run_until_idle();
    assert_eq!(numbers(&doer, COUNTS), [Some(1024), Some(0), Some(6)]);
    sim.advance(2 * SECOND);
    assert_eq!(log.take().iter().filter(|line| *line == "n done").count(), 1030);
    let doer = limited(&sim, &log, 100, 1);
    asks(&sim, &log, &doer, job("holds").waiting(SECOND));
    sim.run_until_idle();
    (0..5).for_each(|n| doer.notice(job(n.to_string()).batch()).unwrap());
    sim.advance(2 * SECOND);
    assert_eq!(log.count("notices 0 1 2 3 4"), 1);
}

#[test]
fn b1_a_state_actor_without_any_handler_in_flight_is_a_typed_error() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let state = Doer::new(&log);
    let refused = sim.spawn(move || Stateful::new(state).most_in_flight(0)).wait().unwrap_err();
    let SpawnError::Init(reason) = refused else { panic!("{refused:?}") };
    assert_eq!(reason.downcast_ref(), Some(&StatefulError::ZeroInFlight));
    assert_eq!(log.take(), ["dropped"], "it was not mounted");
    let (state, most) = (Doer::new(&log), usize::MAX);
    let doer = sim.spawn(move || Stateful::new(state).most_in_flight(most)).wait().unwrap();
    asks(&sim, &log, &doer, job("1"));
    sim.run_until_idle();
    assert_eq!(log.count("1 answered"), 1);
}

/// What holds letters back.
#[derive(Clone, Copy, Debug)]
enum Behind {
    Barrier,
    Limit,
    Suspension,
}

#[test]
fn m5_the_bound_of_a_state_actor_is_exact_whatever_holds_messages_back() {
    for behind in [Behind::Barrier, Behind::Limit, Behind::Suspension] {
        for (sim, bound) in
            [1, 2, 5].into_iter().flat_map(|bound| simulations(3).map(move |sim| (sim, bound)))
        {
            let log = Log::new();
            let doer = limited(&sim, &log, bound, 1);
            match behind {
                Behind::Barrier => {
                    asks(&sim, &log, &doer, job("holds").barrier().waiting(10 * SECOND));
                }
                Behind::Limit => asks(&sim, &log, &doer, job("holds").waiting(10 * SECOND)),
                Behind::Suspension => drop(doer.suspend().wait()),
            }
            sim.run_until_idle();
            log.take();
            let mut accepted = 0;
            for number in 0..20 {
                // Whether it takes them in between or not.
                if number % 3 != 0 {
                    sim.run_until_idle();
                }
                let letter = job(number.to_string());
                let letter = if number % 2 == 0 {
                    StateMessage::Notice(letter)
                } else {
                    StateMessage::Ask(letter)
                };
                match doer.send(letter) {
                    Ok(()) => accepted += 1,
                    Err(error) => assert!(error.is_full()),
                }
            }
            assert_eq!(accepted, bound, "{behind:?}");
            assert_eq!(doer.waiting(), bound);
            doer.resume();
            sim.advance(20 * SECOND);
            let lines = log.take();
            let handled = |kind: &str| lines.iter().filter(|line| line.starts_with(kind)).count();
            assert_eq!(handled("notice ") + handled("ask "), bound);
            // And there is room again, for exactly as many.
            assert_eq!(doer.waiting(), 0);
            asks(&sim, &log, &doer, job("again").barrier().waiting(SECOND));
            sim.run_until_idle();
            let again = (0..20).filter(|_| doer.notice(job("n")).is_ok()).count();
            assert_eq!(again, bound);
        }
    }
}

#[test]
fn m5_a_bound_of_a_state_actor_is_exact_under_concurrent_senders() {
    let node = Node::start("limits@localhost").unwrap();
    let log = Log::new();
    let state = Doer::new(&log);
    let doer =
        node.spawn(move || Stateful::new(state).most_in_flight(1)).mailbox(64).wait().unwrap();
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (release, released) = krarup_oneshot(&node);
    doer.notice(job("holds").doing(move |scope| {
        Box::pin(async move {
            begun.send(()).unwrap();
            scope.call(&released, |reply| reply).timeout(HOUR).await?;
            Ok(())
        })
    }))
    .unwrap();
    has_begun.recv().unwrap();
    let accepted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..500).filter(|_| doer.notice(job("n")).is_ok()).count()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(accepted, 64);
    release.recv().unwrap().send(1);
    let last = doer.ask(|reply| job("last").answering(reply));
    while doer.waiting() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(last.wait(), Ok("last".to_owned()));
    node.stop().wait().unwrap();
}

/// A process that hands the tokens of its callers to the test.
fn krarup_oneshot(
    node: &Node,
) -> (std::sync::mpsc::Receiver<Reply<u32>>, krarup::Address<Reply<u32>>) {
    let (told, token) = std::sync::mpsc::channel();
    let keeps = node
        .spawn(move || {
            behavior_fn(move |mut ctx: Context<Reply<u32>>| async move {
                while let krarup::behavior::Received::Message(reply) = ctx.receive().await {
                    told.send(reply).ok();
                }
                Ok(())
            })
        })
        .wait()
        .unwrap();
    (token, keeps)
}

#[test]
fn m5_items_beyond_the_bound_of_a_state_actor_keep_no_room() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = limited(&sim, &log, 2, 1);
        asks(&sim, &log, &doer, job("holds").waiting(10 * SECOND));
        sim.run_until_idle();
        // Of these the bound knows nothing.
        (0..5).for_each(|_| doer.notify(StateMessage::Notice(job("beyond"))));
        sim.run_until_idle();
        let accepted = (0..9).filter(|_| doer.notice(job("n")).is_ok()).count();
        assert_eq!(accepted, 2);
        sim.advance(20 * SECOND);
        assert_eq!((log.count("notice beyond"), log.count("notice n")), (5, 2));
        assert_eq!(doer.waiting(), 0);
        asks(&sim, &log, &doer, job("holds").waiting(10 * SECOND));
        sim.run_until_idle();
        assert_eq!((0..9).filter(|_| doer.notice(job("n")).is_ok()).count(), 2);
    }
}

/// A handler may take letters off the mailbox itself: those it has.
#[test]
fn m5_a_message_taken_by_a_handler_no_longer_waits() {
    // A turn of one message has nothing at hand for a batch.
    for sim in (0..3).map(Simulation::new) {
        let log = Log::new();
        let doer = limited(&sim, &log, 4, 1);
        let me = doer.clone();
        for _ in 0..3 {
            let me = me.clone();
            let takes = job("takes").doing(move |scope| {
                Box::pin(async move {
                    (0..4).for_each(|_| me.notice(job("taken")).unwrap());
                    assert_eq!(me.waiting(), 4);
                    let taken = scope.with_context(|_, ctx| ctx.take_batch(3).len());
                    assert_eq!((taken, me.waiting()), (3, 1));
                    Ok(())
                })
            });
            doer.notice(takes).unwrap();
            sim.run_until_idle();
            assert_eq!(doer.waiting(), 0);
        }
        assert_eq!((log.count("takes done"), log.count("notice taken")), (3, 3));
    }
}

#[test]
fn m6_waiting_senders_get_room_when_a_state_actor_begins_a_message() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = limited(&sim, &log, 2, 1);
        for sender in 0..4 {
            let (doer, log) = (doer.clone(), log.clone());
            sim.spawn(move || {
                behavior_fn(move |_: Context<()>| async move {
                    for n in 0..5 {
                        let name = format!("{sender}/{n}");
                        let letter = StateMessage::Notice(job(name).waiting(SECOND));
                        doer.send_or_wait(letter).await.map_err(SendError::without_message)?;
                        assert!(doer.waiting() <= 2);
                    }
                    log.note(format!("{sender} is done"));
                    Ok(())
                })
            })
            .start()
            .unwrap();
        }
        sim.run_until_idle();
        assert_eq!(numbers(&doer, COUNTS)[0], Some(1));
        assert_eq!(doer.waiting(), 2);
        sim.advance(30 * SECOND);
        assert_eq!(log.count("is done"), 4);
        let lines = log.take();
        for sender in 0..4 {
            let begun = format!("notice {sender}/");
            let of_one: Vec<_> = lines.iter().filter(|line| line.starts_with(&begun)).collect();
            assert!(of_one.len() == 5 && of_one.is_sorted(), "{lines:?}");
        }
    }
}

#[test]
fn m6_the_oldest_message_of_a_state_actor_is_dropped_even_behind_a_barrier() {
    for sim in simulations(5) {
        let log = Log::new();
        let state = Doer::new(&log);
        let doer = sim
            .spawn(move || Stateful::new(state))
            .mailbox(3)
            .overflow(Overflow::DropOldest)
            .wait()
            .unwrap();
        asks(&sim, &log, &doer, job("holds").barrier().waiting(SECOND));
        sim.run_until_idle();
        for number in 0..10 {
            doer.notice(job(number.to_string())).unwrap();
            if number % 2 == 0 {
                sim.run_until_idle();
            }
        }
        log.take();
        sim.advance(2 * SECOND);
        let mut lines = log.take();
        lines.retain(|line| line.starts_with("notice"));
        assert_eq!(lines, ["notice 7", "notice 8", "notice 9"]);
    }
}

#[test]
fn p2_a_pool_of_state_actors_is_bounded_and_its_senders_get_full() {
    const SIZE: usize = 3;
    const BOUND: usize = 2;
    const MOST: usize = 2;
    // Jobs that are watched on their way keep their room in the same way.
    for (watched, sim) in
        [false, true].into_iter().flat_map(|w| simulations(5).map(move |s| (w, s)))
    {
        let log = Log::new();
        let noted = log.clone();
        let workers = move || Stateful::new(Doer::new(&noted)).most_in_flight(MOST);
        let pool = Pool::new(SIZE, workers).mailbox(BOUND);
        let pool = if watched { pool.time_to_live(HOUR) } else { pool };
        let pool = sim.spawn(move || pool).wait().unwrap();
        let (mut accepted, mut refused) = (0, 0);
        for number in 0..40 {
            let letter = StateMessage::Notice(job(number.to_string()).waiting(10 * SECOND));
            match pool.send(letter) {
                Ok(()) => accepted += 1,
                Err(error) => {
                    assert!(error.is_full(), "{error}");
                    let StateMessage::Notice(job) = error.into_message() else { panic!("another") };
                    assert_eq!(job.name, number.to_string(), "its own message comes back");
                    refused += 1;
                }
            }
            sim.run_until_idle();
        }
        assert_eq!((accepted, refused), (SIZE * (BOUND + MOST), 40 - SIZE * (BOUND + MOST)));
        assert_eq!(pool.waiting(), SIZE * BOUND);
        let called = pool.call(|reply| StateMessage::Ask(job("call").answering(reply))).wait();
        assert_eq!(called, Err(CallError::Full { to: pool.pid() }));
        // Nothing that was accepted is lost, and there is room again.
        sim.advance(30 * SECOND);
        assert_eq!(log.count(" done"), accepted);
        assert!(pool.send(StateMessage::Notice(job("again"))).is_ok());
    }
}

#[test]
fn o7_a_resumed_finishing_state_actor_handles_its_messages() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = limited(&sim, &log, 8, 1);
        asks(&sim, &log, &doer, job("holds").waiting(SECOND));
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("inside"));
        sim.run_until_idle();
        doer.notice(job("n")).unwrap();
        sim.run_until_idle();
        doer.suspend().wait().unwrap();
        doer.finish();
        sim.advance(5 * SECOND);
        assert!(doer.is_alive());
        doer.resume();
        sim.advance(5 * SECOND);
        assert!(!doer.is_alive());
        assert_eq!((log.count("inside answered"), log.count("notice n")), (1, 1));
        assert_eq!((log.count("terminate normal"), sim.stats().dead_letters), (1, 0));
    }
}

#[test]
fn o7_waiting_messages_keep_their_room_and_order_after_a_failure() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 5, Ok(()));
        asks(&sim, &log, &doer, job("holds").barrier().waiting(HOUR));
        sim.run_until_idle();
        (0..3).for_each(|n| doer.notice(job(n.to_string())).unwrap());
        sim.run_until_idle();
        doer.event(job("fails").failing(boom())).unwrap();
        sim.run_until_idle();
        let mut lines = log.take();
        lines.retain(|line| line.starts_with("notice"));
        assert_eq!(lines, ["notice 0", "notice 1", "notice 2"]);
        assert_eq!(doer.waiting(), 0);
    }
}

/// A step process that is blocked until a command is done, and counts its messages.
struct Blocked {
    seen: Arc<AtomicUsize>,
    first: bool,
}

impl StepProcess for Blocked {
    type Value = u64;
    type Message = u64;

    fn init(&mut self, _: &Context<u64>, _: &str, _: Vec<u64>) -> Result {
        Ok(())
    }

    fn step(
        &mut self,
        events: &mut VecDeque<StepEvent<u64, u64>>,
        out: &mut StepOutput<u64>,
    ) -> Result {
        if std::mem::take(&mut self.first) {
            out.dispatch("sleep", 10);
        }
        let messages =
            events.drain(..).filter(|event| matches!(event, StepEvent::Message { .. })).count();
        self.seen.fetch_add(messages, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn m5_a_bound_is_exact_while_a_step_process_is_blocked() {
    for (sim, bound) in
        [1, 3].into_iter().flat_map(|bound| simulations(3).map(move |sim| (sim, bound)))
    {
        for oldest in [false, true] {
            let seen = Arc::new(AtomicUsize::new(0));
            let process = Blocked { seen: Arc::clone(&seen), first: true };
            let commands = Arc::new(Commands::new().awaited("sleep", |ctx, seconds| {
                let sleep = ctx.sleep(SECOND * u32::try_from(seconds).unwrap_or(0));
                async move {
                    sleep.await;
                    Ok(0)
                }
            }));
            let spawn =
                sim.spawn(move || Stepped::new(process, commands, "main", [0])).mailbox(bound);
            let spawn = if oldest { spawn.overflow(Overflow::DropOldest) } else { spawn };
            let stepped = spawn.start().unwrap();
            sim.run_until_idle();
            let accepted = (0..20)
                .filter(|n| {
                    if n % 2 == 0 {
                        sim.run_until_idle();
                    }
                    stepped.send(*n).is_ok()
                })
                .count();
            assert_eq!(accepted, if oldest { 20 } else { bound });
            sim.run_until_idle();
            assert_eq!(stepped.waiting(), bound);
            sim.advance(20 * SECOND);
            assert_eq!((seen.load(Ordering::SeqCst), stepped.waiting()), (bound, 0));
            // One that waits for anything has room again at once.
            for n in 0..5 {
                stepped.send(n).unwrap();
                sim.run_until_idle();
            }
            assert_eq!(seen.load(Ordering::SeqCst), bound + 5);
            sim.kill(stepped.pid());
            sim.run_until_idle();
        }
    }
}

#[test]
fn d10_a_blocked_step_process_with_messages_is_not_passivated() {
    let sim = Simulation::new(1);
    let seen = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&seen);
    let grains = sim.spawn(move || {
        let commands = Arc::new(Commands::new().awaited("sleep", |ctx, seconds| {
            let sleep = ctx.sleep(SECOND * u32::try_from(seconds).unwrap_or(0));
            async move {
                sleep.await;
                Ok(0)
            }
        }));
        let blocked = move |_: &u32| {
            let process = Blocked { seen: Arc::clone(&counts), first: true };
            Stepped::new(process, Arc::clone(&commands), "main", [0])
        };
        Grains::new(blocked).idle(SECOND)
    });
    let grains = grains.wait().unwrap();
    grains.send_to(1, 7).unwrap();
    sim.run_until_idle();
    grains.send_to(1, 8).unwrap();
    sim.advance(9 * SECOND);
    let before = seen.load(Ordering::SeqCst);
    assert!(before < 2, "it is blocked");
    sim.advance(2 * SECOND);
    assert_eq!((seen.load(Ordering::SeqCst), sim.stats().dead_letters), (2, 0));
}

/// What one sender sends while others do, and the actor is at its limit, comes in its order, once,
/// and never do more wait than may.
#[test]
fn m5_bound_and_order_hold_for_random_messages_and_durations() {
    Simulation::explore(0..100, |sim| {
        let log = Log::new();
        let doer = limited(sim, &log, 3, 2);
        let most = Arc::new(Mutex::new(0));
        for sender in 0..4_u32 {
            let (doer, most) = (doer.clone(), Arc::clone(&most));
            sim.spawn(move || {
                behavior_fn(move |ctx: Context<()>| async move {
                    for n in 0..10 {
                        let time = std::time::Duration::from_millis(ctx.random() % 3);
                        let work = job(format!("{sender}/{n:02}"));
                        let work = match ctx.random() % 3 {
                            0 => work.waiting(time),
                            1 => work.barrier_if(true).waiting(time),
                            _ => work,
                        };
                        let sent = doer.send_or_wait(StateMessage::Ask(work)).await;
                        sent.map_err(SendError::without_message)?;
                        let waiting = doer.waiting();
                        let mut most = most.lock().unwrap();
                        *most = waiting.max(*most);
                    }
                    Ok(())
                })
            })
            .start()?;
        }
        sim.advance(20 * SECOND);
        assert!(*most.lock().unwrap() <= 3);
        let lines = log.take();
        for sender in 0..4 {
            let begun = format!("ask {sender}/");
            let of_one: Vec<_> = lines.iter().filter(|line| line.starts_with(&begun)).collect();
            assert!(of_one.len() == 10 && of_one.is_sorted(), "{lines:?}");
        }
        assert_eq!(doer.waiting(), 0);
        Ok(())
    });
}
