//! Work that blocks, beside the workers: `ctx.block`.

use crate::support::{Act, Does, Guard, Log, ThreadEnd, poll_once, puppet, simulations};
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::{Block, BlockError, NodeError};
use std::cell::RefCell;
use std::sync::{Arc, Barrier, mpsc};
use std::task::Poll;
use std::thread;

/// A process that does one blocking work and reports what came of it.
fn blocker<T: Send + 'static>(
    node: &Node,
    work: impl FnOnce() -> T + Send + 'static,
) -> (Address<()>, mpsc::Receiver<Result<T>>) {
    let (sent, result) = mpsc::channel();
    let process = behavior_fn(move |ctx: Context<()>| async move {
        let _ = sent.send(ctx.block(work).await);
        Ok(())
    });
    (node.spawn(move || process).start().unwrap(), result)
}

fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

#[test]
fn r4_blocking_works_that_wait_for_each_other_hold_no_worker() {
    const WORKS: usize = 12;
    let node = Node::builder("r4block").workers(2).start().unwrap();
    let meet = Arc::new(Barrier::new(WORKS + 1));
    let works: Vec<_> = (0..WORKS)
        .map(|n| {
            let meet = Arc::clone(&meet);
            blocker(&node, move || {
                meet.wait();
                (n, thread_name())
            })
        })
        .collect();
    // All of them wait, and the workers serve others.
    let free = puppet(&node, "free", &Log::new());
    (0..100).for_each(|_| assert!(free.inspect().wait().is_ok()));
    while node.stats().blocking_work < WORKS {
        thread::yield_now();
    }
    meet.wait();
    for (n, (_, result)) in works.into_iter().enumerate() {
        let (ran, thread) = result.recv().unwrap().unwrap();
        assert_eq!(ran, n);
        assert!(thread.starts_with("r4block-block-"), "{thread}");
    }
    node.stop().wait().unwrap();
    assert_eq!((node.stats().blocking_threads, node.stats().blocking_work), (0, 0));
}

#[test]
fn r4_at_most_so_many_side_threads_and_the_rest_waits_its_turn() {
    let node = Node::builder("r4queue").workers(2).blocking_threads(1).start().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let log = Log::new();
    let noted = log.clone();
    let first = blocker(&node, move || {
        let _ = released.recv();
        noted.note("first");
    });
    let mut behind = Vec::new();
    for n in 0..5 {
        while node.stats().blocking_work <= n {
            thread::yield_now();
        }
        let noted = log.clone();
        behind.push(blocker(&node, move || noted.note(n)));
    }
    assert_eq!((log.lines().len(), node.stats().blocking_threads), (0, 1));
    release.send(()).unwrap();
    assert_eq!(first.1.recv().unwrap(), Ok(()));
    behind.into_iter().for_each(|(_, result)| assert_eq!(result.recv().unwrap(), Ok(())));
    assert_eq!(log.take(), ["first", "0", "1", "2", "3", "4"]);
    assert_eq!(node.stats().blocking_threads, 1);
    node.stop().wait().unwrap();
}

#[test]
fn d4_a_panic_in_blocking_work_returns_with_its_place_and_ends_no_process() {
    let node = Node::builder("d4block").workers(2).blocking_threads(1).start().unwrap();
    let sim = Simulation::new(1);
    for node in [&node, sim.node()] {
        for _ in 0..3 {
            let (address, result) = blocker(node, || panic!("disk on fire"));
            address.watch().wait().unwrap();
            let Err(Reason::Panic(panic)) = result.recv().unwrap() else { panic!("no panic") };
            assert_eq!(panic.message(), "disk on fire");
            assert!(panic.location().is_some_and(|place| place.contains("tests/node/blocking.rs")));
        }
        let (address, result) = blocker(node, || 7);
        assert_eq!(address.watch().wait().map(|down| down.reason), Ok(Reason::Normal));
        assert_eq!(result.recv().unwrap(), Ok(7));
    }
    node.stop().wait().unwrap();
}

#[test]
fn c4_a_kill_ends_the_wait_for_blocking_work_and_its_value_is_dropped() {
    let node = Node::builder("c4block").workers(2).blocking_threads(1).start().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let log = Log::new();
    let value = Guard::new(&log, "value dropped");
    let (process, result) = blocker(&node, move || {
        begun.send(()).unwrap();
        let _ = released.recv();
        value
    });
    begins.recv().unwrap();
    // One whose work has not begun: it never will.
    let unrun = Guard::new(&log, "work dropped");
    let noted = log.clone();
    let (queued, _) = blocker(&node, move || {
        noted.note("has run");
        drop(unrun);
    });
    while node.stats().blocking_work < 2 {
        thread::yield_now();
    }
    for address in [&process, &queued] {
        let end = address.watch();
        node.kill(address.pid());
        assert_eq!(end.wait().map(|down| down.reason), Ok(Reason::Killed));
    }
    assert!(result.recv().is_err());
    assert_eq!(log.lines().len(), 0);
    release.send(()).unwrap();
    while node.stats().blocking_work > 0 {
        thread::yield_now();
    }
    assert_eq!(log.take(), ["value dropped", "work dropped"]);
    // The thread that ran it runs the next.
    assert_eq!(blocker(&node, || 1).1.recv().unwrap(), Ok(1));
    node.stop().wait().unwrap();
}

#[test]
fn x2_a_stop_waits_for_blocking_work_and_for_its_threads() {
    thread_local! {
        static ON_THREAD: RefCell<Option<ThreadEnd>> = const { RefCell::new(None) };
    }
    let node = Node::builder("x2block").workers(1).start().unwrap();
    let log = Log::new();
    let (begun, begins) = mpsc::channel();
    let noted = log.clone();
    let orderly = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.stop_in_order();
        ctx.initialised();
        let work = noted.clone();
        let value = ctx.block(move || {
            ON_THREAD.set(Some(ThreadEnd::new(&work, "thread ended")));
            begun.send(()).unwrap();
            work.note("work done");
            7
        });
        assert_eq!(value.await, Ok(7));
        noted.note("handler done");
        ctx.receive().await;
        Ok(())
    });
    node.spawn(move || orderly).start().unwrap();
    begins.recv().unwrap();
    node.stop().wait().unwrap();
    assert_eq!(log.take(), ["work done", "handler done", "thread ended"]);
    let stats = node.stats();
    assert_eq!((stats.processes, stats.timers, stats.blocking_threads), (0, 0, 0));
}

#[test]
fn x2_blocking_work_that_is_not_run_any_more_is_a_typed_error() {
    let node = Node::builder("x2late").workers(1).blocking_threads(1).start().unwrap();
    let (sent, received) = mpsc::channel::<Block<()>>();
    let log = Log::new();
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let noted = log.clone();
    let process = puppet(&node, "p", &Log::new());
    process.tells(move |ctx: &mut Context<Act>| {
        let waits = move || {
            begun.send(()).unwrap();
            released.recv().unwrap();
        };
        sent.send(ctx.block(waits)).unwrap();
        for _ in 0..2 {
            let noted = noted.clone();
            sent.send(ctx.block(move || noted.note("has run"))).unwrap();
        }
    });
    let [mut running, mut queued, mut late] = [(); 3].map(|()| received.recv().unwrap());
    // Nothing is run before it is awaited, here outside any process.
    assert_eq!(node.stats().blocking_work, 0);
    assert!(poll_once(&mut running).is_pending());
    begins.recv().unwrap();
    assert!(poll_once(&mut queued).is_pending());
    let stop = thread::spawn({
        let node = node.clone();
        move || node.stop().wait()
    });
    // The stop drops what is queued before it waits for what runs.
    let error = loop {
        match poll_once(&mut queued) {
            Poll::Ready(outcome) => break outcome.unwrap_err(),
            Poll::Pending => thread::yield_now(),
        }
    };
    assert_eq!(error.downcast_ref(), Some(&BlockError::NodeStopped));
    release.send(()).unwrap();
    assert_eq!(stop.join().unwrap(), Ok(()));
    assert_eq!(poll_once(&mut running), Poll::Ready(Ok(())));
    let Poll::Ready(Err(error)) = poll_once(&mut late) else { panic!("it was run") };
    assert_eq!(error.downcast_ref(), Some(&BlockError::NodeStopped));
    assert_eq!(log.lines().len(), 0);
}

/// Takes the 5 s that work which does not return is given.
#[test]
fn x2_a_stop_says_that_blocking_work_does_not_return() {
    let node = Node::builder("x2never").workers(1).start().unwrap();
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let (process, _) = blocker(&node, move || {
        begun.send(()).unwrap();
        released.recv()
    });
    begins.recv().unwrap();
    node.kill(process.pid());
    let error = node.stop().wait().unwrap_err();
    assert!(error.to_string().contains("blocking work does not return on 1 thread"), "{error}");
    assert_eq!((node.stats().processes, node.stats().blocking_threads), (0, 1));
    // Who awaits it hears the same.
    let awaited = poll_once(&mut node.stop().into_future());
    assert!(matches!(awaited, Poll::Ready(Err(again)) if again == error));
    release.send(()).unwrap();
}

#[test]
fn t2_blocking_work_takes_no_virtual_time_and_is_repeated_by_its_seed() {
    let lines = |seed| {
        let sim = Simulation::new(seed);
        let log = Log::new();
        for n in 0..3 {
            let noted = log.clone();
            let process = behavior_fn(move |ctx: Context<()>| async move {
                for round in 0..2 {
                    let work = noted.clone();
                    let at = ctx.now();
                    ctx.block(move || work.note(format!("{n} works {round} at {at}"))).await?;
                    ctx.sleep(std::time::Duration::from_secs(1)).await;
                }
                Ok(())
            });
            sim.spawn(move || process).start().unwrap();
        }
        sim.run_until_idle();
        assert_eq!(log.count("works 0 at 0ns"), 3);
        sim.advance(std::time::Duration::from_secs(1));
        assert_eq!(log.count("works 1 at 1s"), 3);
        log.take()
    };
    for seed in 0..20 {
        assert_eq!(lines(seed), lines(seed));
    }
}

#[test]
fn b1_a_node_without_side_threads_is_a_typed_error() {
    for threads in [0, usize::MAX] {
        let error = Node::builder("b1").blocking_threads(threads).start().unwrap_err();
        assert!(matches!(error, NodeError::BlockingThreads(asked) if asked == threads));
        assert!(error.to_string().contains(&threads.to_string()), "{error}");
    }
}

/// As [`blocker`], in a pool of its own.
fn blocker_in<T: Send + 'static>(
    node: &Node,
    pool: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> mpsc::Receiver<Result<T>> {
    let (sent, result) = mpsc::channel();
    let process = behavior_fn(move |ctx: Context<()>| async move {
        let _ = sent.send(ctx.block_in(pool, work).await);
        Ok(())
    });
    node.spawn(move || process).start().unwrap();
    result
}

/// Three works fill the only thread of one pool; those of others do not wait for them.
#[test]
fn r4_work_that_fills_one_pool_holds_up_no_other() {
    let node = Node::builder("r4pools")
        .workers(2)
        .blocking_threads(1)
        .blocking_pool("disk", 1)
        .blocking_pool("mail", 2)
        .start()
        .unwrap();
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let held = blocker_in(&node, "disk", move || {
        begun.send(thread_name()).unwrap();
        let _ = released.recv();
    });
    assert_eq!(begins.recv().unwrap(), "r4pools-block-disk-0");
    let behind = [(); 2].map(|()| blocker_in(&node, "disk", thread_name));
    while node.stats().blocking_work < 3 {
        thread::yield_now();
    }
    let meet = Arc::new(Barrier::new(2));
    let mails = [(); 2].map(|()| {
        let meet = Arc::clone(&meet);
        blocker_in(&node, "mail", move || {
            meet.wait();
            thread_name()
        })
    });
    let mut names = mails.map(|mail| mail.recv().unwrap().unwrap());
    names.sort_unstable();
    assert_eq!(names, ["r4pools-block-mail-0", "r4pools-block-mail-1"]);
    let (_, unnamed) = blocker(&node, thread_name);
    assert_eq!(unnamed.recv().unwrap(), Ok("r4pools-block-0".to_owned()));
    // Nothing of the first pool has been run elsewhere.
    assert!(behind.iter().all(|result| result.try_recv().is_err()));
    assert_eq!(node.stats().blocking_threads, 4);
    release.send(()).unwrap();
    assert_eq!(held.recv().unwrap(), Ok(()));
    for result in behind {
        assert_eq!(result.recv().unwrap(), Ok("r4pools-block-disk-0".to_owned()));
    }
    node.stop().wait().unwrap();
    assert_eq!((node.stats().blocking_threads, node.stats().blocking_work), (0, 0));
}

#[test]
fn r4_a_pool_for_blocking_work_that_the_node_has_not_is_a_typed_error() {
    let node = Node::builder("r4none").workers(1).blocking_pool("disk", 1).start().unwrap();
    let sim = Simulation::new(1);
    sim.add_blocking_pool("disk").unwrap();
    for node in [&node, sim.node()] {
        let log = Log::new();
        let noted = log.clone();
        let none = blocker_in(node, "dsik", move || noted.note("has run"));
        let disk = blocker_in(node, "disk", || 7);
        if node.name() != "r4none" {
            sim.run_until_idle();
        }
        let unknown = BlockError::UnknownPool("dsik".to_owned());
        assert_eq!(none.recv().unwrap(), Err(unknown.into()));
        assert_eq!(disk.recv().unwrap(), Ok(7));
        assert!(log.lines().is_empty());
    }
    node.stop().wait().unwrap();
}

#[test]
fn r4_a_pool_for_blocking_work_that_cannot_be_is_an_error_that_names_it() {
    for threads in [0, 16_385] {
        let error = Node::builder("r4bad").blocking_pool("disk", threads).start().unwrap_err();
        assert!(matches!(error, NodeError::BlockingPool { .. }));
        let expected = format!("blocking pool \"disk\" cannot have {threads} threads (1 to 16384)");
        assert_eq!(error.to_string(), expected);
    }
    let twice = Node::builder("r4bad").blocking_pool("disk", 1).blocking_pool("disk", 2);
    let error = twice.start().unwrap_err();
    assert_eq!(error.to_string(), "blocking pool \"disk\" is configured twice");
}

/// A stop drops what waits in every pool, and leaves behind what does not return in any of them.
#[test]
fn x2_a_stop_ends_the_threads_of_every_pool_and_drops_waiting_work() {
    let node =
        Node::builder("x2pools").workers(1).blocking_pool("a", 1).blocking_pool("b", 1).start();
    let node = node.unwrap();
    let mut waiting = Vec::new();
    let mut releases = Vec::new();
    let log = Log::new();
    for pool in ["a", "b"] {
        let (release, released) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        waiting.push(blocker_in(&node, pool, move || {
            begun.send(()).unwrap();
            let _ = released.recv();
        }));
        begins.recv().unwrap();
        let noted = log.clone();
        waiting.push(blocker_in(&node, pool, move || noted.note("has run")));
        releases.push(release);
    }
    while node.stats().blocking_work < 4 {
        thread::yield_now();
    }
    let stop = thread::spawn({
        let node = node.clone();
        move || node.stop().timeout(std::time::Duration::ZERO).wait()
    });
    // The processes are killed; what has not begun is dropped in all pools, before any is
    // waited for.
    while node.stats().blocking_work > 2 {
        thread::yield_now();
    }
    drop(releases);
    assert_eq!(stop.join().unwrap(), Ok(()));
    assert!(log.lines().is_empty());
    assert_eq!((node.stats().blocking_threads, node.stats().blocking_work), (0, 0));
}

#[test]
fn r4_in_a_simulation_blocking_work_runs_as_on_a_side_thread() {
    for sim in crate::support::simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        let listener = behavior_fn(move |mut ctx: Context<&'static str>| async move {
            while let krarup::behavior::Received::Message(text) = ctx.receive().await {
                noted.note(format!("{text} from {:?}", ctx.sender()));
            }
            Ok(())
        });
        let listener = sim.spawn(move || listener).start().unwrap();
        let keeper = behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
            while let krarup::behavior::Received::Message(token) = ctx.receive().await {
                ctx.sleep(std::time::Duration::from_secs(1)).await;
                token.send(7);
            }
            Ok(())
        });
        let keeper = sim.spawn(move || keeper).start().unwrap();
        // A caller whose token is dropped by the work hears of it when that is done, and not
        // with the end of the process.
        let (given, taken) = mpsc::channel::<Reply<u32>>();
        let holder = behavior_fn(move |mut ctx: Context<Reply<u32>>| async move {
            if let krarup::behavior::Received::Message(token) = ctx.receive().await {
                let _ = given.send(token);
            }
            ctx.receive().await;
            Ok(())
        });
        let holder = sim.spawn(move || holder).start().unwrap();
        let lost = format!("Err(NoReply {{ to: {} }})", holder.pid());
        let noted = log.clone();
        let caller = behavior_fn(move |_: Context<()>| async move {
            noted.note(format!("{:?}", holder.call(|token| token).await));
            Ok(())
        });
        sim.spawn(move || caller).start().unwrap();
        sim.run_until_idle();
        let noted = log.clone();
        let (_, result) = blocker(&sim, move || {
            listener.send("hello").unwrap();
            drop(taken.recv().unwrap());
            let answer = keeper.call(|token| token).wait();
            noted.note(krarup::behavior::is_in_process());
            answer
        });
        sim.advance(std::time::Duration::from_secs(2));
        assert_eq!(result.recv().unwrap(), Ok(Ok(7)));
        assert_eq!(log.take_sorted(), [&lost, "false", "hello from None"]);
    }
}

#[test]
fn r4_a_simulation_runs_blocking_work_in_an_order_of_its_seed() {
    let order = |seed| {
        let sim = Simulation::new(seed);
        let log = Log::new();
        for n in 0..6 {
            let noted = log.clone();
            blocker(&sim, move || noted.note(n));
        }
        sim.run_until_idle();
        log.take()
    };
    let orders: std::collections::BTreeSet<_> = (0..20).map(order).collect();
    assert!(orders.len() > 10);
    assert_eq!(order(3), order(3));
}

#[test]
fn r4_work_that_has_not_begun_when_a_simulation_stops_is_dropped_and_never_runs() {
    let ran = simulations(10).map(|sim| {
        let log = Log::new();
        for _ in 0..20 {
            let (unrun, noted) = (Guard::new(&log, "dropped"), log.clone());
            drop(blocker(&sim, move || {
                let _unrun = unrun;
                noted.note("ran");
            }));
        }
        // All wait for their work, if it has not been done by then.
        sim.stop().wait().unwrap();
        assert_eq!(log.count("dropped"), 20);
        let ran = log.count("ran");
        sim.run_until_idle();
        assert_eq!(log.count("ran"), ran);
        ran
    });
    let ran: Vec<usize> = ran.collect();
    assert!(ran.iter().any(|ran| (1..20).contains(ran)), "{ran:?}");
}

#[test]
fn r4_a_simulation_refuses_a_pool_for_blocking_work_as_a_node_does() {
    let sim = Simulation::new(1);
    sim.add_blocking_pool("disk").unwrap();
    let refusals = ["", "disk"].map(|name| sim.add_blocking_pool(name).unwrap_err().to_string());
    let builder = Node::builder("r4refused").workers(1);
    let of_node = [
        builder.blocking_pool("", 1).start().unwrap_err(),
        Node::builder("r4refused")
            .blocking_pool("disk", 1)
            .blocking_pool("disk", 1)
            .start()
            .unwrap_err(),
    ];
    assert_eq!(refusals, of_node.map(|error| error.to_string()));
}

#[test]
fn r4_a_simulation_runs_the_work_of_a_pool_of_side_threads_between_turns_too() {
    let order = |seed| {
        let sim = Simulation::new(seed);
        sim.add_blocking_pool("disk").unwrap();
        let log = Log::new();
        for n in 0..6 {
            let noted = log.clone();
            blocker_in(&sim, "disk", move || {
                assert!(!krarup::behavior::is_in_process());
                noted.note(n);
            });
        }
        sim.run_until_idle();
        log.take()
    };
    let orders: std::collections::BTreeSet<_> = (0..20).map(order).collect();
    assert!(orders.iter().all(|order| order.len() == 6));
    assert!(orders.len() > 10);
    assert_eq!(order(3), order(3));
}

#[test]
fn r4_in_a_simulation_works_and_turns_come_in_every_order() {
    let order = |seed| {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let noted = log.clone();
        let (begun, kept) = mpsc::channel();
        let works = puppet(&sim, "works", &Log::new());
        works.tells(move |ctx| {
            // All of them begin now.
            for n in 0..3 {
                let noted = noted.clone();
                let mut work = ctx.block(move || noted.note(n));
                assert!(poll_once(&mut work).is_pending());
                begun.send(work).unwrap();
            }
        });
        sim.run_until_idle();
        assert_eq!(kept.iter().count(), 3);
        log.take().concat()
    };
    let orders: std::collections::BTreeSet<String> = (0..100).map(order).collect();
    assert_eq!(orders.len(), 6, "{orders:?}");
    // Neither waits for the other: a work for the turns, or the turns for a work.
    let first = |seed| {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let noted = log.clone();
        let (other, told) = (puppet(&sim, "other", &Log::new()), log.clone());
        let (begun, kept) = mpsc::channel();
        puppet(&sim, "works", &Log::new()).tells(move |ctx| {
            let mut work = ctx.block(move || noted.note("work"));
            assert!(poll_once(&mut work).is_pending());
            begun.send(work).unwrap();
            other.tells(move |_| told.note("turn"));
        });
        sim.run_until_idle();
        assert_eq!(kept.iter().count(), 1);
        let lines = log.take();
        assert_eq!(lines.len(), 2);
        lines[0].clone()
    };
    let firsts: std::collections::BTreeSet<String> = (0..20).map(first).collect();
    assert_eq!(firsts.len(), 2, "{firsts:?}");
}

#[test]
fn x2_blocking_work_of_a_simulation_that_has_stopped_is_a_typed_error() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let (sent, received) = mpsc::channel();
    puppet(&sim, "p", &Log::new()).tells(move |ctx| {
        sent.send(ctx.block(move || noted.note("has run"))).unwrap();
    });
    sim.run_until_idle();
    let mut late = received.recv().unwrap();
    sim.stop().wait().unwrap();
    let Poll::Ready(Err(error)) = poll_once(&mut late) else { panic!("it was accepted") };
    assert_eq!(error.downcast_ref(), Some(&BlockError::NodeStopped));
    sim.run_until_idle();
    assert!(log.lines().is_empty());
}

#[test]
fn d4_blocking_work_that_leaves_a_panic_in_a_simulation_ends_nothing() {
    struct PanickingDrop;
    impl Drop for PanickingDrop {
        fn drop(&mut self) {
            panic!("sore");
        }
    }
    for seed in 0..10 {
        let sim = Simulation::new(seed);
        let begun = Arc::new(Barrier::new(1));
        let (killed, works) = (Log::new(), Log::new());
        let (held, noted) = (begun, works.clone());
        // Who waits for the value has gone when it comes, so it is dropped with the work.
        let (process, result) = blocker(&sim, move || {
            held.wait();
            noted.note("done");
            PanickingDrop
        });
        while sim.step().is_some_and(|pid| pid != process.pid()) {}
        sim.kill(process.pid());
        killed.note("killed");
        let (_, other) = blocker(&sim, || 7);
        sim.run_until_idle();
        assert_eq!(other.recv().unwrap(), Ok(7));
        assert!(result.recv().is_err());
        assert!(!process.is_alive());
        sim.stop().wait().unwrap();
    }
}
