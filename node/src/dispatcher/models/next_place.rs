//! The place for the process that a worker runs next: each item is taken once, by its owner or by a thief, and none is left
//! behind when the owner has found nothing.
//!
//! loom runs it with ordinary fences in the place of the barrier of which one side pays all; they give the same order. The
//! barrier itself is the system's, and is put under stress.

use crate::dispatcher::next_place::{NextPlace, NextTheft};
use crate::dispatcher::process_barrier;
use crate::models::checker::{bounded, joined, thread};

fn open_place() -> NextPlace<usize> {
    process_barrier::prepare();
    if !process_barrier::is_available() {
        eprintln!("the system has no membarrier: the place is closed, and this shows little");
    }
    NextPlace::new()
}

/// The owner puts items in and takes them out, as a worker does, while thieves come. Returns what the owner had in the end, and what
/// it left to the thieves.
fn work(place: &NextPlace<usize>, items: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut own, mut left) = (Vec::new(), Vec::new());
    for item in 0..items {
        match place.put(item) {
            // A thief is there: into the queue.
            Err(item) => own.push(item),
            Ok(()) => match place.take() {
                Some(taken) => own.push(taken),
                // The owner does not look again: it may sleep.
                None => left.push(item),
            },
        }
    }
    (own, left)
}

fn owner_and_thieves(items: usize, thieves: usize) {
    let place = open_place();
    let thieves: Vec<_> = (0..thieves)
        .map(|_| {
            let theft: NextTheft<usize> = place.theft();
            thread::spawn(move || theft.steal())
        })
        .collect();
    let (own, left) = work(&place, items);
    let mut stolen: Vec<_> = thieves.into_iter().filter_map(joined).collect();
    stolen.sort_unstable();
    assert_eq!(stolen, left, "what is stolen is what the owner has left");
    assert_eq!(own.len() + left.len(), items);
    assert!(!place.is_full() && place.take().is_none(), "an item was left behind");
}

#[test]
fn r4_each_process_that_is_next_is_taken_once_by_its_worker_or_by_a_thief() {
    bounded(3, || owner_and_thieves(2, 1));
}

#[test]
fn r4_of_two_thieves_one_takes_the_next_process() {
    bounded(2, || owner_and_thieves(2, 2));
}

/// Under stress, with the system's barrier.
#[cfg(not(loom))]
#[test]
fn r4_each_process_that_is_next_is_taken_once_under_stress() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    const ITEMS: usize = if cfg!(miri) { 60 } else { 200_000 };
    let place = open_place();
    let over = Arc::new(AtomicBool::new(false));
    let thieves: Vec<_> = (0..2)
        .map(|_| {
            let (theft, over) = (place.theft(), Arc::clone(&over));
            thread::spawn(move || {
                let mut stolen = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    match theft.steal() {
                        Some(item) => stolen.push(item),
                        None => thread::yield_now(),
                    }
                }
                stolen
            })
        })
        .collect();
    let (mut own, left) = work(&place, ITEMS);
    over.store(true, Ordering::Relaxed);
    let mut stolen: Vec<_> = thieves.into_iter().flat_map(joined).collect();
    stolen.sort_unstable();
    assert_eq!(stolen, left, "what is stolen is what the owner has left");
    own.extend(stolen);
    own.sort_unstable();
    assert!(own.into_iter().eq(0..ITEMS));
    assert!(place.take().is_none());
}
