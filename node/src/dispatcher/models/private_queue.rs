//! A worker's private queue: each item is taken once, by its owner or by a thief, in order, and none is left
//! behind when the owner has found nothing.
//!
//! loom runs it with ordinary fences in the place of the barrier of which one side pays all; they give the same order. The
//! barrier itself is the system's, and is put under stress.

use crate::dispatcher::private_queue::{PrivateQueue, PrivateTheft};
use crate::dispatcher::process_barrier;
use crate::models::checker::{bounded, joined, thread};

fn open_queue() -> PrivateQueue<usize> {
    process_barrier::prepare();
    if !process_barrier::is_available() {
        eprintln!("the system has no membarrier: the queue is closed, and this shows little");
    }
    PrivateQueue::new()
}

/// The owner puts items in, so many at a time, and takes them out, as a worker does, while thieves come. Returns what it had in
/// the end. What it does not find a thief takes, or has taken, of those that are there.
fn work(queue: &PrivateQueue<usize>, items: usize, at_a_time: usize) -> Vec<usize> {
    let mut own = Vec::new();
    for first in (0..items).step_by(at_a_time) {
        queue.maintain();
        let mut before = own.len();
        for item in first..(first + at_a_time).min(items) {
            if let Err(refused) = queue.put(item) {
                // A thief is there: into the shared queue.
                own.push(refused);
                before += 1;
            }
        }
        // The owner does not look again: it may sleep.
        own.extend(std::iter::from_fn(|| queue.take()));
        assert!(own[before..].is_sorted());
    }
    own
}

fn owner_and_thieves(items: usize, at_a_time: usize, thieves: usize, share: fn(usize) -> usize) {
    let queue = open_queue();
    let thieves: Vec<_> = (0..thieves)
        .map(|_| {
            let theft: PrivateTheft<usize> = queue.theft();
            thread::spawn(move || theft.steal(share))
        })
        .collect();
    let mut all = work(&queue, items, at_a_time);
    for thief in thieves {
        let stolen = joined(thief);
        assert!(stolen.is_sorted());
        all.extend(stolen);
    }
    // What a thief has left when the owner had looked: the worker sees it before it sleeps.
    let left: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
    assert!(at_a_time > 1 || left.is_empty(), "an item was left behind");
    all.extend(left);
    all.sort_unstable();
    assert!(all.into_iter().eq(0..items), "each once");
    assert_eq!(queue.len(), 0);
}

#[test]
fn r4_each_private_process_is_taken_once_by_its_worker_or_by_a_thief() {
    bounded(3, || owner_and_thieves(2, 1, 1, |len| len));
}

#[test]
fn r4_of_two_thieves_one_takes_a_private_process() {
    bounded(2, || owner_and_thieves(2, 1, 2, |len| len));
}

/// The third item makes the queue grow.
#[test]
fn r4_half_of_a_growing_private_queue_is_taken_once() {
    bounded(3, || owner_and_thieves(3, 3, 1, |len| len.div_ceil(2)));
}

/// Under stress, with the system's barrier.
#[cfg(not(loom))]
#[test]
fn r4_each_private_process_is_taken_once_under_stress() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    const ITEMS: usize = if cfg!(miri) { 60 } else { 200_000 };
    for at_a_time in [1, 7] {
        let queue = open_queue();
        let over = Arc::new(AtomicBool::new(false));
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let (theft, over) = (queue.theft(), Arc::clone(&over));
                thread::spawn(move || {
                    let mut stolen = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        let more = theft.steal(|len| len.div_ceil(2));
                        if more.is_empty() {
                            thread::yield_now();
                        }
                        stolen.extend(more);
                    }
                    stolen
                })
            })
            .collect();
        let mut all = work(&queue, ITEMS, at_a_time);
        over.store(true, Ordering::Relaxed);
        thieves.into_iter().for_each(|thief| all.extend(joined(thief)));
        all.extend(std::iter::from_fn(|| queue.take()));
        all.sort_unstable();
        assert!(all.into_iter().eq(0..ITEMS));
    }
}
