//! What is private to a worker while its turn lasts: others take it where it would wait for long (rule R4).

use super::{LOCAL, Searcher, SteppedWorker, as_worker, options, process_barrier};
use crate::dispatcher::run_queue::until_settled;
use crate::dispatcher::worker_parker::WorkerParker;
use krarup_act::Ready;
use krarup_gen::Class;
use std::cell::Cell;

/// Runs a test as worker 0, if the system has the barrier that private queues need.
fn with_private_queues(workers: usize, test: impl FnOnce(&mut SteppedWorker) + Send + 'static) {
    process_barrier::prepare();
    if process_barrier::is_available() {
        as_worker(options(workers), test);
    } else {
        eprintln!("the system has no membarrier: what needs it is not tested");
    }
}

/// A search of a worker that has run dry. `meanwhile` is called in each of its rounds.
fn search(stepped: &SteppedWorker, worker: usize, meanwhile: impl Fn()) -> Option<Ready> {
    let parker = WorkerParker::new();
    // Without this token the worker would sleep for ever.
    parker.unparker().unpark();
    let own = stepped.others.last().unwrap();
    let take = || {
        meanwhile();
        None
    };
    stepped.shared.search(worker, &parker, &mut Searcher::new(worker), take, Some(own))
}

fn run(stepped: &SteppedWorker, ready: Ready) {
    assert!(ready.run(&stepped.shared.setup.limits).is_none());
}

fn private(stepped: &SteppedWorker) -> usize {
    stepped.shared.stealers[0].private_len()
}

#[test]
fn r4_a_worker_that_runs_dry_takes_what_is_next_behind_a_long_turn_alone() {
    with_private_queues(2, |stepped| {
        stepped.nursery.flooded(0, Class::Normal, 1);
        let counters = &stepped.shared.counters[0];
        assert!(search(stepped, 1, || counters.count_turn()).is_none());
        assert_eq!(stepped.queued(), (1, 0, vec![0]), "its own worker runs it sooner");
        let ready = search(stepped, 1, || ()).expect("the turn of the sibling is long");
        assert_eq!(stepped.queued(), (0, 0, vec![0]));
        run(stepped, ready);
        assert_eq!(stepped.taken(), [0]);
        let thief = stepped.shared.stats().each[1];
        assert_eq!((thief.steal_attempts, thief.steals, thief.stolen), (33, 1, 1));
    });
}

/// Its turns are short, and others want no work when these become ready.
#[test]
fn r1_a_worker_that_runs_dry_takes_half_of_what_is_private_to_a_sibling() {
    with_private_queues(2, |stepped| {
        stepped.nursery.flood(0..5, 1);
        assert_eq!((private(stepped), stepped.queued()), (5, (5, 0, vec![0])));
        let counters = &stepped.shared.counters[0];
        let ready = search(stepped, 1, || counters.count_turn()).expect("there are several");
        assert_eq!((private(stepped), stepped.queued()), (2, (2, 0, vec![2])));
        run(stepped, ready);
        while let Some(ready) = stepped.others[0].pop() {
            run(stepped, ready);
        }
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0, 1, 2, 3, 4]);
        let thief = stepped.shared.stats().each[1];
        assert_eq!((thief.steal_attempts, thief.steals, thief.stolen), (6, 1, 3));
    });
}

#[test]
fn r1_of_many_private_processes_as_many_are_stolen_as_of_a_shared_queue() {
    with_private_queues(2, |stepped| {
        stepped.nursery.flood(0..100, 1);
        let ready = search(stepped, 1, || ()).expect("there are many");
        assert_eq!((private(stepped), stepped.queued()), (68, (68, 0, vec![31])));
        stepped.others[0].push(ready);
        while let Some(ready) = stepped.others[0].pop() {
            run(stepped, ready);
        }
        stepped.run_until_idle();
    });
}

/// What becomes ready while a sibling searches, or sleeps and would not wake by itself, is for both.
#[test]
fn r1_what_becomes_ready_while_a_sibling_wants_work_is_shared_but_for_what_is_alone() {
    with_private_queues(2, |stepped| {
        stepped.shared.sleep.start_searching();
        stepped.nursery.flood(0..4, 1);
        assert_eq!((private(stepped), stepped.queued()), (1, (4, 0, vec![0])));
        stepped.shared.sleep.found(|| false);
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0, 1, 2, 3]);
        let asleep = || {
            stepped.nursery.flood(4..7, 1);
            true
        };
        stepped.shared.sleep.start_searching();
        let parker = WorkerParker::new();
        // In the place of the token of the worker that is woken.
        parker.unparker().unpark();
        stepped.shared.sleep.park(1, false, asleep, || parker.park());
        stepped.shared.sleep.found(|| false);
        assert_eq!((private(stepped), stepped.queued()), (1, (3, 0, vec![0])));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [4, 5, 6]);
    });
}

/// The timers wait meanwhile.
#[test]
fn r4_a_look_moves_a_thousand_private_processes() {
    with_private_queues(2, |stepped| {
        stepped.nursery.flood(0..1_500, 1);
        stepped.shared.uncover(0);
        assert_eq!(stepped.queued(), (1_500 - 1_024, 1_024, vec![0]));
        stepped.shared.uncover(0);
        assert_eq!(stepped.queued(), (0, 1_500, vec![0]));
        stepped.run_until_idle();
        assert_eq!(stepped.taken().len(), 1_500);
    });
}

#[test]
fn r4_what_is_private_to_a_stuck_worker_is_moved_to_the_injector() {
    with_private_queues(2, |stepped| {
        stepped.nursery.flood(0..3, 1);
        assert_eq!(stepped.queued(), (3, 0, vec![0]));
        stepped.shared.uncover(0);
        assert_eq!(stepped.queued(), (0, 3, vec![0]));
        // What is shared is stolen from there.
        stepped.shared.sleep.start_searching();
        stepped.nursery.flood(3..5, 1);
        stepped.shared.sleep.found(|| false);
        stepped.shared.uncover(0);
        stepped.shared.uncover(0);
        assert_eq!(stepped.queued(), (1, 4, vec![0]));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [4, 0, 1, 2, 3]);
    });
}

/// Where nobody else can run it, it stays.
#[test]
fn r4_what_is_private_stays_if_there_is_one_worker() {
    as_worker(options(1), |stepped| {
        stepped.nursery.flood(0..2, 1);
        stepped.shared.uncover(0);
        assert_eq!(stepped.queued(), (2, 0, vec![]));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0, 1]);
    });
}

#[test]
fn r4_what_is_next_behind_one_long_turn_is_found_beside_short_turns() {
    with_private_queues(3, |stepped| {
        stepped.nursery.flooded(0, Class::Normal, 1);
        stepped.outside(|from| from.flood(1..2, 1));
        let shared = &stepped.shared;
        let other = until_settled(|| shared.injector.steal()).unwrap();
        assert!(stepped.others[0].push_private(other, |_| false).is_ok());
        // The turns of worker 0 are short.
        let ready =
            search(stepped, 2, || shared.counters[0].count_turn()).expect("behind worker 1");
        assert_eq!(stepped.queued(), (1, 0, vec![0, 0]));
        run(stepped, ready);
        assert_eq!(stepped.taken(), [1]);
        stepped.run_until_idle();
    });
}

#[test]
fn r4_two_looks_at_the_same_turn_move_what_is_next_behind_it() {
    with_private_queues(2, |stepped| {
        stepped.nursery.flooded(0, Class::Normal, 1);
        let counters = &stepped.shared.counters[0];
        for (begins, left) in [(true, 1), (true, 1), (false, 0)] {
            if begins {
                counters.begin_turn(7);
            }
            stepped.shared.look();
            assert_eq!(stepped.queued(), (left, 1 - left, vec![0]));
        }
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0]);
    });
}

#[test]
fn r1_what_is_private_and_what_is_shared_are_one_queue() {
    as_worker(options(1), |stepped| {
        stepped.nursery.flood(0..3, 1);
        let stats = stepped.shared.stats();
        assert_eq!((stats.queued, stats.longest_queue), (3, 3));
        stepped.step();
        stepped.nursery.flood(3..5, 1);
        assert_eq!(stepped.queued(), (4, 0, vec![]));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0, 1, 2, 3, 4]);
    });
}

/// They were put in by a sibling that the system had put aside since before the search.
#[test]
fn r1_a_worker_does_not_park_beside_several_private_processes() {
    with_private_queues(2, |stepped| {
        stepped.outside(|from| from.flood(0..2, 1));
        let injected = || until_settled(|| stepped.shared.injector.steal());
        let processes = Cell::new(vec![injected().unwrap(), injected().unwrap()]);
        let rounds = Cell::new(0);
        let found = search(stepped, 1, || {
            rounds.set(rounds.get() + 1);
            if rounds.get() == 16 {
                let own =
                    |ready| LOCAL.with(|local| local.get().unwrap().queue.push_unwanted(ready));
                processes.take().into_iter().for_each(own);
            }
        });
        assert!(found.is_none());
        assert_eq!((private(stepped), stepped.shared.stats().parks), (2, 0));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0, 1]);
    });
}

/// A thief was there when the worker looked, and has left without the process.
#[test]
fn r4_a_worker_whose_private_process_a_thief_has_left_does_not_park() {
    as_worker(options(2), |stepped| {
        stepped.nursery.flooded(0, Class::Normal, 1);
        assert!(search(stepped, 0, || ()).is_none());
        let stats = stepped.shared.stats();
        assert_eq!((stats.parks, stats.parked, stats.queued), (0, 0, 1));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0]);
    });
}
