//! Tests of the threads for blocking work.

use super::*;
use crate::panicking_work;
use std::sync::{Barrier, mpsc};

fn blocking(limit: usize, keep_alive: Duration) -> Arc<Blocking> {
    let around: Around = Arc::new(|work: &mut dyn FnMut()| work());
    Arc::new(Blocking::new("test", "block", limit, keep_alive, around))
}

fn stop(blocking: &Blocking, grace: Duration) {
    blocking.wait(blocking.close(), grace);
}

#[test]
fn work_that_waits_for_other_work_makes_progress_while_idle_threads_end() {
    let blocking = blocking(2, Duration::ZERO);
    for _ in 0..2_000 {
        let meet = Arc::new(Barrier::new(3));
        for _ in 0..2 {
            let meet = Arc::clone(&meet);
            let work = move || {
                meet.wait();
            };
            blocking.submit(Box::new(work)).unwrap();
        }
        meet.wait();
    }
    stop(&blocking, Duration::MAX);
    assert_eq!(blocking.load(), (0, 0));
}

#[test]
fn an_idle_thread_stays_if_accepted_work_needs_it() {
    let busy = |accepted, threads| {
        let blocking = blocking(3, KEEP_ALIVE);
        let mut state = blocking.state.lock();
        (state.accepted, state.threads) = (accepted, threads);
        (state.wants_thread(3), state.can_spare_thread())
    };
    assert_eq!([busy(0, 0), busy(0, 1), busy(1, 2)], [(true, false), (false, true), (false, true)]);
    assert_eq!(
        [busy(1, 1), busy(2, 2), busy(9, 3)],
        [(true, false), (true, false), (false, false)]
    );
}

#[test]
fn r3_idle_threads_end_and_are_used_before_new_ones_are_started() {
    let patient = blocking(8, Duration::MAX);
    let (done, finished) = mpsc::channel();
    for _ in 0..20 {
        let done = done.clone();
        patient.submit(Box::new(move || done.send(()).unwrap())).unwrap();
        finished.recv().unwrap();
        // The thread counts the work as done only after the work has sent.
        while patient.load().1 > 0 {
            std::thread::yield_now();
        }
    }
    assert_eq!(patient.load(), (1, 0));
    let hasty = blocking(8, Duration::ZERO);
    hasty.submit(Box::new(|| {})).unwrap();
    while hasty.load() != (0, 0) {
        std::thread::yield_now();
    }
    stop(&patient, Duration::MAX);
    stop(&hasty, Duration::MAX);
}

#[test]
fn x2_work_that_does_not_return_is_abandoned_and_waiting_work_is_dropped() {
    let blocking = blocking(1, KEEP_ALIVE);
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    blocking
        .submit(Box::new(move || {
            begun.send(()).unwrap();
            let _ = released.recv();
        }))
        .unwrap();
    begins.recv().unwrap();
    let (never, dropped) = mpsc::channel::<()>();
    blocking.submit(Box::new(move || never.send(()).unwrap())).unwrap();
    stop(&blocking, Duration::ZERO);
    assert!(dropped.recv().is_err());
    assert_eq!(blocking.load(), (1, 1));
    assert_eq!(blocking.submit(Box::new(|| {})), Err(BlockError::NodeStopped));
    drop(release);
}

/// Submits work that holds a thread until it is released, and waits until it has begun.
fn held(blocking: &Arc<Blocking>) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let work = move || {
        begun.send(()).unwrap();
        let _ = released.recv();
    };
    blocking.submit(Box::new(work)).unwrap();
    begins.recv().unwrap();
    release
}

#[test]
fn x2_work_that_a_thread_takes_when_the_node_has_stopped_is_dropped_and_not_run() {
    let blocking = blocking(1, KEEP_ALIVE);
    let release = held(&blocking);
    let (tell, told) = mpsc::channel();
    for _ in 0..2 {
        blocking.submit(panicking_work::work(&tell)).unwrap();
    }
    drop(tell);
    assert_eq!(blocking.load(), (1, 3));
    // The stop has begun, and the thread is faster than it: the thread takes the waiting
    // work.
    let open = blocking.state.lock().open.take();
    drop(release);
    assert_eq!(told.iter().collect::<Vec<_>>(), ["dropped"; 2]);
    while blocking.load().1 > 0 {
        std::thread::yield_now();
    }
    drop(open);
    stop(&blocking, Duration::MAX);
    assert_eq!(blocking.load(), (0, 0));
}

#[test]
fn x2_all_waiting_work_is_dropped_at_a_stop_though_each_destructor_panics() {
    let blocking = blocking(1, KEEP_ALIVE);
    let release = held(&blocking);
    let (tell, told) = mpsc::channel();
    for _ in 0..3 {
        blocking.submit(panicking_work::work(&tell)).unwrap();
    }
    drop(tell);
    let handles = blocking.close();
    assert_eq!(blocking.load(), (1, 1));
    assert_eq!(told.iter().collect::<Vec<_>>(), ["dropped"; 3]);
    drop(release);
    blocking.wait(handles, Duration::MAX);
    assert_eq!(blocking.load(), (0, 0));
}

#[test]
fn r3_there_are_as_many_threads_as_work_and_no_more_than_the_limit() {
    let blocking = blocking(2, KEEP_ALIVE);
    let releases = [held(&blocking), held(&blocking)];
    let (named, names) = mpsc::channel();
    for _ in 0..5 {
        let named = named.clone();
        let work = move || {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            named.send(name).unwrap();
        };
        blocking.submit(Box::new(work)).unwrap();
    }
    assert_eq!(blocking.load(), (2, 7));
    assert!(names.try_recv().is_err());
    drop(releases);
    let names: Vec<String> = names.iter().take(5).collect();
    assert!(names.iter().all(|name| ["test-block-0", "test-block-1"].contains(&&**name)));
    // Work that panics counts as done, and its thread continues.
    blocking.submit(Box::new(|| panic!("work"))).unwrap();
    while blocking.load().1 > 0 {
        std::thread::yield_now();
    }
    assert_eq!(blocking.load(), (2, 0));
    stop(&blocking, Duration::MAX);
}

#[test]
fn r3_a_new_side_thread_does_not_reuse_the_number_of_an_ended_one() {
    let blocking = blocking(1, Duration::ZERO);
    let names: Vec<String> = (0..3)
        .map(|_| {
            let (named, name) = mpsc::channel();
            let work = move || named.send(std::thread::current().name().map(str::to_owned));
            blocking.submit(Box::new(move || work().unwrap())).unwrap();
            let name = name.recv().unwrap().unwrap();
            while blocking.load() != (0, 0) {
                std::thread::yield_now();
            }
            name
        })
        .collect();
    assert_eq!(names, ["test-block-0", "test-block-1", "test-block-2"]);
    stop(&blocking, Duration::MAX);
}

#[test]
fn r3_a_log_that_panics_ends_no_side_thread() {
    // Its threads run within this closure.
    let around: Around = Arc::new(|work: &mut dyn FnMut()| {
        assert_eq!(crate::panicking_log::told(work), 2);
    });
    let blocking = Arc::new(Blocking::new("test", "block", 1, KEEP_ALIVE, around));
    let (done, is_done) = mpsc::channel();
    for _ in 0..2 {
        blocking.submit(Box::new(|| panic!("work"))).unwrap();
    }
    blocking.submit(Box::new(move || done.send(()).unwrap())).unwrap();
    assert_eq!(is_done.recv(), Ok(()));
    let handles = blocking.close();
    blocking.ended.recv().unwrap_err();
    assert!(handles.into_iter().all(|thread| thread.join().is_ok()));
    assert_eq!(blocking.load(), (0, 0));
}
