//! The order in which a worker finds what it runs, with the real search of its thread: its own
//! queue, then the injector, then a sibling's queue (rule R1; seeds G-015).

use super::{LOCAL, Searcher, SteppedWorker, as_worker, options};
use crate::dispatcher::run_queue::until_settled;
use crate::dispatcher::worker_parker::WorkerParker;
use krarup_gen::Class;

/// Runs what the worker finds, in order. Each process handles one message.
struct Search {
    parker: WorkerParker,
    searcher: Searcher,
}

impl Search {
    fn new() -> Self {
        Search { parker: WorkerParker::new(), searcher: Searcher::new(0) }
    }

    /// One round of the worker's thread. Returns the number of the process that handled its
    /// message.
    fn step(&mut self, stepped: &mut SteppedWorker) -> usize {
        LOCAL.with(|local| {
            let (local, shared) = (local.get().unwrap(), &stepped.shared);
            let found = shared.take(local, &self.parker, &mut self.searcher, &mut stepped.takes);
            let counters = &shared.counters[0];
            let again = found.unwrap().run_at(&shared.setup.limits, counters.slot());
            assert!(again.is_none());
        });
        let handled = stepped.taken();
        assert_eq!(handled.len(), 1);
        handled[0]
    }
}

/// Moves the processes in the injector to the sibling's queue.
fn give_to_sibling(stepped: &SteppedWorker) {
    while let Some(ready) = until_settled(|| stepped.shared.injector.steal()) {
        stepped.others[0].push(ready);
    }
}

/// How often a worker that has found one of `processes` from outside wakes the other, which is
/// asleep.
fn wakes_for(processes: usize) -> u64 {
    let (tell, told) = std::sync::mpsc::channel();
    as_worker(options(2), move |stepped| {
        let shared = &stepped.shared;
        shared.sleep.start_searching();
        let body = || {
            // The other worker is on the stack.
            shared.sleep.start_searching();
            stepped.outside(|from| from.flood(0..processes, 1));
            LOCAL.with(|local| {
                let local = local.get().unwrap();
                let found = shared.take_injected(local).unwrap();
                shared.hand_on();
                local.queue.push(found);
            });
            true
        };
        shared.sleep.park(1, true, body, || {});
        tell.send(shared.sleep.wakes()).unwrap();
        stepped.run_until_idle();
    });
    told.recv().unwrap()
}

#[test]
fn a_process_from_outside_wakes_one_worker() {
    assert_eq!(wakes_for(1), 0);
}

#[test]
fn two_processes_from_outside_wake_two_workers() {
    assert_eq!(wakes_for(2), 1);
}

#[test]
fn r1_a_search_takes_local_work_then_injected_work_then_half_of_a_siblings() {
    as_worker(options(2), |stepped| {
        stepped.outside(|from| from.flood(41..49, 1));
        give_to_sibling(stepped);
        stepped.nursery.flooded(0, Class::Normal, 1);
        stepped.outside(|from| from.flood(1..41, 1));
        let mut search = Search::new();
        let found: Vec<_> = (0..41).map(|_| search.step(stepped)).collect();
        assert_eq!(found, (0..41).collect::<Vec<_>>());
        assert_eq!(stepped.worker().steal_attempts, 0);
        // Half of what the sibling has, then half of the rest.
        for (found, own, left) in [(41, 3, 4), (42, 2, 4), (43, 1, 4), (44, 0, 4), (45, 1, 2)] {
            assert_eq!(search.step(stepped), found);
            assert_eq!(stepped.queued(), (own, 0, vec![left]));
        }
        // A process that comes from outside meanwhile goes before the rest of the sibling's.
        stepped.outside(|from| from.flood(49..50, 1));
        let found: Vec<_> = (0..4).map(|_| search.step(stepped)).collect();
        assert_eq!(found, [46, 49, 47, 48]);
    });
}

#[test]
fn r1_a_theft_takes_at_most_32_processes() {
    as_worker(options(2), |stepped| {
        stepped.outside(|from| from.flood(0..1_000, 1));
        give_to_sibling(stepped);
        let mut search = Search::new();
        assert_eq!(search.step(stepped), 0);
        assert_eq!(stepped.queued(), (31, 0, vec![1_000 - 32]));
        let found: Vec<_> = (1..60).map(|_| search.step(stepped)).collect();
        assert_eq!(found, (1..60).collect::<Vec<_>>());
        let worker = stepped.worker();
        assert_eq!((worker.steals, worker.stolen), (2, 64));
    });
}

#[test]
fn r1_every_61st_take_looks_at_the_injector_before_the_local_queue() {
    as_worker(options(2), |stepped| {
        stepped.nursery.flood(0..300, 1);
        let mut search = Search::new();
        let mut own = 0..300;
        for _ in 0..3 {
            stepped.outside(|from| from.flood(1_000..1_001, 1));
            for _ in 0..60 {
                assert_eq!(Some(search.step(stepped)), own.next());
            }
            assert_eq!(search.step(stepped), 1_000);
        }
        assert_eq!(stepped.worker().injector_takes, 3);
    });
}
