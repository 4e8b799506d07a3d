//! Which worker of a pool gets a message (rule P8).

use crate::pool_support::{Job, PoolAddress, millis, numbers, seconds, who, workers};
use crate::support::{Log, boom, poll_once, simulations};
use krarup::SendError;
use krarup::behavior::{Received, behavior_fn};
use krarup::mailbox::{Overflow, SendOrWait};
use krarup::pool::{Broadcast, ByKey, Choice, LeastLoaded, Routing, TwoChoices, Workers};
use krarup::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A job with a key, and what it is.
#[derive(Clone)]
struct Keyed(u64, Task);

#[derive(Clone)]
enum Task {
    Note(u32),
    Hang,
    End,
}

type KeyedPool = Address<Keyed, PoolCommand>;

struct Clerk(Log);

impl Actor for Clerk {
    type Message = Keyed;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<Keyed>,
        Keyed(key, task): Keyed,
    ) -> Result {
        match task {
            Task::Note(n) => self.0.note(format!("{key} {} {n}", ctx.pid())),
            Task::Hang => std::future::pending().await,
            Task::End => return Err(boom()),
        }
        Ok(())
    }
}

#[test]
fn p8_a_replacement_has_the_keys_of_a_worker_that_was_stuck() {
    for sim in simulations(5) {
        let log = Log::new();
        let fails = Arc::new(AtomicBool::new(false));
        let (noted, failing) = (log.clone(), Arc::clone(&fails));
        let factory = move || {
            assert!(!failing.load(Ordering::Relaxed), "the factory fails");
            Clerk(noted.clone())
        };
        let pool = move || {
            let pool = Pool::new(4, factory).mailbox(9).routing(ByKey::new(|job: &Keyed| job.0));
            pool.stuck_limit(seconds(3)).back_off(seconds(1), seconds(1))
        };
        let pool: KeyedPool = sim.spawn(pool).wait().unwrap();
        let before = owners(&sim, &pool, &log);
        let old = before[&7].clone();
        fails.store(true, Ordering::Relaxed);
        pool.send(Keyed(7, Task::Hang)).unwrap();
        sim.advance(seconds(3));
        // Its keys have no worker meanwhile; those of the others stay with them.
        for (key, owner) in &before {
            let job = || Keyed(*key, Task::Note(0));
            if *owner == old {
                assert!(matches!(
                    pool.send(job()),
                    Err(SendError::NoWorkers { to, .. }) if to == pool.pid()
                ));
                let waits = pool.send_or_wait(job()).wait();
                assert!(matches!(waits, Err(SendError::NoWorkers { .. })));
            } else {
                pool.send(job()).unwrap();
                sim.run_until_idle();
                assert_eq!(log.take(), [format!("{key} {owner} 0")]);
            }
        }
        // Others come and go, and the place is still its own.
        pool.add_workers(0).wait().unwrap();
        fails.store(false, Ordering::Relaxed);
        sim.advance(seconds(1));
        assert_eq!(pool.statistics().wait().unwrap().restarts, 1);
        let new = pool.workers().wait().unwrap().last().unwrap().to_string();
        for (key, owner) in owners(&sim, &pool, &log) {
            assert_eq!(owner, if before[&key] == old { new.clone() } else { before[&key].clone() });
        }
        // A place that is removed is never used again: who is added has other keys.
        let gone = pool.workers().wait().unwrap()[0].to_string();
        let then = owners(&sim, &pool, &log);
        pool.remove_workers(1).wait().unwrap();
        pool.add_workers(1).wait().unwrap();
        let now = owners(&sim, &pool, &log);
        let added = pool.workers().wait().unwrap().last().unwrap().to_string();
        let keys = |owners: &BTreeMap<u64, String>, of: &str| -> BTreeSet<u64> {
            owners.iter().filter(|(_, owner)| *owner == of).map(|(key, _)| *key).collect()
        };
        assert_ne!(keys(&then, &gone), keys(&now, &added));
        assert_eq!(
            now.values().collect::<BTreeSet<_>>().len(),
            4,
            "no mailbox has lost all messages"
        );
    }
}

fn keyed(sim: &Simulation, size: usize, mailbox: usize, log: &Log) -> KeyedPool {
    let log = log.clone();
    let pool = move || {
        let log = log.clone();
        Pool::new(size, move || Clerk(log.clone()))
            .mailbox(mailbox)
            .routing(ByKey::new(|job: &Keyed| job.0))
    };
    sim.spawn(pool).wait().unwrap()
}

/// Which worker has handled each key; a key that had two fails.
fn owners(sim: &Simulation, pool: &KeyedPool, log: &Log) -> BTreeMap<u64, String> {
    log.take();
    for key in 0..200 {
        pool.send(Keyed(key, Task::Note(0))).unwrap();
        sim.run_until_idle();
    }
    let owner = |line: String| {
        let mut words = line.split(' ');
        (words.next().unwrap().parse().unwrap(), words.next().unwrap().to_owned())
    };
    log.take().into_iter().map(owner).collect()
}

#[test]
fn p8_a_key_keeps_its_worker_through_resizes_as_far_as_possible() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let pool = keyed(&sim, 4, 500, &log);
    let four = owners(&sim, &pool, &log);
    assert_eq!(four, owners(&sim, &pool, &log));
    let shares = |owners: &BTreeMap<u64, String>| {
        let mut shares: BTreeMap<String, usize> = BTreeMap::new();
        owners.values().for_each(|owner| *shares.entry(owner.clone()).or_default() += 1);
        shares
    };
    assert!(shares(&four).values().all(|share| (25..=80).contains(share)), "{:?}", shares(&four));
    pool.add_workers(1).wait().unwrap();
    let five = owners(&sim, &pool, &log);
    let new = pool.workers().wait().unwrap().last().unwrap().to_string();
    let moved: Vec<_> = five.iter().filter(|(key, owner)| four[key] != **owner).collect();
    assert!(moved.iter().all(|(_, owner)| **owner == new), "keys move to the new one only");
    assert!((15..=70).contains(&moved.len()), "{}", moved.len());
    let gone = pool.workers().wait().unwrap()[0].to_string();
    pool.remove_workers(1).wait().unwrap();
    let again = owners(&sim, &pool, &log);
    let stays = |key: &u64| five[key] == gone || five[key] == again[key];
    assert!(again.keys().all(stays), "only the keys of the one that went have moved");
}

/// The exception that the documents name.
#[test]
fn p8_at_a_resize_messages_of_a_key_that_moves_overtake_those_that_wait() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = keyed(&sim, 1, 500, &log);
        pool.send(Keyed(0, Task::Hang)).unwrap();
        let to_all = |n| (0..50).for_each(|key| pool.send(Keyed(key, Task::Note(n))).unwrap());
        to_all(1);
        sim.run_until_idle();
        pool.add_workers(1).wait().unwrap();
        to_all(2);
        sim.run_until_idle();
        let new = pool.workers().wait().unwrap()[1].to_string();
        let handled = log.take();
        assert!((10..=40).contains(&handled.len()), "{handled:?}");
        let is_second = |line: &String| line.ends_with(&format!(" {new} 2"));
        assert!(handled.iter().all(is_second), "{handled:?}");
    }
}

#[test]
fn p8_a_replacement_has_the_keys_of_the_worker_whose_place_it_takes() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = keyed(&sim, 3, 500, &log);
        let before = owners(&sim, &pool, &log);
        let old = before[&7].clone();
        pool.send(Keyed(7, Task::End)).unwrap();
        sim.run_until_idle();
        let after = owners(&sim, &pool, &log);
        let new = after[&7].clone();
        assert_ne!(old, new);
        for (key, owner) in before {
            assert_eq!(after[&key], if owner == old { new.clone() } else { owner });
        }
    }
}

#[test]
fn p8_messages_of_one_key_are_handled_in_order_and_a_full_worker_refuses_its_keys_only() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = keyed(&sim, 3, 4, &log);
        for n in 0..4 {
            pool.send(Keyed(1, Task::Note(n))).unwrap();
        }
        sim.run_until_idle();
        let numbers: Vec<_> = log.take().iter().map(|l| l.chars().last().unwrap()).collect();
        assert_eq!(numbers, ['0', '1', '2', '3']);
        pool.send(Keyed(1, Task::Hang)).unwrap();
        sim.run_until_idle();
        for n in 0..4 {
            pool.send(Keyed(1, Task::Note(n))).unwrap();
        }
        assert!(pool.send(Keyed(1, Task::Note(9))).unwrap_err().is_full());
        let others = (2..40).filter(|key| pool.send(Keyed(*key, Task::Note(0))).is_ok()).count();
        assert!(others >= 4, "the other workers take theirs");
    }
}

#[test]
fn p8_room_for_a_key_is_room_at_its_worker() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = keyed(&sim, 3, 1, &log);
        let owner = owners(&sim, &pool, &log);
        // A permit keeps room wherever its message may go.
        let permit = pool.reserve().unwrap();
        assert_eq!(pool.waiting(), 3);
        permit.send(Keyed(5, Task::Note(1)));
        sim.run_until_idle();
        assert_eq!(log.take(), [format!("5 {} 1", owner[&5])]);
        assert_eq!(pool.waiting(), 0);
        pool.recipient::<Keyed>().send(Keyed(6, Task::Note(2))).unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), [format!("6 {} 2", owner[&6])]);
        // Waiting is for the room of that worker.
        pool.send(Keyed(5, Task::Hang)).unwrap();
        sim.run_until_idle();
        pool.send(Keyed(5, Task::Note(3))).unwrap();
        let wait: SendOrWait<_, _> = pool.send_or_wait(Keyed(5, Task::Note(4)));
        let mut wait = wait.into_future();
        assert!(poll_once(&mut wait).is_pending());
        let other = (0..200).find(|key| owner[key] != owner[&5]).unwrap();
        pool.send(Keyed(other, Task::Note(0))).unwrap();
        sim.run_until_idle();
        assert!(poll_once(&mut wait).is_pending(), "another's room is not its own");
        let late = pool.send_or_wait(Keyed(other, Task::Note(5))).wait();
        assert!(late.is_ok());
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!(numbers.unhandled, 0);
    }
}

#[test]
fn p8_a_waiter_for_a_key_gets_room_at_its_worker_in_order_or_an_error() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = keyed(&sim, 3, 1, &log);
        let owner = owners(&sim, &pool, &log)[&5].clone();
        let before = pool.statistics().wait().unwrap();
        // The mailbox of that worker is full, before it has begun.
        pool.send(Keyed(5, Task::Note(0))).unwrap();
        let mut waits: Vec<_> =
            (1..5).map(|n| pool.send_or_wait(Keyed(5, Task::Note(n))).into_future()).collect();
        assert!(waits.iter_mut().all(|wait| poll_once(wait).is_pending()));
        // The second gives up.
        drop(waits.remove(1));
        for wait in &mut waits {
            sim.run_until_idle();
            assert!(poll_once(wait).is_ready());
        }
        sim.run_until_idle();
        assert_eq!(log.take(), [0, 1, 3, 4].map(|n| format!("5 {owner} {n}")));
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!(numbers.forwarded - before.forwarded, 4);
        assert_eq!((numbers.unhandled, numbers.waiting), (1, 0));
        // Its worker ends: that is no end of the pool.
        pool.send(Keyed(5, Task::Hang)).unwrap();
        sim.run_until_idle();
        pool.send(Keyed(5, Task::Note(6))).unwrap();
        let mut wait = pool.send_or_wait(Keyed(5, Task::Note(7))).into_future();
        assert!(poll_once(&mut wait).is_pending());
        let mut workers = pool.workers().wait().unwrap();
        workers.retain(|worker| worker.to_string() == owner);
        sim.kill(workers[0]);
        sim.run_until_idle();
        let refused = poll_once(&mut wait);
        assert!(matches!(refused, std::task::Poll::Ready(Err(SendError::NoWorkers { .. }))));
        assert_eq!(pool.statistics().wait().unwrap().unhandled, 2);
        pool.send(Keyed(5, Task::Note(8))).unwrap();
        sim.run_until_idle();
        assert_eq!(log.count(" 8"), 1);
        let mut wait = pool.send_or_wait(Keyed(5, Task::Note(9))).into_future();
        assert!(poll_once(&mut wait).is_ready(), "there is room");
        pool.stop().wait().unwrap();
        let late = pool.send_or_wait(Keyed(5, Task::Note(9))).wait();
        assert!(matches!(late, Err(SendError::NoProcess { .. })));
    }
}

#[test]
fn p8_a_waiter_for_a_key_at_a_pool_of_pools_gets_the_room_of_its_pool() {
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let inner = move || {
            let noted = noted.clone();
            Pool::new(2, move || Clerk(noted.clone())).mailbox(1)
        };
        let outer = move || Pool::new(2, inner).routing(ByKey::new(|job: &Keyed| job.0));
        let pool: KeyedPool = sim.spawn(outer).wait().unwrap();
        (0..2).for_each(|n| pool.send(Keyed(1, Task::Note(n))).unwrap());
        let mut waits: Vec<_> =
            (2..4).map(|n| pool.send_or_wait(Keyed(1, Task::Note(n))).into_future()).collect();
        assert!(waits.iter_mut().all(|wait| poll_once(wait).is_pending()));
        sim.run_until_idle();
        assert!(waits.iter_mut().all(|wait| poll_once(wait).is_ready()));
        sim.run_until_idle();
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((log.lines().len(), numbers.forwarded, numbers.unhandled), (4, 4, 0));
        // That pool ends.
        (0..2).for_each(|_| pool.send(Keyed(1, Task::Hang)).unwrap());
        sim.run_until_idle();
        (0..2).for_each(|_| pool.send(Keyed(1, Task::Hang)).unwrap());
        let mut wait = pool.send_or_wait(Keyed(1, Task::Note(9))).into_future();
        assert!(poll_once(&mut wait).is_pending());
        pool.workers().wait().unwrap().into_iter().for_each(|inner| sim.kill(inner));
        sim.advance(seconds(30));
        assert!(matches!(poll_once(&mut wait), std::task::Poll::Ready(Err(_))));
    }
}

#[test]
fn p8_the_least_loaded_worker_is_chosen_and_equals_take_turns() {
    for sim in simulations(10) {
        let log = Log::new();
        let factory = workers(&log);
        let pool: PoolAddress = sim
            .spawn(move || Pool::new(3, factory).mailbox(9).routing(LeastLoaded::new()))
            .wait()
            .unwrap();
        let order = pool.workers().wait().unwrap();
        assert_eq!((0..6).map(|_| who(&pool)).collect::<Vec<_>>(), [&order[..], &order].concat());
        pool.send(Job::Hang).unwrap();
        sim.run_until_idle();
        // The one that hangs has a job in hand: the others are preferred while they have less.
        let did: BTreeSet<_> = (0..10).map(|_| who(&pool)).collect();
        assert_eq!(did.len(), 2);
        assert!(!did.contains(&order[0]));
        (0..2).for_each(|_| pool.send(Job::Hang).unwrap());
        sim.run_until_idle();
        (0..27).for_each(|_| pool.send(Job::Note(0)).unwrap());
        assert!(pool.send(Job::Note(0)).unwrap_err().is_full());
        let loads: Vec<_> = order.iter().map(|pid| sim.process_info(*pid).unwrap().main).collect();
        assert_eq!(loads, [9, 9, 9]);
    }
}

#[test]
fn p8_a_worker_that_is_missing_is_not_the_least_loaded_one() {
    for (sim, two) in
        simulations(5).flat_map(|sim| [(sim, false)]).chain([(Simulation::new(9), true)])
    {
        let log = Log::new();
        let fails = Arc::new(AtomicBool::new(false));
        let (failing, factory) = (Arc::clone(&fails), workers(&log));
        let factory = move || {
            assert!(!failing.load(Ordering::Relaxed), "the factory fails");
            factory()
        };
        let pool = move || Pool::new(3, factory);
        let pool: PoolAddress = if two {
            sim.spawn(move || pool().routing(TwoChoices)).wait().unwrap()
        } else {
            sim.spawn(move || pool().routing(LeastLoaded::new())).wait().unwrap()
        };
        let order = pool.workers().wait().unwrap();
        fails.store(true, Ordering::Relaxed);
        sim.kill(order[0]);
        sim.run_until_idle();
        // It would have the least, and those after it would have it all.
        (0..40).for_each(|n| pool.send(Job::Note(n)).unwrap());
        let load = |pid: Pid| sim.process_info(pid).map(|info| info.main);
        let loads = [load(order[1]).unwrap(), load(order[2]).unwrap()];
        assert!(loads.iter().all(|load| (18..=22).contains(load)), "{loads:?}");
        assert_eq!(pool.waiting(), 40);
        // Only if nobody lives nobody takes it.
        order[1..].iter().for_each(|worker| sim.kill(*worker));
        sim.run_until_idle();
        assert!(matches!(
            pool.send(Job::Note(0)),
            Err(SendError::NoWorkers { message: Job::Note(0), to, .. }) if to == pool.pid()
        ));
        assert!(matches!(pool.reserve(), Err(SendError::NoWorkers { to, .. }) if to == pool.pid()));
    }
}

/// A routing of one's own that notes what it is asked and told.
struct Told(Log, AtomicUsize);

impl Routing<Job> for Told {
    fn hint(&self, job: &Job) -> u64 {
        let Job::Note(n) = job else { return 99 };
        self.0.note(format!("hint of {n}"));
        u64::from(*n) + 10
    }

    fn choose(&self, hint: u64, workers: &Workers<'_>) -> Choice<Job> {
        let each = 0..workers.count();
        let loads: Vec<_> = each.clone().map(|index| workers.load(index).min(1)).collect();
        let places: Vec<_> = each.map(|index| workers.place(index)).collect();
        self.0.note(format!("choose {hint} of {loads:?} at {places:?}"));
        Choice::After(self.1.load(Ordering::Relaxed))
    }

    fn passed_over(&self, chosen: usize, taker: usize, workers: usize) {
        self.0.note(format!("{taker} for {chosen} of {workers}"));
    }

    fn turn(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }

    fn rewind(&self) {
        self.1.store(0, Ordering::Relaxed);
        self.0.note("rewind");
    }
}

#[test]
fn p8_a_custom_routing_receives_messages_workers_and_takers() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let told = Told(log.clone(), AtomicUsize::new(1));
    let factory = workers(&Log::new());
    let pool = move || Pool::new(3, factory).mailbox(1).routing(told);
    let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
    let order = pool.workers().wait().unwrap();
    log.take();
    pool.send(Job::Note(1)).unwrap();
    let places = "at [1, 2, 3]";
    assert_eq!(log.take(), ["hint of 1".into(), format!("choose 11 of [0, 0, 0] {places}")]);
    pool.send(Job::Note(2)).unwrap();
    let lines =
        ["hint of 2".into(), format!("choose 12 of [1, 0, 0] {places}"), "1 for 0 of 3".into()];
    assert_eq!(log.take(), lines);
    let permit = pool.reserve().unwrap();
    let lines = [format!("choose 0 of [1, 1, 0] {places}"), "2 for 0 of 3".into()];
    assert_eq!(log.take(), lines);
    assert!(pool.send(Job::Note(3)).unwrap_err().is_full());
    assert_eq!(log.take().len(), 2, "no worker has taken it");
    drop(permit);
    sim.run_until_idle();
    drop(pool.reserve().unwrap());
    assert_eq!(
        log.take(),
        [format!("choose 0 of [0, 0, 0] {places}")],
        "no waiter was passed over"
    );
    pool.remove_workers(1).wait().unwrap();
    assert_eq!(log.take(), ["rewind"]);
    assert_eq!(pool.workers().wait().unwrap(), order[1..]);
    pool.add_workers(1).wait().unwrap();
    pool.send(Job::Note(4)).unwrap();
    assert_eq!(log.take()[1..], ["hint of 4", "choose 14 of [0, 0, 0] at [2, 3, 4]"]);
}

#[test]
fn p8_of_two_random_workers_the_less_loaded_one_is_chosen() {
    let sim = Simulation::new(7);
    let log = Log::new();
    let factory = workers(&log);
    let pool: PoolAddress =
        sim.spawn(move || Pool::new(8, factory).mailbox(100).routing(TwoChoices)).wait().unwrap();
    let pids = pool.workers().wait().unwrap();
    (0..400).for_each(|n| pool.send(Job::Note(n)).unwrap());
    let loads: Vec<_> = pids.iter().map(|pid| sim.process_info(*pid).unwrap().main).collect();
    assert_eq!(loads.iter().sum::<usize>(), 400);
    // At random alone the longest would have some 65.
    assert!(loads.iter().all(|load| (45..=55).contains(load)), "{loads:?}");
    (0..400).for_each(|n| pool.send(Job::Note(n)).unwrap());
    assert!(pool.send(Job::Note(0)).unwrap_err().is_full(), "full means that all are");
    sim.run_until_idle();
    assert_eq!(numbers(&pool).forwarded, 800);
    // One worker is no choice.
    let factory = workers(&log);
    let one: PoolAddress =
        sim.spawn(move || Pool::new(1, factory).routing(TwoChoices)).wait().unwrap();
    who(&one);
}

#[test]
fn p8_a_broadcast_reaches_every_worker_or_none() {
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let factory = move || Clerk(noted.clone());
        let pool: KeyedPool =
            sim.spawn(move || Pool::new(3, factory).mailbox(2).routing(Broadcast)).wait().unwrap();
        pool.send(Keyed(1, Task::Note(1))).unwrap();
        pool.reserve().unwrap().send(Keyed(2, Task::Note(2)));
        let refused = pool.send(Keyed(3, Task::Note(3))).unwrap_err();
        assert!(refused.is_full());
        assert!(pool.reserve().is_err() && pool.waiting() == 6);
        sim.run_until_idle();
        let workers: BTreeSet<_> =
            log.lines().iter().map(|l| l.split(' ').nth(1).unwrap().to_owned()).collect();
        assert_eq!(
            (workers.len(), log.count(" 1"), log.count(" 2"), log.count(" 3")),
            (3, 3, 3, 0)
        );
        // Nobody can wait there.
        pool.send(Keyed(1, Task::Hang)).unwrap();
        sim.run_until_idle();
        (0..2).for_each(|_| pool.send(Keyed(1, Task::Note(4))).unwrap());
        let waited = pool.send_or_wait(Keyed(1, Task::Note(5))).wait();
        assert!(waited.unwrap_err().is_full());
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.forwarded, numbers.unhandled), (5, 3));
    }
}

#[test]
fn p8_a_broadcast_skips_ended_workers() {
    let sim = Simulation::new(2);
    let log = Log::new();
    let noted = log.clone();
    let factory = move || Clerk(noted.clone());
    let pool: KeyedPool =
        sim.spawn(move || Pool::new(3, factory).routing(Broadcast)).wait().unwrap();
    let first = pool.workers().wait().unwrap()[0];
    sim.kill(first);
    while sim.is_alive(first) {
        sim.step();
    }
    pool.send(Keyed(1, Task::Note(1))).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take().len(), 2);
    pool.send(Keyed(1, Task::End)).unwrap();
    sim.run_until_idle();
    assert_eq!(pool.statistics().wait().unwrap().restarts, 4);
}

#[test]
fn p8_a_broadcast_into_reserved_room_reaches_all_that_live_and_each_copy_ages() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let factory = move || Clerk(noted.clone());
        let pool = move || Pool::new(3, factory).time_to_live(seconds(2)).routing(Broadcast);
        let pool: KeyedPool = sim.spawn(pool).wait().unwrap();
        let permit = pool.reserve().unwrap();
        let first = pool.workers().wait().unwrap()[0];
        sim.kill(first);
        while sim.is_alive(first) {
            sim.step();
        }
        permit.send(Keyed(1, Task::Note(1)));
        sim.run_until_idle();
        assert_eq!(log.take().len(), 2, "the others have theirs");
        let workers = pool.workers().wait().unwrap();
        for worker in &workers {
            sim.suspend(*worker).wait().unwrap();
        }
        let permit = pool.reserve().unwrap();
        permit.send(Keyed(1, Task::Note(2)));
        pool.send(Keyed(1, Task::Note(3))).unwrap();
        sim.advance(seconds(3));
        pool.send(Keyed(1, Task::Note(4))).unwrap();
        for worker in &workers {
            sim.resume(*worker);
        }
        sim.run_until_idle();
        assert_eq!((log.count(" 4"), log.take().len()), (3, 3));
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.expired, numbers.forwarded, numbers.lost), (6, 4, 0));
        // With nobody alive there is nobody to reach, though their places are not given up.
        sim.suspend(pool.pid()).wait().unwrap();
        workers.iter().for_each(|worker| sim.kill(*worker));
        sim.run_until_idle();
        assert!(matches!(
            pool.send(Keyed(1, Task::Note(5))),
            Err(SendError::NoWorkers { to, .. }) if to == pool.pid()
        ));
        assert!(matches!(pool.reserve(), Err(SendError::NoWorkers { to, .. }) if to == pool.pid()));
        sim.resume(pool.pid());
        sim.run_until_idle();
        pool.remove_workers(3).wait().unwrap();
        assert!(matches!(
            pool.send(Keyed(1, Task::Note(5))),
            Err(SendError::NoWorkers { to, .. }) if to == pool.pid()
        ));
        assert!(matches!(pool.reserve(), Err(SendError::NoWorkers { to, .. }) if to == pool.pid()));
    }
}

/// A routing of one's own: everything to one worker, whatever the index.
struct Always(usize);

impl<M> Routing<M> for Always {
    fn choose(&self, _: u64, _: &Workers<'_>) -> Choice<M> {
        Choice::After(self.0)
    }
}

#[test]
fn p8_a_custom_routing_works_and_too_large_an_index_wraps_around() {
    let sim = Simulation::new(1);
    let log = Log::new();
    for (index, place) in [(1, 1), (5, 2), (usize::MAX, 0)] {
        let factory = workers(&log);
        let pool: PoolAddress = sim
            .spawn(move || Pool::new(3, factory).mailbox(1).routing(Always(index)))
            .wait()
            .unwrap();
        let order = pool.workers().wait().unwrap();
        assert!((0..4).all(|_| who(&pool) == order[place]));
        assert_eq!((0..5).filter_map(|_| pool.reserve().ok()).collect::<Vec<_>>().len(), 3);
        // Full, it goes on round the ring.
        assert_eq!((0..5).filter(|_| pool.send(Job::Slow(0, seconds(1))).is_ok()).count(), 3);
        sim.advance(seconds(5));
    }
}

#[test]
fn p8_a_sender_that_waits_loses_nothing_at_a_keyed_pool_that_drops() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let noted = log.clone();
    let factory = move || Clerk(noted.clone());
    let pool = move || {
        let pool = Pool::new(2, factory).mailbox(1).overflow(Overflow::DropNewest);
        pool.routing(ByKey::new(|job: &Keyed| job.0))
    };
    let pool: KeyedPool = sim.spawn(pool).wait().unwrap();
    // Both are full, and what comes from others is dropped.
    (0..20).for_each(|key| pool.send(Keyed(key, Task::Note(0))).unwrap());
    let dropped = sim.stats().dead_letters;
    assert_eq!(dropped, 18);
    // The worker of a permit is not known before its message, so there is no line: it is an error.
    let permit = pool.reserve_or_wait().wait();
    assert!(matches!(permit, Err(SendError::Full { .. })), "{permit:?}");
    let waits = pool.send_or_wait(Keyed(1, Task::Note(7))).wait();
    assert!(waits.is_ok());
    sim.run_until_idle();
    assert_eq!((log.take().len(), sim.stats().dead_letters), (3, dropped));
}

#[test]
fn p8_a_key_that_panics_harms_only_its_sender() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let key = move |job: &Keyed| {
        count.fetch_add(1, Ordering::Relaxed);
        assert!(job.0 != 13, "13");
        job.0
    };
    let pool: KeyedPool = sim
        .spawn(move || {
            let noted = noted.clone();
            Pool::new(2, move || Clerk(noted.clone())).routing(ByKey::new(key))
        })
        .wait()
        .unwrap();
    let reason = Arc::new(Mutex::new(None));
    let to = pool.clone();
    let sender = behavior_fn(move |mut ctx: Context<()>| async move {
        while let Received::Message(()) = ctx.receive().await {
            to.send(Keyed(13, Task::Note(0)))?;
        }
        Ok(())
    });
    let sender = sim.spawn(move || sender).wait().unwrap();
    let end = sender.watch();
    sender.send(()).unwrap();
    *reason.lock().unwrap() = Some(end.wait().unwrap().reason);
    assert!(matches!(*reason.lock().unwrap(), Some(Reason::Panic(_))));
    pool.send(Keyed(1, Task::Note(1))).unwrap();
    sim.advance(millis(1));
    let numbers = pool.statistics().wait().unwrap();
    assert_eq!((numbers.forwarded, numbers.unhandled), (1, 0));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

/// A routing of one's own: everything to one worker alone, whatever the index, which it may say
/// before it has seen the message or not.
struct Alone(usize, bool);

impl<M> Routing<M> for Alone {
    fn choose(&self, _: u64, _: &Workers<'_>) -> Choice<M> {
        Choice::Only(self.0)
    }

    fn needs_message(&self) -> bool {
        self.1
    }
}

#[test]
fn p8_an_index_that_is_too_large_goes_round_wherever_it_is_chosen() {
    let indices = [(3, 0), (4, 1), (5, 2), (usize::MAX, 0)];
    for ((index, place), needs_message) in
        indices.into_iter().flat_map(|of| [(of, false), (of, true)])
    {
        let sim = Simulation::new(1);
        let log = Log::new();
        let factory = workers(&log);
        let pool = move || Pool::new(3, factory).mailbox(1).routing(Alone(index, needs_message));
        let pool: PoolAddress = sim.spawn(pool).wait().unwrap();
        let line = |number: u32| format!("{} {number}", pool.workers().wait().unwrap()[place]);
        assert_eq!(who(&pool), pool.workers().wait().unwrap()[place]);
        pool.reserve().unwrap().send(Job::Note(1));
        sim.run_until_idle();
        assert_eq!(log.take(), [line(1)]);
        // It is full; who waits gets its room.
        pool.send(Job::Slow(2, seconds(1))).unwrap();
        sim.run_until_idle();
        pool.send(Job::Slow(3, seconds(1))).unwrap();
        assert!(pool.send(Job::Note(0)).unwrap_err().is_full());
        let mut wait = pool.send_or_wait(Job::Note(4)).into_future();
        assert!(poll_once(&mut wait).is_pending());
        sim.advance(seconds(1));
        assert!(poll_once(&mut wait).is_ready());
        sim.advance(seconds(2));
        assert_eq!(log.take(), [2, 3, 4].map(line));
        if !needs_message {
            continue;
        }
        // Room that has gone down with its worker is found at the next one in its place.
        let permit = pool.reserve().unwrap();
        sim.kill(pool.workers().wait().unwrap()[place]);
        sim.run_until_idle();
        pool.send(Job::Slow(5, seconds(1))).unwrap();
        sim.run_until_idle();
        pool.send(Job::Note(6)).unwrap();
        permit.send(Job::Note(7));
        assert_eq!(pool.waiting(), 2);
        sim.advance(seconds(1));
        assert_eq!(log.take(), [5, 6, 7].map(line));
    }
}

/// A pool of pools, of which each gives copies to its two workers.
fn of_broadcasts(log: &Log) -> impl Fn() -> Pool<Clerk, Broadcast> + Clone + Send + Sync + 'static {
    let log = log.clone();
    move || {
        let log = log.clone();
        Pool::new(2, move || Clerk(log.clone())).mailbox(1).routing(Broadcast)
    }
}

#[test]
fn p8_no_sender_waits_at_a_pool_of_broadcast_pools() {
    for sim in simulations(5) {
        let log = Log::new();
        let inner = of_broadcasts(&log);
        let by_key = inner.clone();
        let between = inner.clone();
        let between = move || Pool::new(1, between.clone());
        let pools: [KeyedPool; 3] = [
            sim.spawn(move || Pool::new(2, inner)).wait().unwrap(),
            sim.spawn(move || Pool::new(2, by_key).routing(ByKey::new(|job: &Keyed| job.0)))
                .wait()
                .unwrap(),
            sim.spawn(move || Pool::new(2, between)).wait().unwrap(),
        ];
        for pool in pools {
            assert!(pool.send_or_wait(Keyed(1, Task::Note(1))).wait().is_ok(), "there is room");
            sim.run_until_idle();
            assert_eq!(log.take().len(), 2);
            let mut held = Vec::new();
            while let Ok(permit) = pool.reserve() {
                held.push(permit);
            }
            let mut wait = pool.send_or_wait(Keyed(1, Task::Note(2))).into_future();
            let refused = poll_once(&mut wait);
            assert!(
                matches!(refused, std::task::Poll::Ready(Err(SendError::Full { .. }))),
                "{refused:?}"
            );
            drop(held);
            sim.run_until_idle();
            assert_eq!(log.take().len(), 0);
            assert!(pool.send_or_wait(Keyed(1, Task::Note(3))).wait().is_ok());
            sim.run_until_idle();
            assert_eq!(log.take().len(), 2, "to both");
        }
    }
}

/// A message waits in the line of an outer pool for its one worker, a pool of two broadcast workers
/// that are full and suspended. Returns these.
fn stranded_at_a_broadcast(sim: &Simulation, log: &Log) -> [Pid; 2] {
    let inner = of_broadcasts(log);
    let outer: KeyedPool = sim.spawn(move || Pool::new(1, inner)).wait().unwrap();
    let permit = outer.reserve().unwrap();
    sim.kill(outer.workers().wait().unwrap()[0]);
    sim.run_until_idle();
    let replacement: KeyedPool = sim.address_of(outer.workers().wait().unwrap()[0]).unwrap();
    let workers: [Pid; 2] = replacement.workers().wait().unwrap().try_into().unwrap();
    workers.iter().for_each(|worker| sim.suspend(*worker).wait().unwrap());
    outer.send(Keyed(1, Task::Note(1))).unwrap();
    permit.send(Keyed(1, Task::Note(2)));
    sim.run_until_idle();
    assert_eq!((outer.waiting(), log.lines().len()), (3, 0));
    workers
}

#[test]
fn p8_a_message_that_lost_its_room_at_an_inner_broadcast_reaches_all_its_workers_or_none() {
    for (first, sim) in
        [0, 1].into_iter().flat_map(|first| simulations(5).map(move |sim| (first, sim)))
    {
        let log = Log::new();
        let workers = stranded_at_a_broadcast(&sim, &log);
        let copies = [first, 1 - first].map(|index| {
            assert!(sim.resume(workers[index]));
            sim.run_until_idle();
            log.count(" 2")
        });
        // Room at one worker is room for one copy.
        assert_eq!(copies, [0, 2]);
    }
}

#[test]
fn p8_stranded_messages_reach_all_workers_in_whatever_order_they_have_room() {
    for sim in simulations(5) {
        let log = Log::new();
        let workers = stranded_at_a_broadcast(&sim, &log);
        assert!(sim.resume(workers[0]));
        sim.run_until_idle();
        // The first worker had room for a while, and is full again when the second has room.
        sim.suspend(workers[0]).wait().unwrap();
        assert!(sim.send(workers[0], Keyed(1, Task::Note(3))).is_ok());
        assert!(sim.resume(workers[1]));
        sim.run_until_idle();
        assert_eq!(log.count(" 2"), 0);
        assert!(sim.resume(workers[0]));
        sim.run_until_idle();
        assert_eq!((log.count(" 2"), log.count(" 3")), (2, 1));
    }
}

#[test]
fn c5_a_cycle_through_a_pool_is_found_at_whichever_worker_has_the_call() {
    struct Ask(Address<Reply<()>>, Reply<()>);
    struct Calls(Log);
    impl Actor for Calls {
        type Message = Option<Ask>;
        async fn handle_message(
            &mut self,
            _: &mut Context<Self::Message>,
            ask: Option<Ask>,
        ) -> Result {
            let Some(Ask(who, reply)) = ask else { return Ok(()) };
            let called = who.call(|reply| reply).timeout(seconds(1)).await;
            self.0.note(matches!(called, Err(CallError::Deadlock(_))));
            reply.send(());
            Ok(())
        }
    }
    for full in 0..3 {
        let sim = Simulation::new(1);
        let log = Log::new();
        let noted = log.clone();
        let factory = move || Calls(noted.clone());
        let pool = sim.spawn(move || Pool::new(3, factory).mailbox(1)).wait().unwrap();
        // So many that come first in turn have no room.
        for worker in &pool.workers().wait().unwrap()[..full] {
            sim.suspend(*worker).wait().unwrap();
        }
        (0..3).for_each(|_| pool.send(None).unwrap());
        sim.run_until_idle();
        let asks = behavior_fn(move |ctx: Context<Reply<()>>| async move {
            let myself = ctx.address();
            pool.call(move |reply| Some(Ask(myself, reply))).await?;
            Ok(())
        });
        let end = sim.spawn(move || asks).start().unwrap().watch();
        assert_eq!((end.wait().unwrap().reason, log.take()), (Reason::Normal, vec!["true".into()]));
    }
}
