//! The part of [`IdleWorkers`] that workers and pushing threads use, and a dispatcher made of it
//! and a queue, reduced to how it puts workers to sleep and wakes them.

use crate::dispatcher::sleep::IdleWorkers;
use crate::dispatcher::worker_parker::WorkerParker;
use crate::models::checker::{Condvar, Mutex as Lock, joined, thread};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The part of [`IdleWorkers`] that a worker and a pushing thread use.
pub(super) trait SleepProtocol: Send + Sync + 'static {
    fn wake_one(&self);
    fn wake_all(&self);
    fn start_searching(&self);
    fn found(&self, any_work: impl FnOnce() -> bool);
    /// A searching worker ends, as in `SharedDispatcher::stand_in_for_busy`.
    fn leave(&self, any_work: impl FnOnce() -> bool);
    fn park(&self, worker: usize, parker: &WorkerParker, any_work: impl FnOnce() -> bool) -> bool;
}

impl SleepProtocol for IdleWorkers {
    fn wake_one(&self) {
        self.wake_one();
    }

    fn wake_all(&self) {
        self.wake_all();
    }

    fn start_searching(&self) {
        self.start_searching();
    }

    fn found(&self, any_work: impl FnOnce() -> bool) {
        self.found(any_work);
    }

    fn leave(&self, any_work: impl FnOnce() -> bool) {
        self.found(any_work);
    }

    fn park(&self, worker: usize, parker: &WorkerParker, any_work: impl FnOnce() -> bool) -> bool {
        self.park(worker, false, any_work, || parker.park())
    }
}

/// [`IdleWorkers`] in which the first park is a doze. The doze may end at any moment, also when
/// another thread has just taken the worker off the stack.
pub(super) struct DozesFirst {
    sleep: IdleWorkers,
    dozed: AtomicBool,
}

impl DozesFirst {
    pub(super) fn new(parkers: &[WorkerParker]) -> Self {
        DozesFirst { sleep: IdleWorkers::new(parkers), dozed: AtomicBool::new(false) }
    }
}

impl SleepProtocol for DozesFirst {
    fn wake_one(&self) {
        self.sleep.wake_one();
    }

    fn wake_all(&self) {
        self.sleep.wake_all();
    }

    fn start_searching(&self) {
        self.sleep.start_searching();
    }

    fn found(&self, any_work: impl FnOnce() -> bool) {
        self.sleep.found(any_work);
    }

    fn leave(&self, any_work: impl FnOnce() -> bool) {
        self.sleep.found(any_work);
    }

    fn park(&self, worker: usize, parker: &WorkerParker, any_work: impl FnOnce() -> bool) -> bool {
        let dozes = !self.dozed.swap(true, Ordering::Relaxed);
        let sleeps = || if dozes { parker.park_timeout(Duration::ZERO) } else { parker.park() };
        self.sleep.park(worker, dozes, any_work, sleeps)
    }
}

/// A queue with the contract of the real ones: each item is taken once and in order, and a
/// thread can check without a lock whether the queue is empty, so the check itself orders
/// nothing.
#[derive(Default)]
pub(super) struct ProtocolQueue {
    items: Mutex<VecDeque<usize>>,
    length: AtomicUsize,
}

impl ProtocolQueue {
    pub(super) fn push(&self, item: usize) {
        let mut items = self.items.lock();
        items.push_back(item);
        self.length.store(items.len(), Ordering::Release);
    }

    pub(super) fn pop(&self) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let mut items = self.items.lock();
        let item = items.pop_front();
        self.length.store(items.len(), Ordering::Release);
        item
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length.load(Ordering::Acquire) == 0
    }
}

/// `SharedDispatcher`, reduced to how it puts workers to sleep and wakes them.
pub(super) struct ModelDispatcher<P> {
    pub(super) sleep: P,
    pub(super) queue: ProtocolQueue,
    pub(super) stopped: AtomicBool,
}

impl<P: SleepProtocol> ModelDispatcher<P> {
    /// As in `SharedDispatcher::inject`.
    pub(super) fn inject(&self, item: usize) {
        self.queue.push(item);
        self.sleep.wake_one();
    }

    /// As in `SharedDispatcher::signal_stop`.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.sleep.wake_all();
    }

    /// As in `SharedDispatcher::work`, without the rounds of searching before it parks.
    pub(super) fn work(&self, worker: usize, parker: &WorkerParker, run: impl Fn(usize)) {
        let mut searching = false;
        while !self.stopped.load(Ordering::Relaxed) {
            if !searching {
                searching = true;
                self.sleep.start_searching();
            }
            let Some(item) = self.queue.pop() else {
                let any_work = || self.stopped.load(Ordering::SeqCst) || !self.queue.is_empty();
                self.sleep.park(worker, parker, any_work);
                // A hint for loom: the values may be old, so do not read them again for ever.
                thread::yield_now();
                continue;
            };
            searching = false;
            self.sleep.found(|| !self.queue.is_empty());
            run(item);
        }
    }
}

/// Starts a dispatcher whose workers call `run` with each item, runs `outside` beside them, and
/// waits for the workers to end.
pub(super) fn workers<P: SleepProtocol>(
    count: usize,
    protocol: impl FnOnce(&[WorkerParker]) -> P,
    run: impl Fn(&ModelDispatcher<P>, usize) + Send + Sync + 'static,
    outside: impl FnOnce(&ModelDispatcher<P>),
) {
    let parkers: Vec<_> = (0..count).map(|_| WorkerParker::new()).collect();
    let dispatcher = Arc::new(ModelDispatcher {
        sleep: protocol(&parkers),
        queue: ProtocolQueue::default(),
        stopped: AtomicBool::new(false),
    });
    let run = Arc::new(run);
    let threads: Vec<_> = parkers
        .into_iter()
        .enumerate()
        .map(|(worker, parker)| {
            let dispatcher = Arc::clone(&dispatcher);
            let run = Arc::clone(&run);
            thread::spawn(move || {
                dispatcher.work(worker, &parker, |item| run(&dispatcher, item));
            })
        })
        .collect();
    outside(&dispatcher);
    threads.into_iter().for_each(joined);
}

/// One push, and workers that are about to park or have parked: a worker finds the item and then
/// stops the others.
pub(super) fn one_push<P: SleepProtocol>(
    count: usize,
    protocol: impl FnOnce(&[WorkerParker]) -> P,
) {
    workers(count, protocol, |dispatcher, _| dispatcher.stop(), |dispatcher| dispatcher.inject(7));
}

/// Two pushes and two workers: neither turn ends before the other has begun, so both workers
/// must be awake.
pub(super) fn two_pushes<P: SleepProtocol>(protocol: impl FnOnce(&[WorkerParker]) -> P) {
    let begun = Arc::new((Lock::new(0), Condvar::default()));
    let run = move |dispatcher: &ModelDispatcher<P>, _| {
        let (count, changed) = &*begun;
        let mut count = count.lock();
        *count += 1;
        changed.notify_all();
        while *count < 2 {
            count = changed.wait(count);
        }
        drop(count);
        dispatcher.stop();
    };
    workers(2, protocol, run, |dispatcher| {
        dispatcher.inject(1);
        dispatcher.inject(2);
    });
}
