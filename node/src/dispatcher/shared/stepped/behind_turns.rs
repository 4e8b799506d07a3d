//! What a worker runs next, while its turn lasts: others take it if the turn is long (rule R4).

use super::{
    RunQueueStealer, Searcher, SharedDispatcher, SteppedWorker, as_worker, options, process_barrier,
};
use crate::dispatcher::searcher::with_number;
use crate::sync::Parker;
use krarup_act::Ready;
use krarup_gen::Class;

/// Runs a test as worker 0, if the system has the barrier that the place for the next process needs.
fn with_places(workers: usize, test: impl FnOnce(&mut SteppedWorker) + Send + 'static) {
    process_barrier::prepare();
    if process_barrier::is_available() {
        as_worker(options(workers), test);
    } else {
        eprintln!("the system has no membarrier: what needs it is not tested");
    }
}

/// A search of a worker that has run dry. `meanwhile` is called in each of its rounds.
fn search(stepped: &SteppedWorker, worker: usize, meanwhile: impl Fn()) -> Option<Ready> {
    let parker = Parker::new();
    // Without this token the worker would sleep for ever.
    parker.unparker().unpark();
    let own = stepped.others.last().unwrap();
    let steal = |stealer: &RunQueueStealer<Ready>| {
        with_number(stealer.rest.steal_batch_and_pop(&own.rest), || 1 + own.len())
    };
    let take = || {
        meanwhile();
        None
    };
    stepped.shared.search(worker, &parker, &mut Searcher::new(worker), take, steal)
}

#[test]
fn r4_a_worker_that_runs_dry_takes_what_is_next_behind_a_long_turn_alone() {
    with_places(2, |stepped| {
        stepped.nursery.flooded(0, Class::Normal, 1);
        let counters = &stepped.shared.counters[0];
        assert!(search(stepped, 1, || counters.count_turn()).is_none());
        assert_eq!(stepped.queued(), (1, 0, vec![0]), "its own worker runs it sooner");
        let ready = search(stepped, 1, || ()).expect("the turn of the sibling is long");
        assert_eq!(stepped.queued(), (0, 0, vec![0]));
        assert!(ready.run(&stepped.shared.setup.limits).is_none());
        assert_eq!(stepped.taken(), [0]);
        let thief = stepped.shared.stats().each[1];
        assert_eq!((thief.steal_attempts, thief.steals, thief.stolen), (33, 1, 1));
    });
}

#[test]
fn r4_what_is_next_behind_a_stuck_worker_is_moved_to_the_injector() {
    with_places(2, |stepped| {
        stepped.nursery.flood(0..2, 1);
        assert_eq!(stepped.queued(), (2, 0, vec![0]));
        stepped.shared.uncover(0);
        assert_eq!(stepped.queued(), (1, 1, vec![0]));
        // The rest is stolen from its queue.
        stepped.shared.uncover(0);
        assert_eq!(stepped.queued(), (1, 1, vec![0]));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [1, 0]);
    });
}

/// Where nobody else can run it, it stays the next.
#[test]
fn r4_what_is_next_stays_if_there_is_one_worker() {
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
    with_places(3, |stepped| {
        stepped.nursery.flooded(0, Class::Normal, 1);
        stepped.outside(|from| from.flood(1..2, 1));
        let shared = &stepped.shared;
        let other = SharedDispatcher::take_one(|| shared.injector.steal()).unwrap();
        assert!(stepped.others[0].push_alone(other).is_ok());
        // The turns of worker 0 are short.
        let ready =
            search(stepped, 2, || shared.counters[0].count_turn()).expect("behind worker 1");
        assert_eq!(stepped.queued(), (1, 0, vec![0, 0]));
        assert!(ready.run(&shared.setup.limits).is_none());
        assert_eq!(stepped.taken(), [1]);
        stepped.run_until_idle();
    });
}

#[test]
fn r4_two_looks_at_the_same_turn_move_what_is_next_behind_it() {
    with_places(2, |stepped| {
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
fn r1_what_is_next_and_the_queue_behind_it_are_one_queue() {
    as_worker(options(1), |stepped| {
        stepped.nursery.flood(0..3, 1);
        let stats = stepped.shared.stats();
        assert_eq!((stats.queued, stats.longest_queue), (3, 3));
        stepped.step();
        // The place is free again, but others wait.
        stepped.nursery.flood(3..5, 1);
        assert_eq!(stepped.queued(), (4, 0, vec![]));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0, 1, 2, 3, 4]);
    });
}

/// A thief was at the place when the worker looked, and has left without the process.
#[test]
fn r4_a_worker_whose_next_process_a_thief_has_left_does_not_park() {
    as_worker(options(2), |stepped| {
        stepped.nursery.flooded(0, Class::Normal, 1);
        assert!(search(stepped, 0, || ()).is_none());
        let stats = stepped.shared.stats();
        assert_eq!((stats.parks, stats.parked, stats.queued), (0, 0, 1));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0]);
    });
}
