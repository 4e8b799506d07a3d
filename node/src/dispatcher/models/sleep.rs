//! A push against workers that park (rule R2, seeds M10): a worker finds the item.

use super::protocol::{DozesFirst, ModelDispatcher, one_push, two_pushes, workers};
use crate::dispatcher::sleep::IdleWorkers;
use crate::models::checker::bounded;

#[test]
fn a_push_finds_the_worker_that_parks() {
    bounded(3, || one_push(1, IdleWorkers::new));
}

#[test]
fn a_push_finds_one_of_two_that_park() {
    bounded(2, || one_push(2, IdleWorkers::new));
}

#[test]
fn a_push_finds_the_worker_that_dozes() {
    bounded(3, || one_push(1, DozesFirst::new));
}

#[test]
fn a_push_finds_one_of_two_workers_if_the_first_dozes() {
    bounded(2, || one_push(2, DozesFirst::new));
}

#[test]
fn two_pushes_wake_two_though_one_dozes() {
    bounded(2, || two_pushes(DozesFirst::new));
}

#[test]
fn the_last_searcher_that_finds_work_hands_on() {
    bounded(2, || two_pushes(IdleWorkers::new));
}

#[test]
fn a_stop_ends_all_workers() {
    bounded(2, || workers(2, IdleWorkers::new, |_, _| {}, ModelDispatcher::stop));
}

#[cfg(loom)]
mod broken {
    use super::super::varied::{Varied, VariedFault};
    use super::*;
    use crate::sync::Ordering;

    /// Without a fault the copy behaves like the original: each test below fails because of its
    /// fault.
    #[test]
    fn the_copy_without_a_fault_holds() {
        bounded(2, || one_push(2, Varied::with(VariedFault::None)));
        bounded(2, || two_pushes(Varied::with(VariedFault::None)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_push_without_its_fence_is_lost() {
        bounded(3, || one_push(1, Varied::with(VariedFault::WakesWithoutFence)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_park_without_its_fence_loses_a_push() {
        bounded(3, || one_push(1, Varied::with(VariedFault::ParksWithoutFence)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn checking_before_registering_loses_a_push() {
        bounded(3, || one_push(1, Varied::with(VariedFault::LooksFirst)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn omitting_the_second_check_loses_a_push() {
        bounded(3, || one_push(1, Varied::with(VariedFault::DoesNotLook)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn work_that_is_not_handed_on_waits_behind_a_long_turn() {
        bounded(2, || two_pushes(Varied::with(VariedFault::HandsNothingOn)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_searcher_that_looks_before_it_leaves_hands_nothing_on() {
        bounded(2, || two_pushes(Varied::with(VariedFault::LeavesAfterItsLook)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_searcher_that_looks_without_a_fence_hands_nothing_on() {
        bounded(2, || two_pushes(Varied::with(VariedFault::HandsOnWithoutFence)));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_stop_that_wakes_before_it_sets_its_flag_leaves_workers_asleep() {
        let stop = |dispatcher: &ModelDispatcher<IdleWorkers>| {
            dispatcher.sleep.wake_all();
            dispatcher.stopped.store(true, Ordering::SeqCst);
        };
        bounded(2, move || workers(2, IdleWorkers::new, |_, _| {}, stop));
    }
}
