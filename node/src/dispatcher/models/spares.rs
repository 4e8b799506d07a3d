//! Spare workers that start and leave (rule R4): a leaving spare takes no work with it.

use super::protocol::{SleepProtocol, workers};
use crate::dispatcher::sleep::IdleWorkers;
use crate::dispatcher::spare_protocol::{SpareSlot, SpareWorkers};
use crate::dispatcher::worker_parker::WorkerParker;
use crate::models::checker::{bounded, joined, thread};
use std::sync::Arc;

/// A push while a spare worker searches, finds nothing and leaves, and a worker parks. One of
/// the two finds the item.
fn a_spare_leaves<P: SleepProtocol>(protocol: impl FnOnce(&[WorkerParker]) -> P) {
    workers(
        1,
        protocol,
        |dispatcher, _| dispatcher.stop(),
        |dispatcher| {
            dispatcher.sleep.start_searching();
            // Stands for a push by another thread, which sees a searcher and wakes no worker.
            let found = dispatcher.queue.pop().is_some();
            dispatcher.inject(7);
            dispatcher.sleep.leave(|| !dispatcher.queue.is_empty());
            assert!(!found, "nothing was there");
        },
    );
}

#[test]
fn a_leaving_spare_wakes_a_successor() {
    bounded(3, || a_spare_leaves(IdleWorkers::new));
}

/// A spare parks, or is about to, while the watchdog finds it superfluous: the spare leaves.
fn a_spare_is_sent_away(send: fn(&SpareWorkers, &IdleWorkers)) {
    let spare = WorkerParker::new();
    let sleep = IdleWorkers::new(std::slice::from_ref(&spare));
    let spares = SpareWorkers::new(vec![SpareSlot { index: 0, parker: spare }]);
    spares.want(1);
    let slot = spares.enter().expect("a slot is free");
    let shared = Arc::new((sleep, spares));
    let thread = thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            let (sleep, spares) = &*shared;
            sleep.start_searching();
            while !spares.leaves() {
                sleep.park(slot.index, false, || spares.surplus(), || slot.parker.park());
                thread::yield_now();
            }
            sleep.found(|| false);
        }
    });
    send(&shared.1, &shared.0);
    joined(thread);
    assert_eq!((shared.1.live(), shared.0.parked()), (0, 0));
}

#[test]
fn a_spare_that_parks_is_sent_away() {
    bounded(3, || {
        a_spare_is_sent_away(|spares, sleep| {
            assert!(spares.want(0));
            sleep.wake(0);
        });
    });
}

/// Two spares of which one is too many: one leaves, not both.
#[test]
fn of_two_spares_one_leaves() {
    bounded(3, || {
        let slots = [0, 1].map(|index| SpareSlot { index, parker: WorkerParker::new() });
        let spares = Arc::new(SpareWorkers::new(slots.into()));
        spares.want(2);
        let slots = [spares.enter(), spares.enter()];
        assert!(slots.iter().all(Option::is_some) && spares.enter().is_none());
        assert!(spares.want(1));
        let other = thread::spawn({
            let spares = Arc::clone(&spares);
            move || usize::from(spares.leaves())
        });
        let left = usize::from(spares.leaves()) + joined(other);
        assert_eq!((left, spares.live(), spares.surplus()), (1, 1, false));
    });
}

#[cfg(loom)]
mod broken {
    use super::super::varied::{Varied, VariedFault};
    use super::*;

    #[test]
    fn the_copy_without_a_fault_holds() {
        bounded(3, || a_spare_leaves(Varied::with(VariedFault::None)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_spare_that_leaves_without_a_wake_loses_a_push() {
        bounded(3, || a_spare_leaves(Varied::with(VariedFault::LeavesInSilence)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_spare_woken_before_it_is_superfluous_stays_for_ever() {
        bounded(3, || {
            a_spare_is_sent_away(|spares, sleep| {
                sleep.wake(0);
                spares.want(0);
            });
        });
    }
}
