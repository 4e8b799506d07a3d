//! Full pools: who waits for room, what is diverted, what becomes of reserved room (rules P2,
//! P4, M6).

use crate::pool_support::{
    Job, PoolAddress, Worker, done, inspect, millis, numbers, occupy, seconds, workers,
};
use crate::support::{Log, boom, on_wake, poll_once, poll_with, simulations};
use krarup::mailbox::{Diverted, Overflow};
use krarup::observe::DeadLetter;
use krarup::pool::PoolError;
use krarup::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

fn pool(node: &Node, size: usize, mailbox: usize, log: &Log) -> PoolAddress {
    let factory = workers(log);
    node.spawn(move || Pool::new(size, factory).mailbox(mailbox)).wait().unwrap()
}

#[test]
fn m6_a_sender_that_waits_at_a_pool_gets_the_first_room_at_any_worker_in_its_turn() {
    for sim in simulations(30) {
        let log = Log::new();
        let pool = pool(&sim, 3, 1, &log);
        occupy(&sim, &pool, seconds(10));
        (0..3).for_each(|n| pool.send(Job::Slow(n, millis(1))).unwrap());
        // Nine senders wait; only then does anybody get room.
        let served = Arc::new(Mutex::new(Vec::new()));
        let mut waits: Vec<_> = (10..19)
            .map(|n| {
                let mut wait = pool.send_or_wait(Job::Note(n)).into_future();
                let served = Arc::clone(&served);
                let told = on_wake(move || served.lock().unwrap().push(n));
                assert!(poll_with(&mut wait, &told).is_pending());
                wait
            })
            .collect();
        assert_eq!(
            numbers(&pool).received(),
            6,
            "a waiting sender is not counted as refused or received"
        );
        sim.advance(seconds(20));
        // Each room is there for the one who was told; the next is told when that is used.
        let mut used = 0;
        while used < waits.len() {
            let told = served.lock().unwrap().len();
            assert!(told > used, "a worker has room");
            for wait in &mut waits[used..told] {
                assert!(poll_once(wait).is_ready());
            }
            used = told;
            sim.run_until_idle();
        }
        assert_eq!(*served.lock().unwrap(), (10..19).collect::<Vec<_>>());
        assert_eq!(done(&log).len(), 15);
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled), (15, 0));
    }
}

#[test]
fn m6_room_at_an_added_or_replacement_worker_goes_to_waiting_senders() {
    for sim in simulations(20) {
        let log = Log::new();
        let pool = pool(&sim, 2, 1, &log);
        (0..2).for_each(|_| pool.send(Job::Hang).unwrap());
        sim.run_until_idle();
        (0..2).for_each(|n| pool.send(Job::Note(n)).unwrap());
        let mut waits: Vec<_> =
            (10..13).map(|n| pool.send_or_wait(Job::Note(n)).into_future()).collect();
        assert!(waits.iter_mut().all(|wait| poll_once(wait).is_pending()));
        pool.add_workers(1).wait().unwrap();
        sim.run_until_idle();
        // The new one takes them all, one after the other.
        for wait in &mut waits {
            assert!(poll_once(wait).is_ready());
            sim.run_until_idle();
        }
        assert_eq!(done(&log), [10, 11, 12]);
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(3)).unwrap();
        let mut wait = pool.send_or_wait(Job::Note(13)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        let first = pool.workers().wait().unwrap()[0];
        sim.kill(first);
        sim.run_until_idle();
        assert!(matches!(poll_once(&mut wait), Poll::Ready(Ok(()))));
        sim.run_until_idle();
        assert!(done(&log).contains(&13));
    }
}

#[test]
fn m6_waiting_at_a_pool_ends_with_the_time_with_the_pool_and_with_its_last_worker() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 1, 1, &log);
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(1)).unwrap();
        let limit = seconds(3);
        let refused = pool.send_or_wait(Job::Note(2)).timeout(limit).wait().unwrap_err();
        assert!(matches!(refused, SendError::Timeout { message: Job::Note(2), .. }));
        assert_eq!(numbers(&pool).unhandled, 1);
        let refused = pool.reserve_or_wait().timeout(limit).wait().map(drop);
        assert_eq!(refused, Err(SendError::Timeout { message: (), to: pool.pid(), limit }));
        assert_eq!(numbers(&pool).unhandled, 2);
        let mut wait = pool.send_or_wait(Job::Note(3)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        pool.remove_workers(1).wait().unwrap();
        assert!(matches!(poll_once(&mut wait), Poll::Ready(Err(SendError::NoWorkers { .. }))));
        pool.add_workers(1).wait().unwrap();
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(1)).unwrap();
        let mut wait = pool.send_or_wait(Job::Note(4)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        sim.kill(pool.pid());
        sim.run_until_idle();
        assert!(matches!(poll_once(&mut wait), Poll::Ready(Err(SendError::NoProcess { .. }))));
        assert_eq!(sim.stats().timers, 0);
    }
}

#[test]
fn m6_a_waiter_that_gives_up_leaves_its_room_to_the_next() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 1, 1, &log);
        occupy(&sim, &pool, seconds(1));
        pool.send(Job::Note(1)).unwrap();
        let mut first = pool.send_or_wait(Job::Note(2)).into_future();
        let mut second = pool.send_or_wait(Job::Note(3)).into_future();
        assert!(poll_once(&mut first).is_pending() && poll_once(&mut second).is_pending());
        drop(first);
        sim.advance(seconds(2));
        assert!(poll_once(&mut second).is_ready());
        sim.run_until_idle();
        assert_eq!(done(&log), [999, 1, 3]);
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled), (3, 1));
    }
}

#[test]
fn m6_room_is_waited_for_through_nested_pools() {
    for sim in simulations(20) {
        let log = Log::new();
        let factory = workers(&log);
        let inner = move || Pool::new(2, factory.clone()).mailbox(1);
        let pool: PoolAddress = sim.spawn(move || Pool::new(2, inner)).wait().unwrap();
        (0..4).for_each(|_| pool.send(Job::Slow(999, seconds(1))).unwrap());
        sim.run_until_idle();
        (0..4).for_each(|n| pool.send(Job::Note(n)).unwrap());
        let mut waits: Vec<_> =
            (10..16).map(|n| pool.send_or_wait(Job::Note(n)).into_future()).collect();
        assert!(waits.iter_mut().all(|wait| poll_once(wait).is_pending()));
        sim.advance(seconds(2));
        for wait in &mut waits {
            assert!(poll_once(wait).is_ready());
            sim.run_until_idle();
        }
        assert_eq!(done(&log).len(), 14);
        assert_eq!(numbers(&pool).forwarded, 14);
    }
}

#[test]
fn m6_threads_that_wait_at_a_pool_are_all_served_and_the_bound_holds() {
    let node = Node::builder("m6").workers(2).start().unwrap();
    let (waiting, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let log = Log::new();
    let factory = workers(&log);
    let pool: PoolAddress = node.spawn(move || Pool::new(2, factory).mailbox(2)).wait().unwrap();
    let senders: Vec<_> = (0..8)
        .map(|_| {
            let (pool, waiting, most) = (pool.clone(), Arc::clone(&waiting), Arc::clone(&most));
            std::thread::spawn(move || {
                for n in 0..200 {
                    pool.send_or_wait(Job::Note(n)).wait().unwrap();
                    most.fetch_max(pool.waiting(), Ordering::Relaxed);
                    waiting.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    pool.drain().wait().unwrap();
    assert_eq!(log.lines().len(), 1600);
    assert!(most.load(Ordering::Relaxed) <= 4);
    let numbers = numbers(&pool);
    assert_eq!((numbers.forwarded, numbers.unhandled), (1600, 0));
    node.stop().wait().unwrap();
}

#[test]
fn m6_a_new_waiter_at_a_pool_does_not_take_room_of_an_earlier_waiter() {
    let node = Node::builder("m6").workers(1).start().unwrap();
    let (entered, inside) = std::sync::mpsc::channel();
    let (go, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let factory = move || {
        let (entered, held) = (entered.clone(), Arc::clone(&held));
        krarup::behavior::behavior_fn(move |mut ctx: Context<u32>| async move {
            while let krarup::behavior::Received::Message(number) = ctx.receive().await {
                entered.send(number)?;
                held.lock().unwrap().recv()?;
            }
            Ok(())
        })
    };
    let pool = node.spawn(move || Pool::new(1, factory).mailbox(1)).wait().unwrap();
    pool.send(0).unwrap();
    assert_eq!(inside.recv(), Ok(0));
    pool.send(1).unwrap();
    let mut first = pool.send_or_wait(2).into_future();
    assert!(poll_once(&mut first).is_pending());
    go.send(()).unwrap();
    // It has the message in hand, so there is room, and has not given it to who waits.
    assert_eq!(inside.recv(), Ok(1));
    let mut second = pool.send_or_wait(3).into_future();
    let early = poll_once(&mut second).is_ready();
    for (number, mut wait) in [(2, first), (3, second)] {
        go.send(()).unwrap();
        while !early && poll_once(&mut wait).is_pending() {
            std::thread::yield_now();
        }
        assert_eq!(inside.recv(), Ok(number));
    }
    go.send(()).unwrap();
    node.stop().wait().unwrap();
}

/// The fallback of a full pool: notes what it gets.
struct Spare(Log);

enum Extra {
    Job(Diverted<Job>),
    Hang,
}

impl From<Diverted<Job>> for Extra {
    fn from(diverted: Diverted<Job>) -> Self {
        Extra::Job(diverted)
    }
}

impl Actor for Spare {
    type Message = Extra;

    async fn handle_message(&mut self, ctx: &mut Context<Extra>, extra: Extra) -> Result {
        match extra {
            Extra::Job(Diverted { origin, tag, message: Job::Note(n) }) => {
                self.0.note(format!("{origin} {tag} {:?} {n}", ctx.sender()));
            }
            Extra::Job(Diverted { message: Job::Who(reply), .. }) => reply.send(ctx.pid()),
            Extra::Job(_) => {}
            Extra::Hang => std::future::pending().await,
        }
        Ok(())
    }
}

#[test]
fn p2_a_full_pool_diverts_to_its_fallback_if_configured() {
    for sim in simulations(10) {
        let (log, spare) = (Log::new(), Log::new());
        let noted = spare.clone();
        let fallback = sim.spawn(move || Spare(noted)).mailbox(2).wait().unwrap();
        let (factory, to) = (workers(&log), fallback.recipient());
        let pool: PoolAddress = sim
            .spawn(move || Pool::new(2, factory).mailbox(1).overflow(Overflow::divert(to, "late")))
            .wait()
            .unwrap();
        occupy(&sim, &pool, seconds(1));
        (0..2).for_each(|n| pool.send(Job::Note(n)).unwrap());
        assert_eq!(pool.call(Job::Who).wait().unwrap(), fallback.pid());
        pool.send(Job::Note(7)).unwrap();
        let permit = pool.reserve().unwrap();
        permit.send(Job::Note(8));
        // The fallback is full as well.
        assert!(matches!(
            pool.send(Job::Note(9)),
            Err(SendError::Full { message: Job::Note(9), to, .. }) if to == pool.pid()
        ));
        sim.run_until_idle();
        let origin = pool.pid();
        assert_eq!(
            spare.take(),
            [format!("{origin} late None 7"), format!("{origin} late None 8")]
        );
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled, numbers.diverted), (4, 4, 3));
        assert_eq!(inspect(&pool).number("messages_diverted"), Some(3));
        fallback.send(Extra::Hang).unwrap();
        sim.run_until_idle();
    }
}

#[test]
fn p2_a_full_pool_drops_the_newest_if_configured() {
    let sim = Simulation::new(3);
    let log = Log::new();
    let factory = workers(&log);
    let pool: PoolAddress = sim
        .spawn(move || Pool::new(1, factory).mailbox(1).overflow(Overflow::DropNewest))
        .wait()
        .unwrap();
    occupy(&sim, &pool, seconds(1));
    (0..3).for_each(|n| pool.send(Job::Note(n)).unwrap());
    assert_eq!(pool.call(Job::Who).wait(), Err(CallError::NoReply { to: pool.pid() }));
    sim.advance(seconds(2));
    assert_eq!(done(&log), [999, 0]);
    assert_eq!(sim.stats().dead_letters, 3);
    assert_eq!(numbers(&pool).unhandled, 3);
}

#[test]
fn p2_pools_that_divert_to_each_other_refuse_instead_of_recursing() {
    struct Hangs;
    struct Thing;
    impl From<Diverted<Thing>> for Thing {
        fn from(diverted: Diverted<Thing>) -> Self {
            diverted.message
        }
    }
    impl Actor for Hangs {
        type Message = Thing;
        async fn handle_message(&mut self, _: &mut Context<Thing>, _: Thing) -> Result {
            std::future::pending().await
        }
    }
    let sim = Simulation::new(1);
    let plain = sim.spawn(|| Hangs).mailbox(1).wait().unwrap();
    let first = plain.recipient::<Diverted<Thing>>();
    let pool = sim
        .spawn(move || Pool::new(1, || Hangs).mailbox(1).overflow(Overflow::divert(first, "")))
        .wait()
        .unwrap();
    let back = pool.recipient::<Diverted<Thing>>();
    let ring = sim.spawn(|| Hangs).mailbox(1).overflow(Overflow::divert(back, "")).wait().unwrap();
    let into = ring.recipient::<Diverted<Thing>>();
    let outer = sim
        .spawn(move || Pool::new(1, || Hangs).mailbox(1).overflow(Overflow::divert(into, "")))
        .wait()
        .unwrap();
    let taken = (0..20).take_while(|_| outer.send(Thing).is_ok()).count();
    sim.run_until_idle();
    assert_eq!(taken, 4);
    // Two pools, each the fallback of the other: a pool is told when it starts.
    let second = Arc::new(Mutex::new(None::<Address<Thing, PoolCommand>>));
    let told = Arc::clone(&second);
    let first = sim.spawn(move || {
        let to = told.lock().unwrap().take().unwrap().recipient::<Diverted<Thing>>();
        Pool::new(1, || Hangs).mailbox(1).overflow(Overflow::divert(to, ""))
    });
    let first = first.start().unwrap();
    let to = first.recipient::<Diverted<Thing>>();
    let other = move || Pool::new(1, || Hangs).mailbox(1).overflow(Overflow::divert(to, ""));
    let other = sim.spawn(other).start().unwrap();
    *second.lock().unwrap() = Some(other.clone());
    sim.run_until_idle();
    let taken = (0..20).take_while(|_| first.send(Thing).is_ok()).count();
    assert_eq!(taken, 2);
    assert!(first.reserve().is_err() && other.send(Thing).is_err());
}

#[test]
fn p2_a_call_dropped_by_a_full_pool_is_not_affected_by_the_end_of_its_sender() {
    for sim in simulations(5) {
        let log = Log::new();
        let factory = workers(&log);
        let pool = move || Pool::new(1, factory).mailbox(1).overflow(Overflow::DropNewest);
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        occupy(&sim, &pool, seconds(1));
        pool.send(Job::Note(1)).unwrap();
        let passes_on =
            krarup::behavior::behavior_fn(move |mut ctx: Context<Reply<Pid>>| async move {
                if let krarup::behavior::Received::Message(reply) = ctx.receive().await {
                    pool.send(Job::Who(reply)).map_err(|_| Reason::error("not taken"))?;
                }
                Err(boom())
            });
        let passes_on = sim.spawn(move || passes_on).start().unwrap();
        assert_eq!(
            passes_on.call(|reply| reply).wait(),
            Err(CallError::NoReply { to: passes_on.pid() })
        );
    }
}

#[test]
fn p4_a_permit_whose_worker_ends_is_valid_at_another() {
    for sim in simulations(30) {
        let log = Log::new();
        let pool = pool(&sim, 2, 3, &log);
        let first = pool.workers().wait().unwrap()[0];
        let permit = pool.reserve().unwrap();
        sim.kill(first);
        while sim.is_alive(first) {
            sim.step();
        }
        permit.send(Job::Note(5));
        sim.run_until_idle();
        assert_eq!(done(&log), [5]);
        assert_eq!(sim.stats().dead_letters, 0);
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled), (1, 0));
    }
}

#[test]
fn p4_a_permit_whose_worker_ends_while_others_are_full_is_first_in_line() {
    for sim in simulations(30) {
        let log = Log::new();
        let pool = pool(&sim, 2, 1, &log);
        occupy(&sim, &pool, seconds(1));
        let order = pool.workers().wait().unwrap();
        let permit = pool.reserve().unwrap();
        pool.send(Job::Note(1)).unwrap();
        let mut waits = pool.send_or_wait(Job::Note(2)).into_future();
        assert!(poll_once(&mut waits).is_pending());
        sim.kill(order[0]);
        sim.run_until_idle();
        // The replacement has room for one, and that went to who waited: the permit comes after.
        assert!(poll_once(&mut waits).is_ready());
        permit.send(Job::Slow(3, millis(1)));
        assert!(pool.waiting() <= 2 + 1, "accepted, and not yet at a worker");
        sim.advance(seconds(3));
        let mut all = done(&log);
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3, 999]);
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled), (5, 0));
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn p4_a_permit_used_without_live_workers_waits_for_a_replacement_or_the_end() {
    for ends in [false, true] {
        let sim = Simulation::new(1);
        let log = Log::new();
        let pool = pool(&sim, 1, 2, &log);
        let (used, unused) = (pool.reserve().unwrap(), pool.reserve().unwrap());
        assert!(matches!(pool.reserve(), Err(SendError::Full { to, .. }) if to == pool.pid()));
        let worker = pool.workers().wait().unwrap()[0];
        sim.kill(worker);
        while sim.is_alive(worker) {
            sim.step();
        }
        if ends {
            pool.stop().wait().unwrap();
            used.send(Job::Note(1));
            sim.run_until_idle();
            assert_eq!((done(&log).len(), sim.stats().dead_letters), (0, 1));
        } else {
            used.send(Job::Note(1));
            sim.run_until_idle();
            assert_eq!(done(&log), [1]);
            drop(unused);
            let numbers = numbers(&pool);
            assert_eq!((numbers.forwarded, numbers.unhandled), (1, 1));
        }
    }
}

#[test]
fn p4_messages_that_lost_their_room_count_and_precede_waiting_senders() {
    for sim in simulations(20) {
        let log = Log::new();
        let pool = pool(&sim, 1, 2, &log);
        let permits = [(); 2].map(|()| pool.reserve().unwrap());
        sim.kill(pool.workers().wait().unwrap()[0]);
        sim.run_until_idle();
        occupy(&sim, &pool, seconds(1));
        (1..3).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        let mut early = pool.send_or_wait(Job::Slow(5, seconds(1))).into_future();
        assert!(poll_once(&mut early).is_pending());
        for (permit, n) in permits.into_iter().zip(3..) {
            permit.send(Job::Slow(n, seconds(1)));
        }
        let mut late = pool.send_or_wait(Job::Slow(6, seconds(1))).into_future();
        assert!(poll_once(&mut late).is_pending());
        assert_eq!((pool.waiting(), numbers(&pool).waiting), (4, 4));
        assert_eq!(inspect(&pool).number("waiting"), Some(4));
        // One room in each second: for the two that were promised some, then in turn.
        for waiting in [3, 2] {
            sim.advance(seconds(1));
            assert_eq!(pool.waiting(), waiting);
            assert!(poll_once(&mut early).is_pending() && poll_once(&mut late).is_pending());
        }
        sim.advance(seconds(1));
        assert!(poll_once(&mut late).is_pending() && poll_once(&mut early).is_ready());
        sim.advance(seconds(1));
        assert!(poll_once(&mut late).is_ready());
        sim.advance(seconds(9));
        assert_eq!(done(&log), [999, 1, 2, 3, 4, 5, 6]);
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled, numbers.waiting), (7, 0, 0));
        // All that stand in line go down with their pool.
        let permits = [(); 2].map(|()| pool.reserve().unwrap());
        sim.kill(pool.workers().wait().unwrap()[0]);
        sim.run_until_idle();
        (0..2).for_each(|n| pool.send(Job::Note(n)).unwrap());
        permits.into_iter().for_each(|permit| permit.send(Job::Note(9)));
        assert_eq!(pool.waiting(), 4);
        sim.kill(pool.pid());
        sim.run_until_idle();
        assert_eq!(sim.stats().dead_letters + (done(&log).len() as u64 - 7), 4);
    }
}

#[test]
fn p4_a_message_that_has_lost_its_room_gets_that_of_a_worker_that_is_added() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 2, 1, &log);
        let permit = pool.reserve().unwrap();
        let first = pool.workers().wait().unwrap()[1];
        sim.kill(first);
        sim.run_until_idle();
        (0..2).for_each(|_| pool.send(Job::Hang).unwrap());
        sim.run_until_idle();
        (0..2).for_each(|_| pool.send(Job::Hang).unwrap());
        permit.send(Job::Note(1));
        assert_eq!((pool.waiting(), done(&log).len()), (3, 0));
        pool.add_workers(1).wait().unwrap();
        sim.run_until_idle();
        assert_eq!((pool.waiting(), done(&log)), (2, vec![1]));
    }
}

#[test]
fn p2_send_or_wait_takes_room_at_the_fallback_of_a_pool_and_waits_where_a_pool_drops() {
    for sim in simulations(5) {
        let (log, spare) = (Log::new(), Log::new());
        let noted = spare.clone();
        let fallback = sim.spawn(move || Spare(noted)).mailbox(1).wait().unwrap();
        let to = fallback.recipient();
        let spawn = |overflow: Overflow<Job>| {
            let factory = workers(&log);
            let pool = move || Pool::new(1, factory).mailbox(1).overflow(overflow);
            let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
            occupy(&sim, &pool, seconds(1));
            pool.send(Job::Note(1)).unwrap();
            pool
        };
        let diverts = spawn(Overflow::divert(to, "late"));
        let mut diverted = diverts.send_or_wait(Job::Note(7)).into_future();
        assert!(matches!(poll_once(&mut diverted), Poll::Ready(Ok(()))));
        // The fallback is full as well: now it waits.
        let mut waits = diverts.send_or_wait(Job::Note(8)).into_future();
        assert!(poll_once(&mut waits).is_pending());
        let drops = spawn(Overflow::DropNewest);
        let mut patient = drops.send_or_wait(Job::Note(9)).into_future();
        assert!(poll_once(&mut patient).is_pending());
        drops.send(Job::Note(10)).unwrap();
        drops.reserve().unwrap().send(Job::Note(10));
        let unused = drops.reserve().unwrap();
        assert_eq!((numbers(&drops).received(), numbers(&drops).unhandled), (5, 2));
        drop(unused);
        assert_eq!((numbers(&drops).forwarded, numbers(&drops).unhandled), (2, 2));
        assert_eq!(sim.stats().dead_letters, 2, "each that was dropped");
        sim.advance(seconds(1));
        assert!(matches!(poll_once(&mut waits), Poll::Ready(Ok(()))));
        assert!(matches!(poll_once(&mut patient), Poll::Ready(Ok(()))));
        sim.run_until_idle();
        let of = numbers(&diverts);
        assert_eq!((of.forwarded, of.unhandled, of.diverted), (3, 1, 1));
        assert_eq!(
            (spare.take(), log.count(" 8")),
            (vec![format!("{} late None 7", diverts.pid())], 1)
        );
        let mut all = done(&log);
        all.sort_unstable();
        assert_eq!((all, sim.stats().dead_letters), (vec![1, 1, 8, 9, 999, 999], 2));
    }
}

#[test]
fn p2_a_permit_for_a_fallback_that_has_ended_is_a_dead_letter() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let spare = log.clone();
    let fallback = sim.spawn(move || Spare(spare)).wait().unwrap();
    let (factory, to) = (workers(&log), fallback.recipient());
    let pool: PoolAddress = sim
        .spawn(move || Pool::new(1, factory).mailbox(1).overflow(Overflow::divert(to, "late")))
        .wait()
        .unwrap();
    occupy(&sim, &pool, seconds(1));
    pool.send(Job::Note(1)).unwrap();
    let permit = pool.reserve().unwrap();
    sim.kill(fallback.pid());
    sim.run_until_idle();
    permit.send(Job::Note(2));
    assert_eq!(sim.stats().dead_letters, 1);
    let numbers_then = numbers(&pool);
    assert_eq!((numbers_then.unhandled, numbers_then.diverted), (1, 1));
    // Nobody takes what is too much now.
    assert!(pool.send(Job::Note(3)).unwrap_err().is_full());
    assert!(pool.reserve().unwrap_err().is_full());
    assert_eq!((numbers(&pool).unhandled, numbers(&pool).diverted), (3, 1));
}

/// A fallback that cannot be told of anything.
struct Broken;

impl From<Diverted<Job>> for Broken {
    fn from(_: Diverted<Job>) -> Self {
        panic!("conversion")
    }
}

impl Actor for Broken {
    type Message = Broken;

    async fn handle_message(&mut self, _: &mut Context<Broken>, _: Broken) -> Result {
        Ok(())
    }
}

#[test]
fn p2_messages_lost_by_a_full_pool_are_dead_letters_with_sender_and_cause() {
    for sim in simulations(5) {
        let (log, letters) = (Log::new(), Log::new());
        let noted = letters.clone();
        let hears = krarup::behavior::behavior_fn(move |mut ctx: Context<DeadLetter>| async move {
            while let krarup::behavior::Received::Message(letter) = ctx.receive().await {
                noted.note(format!("{:?} {:?} {}", letter.cause, letter.from, letter.to));
            }
            Ok(())
        });
        let hears = sim.spawn(move || hears).start().unwrap();
        sim.subscribe_dead_letters(hears.recipient());
        let fallback = sim.spawn(|| Broken).mailbox(1).wait().unwrap();
        let to = fallback.recipient::<Diverted<Job>>();
        for overflow in [Overflow::DropNewest, Overflow::divert(to, "late")] {
            let factory = workers(&log);
            let pool = move || Pool::new(1, factory).mailbox(1).overflow(overflow);
            let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
            let unused = pool.reserve().unwrap();
            sim.kill(pool.workers().wait().unwrap()[0]);
            sim.run_until_idle();
            occupy(&sim, &pool, seconds(1));
            pool.send(Job::Note(1)).unwrap();
            letters.take();
            let (sends, other) = (pool.clone(), pool.clone());
            let sender = krarup::behavior::behavior_fn(move |ctx: Context<()>| async move {
                sends.send(Job::Note(2)).map_err(|_| boom())?;
                sends.reserve()?.send(Job::Note(3));
                unused.send(Job::Note(4));
                ctx.sleep(seconds(90)).await;
                Ok(())
            });
            let sender = sim.spawn(move || sender).start().unwrap();
            sim.run_until_idle();
            let letter = |cause| format!("{cause} Some({:?}) {}", sender.pid(), other.pid());
            assert_eq!(letters.take(), [letter("Overflow"), letter("Overflow")]);
            assert!(fallback.reserve().is_ok(), "its room was given back");
            assert_eq!((numbers(&pool).unhandled, numbers(&pool).waiting), (2, 2));
            // What has lost its room stands in line, and goes down with the pool.
            sim.kill(pool.pid());
            sim.run_until_idle();
            assert!(letters.take().contains(&letter("Unhandled")));
        }
    }
}

#[test]
fn p2_reservations_rotate_like_sends_and_fail_with_the_reason() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = pool(&sim, 4, 1, &log);
        let order = pool.workers().wait().unwrap();
        // The first is full when its turn comes: the turn goes to the one after the taker.
        pool.send(Job::Slow(1, seconds(9))).unwrap();
        sim.run_until_idle();
        (0..3).for_each(|_| drop(pool.reserve().unwrap()));
        pool.send(Job::Note(2)).unwrap();
        (0..3).for_each(|_| drop(pool.reserve().unwrap()));
        let room = pool.reserve().unwrap();
        assert_eq!(pool.workers().wait().unwrap()[0], order[2]);
        let waiting = |worker: Pid| sim.process_info(worker).map(|info| info.main);
        room.send(Job::Note(3));
        assert_eq!(waiting(order[1]), Some(1));
        pool.remove_workers(3).wait().unwrap();
        let last = pool.workers().wait().unwrap()[0];
        sim.kill(last);
        while sim.is_alive(last) {
            sim.step();
        }
        assert!(matches!(pool.reserve(), Err(SendError::NoWorkers { to, .. }) if to == pool.pid()));
        assert!(matches!(
            pool.send(Job::Note(2)),
            Err(SendError::NoWorkers { to, .. }) if to == pool.pid()
        ));
        let refused = numbers(&pool);
        assert_eq!((refused.forwarded, refused.unhandled), (3, 2));
        sim.run_until_idle();
        pool.stop().wait().unwrap();
        assert!(matches!(pool.reserve(), Err(SendError::NoProcess { to, .. }) if to == pool.pid()));
    }
}

#[test]
fn b1_an_overflow_without_meaning_for_a_pool_is_refused() {
    let sim = Simulation::new(1);
    let spawn = |pool: Pool<Worker>| match sim.spawn(move || pool).wait().unwrap_err() {
        SpawnError::Init(reason) => reason.to_string(),
        other => panic!("{other}"),
    };
    let log = Log::new();
    let pool = || Pool::new(1, workers(&log));
    let no_bound = PoolError::OverflowWithoutBound.to_string();
    assert!(spawn(pool().overflow(Overflow::DropNewest)).contains(&no_bound));
    let spare = log.clone();
    let fallback = sim.spawn(move || Spare(spare)).wait().unwrap();
    let divert = Overflow::divert(fallback.recipient(), "late");
    assert!(spawn(pool().overflow(divert)).contains(&no_bound));
    sim.kill(fallback.pid());
    sim.run_until_idle();
    let oldest = PoolError::DropOldest.to_string();
    assert!(spawn(pool().mailbox(1).overflow(Overflow::DropOldest)).contains(&oldest));
    assert_eq!(sim.stats().processes, 0);
}

#[test]
fn m6_room_granted_to_an_abandoned_wait_is_free_again() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = pool(&sim, 1, 1, &log);
        occupy(&sim, &pool, seconds(1));
        pool.send(Job::Note(1)).unwrap();
        let mut wait = pool.send_or_wait(Job::Note(2)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        drop(wait);
        sim.advance(seconds(2));
        occupy(&sim, &pool, seconds(1));
        pool.send(Job::Note(3)).unwrap();
        assert!(pool.send(Job::Note(4)).unwrap_err().is_full());
        sim.advance(seconds(2));
        assert_eq!(done(&log), [999, 1, 999, 3]);
    }
}

#[test]
fn p2_a_pool_with_a_full_worker_is_full_though_its_others_have_died() {
    for sim in simulations(5) {
        for lives in 0..3 {
            let fails = Arc::new(AtomicBool::new(false));
            let (failing, factory) = (Arc::clone(&fails), workers(&Log::new()));
            let factory = move || {
                assert!(!failing.load(Ordering::Relaxed), "the factory fails");
                factory()
            };
            let pool = move || Pool::new(3, factory).mailbox(1).back_off(seconds(60), seconds(60));
            let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
            occupy(&sim, &pool, seconds(90));
            (0..3).for_each(|n| pool.send(Job::Note(n)).unwrap());
            fails.store(true, Ordering::Relaxed);
            let workers = pool.workers().wait().unwrap();
            for (index, worker) in workers.iter().enumerate() {
                if index != lives {
                    sim.kill(*worker);
                }
            }
            sim.run_until_idle();
            // Whoever has the first turn.
            for _ in 0..4 {
                assert!(matches!(
                    pool.send(Job::Note(9)),
                    Err(SendError::Full { message: Job::Note(9), to, .. }) if to == pool.pid()
                ));
                assert!(
                    matches!(pool.reserve(), Err(SendError::Full { to, .. }) if to == pool.pid())
                );
            }
            sim.kill(workers[lives]);
            sim.run_until_idle();
            for _ in 0..4 {
                assert!(matches!(
                    pool.send(Job::Note(9)),
                    Err(SendError::NoWorkers { message: Job::Note(9), to, .. }) if to == pool.pid()
                ));
                assert!(matches!(
                    pool.reserve(),
                    Err(SendError::NoWorkers { to, .. }) if to == pool.pid()
                ));
            }
        }
    }
}
