//! Models of the priority queue (rules R2, R6): a thread that pushes a high process, and a
//! worker that parks. A lost wake-up shows as a deadlock.

use crate::dispatcher::priority_queue::PriorityQueue;
use crate::dispatcher::sleep::IdleWorkers;
use crate::dispatcher::worker_parker::WorkerParker;
use crate::models::checker::{bounded, thread};
use std::sync::Arc;

/// A worker takes `count` processes and parks when there is none, as `SharedDispatcher::search`
/// does. `looks_again` says whether it reads the word before it parks.
fn a_push_against_a_park(count: usize, looks_again: bool) {
    bounded(3, move || {
        let parker = WorkerParker::new();
        let sleep = Arc::new(IdleWorkers::new(std::slice::from_ref(&parker)));
        let priority_queue = Arc::new(PriorityQueue::new());
        let worker = {
            let (sleep, priority_queue) = (Arc::clone(&sleep), Arc::clone(&priority_queue));
            thread::spawn(move || {
                let mut taken = Vec::new();
                let mut searching = false;
                while taken.len() < count {
                    if priority_queue.calls()
                        && let Some(number) = priority_queue.pop()
                    {
                        if std::mem::take(&mut searching) {
                            sleep.found(|| !priority_queue.is_quiet());
                        }
                        taken.push(number);
                        continue;
                    }
                    if !std::mem::replace(&mut searching, true) {
                        sleep.start_searching();
                    }
                    sleep.park(
                        0,
                        false,
                        || looks_again && !priority_queue.is_quiet(),
                        || parker.park(),
                    );
                }
                taken
            })
        };
        for number in 0..count {
            priority_queue.push(number);
            sleep.wake_one();
        }
        assert_eq!(worker.join().unwrap(), (0..count).collect::<Vec<_>>());
        assert!(priority_queue.is_quiet());
    });
}

#[test]
fn a_high_push_finds_the_worker_that_parks() {
    a_push_against_a_park(1, true);
}

#[test]
fn two_high_pushes_are_both_taken() {
    a_push_against_a_park(2, true);
}

#[cfg(loom)]
#[test]
#[should_panic(expected = "deadlock")]
fn omitting_the_word_check_before_parking_loses_a_high_push() {
    a_push_against_a_park(1, false);
}
