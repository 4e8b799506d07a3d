//! Where a worker takes its next process from.

use super::super::LOCAL_CAPACITY;
use super::{LOCAL, Searcher, as_worker, options};
use crate::dispatcher::run_queue::until_settled;
use crate::dispatcher::worker_parker::WorkerParker;
use krarup_gen::Class;
use rand::SeedableRng;
use rand::rngs::SmallRng;

#[test]
fn r1_a_worker_takes_local_work_then_a_batch_of_injected_work_then_half_of_a_siblings() {
    as_worker(options(2), |stepped| {
        stepped.nursery.flooded(0, Class::Normal, 1);
        stepped.outside(|from| from.flood(1..41, 1));
        assert_eq!(stepped.queued(), (1, 40, vec![0]));
        stepped.step();
        assert_eq!((stepped.taken(), stepped.queued()), (vec![0], (0, 40, vec![0])));
        // One to run and sixteen for the local queue.
        stepped.step();
        assert_eq!((stepped.taken(), stepped.queued()), (vec![1], (16, 23, vec![0])));
        assert_eq!(stepped.worker().injector_takes, 1);
        // All others go to a sibling, except eight, which this worker keeps.
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), (2..41).collect::<Vec<_>>());
        stepped.outside(|from| from.flood(0..8, 1));
        while let Some(ready) = until_settled(|| stepped.shared.injector.steal()) {
            stepped.others[0].push(ready);
        }
        let stolen = LOCAL.with(|local| {
            let queue = &local.get().unwrap().queue;
            let mut rng = SmallRng::seed_from_u64(1);
            stepped.shared.steal(0, &mut rng, Some(queue))
        });
        let (first, number, _) = stolen.unwrap();
        assert_eq!((number, stepped.queued()), (4, (3, 0, vec![4])));
        drop(first.run(&stepped.shared.setup.limits));
        stepped.run_until_idle();
        // The oldest four, in order.
        assert_eq!(stepped.taken(), [0, 1, 2, 3]);
        let worker = stepped.worker();
        assert_eq!((worker.steal_attempts, worker.steals, worker.stolen), (1, 1, 4));
    });
}

#[test]
fn r1_a_worker_that_has_nothing_looks_everywhere_before_it_would_park() {
    as_worker(options(3), |stepped| {
        let mut searcher = Searcher::new(7);
        assert!(stepped.step().is_none());
        LOCAL.with(|local| {
            let local = local.get().unwrap();
            let parker = WorkerParker::new();
            // Without this token the worker would sleep for ever.
            parker.unparker().unpark();
            let take = || stepped.shared.take_injected(local);
            assert!(
                stepped
                    .shared
                    .search(0, &parker, &mut searcher, take, Some(&local.queue))
                    .is_none()
            );
        });
        let stats = stepped.shared.stats();
        // Sixteen rounds over two siblings, then one park.
        assert_eq!((stats.steal_attempts, stats.steals, stats.parks), (32, 0, 1));
        assert_eq!((stats.searching, stats.parked), (1, 0));
    });
}

#[test]
fn x4_a_worker_that_sees_work_at_the_last_look_has_not_parked() {
    as_worker(options(1), |stepped| {
        stepped.outside(|from| from.flood(0..1, 1));
        let mut searcher = Searcher::new(7);
        LOCAL.with(|local| {
            let local = local.get().unwrap();
            let parker = WorkerParker::new();
            parker.unparker().unpark();
            // The process arrived after the worker had looked everywhere.
            let found =
                stepped.shared.search(0, &parker, &mut searcher, || None, Some(&local.queue));
            assert!(found.is_none());
        });
        let stats = stepped.shared.stats();
        assert_eq!((stats.parks, stats.parked, stats.searching, stats.queued), (0, 0, 1, 1));
        stepped.run_until_idle();
        assert_eq!(stepped.taken(), [0]);
    });
}

#[test]
fn r1_a_process_spills_to_the_injector_when_the_local_queue_is_full() {
    as_worker(options(1), |stepped| {
        const ALL: usize = LOCAL_CAPACITY + 44;
        stepped.nursery.flood(0..ALL, 1);
        assert_eq!(stepped.queued(), (LOCAL_CAPACITY, 44, vec![]));
        let stats = stepped.shared.stats();
        assert_eq!((stats.spills, stats.injected, stats.queued), (44, 44, ALL));
        assert_eq!((stats.longest_queue, stats.turns), (LOCAL_CAPACITY, 0));
        assert_eq!(stats.scheduled, ALL as u64);
        stepped.run_until_idle();
        let stats = stepped.shared.stats();
        assert_eq!((stats.turns, stats.queued), (stats.scheduled, 0));
        assert!(stats.turns >= ALL as u64);
        let mut ran = stepped.taken();
        ran.sort_unstable();
        assert_eq!(ran, (0..ALL).collect::<Vec<_>>());
    });
}
