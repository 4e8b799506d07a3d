//! What a dispatcher counts (rule X4). What needs a worker that is stepped by hand is checked
//! beside it (`node/src/dispatcher/shared/stepped.rs`).

use crate::support::{Does, Log, Puppet, puppet};
use krarup::behavior::behavior_fn;
use krarup::dispatcher::{Class, DispatcherOptions};
use krarup::observe::{DispatcherStats, ProcessState, WorkerStats};
use krarup::prelude::*;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

fn stats(node: &Node) -> DispatcherStats {
    node.stats().dispatchers.into_iter().next().unwrap()
}

/// Waits until the counters say so.
fn until(node: &Node, holds: impl Fn(&DispatcherStats) -> bool) -> DispatcherStats {
    loop {
        let stats = stats(node);
        if holds(&stats) {
            return stats;
        }
        thread::yield_now();
    }
}

/// Holds a worker until the second barrier is reached.
fn hold(node: &Node) -> Arc<Barrier> {
    let (held, release) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (holds, releases) = (Arc::clone(&held), Arc::clone(&release));
    puppet(node, "holds", &Log::new()).tells(move |_| {
        holds.wait();
        releases.wait();
    });
    held.wait();
    release
}

#[test]
fn x4_turns_and_queue_counters_agree_and_each_worker_is_shown() {
    let node = Node::builder("x4turns").workers(2).start().unwrap();
    let before = until(&node, |stats| stats.parked == 2);
    assert_eq!((before.turns, before.scheduled, before.injected), (0, 0, 0));
    assert_eq!((before.name.as_str(), before.workers, before.each.len()), ("default", 2, 4));
    let process = puppet(&node, "p", &Log::new());
    (0..10).for_each(|_| assert!(process.inspect().wait().is_ok()));
    // A worker that parks is counted so before it is no searcher any more.
    let after = until(&node, |stats| stats.parked == 2 && stats.searching == 0);
    assert_eq!((after.queued, after.spares), (0, 0));
    // Its birth, and once for each inspection, at most: each may come while it has its turn.
    assert!((1..=11).contains(&after.injected), "{after:?}");
    assert_eq!((after.turns, after.scheduled), (after.injected, after.injected));
    assert!((1..=after.turns).contains(&after.injector_takes));
    let sum = |count: fn(&WorkerStats) -> u64| after.each.iter().map(count).sum::<u64>();
    assert_eq!(sum(|worker| worker.turns), after.turns);
    assert_eq!(sum(|worker| worker.parks), after.parks);
    assert_eq!(sum(|worker| worker.injector_takes), after.injector_takes);
    assert!(after.wakes >= 1 && after.parks >= 1);
    node.stop().wait().unwrap();
}

#[test]
fn x4_sends_to_a_busy_process_queue_nothing() {
    let node = Node::builder("x4busy").workers(1).start().unwrap();
    let process = puppet(&node, "p", &Log::new());
    let (held, release) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (holds, releases) = (Arc::clone(&held), Arc::clone(&release));
    process.tells(move |_| {
        holds.wait();
        releases.wait();
    });
    held.wait();
    let before = stats(&node);
    (0..1_000).for_each(|_| assert!(process.tells(|_| {})));
    let after = stats(&node);
    assert_eq!((after.scheduled, after.injected), (before.scheduled, before.injected));
    assert_eq!(after.wakes, before.wakes);
    release.wait();
    node.stop().wait().unwrap();
}

#[test]
fn x4_a_process_with_more_to_do_is_queued_again_by_its_own_worker() {
    const MESSAGES: u64 = 1_000;
    let options = DispatcherOptions::new().workers(1).spare_workers(0).throughput(10);
    let node = Node::builder("x4again").options(options).start().unwrap();
    let process = puppet(&node, "p", &Log::new());
    let release = hold(&node);
    let before = stats(&node);
    (0..MESSAGES).for_each(|_| assert!(process.tells(|_| {})));
    let queued = stats(&node);
    // From outside it goes to the shared queue, once.
    assert_eq!(queued.injected - before.injected, 1);
    release.wait();
    let after = until(&node, |stats| stats.queued == 0 && stats.parked == 1);
    // And then a hundred times to that of the worker.
    assert_eq!(after.injected, queued.injected);
    assert!(after.scheduled - queued.scheduled >= MESSAGES / 10 - 1, "{after:?}");
    assert!(after.turns - queued.turns >= MESSAGES / 10, "{after:?}");
    node.stop().wait().unwrap();
}

#[test]
fn x4_no_worker_is_woken_while_none_sleeps() {
    let options = DispatcherOptions::new().workers(1).spare_workers(0);
    let node = Node::builder("x4awake").options(options).start().unwrap();
    let idle: Vec<_> = (0..50).map(|_| puppet(&node, "p", &Log::new())).collect();
    let asleep = until(&node, |stats| stats.parked == 1);
    let release = hold(&node);
    let before = stats(&node);
    assert!(before.wakes > asleep.wakes && before.parked == 0, "it slept, and was woken");
    idle.iter().for_each(|process| assert!(process.tells(|_| {})));
    let after = stats(&node);
    assert_eq!((after.injected - before.injected, after.wakes), (50, before.wakes));
    release.wait();
    node.stop().wait().unwrap();
}

#[test]
fn x4_the_queue_length_and_its_maximum_are_shown() {
    let options = DispatcherOptions::new().workers(1).spare_workers(0);
    let node = Node::builder("x4waits").options(options).start().unwrap();
    let release = hold(&node);
    let began = stats(&node);
    let before = began.injected;
    for _ in 0..50 {
        let process = behavior_fn(|_: Context<()>| async { Ok(()) });
        node.spawn(move || process).class(Class::Normal).start().unwrap();
    }
    for _ in 0..7 {
        let process = behavior_fn(|_: Context<()>| async { Ok(()) });
        node.spawn(move || process).class(Class::High).start().unwrap();
    }
    // A look of the watchdog sees it.
    let stats = until(&node, |stats| stats.longest_injector == 50);
    assert_eq!((stats.queued, stats.injected, stats.high_turns), (57, before + 50, 0));
    assert_eq!(stats.scheduled, stats.turns + 57);
    release.wait();
    let stats = until(&node, |stats| stats.queued == 0 && stats.parked == 1);
    assert_eq!((stats.high_turns, stats.longest_injector), (7, 50));
    assert!(stats.turns - began.turns >= 57, "{stats:?}");
    // Of a batch of 17, sixteen lay in its own queue.
    assert!((16..=50).contains(&stats.longest_queue), "{stats:?}");
    node.stop().wait().unwrap();
}

#[test]
fn x4_thefts_are_counted() {
    // No spares: what lies in a worker's own queue is run by a thief or by nobody.
    let options = DispatcherOptions::new().workers(2).spare_workers(0);
    let node = Node::builder("x4steal").options(options).start().unwrap();
    let meet = Arc::new(Barrier::new(2));
    // One makes two others ready on its own queue and waits for the second. The first is what its worker runs next: that
    // may be moved.
    let next = puppet(&node, "next", &Log::new());
    let behind = puppet(&node, "behind", &Log::new());
    while [&next, &behind].iter().any(|process| process.info().state != ProcessState::Idle) {
        thread::yield_now();
    }
    let (waits, comes) = (Arc::clone(&meet), meet);
    let (met, have_met) = mpsc::channel();
    let before = stats(&node);
    puppet(&node, "waits", &Log::new()).tells(move |_| {
        assert!(next.tells(|_| {}));
        assert!(behind.tells(move |_| {
            comes.wait();
        }));
        waits.wait();
        met.send(()).unwrap();
    });
    have_met.recv().unwrap();
    let stats = stats(&node);
    assert!(stats.steals > before.steals, "{stats:?}");
    // Never did two lie in one queue.
    assert_eq!(stats.stolen, stats.steals);
    assert!(stats.steal_attempts >= stats.steals, "{stats:?}");
    let sum = |count: fn(&WorkerStats) -> u64| stats.each.iter().map(count).sum::<u64>();
    assert_eq!(sum(|worker| worker.steals), stats.steals);
    assert_eq!(sum(|worker| worker.stolen), stats.stolen);
    assert_eq!(sum(|worker| worker.steal_attempts), stats.steal_attempts);
    node.stop().wait().unwrap();
}

#[test]
fn x4_the_longest_turn_is_seen_while_it_lasts() {
    let options = DispatcherOptions::new().workers(1).long_turn(Duration::from_millis(30));
    let node = Node::builder("x4long").options(options).start().unwrap();
    let release = hold(&node);
    // One look tells of it all, one thing after the other.
    let longer = |stats: &DispatcherStats, millis| {
        stats.longest_turn >= Duration::from_millis(millis) && stats.blocked == 1
    };
    let seen = until(&node, |stats| longer(stats, 50) && stats.long_turns > 0);
    // Once for each turn, however long it goes on.
    let later = until(&node, |stats| longer(stats, 100));
    assert_eq!(later.long_turns, seen.long_turns);
    release.wait();
    let over = until(&node, |stats| stats.blocked == 0);
    assert!(over.longest_turn >= later.longest_turn);
    // A shorter one that is reported too does not take its place.
    let release = hold(&node);
    let shorter = until(&node, |stats| stats.blocked == 1 && stats.long_turns > over.long_turns);
    assert_eq!(shorter.long_turns, over.long_turns + 1);
    assert!(shorter.longest_turn >= later.longest_turn);
    release.wait();
    node.stop().wait().unwrap();
}

#[test]
fn x4_the_other_kinds_count_their_turns() {
    let node = Node::builder("x4kinds")
        .workers(1)
        .dispatcher("pin", DispatcherOptions::pinned())
        .dispatcher("here", DispatcherOptions::calling_thread())
        .start()
        .unwrap();
    for name in ["pin", "here"] {
        let process = node.spawn(|| Puppet::new("p", &Log::new())).dispatcher(name).wait().unwrap();
        let (sent, ran) = mpsc::channel();
        process.tells(move |_| sent.send(()).unwrap());
        ran.recv().unwrap();
        let all = node.stats();
        let stats = all.dispatcher(name).unwrap();
        assert!((1..=2).contains(&stats.turns), "{stats:?}");
        assert_eq!((stats.scheduled, stats.refused), (stats.turns, 0));
    }
    assert!(node.stats().dispatcher("none").is_none());
    let sim = Simulation::new(1);
    let process = puppet(&sim, "p", &Log::new());
    process.tells(|_| {});
    let waits = stats(&sim);
    assert_eq!((waits.turns, waits.queued, waits.scheduled), (1, 1, 2));
    sim.run_until_idle();
    assert_eq!((stats(&sim).turns, stats(&sim).queued), (2, 0));
    let spawn = |class| {
        let process = behavior_fn(|_: Context<()>| async { Ok(()) });
        sim.spawn(move || process).class(class).start().unwrap();
    };
    [Class::High, Class::Normal, Class::High].into_iter().for_each(spawn);
    let waits = stats(&sim);
    assert_eq!((waits.queued, waits.scheduled, waits.high_turns), (3, 5, 0));
    sim.run_until_idle();
    let after = stats(&sim);
    assert_eq!((after.queued, after.turns, after.scheduled, after.high_turns), (0, 5, 5, 2));
    node.stop().wait().unwrap();
}

/// Turns of a process with a thread of its own count when both have gone.
#[test]
fn x4_the_turns_of_pinned_processes_that_have_ended_stay_counted() {
    let node = Node::builder("x4pinned")
        .workers(1)
        .dispatcher("pin", DispatcherOptions::pinned())
        .start()
        .unwrap();
    for ended in 1..=5 {
        let process =
            node.spawn(|| Puppet::new("p", &Log::new())).dispatcher("pin").wait().unwrap();
        process.stop().wait().unwrap();
        let all = node.stats();
        let stats = all.dispatcher("pin").unwrap();
        // Its first turn, and that in which it stops unless it does in the first.
        let turns = ended..=2 * ended;
        assert!(turns.contains(&stats.turns), "{} turns of {ended} processes", stats.turns);
        assert_eq!(stats.scheduled, stats.turns);
        assert!(stats.each.is_empty());
    }
    node.stop().wait().unwrap();
}

#[test]
fn r3_there_are_as_many_spares_as_workers_unless_fewer_are_configured() {
    // Other numbers than that of the cores, which are the workers unless told otherwise.
    let more = thread::available_parallelism().map_or(1, usize::from) + 1;
    for (workers, spares, each) in [
        (1, Some(5), 2),
        (1, None, 2),
        (2, Some(1), 3),
        (2, Some(0), 2),
        (2, None, 4),
        (more, None, 2 * more),
        (more + 1, Some(more), 2 * more + 1),
        (more + 1, Some(more + 9), 2 * more + 2),
    ] {
        let options = DispatcherOptions::new().workers(workers);
        let options = spares.into_iter().fold(options, DispatcherOptions::spare_workers);
        let node = Node::builder("r3spares").options(options).start().unwrap();
        let stats = stats(&node);
        assert_eq!((stats.workers, stats.each.len()), (workers, each), "{spares:?}");
        node.stop().wait().unwrap();
    }
}
