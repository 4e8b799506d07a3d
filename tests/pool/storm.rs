//! Saturated pools of dying workers, counted to the last message (rules P2, P4, P6, P11).

use crate::pool_support::{Job, PoolAddress, millis, numbers, seconds, workers};
use crate::support::{Log, boom, simulations};
use krarup::behavior::behavior_fn;
use krarup::pool::{ByKey, PoolStatistics};
use krarup::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

/// What the senders of a storm have seen.
#[derive(Default)]
struct StormCounters {
    accepted: AtomicU64,
    refused: AtomicU64,
    answered: AtomicU64,
    failed: AtomicU64,
}

impl StormCounters {
    fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn of(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

enum Work {
    Ask(Reply<()>),
    Crash,
}

/// Counts what it begins, and how many are at work.
struct Busy {
    begun: Arc<AtomicU64>,
    inside: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Actor for Busy {
    type Message = Work;

    async fn handle_message(&mut self, _: &mut Context<Work>, work: Work) -> Result {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let inside = self.inside.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(inside, Ordering::Relaxed);
        thread::yield_now();
        self.inside.fetch_sub(1, Ordering::Relaxed);
        match work {
            Work::Ask(reply) => reply.send(()),
            Work::Crash => return Err(boom()),
        }
        Ok(())
    }
}

fn storm(watched: bool, keyed: bool) {
    const SENDERS: usize = 200;
    const EACH: u64 = 40;
    let node = Node::builder("storm").workers(2).start().unwrap();
    let (begun, inside, most) = (Arc::default(), Arc::default(), Arc::default());
    let made = (Arc::clone(&begun), Arc::clone(&inside), Arc::clone(&most));
    let factory = move || Busy {
        begun: Arc::clone(&made.0),
        inside: Arc::clone(&made.1),
        most: Arc::clone(&made.2),
    };
    let new = move || {
        let pool = Pool::new(4, factory.clone()).mailbox(5);
        if watched { pool.measured() } else { pool }
    };
    let pool = if keyed {
        let turn = AtomicU64::new(0);
        let key = move |_: &Work| turn.fetch_add(1, Ordering::Relaxed);
        node.spawn(move || new().routing(ByKey::new(key))).wait().unwrap()
    } else {
        node.spawn(new).wait().unwrap()
    };
    let seen = Arc::new(StormCounters::default());
    for sender in 0..SENDERS {
        let (pool, seen) = (pool.clone(), Arc::clone(&seen));
        let sends = behavior_fn(move |ctx: Context<()>| async move {
            for n in 0..EACH {
                // One in fifty crashes its worker; some wait for room, some reserve it.
                let crash = (n + sender as u64).is_multiple_of(50);
                match (n + sender as u64) % 4 {
                    _ if crash => match pool.send(Work::Crash) {
                        Ok(()) => StormCounters::count(&seen.accepted),
                        Err(_) => StormCounters::count(&seen.refused),
                    },
                    0 => {
                        if let Ok(permit) = pool.reserve() {
                            ctx.sleep(millis(0)).await;
                            permit.send(Work::Crash);
                            StormCounters::count(&seen.accepted);
                        } else {
                            StormCounters::count(&seen.refused);
                        }
                    }
                    _ => match pool.call(Work::Ask).no_timeout().await {
                        Ok(()) => {
                            StormCounters::count(&seen.accepted);
                            StormCounters::count(&seen.answered);
                        }
                        Err(CallError::Full { .. } | CallError::NoWorkers { .. }) => {
                            StormCounters::count(&seen.refused);
                        }
                        Err(CallError::Terminated { .. } | CallError::NotBegun { .. }) => {
                            StormCounters::count(&seen.accepted);
                            StormCounters::count(&seen.failed);
                        }
                        Err(other) => panic!("{other}"),
                    },
                }
            }
            Ok(())
        });
        node.spawn(move || sends).start().unwrap();
    }
    let total = SENDERS as u64 * EACH;
    loop {
        let now: PoolStatistics = pool.statistics().wait().unwrap();
        assert!(now.received() <= total + SENDERS as u64);
        assert!(now.waiting <= 4 * 5 + SENDERS, "{now:?}");
        if StormCounters::of(&seen.accepted) + StormCounters::of(&seen.refused) == total {
            break;
        }
        thread::yield_now();
    }
    pool.drain().wait().unwrap();
    // The last deaths are heard of before this is answered, or before the next.
    let numbers = loop {
        let numbers = pool.statistics().wait().unwrap();
        if numbers.workers == 4 && numbers.places == 4 {
            break numbers;
        }
    };
    assert_eq!(numbers.forwarded, StormCounters::of(&seen.accepted));
    assert_eq!(numbers.unhandled, StormCounters::of(&seen.refused));
    assert_eq!(numbers.received(), total);
    assert!(most.load(Ordering::Relaxed) <= 4, "no more at work than workers");
    assert!(numbers.restarts > 0 && begun.load(Ordering::Relaxed) <= numbers.forwarded);
    let lost = numbers.forwarded - begun.load(Ordering::Relaxed);
    assert_eq!(
        node.stats().dead_letters,
        lost,
        "an accepted message that was not begun is a dead letter"
    );
    if watched {
        assert_eq!((numbers.lost, numbers.wait.unwrap().count), (lost, numbers.forwarded - lost));
    }
    assert!(StormCounters::of(&seen.answered) > 0);
    node.stop().wait().unwrap();
}

#[test]
fn p6_hundreds_of_senders_and_dying_workers_are_counted_to_the_last_message() {
    storm(false, false);
}

#[test]
fn p6_watched_jobs_of_hundreds_of_senders_are_counted_to_the_last_message() {
    storm(true, false);
}

#[test]
fn p6_keyed_jobs_of_hundreds_of_senders_are_counted_to_the_last_message() {
    storm(true, true);
}

#[test]
fn p11_drains_and_resizes_under_load_lose_nothing() {
    let node = Node::builder("p11").workers(2).start().unwrap();
    let log = Log::new();
    let factory = workers(&log);
    let inner = move || Pool::new(2, factory.clone()).mailbox(3);
    let pool: PoolAddress = node.spawn(move || Pool::new(3, inner)).wait().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let start = Arc::new(Barrier::new(5));
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let (pool, over, start) = (pool.clone(), Arc::clone(&over), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                let (mut accepted, mut refused) = (0_u64, 0_u64);
                for n in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let taken = if n % 5 == 0 {
                        pool.reserve().map(|permit| permit.send(Job::Note(1))).is_ok()
                    } else {
                        pool.send(Job::Note(1)).is_ok()
                    };
                    *(if taken { &mut accepted } else { &mut refused }) += 1;
                }
                (accepted, refused)
            })
        })
        .collect();
    start.wait();
    for _ in 0..30 {
        pool.add_workers(2).wait().unwrap();
        pool.remove_workers(2).wait().unwrap();
        pool.drain().wait().unwrap();
        assert_eq!(pool.waiting(), 0);
        pool.reopen().wait().unwrap();
    }
    over.store(true, Ordering::Relaxed);
    let seen: Vec<_> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
    pool.drain().wait().unwrap();
    let numbers = numbers(&pool);
    assert_eq!(numbers.forwarded, seen.iter().map(|seen| seen.0).sum::<u64>());
    assert_eq!(numbers.unhandled, seen.iter().map(|seen| seen.1).sum::<u64>());
    assert_eq!(log.lines().len() as u64, numbers.forwarded);
    assert_eq!(node.stats().dead_letters, 0);
    node.stop().wait().unwrap();
}

#[test]
fn p4_replacements_race_with_sends_and_waits_in_every_order_and_lose_nothing() {
    for sim in simulations(300) {
        let log = Log::new();
        let factory = workers(&log);
        let pool: PoolAddress = sim.spawn(move || Pool::new(2, factory).mailbox(2)).wait().unwrap();
        let accepted = Arc::new(AtomicU64::new(0));
        for sender in 0..4_u32 {
            let (pool, accepted) = (pool.clone(), Arc::clone(&accepted));
            let sends = behavior_fn(move |ctx: Context<()>| async move {
                for n in 0..4 {
                    let job = Job::Note(sender * 10 + n);
                    if pool.send_or_wait(job).timeout(seconds(60)).await.is_ok() {
                        accepted.fetch_add(1, Ordering::Relaxed);
                    }
                    ctx.sleep(millis(u64::from(sender))).await;
                }
                Ok(())
            });
            sim.spawn(move || sends).start().unwrap();
        }
        for _ in 0..6 {
            for _ in 0..5 {
                sim.step();
            }
            // Between its jobs: what it has in its mailbox goes down with it.
            let victims = pool.workers().wait().unwrap();
            sim.kill(victims[0]);
        }
        sim.advance(seconds(120));
        assert_eq!(accepted.load(Ordering::Relaxed), 16);
        let numbers = numbers(&pool);
        assert_eq!((numbers.forwarded, numbers.unhandled, numbers.workers), (16, 0, 2));
        // Each was handled or is a dead letter, and none is both.
        assert_eq!(log.lines().len() as u64 + sim.stats().dead_letters, 16);
    }
}
