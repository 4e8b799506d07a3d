//! Processes that flood others, stepped by hand: they are muted until the flooded process has
//! caught up (`act/src/mailbox/muted_senders.rs`).

use super::{SteppedWorker, as_worker, options};
use krarup_act::{Address, Context, Host, Received, Spawn, Via, behavior_fn, yield_now};
use krarup_gen::{Class, Exit, Pid, ProcessState, Reason};
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The messages that a flooder sends in a turn.
const FLOOD: usize = 1_000;

/// A process that floods another.
struct Flood {
    flooder: Address<()>,
    flooded: Address<u64>,
    /// The length of the flooded mailbox at the beginning of each turn of the flooder.
    waited: Arc<Mutex<Vec<usize>>>,
}

impl Flood {
    fn turns(&self) -> usize {
        self.waited.lock().unwrap().len()
    }

    fn is_muted(&self) -> bool {
        // It has a message, and lies in no queue: this is tested where no step follows.
        self.flooder.info().state == ProcessState::Scheduled && self.flooder.waiting() == 1
    }
}

/// Spawns a process that sends [`FLOOD`] messages, and one to itself, in each of this many
/// turns.
fn flood(stepped: &SteppedWorker, turns: usize) -> Flood {
    flood_one(stepped, turns, usize::MAX)
}

/// As [`flood`], but the flooded process handles only `handles` messages, and then waits for
/// ever.
fn flood_one(stepped: &SteppedWorker, turns: usize, handles: usize) -> Flood {
    flood_of(stepped, turns, handles, Class::Normal)
}

fn flood_of(stepped: &SteppedWorker, turns: usize, handles: usize, class: Class) -> Flood {
    let host = || Arc::clone(&stepped.nursery.host) as Arc<dyn Host>;
    let receiver = behavior_fn(move |mut ctx: Context<u64>| async move {
        for _ in 0..handles {
            ctx.receive().await;
        }
        pending().await
    });
    let flooded = Spawn::outside(host(), move || receiver).start().unwrap();
    let waited = Arc::<Mutex<Vec<usize>>>::default();
    let (to, noted, left) = (flooded.clone(), Arc::clone(&waited), AtomicUsize::new(turns));
    let flooder = behavior_fn(move |mut ctx: Context<()>| async move {
        loop {
            ctx.receive().await;
            noted.lock().unwrap().push(to.waiting());
            (0..FLOOD as u64).for_each(|number| drop(to.send(number)));
            if left.fetch_sub(1, Ordering::Relaxed) > 1 {
                ctx.address().send(()).unwrap();
            }
        }
    });
    let flooder = Spawn::outside(host(), move || flooder).class(class).start().unwrap();
    flooder.send(()).unwrap();
    Flood { flooder, flooded, waited }
}

/// Steps until the flooder has had its first flooding turn.
fn begin(stepped: &mut SteppedWorker, flood: &Flood) {
    while flood.turns() == 0 {
        stepped.step();
    }
    // After a turn of high class the worker has run a normal one.
    assert!(flood.flooded.waiting() >= FLOOD - 64);
    assert!(flood.is_muted());
}

fn busy(stepped: &SteppedWorker, number: usize) -> Pid {
    let process = stepped.nursery.spawn_with(number, Class::Normal, |own, _| own.send(()).unwrap());
    process.send(()).unwrap();
    process.pid()
}

#[test]
fn r1_a_flooder_has_its_next_turn_when_the_flooded_process_has_caught_up() {
    as_worker(options(1), |stepped| {
        let flood = flood(stepped, 20);
        stepped.run_until_idle();
        let waited = flood.waited.lock().unwrap().clone();
        assert_eq!((waited.len(), waited[0]), (20, 0));
        // It is released when fewer than 64 messages are left, and has its turn at once.
        assert!(waited.iter().all(|waited| *waited < 64), "{waited:?}");
        assert_eq!(flood.flooded.info().handled, 20 * FLOOD as u64);
        // No process had a useless turn: the first turns of both, the flooder's, and its
        // receiver's.
        let turns = 2 + 20 * (1 + FLOOD.div_ceil(64) as u64 + 1);
        assert!(stepped.worker().turns <= turns, "{} turns", stepped.worker().turns);
    });
}

#[test]
fn r1_a_muted_process_waits_for_earlier_processes_and_not_for_later_ones() {
    as_worker(options(1), |stepped| {
        let flood = flood(stepped, 2);
        begin(stepped, &flood);
        // Others, from outside, see to it that the flooded process never catches up.
        let to = flood.flooded.clone();
        while flood.turns() == 1 {
            let handled = flood.flooded.info().handled;
            assert!(handled < FLOOD as u64 + 2 * 64, "{handled} handled");
            let to = to.clone();
            stepped.outside(move |_| (0..200).for_each(|number| to.send(number).unwrap()));
            stepped.step();
        }
        assert!(flood.flooded.info().handled >= FLOOD as u64);
    });
}

#[test]
fn r1_a_process_that_spawns_many_or_floods_itself_or_overdraws_little_is_not_muted() {
    as_worker(options(1), |stepped| {
        let host = Arc::clone(&stepped.nursery.host) as Arc<dyn Host>;
        let quiet = stepped.nursery.spawn_with(1, Class::Normal, |_, _| {});
        let to = quiet.clone();
        let process = stepped.nursery.spawn_with(0, Class::Normal, move |own, _| {
            // 64 wait and 127 do not: the last 63 cost one message each.
            (0..127).for_each(|_| to.send(()).unwrap());
            let idle = || {
                behavior_fn(|mut ctx: Context<()>| async move {
                    ctx.receive().await;
                    Ok(())
                })
            };
            for _ in 0..200 {
                drop(Spawn::outside(Arc::clone(&host), idle).start().unwrap());
            }
            (0..FLOOD).for_each(|_| own.send(()).unwrap());
        });
        let first = stepped.step();
        assert_eq!(first, Some(quiet.pid()));
        process.send(()).unwrap();
        while !stepped.taken().contains(&0) {
            stepped.step().unwrap();
        }
        // It is at the tail of the queue.
        let queued = stepped.queued().0;
        let turn = (1..=queued).find(|_| stepped.step() == Some(process.pid()));
        assert_eq!(turn, Some(queued));
        process.process().kill();
    });
}

#[test]
fn r1_a_flooded_process_that_waits_for_another_event_delays_no_process() {
    as_worker(options(1), |stepped| {
        let flood = flood_one(stepped, 20, 10);
        stepped.run_until_idle();
        assert_eq!((flood.turns(), flood.flooded.waiting()), (20, 20 * FLOOD - 10));
    });
}

#[test]
fn r1_a_flooded_process_that_ends_or_begins_to_wait_releases_the_flooder() {
    for ends in [true, false] {
        as_worker(options(1), move |stepped| {
            let flood = flood_one(stepped, 2, 10);
            // The first turn of the flooder comes before that of its receiver.
            stepped.step();
            begin(stepped, &flood);
            if ends {
                flood.flooded.process().kill();
            }
            stepped.run_until_idle();
            assert_eq!(flood.turns(), 2);
        });
    }
}

/// A handler that yields does not take messages, so it releases those that wait for it to do so.
#[test]
fn r1_a_flooded_process_that_yields_in_a_handler_releases_the_flooder() {
    as_worker(options(1), |stepped| {
        let host = || Arc::clone(&stepped.nursery.host) as Arc<dyn Host>;
        let yields = behavior_fn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
            loop {
                yield_now().await;
            }
        });
        let flooded = Spawn::outside(host(), move || yields).start().unwrap();
        let (to, left) = (flooded.clone(), AtomicUsize::new(3));
        let flooder = stepped.nursery.spawn_with(0, Class::Normal, move |own, _| {
            (0..FLOOD).for_each(|_| to.send(()).unwrap());
            if left.fetch_sub(1, Ordering::Relaxed) > 1 {
                own.send(()).unwrap();
            }
        });
        flooder.send(()).unwrap();
        stepped.steps(10);
        assert_eq!(stepped.taken(), [0; 3]);
        flooded.process().kill();
    });
}

#[test]
fn r1_two_processes_that_flood_each_other_go_on() {
    as_worker(options(1), |stepped| {
        let addresses: Arc<[OnceLock<Address<bool>>; 2]> = Arc::default();
        for (own, other) in [(0, 1), (1, 0)] {
            let known = Arc::clone(&addresses);
            let flooder = behavior_fn(move |mut ctx: Context<bool>| async move {
                let other = known[other].get().unwrap();
                loop {
                    if matches!(ctx.receive().await, Received::Message(true)) {
                        (0..FLOOD).for_each(|_| other.send(false).unwrap());
                        ctx.address().send(true).unwrap();
                    }
                }
            });
            let host = Arc::clone(&stepped.nursery.host) as Arc<dyn Host>;
            addresses[own].set(Spawn::outside(host, move || flooder).start().unwrap()).unwrap();
        }
        let both = || addresses.iter().map(|address| address.get().unwrap());
        both().for_each(|address| address.send(true).unwrap());
        for _ in 0..2_000 {
            stepped.step().unwrap();
        }
        assert!(both().all(|address| address.info().handled > 10 * FLOOD as u64));
    });
}

#[test]
fn r1_a_process_that_sets_its_class_to_high_is_muted_like_any() {
    as_worker(options(1), |stepped| {
        let host = || Arc::clone(&stepped.nursery.host) as Arc<dyn Host>;
        let flooded = stepped.nursery.spawn_with(0, Class::Normal, |_, _| {});
        let (to, noted) = (flooded.clone(), Arc::clone(&stepped.nursery.log));
        let flooder = behavior_fn(move |mut ctx: Context<()>| async move {
            assert!(ctx.set_class(Class::High));
            loop {
                ctx.receive().await;
                noted.lock().unwrap().push(1);
                (0..FLOOD).for_each(|_| to.send(()).unwrap());
                ctx.address().send(()).unwrap();
            }
        });
        let flooder =
            Spawn::outside(host(), move || flooder).class(Class::Varying).start().unwrap();
        flooder.send(()).unwrap();
        // It does not have the sixteen turns in a row that it could have: one, then its receiver's.
        stepped.steps(8);
        let taken = stepped.taken();
        assert_eq!(taken.iter().filter(|number| **number == 1).count(), 1, "{taken:?}");
        assert!(flooded.waiting() < FLOOD);
        flooder.process().kill();
    });
}

#[test]
fn r1_behind_a_long_turn_a_flooder_is_poked() {
    as_worker(options(1), |stepped| {
        let flood = flood(stepped, 2);
        begin(stepped, &flood);
        // The receiver is in a long turn: it is not stepped, and nothing else is ready.
        let queued = stepped.queued().0;
        stepped.shared.pokes.iter().for_each(|pokes| assert!(pokes.poke()));
        assert_eq!(stepped.queued().0, queued + 1);
        // Once poked, it is not listed any more.
        stepped.shared.pokes.iter().for_each(|pokes| assert!(!pokes.poke()));
        while flood.turns() == 1 {
            stepped.step().unwrap();
        }
        assert!(flood.waited.lock().unwrap()[1] >= FLOOD - 2 * 64);
    });
}

/// Whatever concerns the muted process itself, it is handled in its next turn, which it has as any
/// process that was idle.
#[test]
fn m4_a_muted_process_is_stopped_killed_and_inspected_like_an_idle_one() {
    for class in [Class::Normal, Class::High, Class::Varying] {
        for signal in 0..3 {
            as_worker(options(1), move |stepped| {
                let flood = flood_of(stepped, 100, usize::MAX, class);
                begin(stepped, &flood);
                let handled = flood.flooded.info().handled;
                match signal {
                    0 => flood.flooder.process().kill(),
                    1 => flood.flooder.process().request_stop(Reason::Shutdown),
                    _ => {
                        let exit =
                            Exit { pid: flood.flooded.pid(), reason: Reason::error("enough") };
                        flood.flooder.process().exit_signal(exit, Via::Signal);
                    }
                }
                stepped.step();
                stepped.step();
                assert!(!flood.flooder.is_alive(), "{class:?}, {signal}");
                assert_eq!(flood.turns(), 1);
                assert!(flood.flooded.info().handled <= handled + 2 * 64);
            });
        }
    }
}

#[test]
fn m4_a_hundred_thousand_muted_processes_are_released_and_killed() {
    as_worker(options(1), |stepped| {
        let flooded = stepped.nursery.spawn_with(0, Class::Normal, |_, _| {});
        // So many that each message behind them overdraws a turn.
        (0..10_000).for_each(|_| flooded.send(()).unwrap());
        let flooders: Vec<_> = (0..100_000)
            .map(|_| {
                let to = flooded.clone();
                let flooder = stepped.nursery.spawn_with(1, Class::Normal, move |own, _| {
                    to.send(()).unwrap();
                    own.send(()).unwrap();
                });
                flooder.send(()).unwrap();
                flooder
            })
            .collect();
        // Muted are as many as can be poked.
        for _ in 0..100_000 {
            stepped.step();
        }
        let handled = flooders.iter().filter(|flooder| flooder.info().handled > 0).count();
        assert!(handled > 65_536, "{handled}");
        flooders.iter().for_each(|flooder| flooder.process().kill());
        stepped.run_until_idle();
        assert!(flooders.iter().all(|flooder| !flooder.is_alive()));
        assert_eq!(flooded.waiting(), 0);
    });
}

/// Two processes that flood others which never handle the messages have the worker for
/// themselves, except for work from outside.
#[test]
fn r1_flooders_without_other_work_do_not_starve_injected_processes() {
    as_worker(options(1), |stepped| {
        let floods = [flood_one(stepped, usize::MAX, 0), flood_one(stepped, usize::MAX, 0)];
        let turns = || -> usize { floods.iter().map(Flood::turns).sum() };
        while turns() < 10 {
            stepped.step();
        }
        for number in 0..50 {
            stepped.outside(|from| from.flood(number..number + 1, 1));
            let before = turns();
            while !stepped.taken().contains(&number) {
                stepped.step();
            }
            assert!(turns() - before <= 61);
        }
    });
}

#[test]
fn r1_a_worker_whose_process_was_muted_holds_back_before_it_steals() {
    as_worker(options(2), |stepped| {
        let flood = flood(stepped, 2);
        let busy = busy(stepped, 7);
        begin(stepped, &flood);
        let slot = stepped.shared.counters[0].slot();
        assert_eq!((slot.take_muted(), slot.take_muted()), (true, false));
        // No other turn leaves that note.
        while stepped.step() != Some(busy) {}
        assert!(!stepped.shared.counters[0].slot().take_muted());
        let now = || stepped.nursery.core.clock.now();
        assert!(stepped.policy.patience(now, stepped.shared.siblings(0)).is_none());
        stepped.policy.has_muted(now(), stepped.shared.siblings(0));
        assert!(stepped.policy.patience(now, stepped.shared.siblings(0)).is_some());
    });
}
