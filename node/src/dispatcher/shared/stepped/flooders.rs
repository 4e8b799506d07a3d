//! Processes that flood others, stepped by hand: see [`crate::dispatcher::debtors`].

use super::{LOCAL, Searcher, SteppedWorker, as_worker, options, with_number};
use crate::dispatcher::counters::Counters;
use crate::sync::Parker;
use crossbeam_deque::Stealer;
use krarup_act::{Address, Context, Host, Ready, Received, Spawn, Via, behavior_fn};
use krarup_gen::{Class, Exit, Pid, Reason};
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

/// The messages that a flooder sends in a turn.
const FLOOD: usize = 1_000;

/// A process that floods another.
struct Flood {
    flooder: Address<()>,
    flooded: Address<u64>,
    /// The length of the flooded mailbox at the beginning of each turn of the flooder.
    waited: Arc<Mutex<Vec<usize>>>,
}

/// Spawns a process that sends [`FLOOD`] messages, and one to itself, in each of this many
/// turns.
fn flood(stepped: &SteppedWorker, turns: usize) -> Flood {
    flood_one(stepped, turns, usize::MAX)
}

/// As [`flood`], but the flooded process handles only `handles` messages, and then waits for
/// ever.
fn flood_one(stepped: &SteppedWorker, turns: usize, handles: usize) -> Flood {
    let host = || Arc::clone(&stepped.nursery.home) as Arc<dyn Host>;
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
            (0..FLOOD as u64).for_each(|number| to.send(number).unwrap());
            if left.fetch_sub(1, Ordering::Relaxed) > 1 {
                ctx.address().send(()).unwrap();
            }
        }
    });
    let flooder = Spawn::outside(host(), move || flooder).start().unwrap();
    flooder.send(()).unwrap();
    Flood { flooder, flooded, waited }
}

/// Steps until the flooder has had its first flooding turn.
fn begin(stepped: &mut SteppedWorker, flood: &Flood) {
    while flood.waited.lock().unwrap().is_empty() {
        stepped.step().unwrap();
    }
    assert_eq!(flood.flooded.waiting(), FLOOD);
    assert_eq!(stepped.shared.number_of_debtors(), 1);
}

fn busy(stepped: &SteppedWorker, number: usize) -> Pid {
    let process = stepped.nursery.spawn_with(number, Class::Normal, |own, _| own.send(()).unwrap());
    process.send(()).unwrap();
    process.pid()
}

fn counters(stepped: &SteppedWorker, worker: usize) -> &Counters {
    &stepped.shared.counters[worker]
}

#[test]
fn r1_who_floods_has_its_next_turn_when_the_flooded_has_caught_up() {
    as_worker(options(1), |stepped| {
        let flood = flood(stepped, 20);
        stepped.run_until_idle();
        assert_eq!(*flood.waited.lock().unwrap(), [0; 20]);
        assert_eq!(flood.flooded.info().handled, 20 * FLOOD as u64);
        // No process had a useless turn: the first turns of both, the flooder's, and its
        // receiver's.
        let turns = 2 + 20 * (1 + FLOOD.div_ceil(64) as u64 + 1);
        assert!(stepped.worker().turns <= turns, "{} turns", stepped.worker().turns);
        assert_eq!(stepped.shared.number_of_debtors(), 0);
    });
}

#[test]
fn r1_a_debt_is_paid_with_turns_of_all_others() {
    as_worker(options(1).throughput(1), |stepped| {
        let flood = flood(stepped, 2);
        let others: Vec<_> = (0..3).map(|number| busy(stepped, number)).collect();
        begin(stepped, &flood);
        // A debt counts turns of 64 messages, whatever the throughput. A send is charged one message
        // for each 64 that wait: the 65th is charged one, the 129th two, and so on. The flooder's
        // message to itself counts too.
        let charged: usize = (1..FLOOD).map(|waiting| waiting / 64).sum();
        let mut turns = [0; 3];
        while flood.waited.lock().unwrap().len() < 2 {
            let ran = stepped.step().unwrap();
            if let Some(other) = others.iter().position(|other| *other == ran) {
                turns[other] += 1;
            }
        }
        for turns in turns {
            assert!((charged / 64 - 2..charged / 64 + 4).contains(&turns), "{turns}: {charged}");
        }
    });
}

#[test]
fn r1_a_kill_does_not_wait_for_a_debt() {
    as_worker(options(1).throughput(1), |stepped| {
        let flood = flood(stepped, 100);
        (0..40).for_each(|number| {
            busy(stepped, number);
        });
        begin(stepped, &flood);
        flood.flooder.process().kill();
        stepped.step();
        assert!(!flood.flooder.is_alive());
        assert_eq!(
            (flood.waited.lock().unwrap().len(), stepped.shared.number_of_debtors()),
            (1, 0)
        );
    });
}

#[test]
fn r1_a_worker_with_debtors_only_lets_them_go_where_the_flooded_is_at_work() {
    as_worker(options(2), |stepped| {
        let flood = flood(stepped, 100);
        begin(stepped, &flood);
        // The other worker has stolen the flooded process, and runs it.
        let stolen = stepped.shared.stealers[0].steal_batch(&stepped.others[0]);
        assert!(stolen.is_success());
        counters(stepped, 1).begin_turn(flood.flooded.pid().id());
        assert_eq!((stepped.step(), stepped.shared.number_of_debtors()), (None, 1));
        assert!(!stepped.shared.handed_over.is_empty());
        // It holds back, or it would take the debtor back at once.
        let now = || stepped.nursery.core.clock.now();
        let siblings = stepped.shared.siblings(0);
        assert!(stepped.thief.patience(now, siblings).is_some());
        assert_eq!(flood.waited.lock().unwrap().len(), 1);
        // A worker that has work takes the debtor in.
        busy(stepped, 0);
        stepped.steps(62);
        assert_eq!(flood.waited.lock().unwrap().len(), 2);
        assert!(stepped.shared.handed_over.is_empty());
    });
}

#[test]
fn r1_a_worker_with_debtors_only_runs_them_if_nobody_else_is_at_work() {
    as_worker(options(2), |stepped| {
        let flood = flood(stepped, 100);
        begin(stepped, &flood);
        // The other worker is about to run the flooded process, and has not begun.
        let stolen = stepped.shared.stealers[0].steal_batch(&stepped.others[0]);
        assert!(stolen.is_success());
        assert_eq!(stepped.step(), Some(flood.flooder.pid()));
    });
}

#[test]
fn r1_a_worker_with_debtors_only_runs_them_if_the_flooded_waits_nowhere() {
    as_worker(options(2), |stepped| {
        let flood = flood(stepped, 2);
        begin(stepped, &flood);
        // Another worker is active, but does not run the flooded process, which has caught up
        // here.
        counters(stepped, 1).begin_turn(flood.flooder.pid().id());
        stepped.run_until_idle();
        assert_eq!(*flood.waited.lock().unwrap(), [0; 2]);
    });
}

#[test]
fn r1_a_flooded_that_waits_for_something_else_holds_nobody_up() {
    as_worker(options(2), |stepped| {
        let flood = flood_one(stepped, 20, 10);
        // Another worker is active, but does not run the flooded process.
        counters(stepped, 1).begin_turn(flood.flooder.pid().id());
        stepped.run_until_idle();
        assert_eq!(flood.waited.lock().unwrap().len(), 20);
        assert_eq!(flood.flooded.waiting(), 20 * FLOOD - 10);
    });
}

#[test]
fn r1_two_who_flood_each_other_are_held_up_by_nobody_else() {
    as_worker(options(2), |stepped| {
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
            let host = Arc::clone(&stepped.nursery.home) as Arc<dyn Host>;
            addresses[own].set(Spawn::outside(host, move || flooder).start().unwrap()).unwrap();
        }
        let both = || addresses.iter().map(|address| address.get().unwrap());
        both().for_each(|address| address.send(true).unwrap());
        // Worker 1 is in a long turn of another process.
        counters(stepped, 1).begin_turn(u64::MAX);
        while stepped.shared.number_of_debtors() < 2 {
            stepped.step().unwrap();
        }
        for _ in 0..1_000 {
            stepped.step().unwrap();
        }
        assert!(both().all(|address| address.info().handled > 10 * FLOOD as u64));
    });
}

#[test]
fn r1_debtors_that_are_several_are_worth_a_sibling() {
    as_worker(options(2), |stepped| {
        // As [`begin`] for two, until nothing else is left.
        let floods = [flood(stepped, 2), flood(stepped, 2)];
        while floods.iter().any(|flood| flood.flooded.info().handled < FLOOD as u64) {
            stepped.step().unwrap();
        }
        assert_eq!(stepped.queued().0, 0);
        assert_eq!(stepped.shared.number_of_debtors(), 2);
        let (shared, parker) = (Arc::clone(&stepped.shared), stepped.parkers.remove(1));
        let sibling = thread::spawn(move || {
            shared.sleep.start_searching();
            shared.sleep.park(1, &parker, None, || false)
        });
        while stepped.shared.sleep.parked() == 0 {
            thread::yield_now();
        }
        LOCAL.with(|local| {
            let at = (0, &local.get().unwrap().queue);
            stepped.shared.begin_take(at, &mut stepped.thief, &mut stepped.takes);
        });
        assert_eq!((stepped.queued().0, stepped.shared.sleep.wakes()), (2, 1));
        stepped.shared.sleep.wake_all();
        assert!(sibling.join().unwrap());
    });
}

#[test]
fn r4_who_floods_one_behind_a_long_turn_does_not_keep_a_worker_from_that_one() {
    as_worker(options(2), |stepped| {
        let flooder = stepped.nursery.flooded(0, Class::Normal, 1);
        let flooded = stepped.nursery.flooded(1, Class::Normal, 1);
        LOCAL.with(|local| {
            let queue = &local.get().unwrap().queue;
            assert!(stepped.shared.handed_over.put(queue.pop()).is_empty());
            stepped.others[0].push(queue.pop().unwrap());
            let (parker, mut seeker) = (Parker::new(), Searcher::new(7));
            let steal = |stealer: &Stealer<Ready>| with_number(stealer.steal(), || 1);
            let mut search = || stepped.shared.search(0, &parker, &mut seeker, || None, steal);
            let first = search().unwrap();
            assert_eq!(first.pid(), flooder);
            // It owes turns, and is handed over again.
            assert!(stepped.shared.handed_over.put([first]).is_empty());
            let second = search().unwrap();
            assert_eq!(second.pid(), flooded);
            queue.push(second);
        });
    });
}

#[test]
fn r1_who_was_let_go_is_not_starved_by_work_from_outside() {
    as_worker(options(1), |stepped| {
        let flooder = stepped.nursery.flooded(0, Class::Normal, 1);
        LOCAL.with(|local| {
            let put = stepped.shared.handed_over.put(local.get().unwrap().queue.pop());
            assert!(put.is_empty());
        });
        let waited = (1..1_000).take_while(|number| {
            stepped.outside(|from| from.flood(*number..number + 1, 1));
            stepped.step() != Some(flooder)
        });
        assert!(waited.count() <= 61);
    });
}

#[test]
fn r1_behind_a_long_turn_debts_are_forgotten() {
    as_worker(options(1), |stepped| {
        let flood = flood(stepped, 2);
        begin(stepped, &flood);
        // First look: turns have run since the one before.
        stepped.shared.forget_debts_at_long_turns();
        assert!(stepped.shared.handed_over.is_empty());
        stepped.shared.forget_debts_at_long_turns();
        assert!(!stepped.shared.handed_over.is_empty());
        assert!(stepped.shared.is_work_queued());
        busy(stepped, 0);
        stepped.steps(62);
        assert_eq!(flood.waited.lock().unwrap().len(), 2);
    });
}

#[test]
fn r1_who_owes_when_the_dispatcher_stops_ends() {
    as_worker(options(1), |stepped| {
        let flood = flood(stepped, 2);
        begin(stepped, &flood);
        flood.flooder.process().kill();
        stepped.shared.signal_stop();
        stepped.shared.clear();
        assert!(!flood.flooder.is_alive());
        assert_eq!(stepped.shared.number_of_debtors(), 0);
    });
}

#[test]
fn r1_who_owes_and_lives_has_a_last_turn_when_the_dispatcher_stops() {
    as_worker(options(1), |stepped| {
        let flood = flood(stepped, 2);
        begin(stepped, &flood);
        stepped.shared.signal_stop();
        stepped.shared.clear();
        assert_eq!(stepped.shared.number_of_debtors(), 0);
        assert_eq!(flood.waited.lock().unwrap().len(), 2);
    });
}

#[test]
fn r1_a_worker_does_not_sleep_while_somebody_owes_it_turns() {
    as_worker(options(1), |stepped| {
        // The flooded process soon waits for ever, so there is nothing else to do.
        let flood = flood_one(stepped, 2, 1);
        begin(stepped, &flood);
        let (shared, mut seeker, parker) = (&stepped.shared, Searcher::new(7), Parker::new());
        for _ in 0..100_000 {
            if shared.number_of_debtors() == 0 {
                break;
            }
            // Without this token the worker would sleep for ever.
            parker.unparker().unpark();
            LOCAL.with(|local| {
                let local = local.get().unwrap();
                let taken = shared.take(local, &parker, &mut seeker, &mut stepped.takes);
                let Some(ready) = taken else { return };
                shared.counters[0].count_turn();
                let again = ready.run_at(&shared.setup.limits, shared.counters[0].seat());
                if let Some(again) = again {
                    shared.push_again(local, &mut stepped.takes, again);
                }
            });
            assert_eq!(shared.stats().parks, 0);
        }
        assert_eq!(shared.number_of_debtors(), 0);
        assert_eq!(flood.waited.lock().unwrap().len(), 2);
    });
}

#[test]
fn r1_no_debt_keeps_a_process_for_more_than_32768_takes() {
    as_worker(options(1).throughput(2), |stepped| {
        let idle = stepped.nursery.spawn_with(0, Class::Normal, |_, _| {});
        // A debt of so many turns that the other processes, of which there are several, would
        // need millions of turns to pay it.
        let floods = stepped.nursery.spawn_with(1, Class::Normal, move |own, _| {
            (0..100_000).for_each(|_| idle.send(()).unwrap());
            own.send(()).unwrap();
        });
        for number in 2..6 {
            busy(stepped, number);
        }
        floods.send(()).unwrap();
        while !stepped.taken().contains(&1) {
            stepped.step().unwrap();
        }
        let takes = |stepped: &SteppedWorker| usize::try_from(stepped.takes.begun).unwrap();
        let before = takes(stepped);
        while !stepped.taken().contains(&1) {
            stepped.step().unwrap();
        }
        let waited = takes(stepped) - before;
        assert!((30_000..32_768 + 10).contains(&waited), "{waited}");
    });
}

/// Two processes that flood others which never handle the messages have the worker for
/// themselves, except for work from outside.
#[test]
fn r1_debtors_that_are_alone_do_not_starve_what_comes_from_outside() {
    as_worker(options(1), |stepped| {
        let floods = [flood_one(stepped, usize::MAX, 0), flood_one(stepped, usize::MAX, 0)];
        let turns =
            || -> usize { floods.iter().map(|flood| flood.waited.lock().unwrap().len()).sum() };
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

/// A debtor ends wherever it is when it is killed or told to end: among the debtors, handed
/// over, or, if it is of high class, in the high queue, where it has useless turns.
#[test]
fn r1_who_owes_ends_wherever_it_is_when_it_is_to_end() {
    for class in [Class::Normal, Class::High, Class::Varying] {
        for (is_let_go, signal) in [(false, false), (true, false), (false, true), (true, true)] {
            as_worker(options(1).throughput(2), move |stepped| {
                let flooded = stepped.nursery.spawn_with(0, Class::Normal, |_, _| {});
                let to = flooded.clone();
                let floods = stepped.nursery.spawn_with(1, class, move |own, _| {
                    (0..10 * FLOOD).for_each(|_| to.send(()).unwrap());
                    own.send(()).unwrap();
                });
                for number in 2..6 {
                    busy(stepped, number);
                }
                floods.send(()).unwrap();
                while !stepped.taken().contains(&1) {
                    stepped.step();
                }
                let sits = class != Class::High;
                assert_eq!(stepped.shared.number_of_debtors(), usize::from(sits));
                if is_let_go {
                    stepped.shared.forget_all_debts();
                }
                if signal {
                    let exit = Exit { pid: flooded.pid(), reason: Reason::error("enough") };
                    floods.process().exit_signal(exit, Via::Signal);
                } else {
                    floods.process().kill();
                }
                let handled = floods.info().handled;
                stepped.steps(2);
                assert_eq!((floods.is_alive(), floods.info().handled), (false, handled));
                assert_eq!(stepped.shared.number_of_debtors(), 0);
            });
        }
    }
}
