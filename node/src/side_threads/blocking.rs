//! The side threads, which run blocking work ([`krarup_act::Context::block`]).
//!
//! ```text
//!   submit ──► channel ──► thread 0: work, work, .. idle for a while: ends
//!      │           └─────► thread 1
//!      └── more work accepted than threads, and fewer than the limit: one more thread
//! ```
//!
//! **No work waits for other work while a thread could be started.** `accepted` counts the work
//! that was accepted and is not done yet. It and the number of threads change under one lock.
//! `submit` ensures that there are as many threads as work, up to the limit. A thread that has
//! been idle ends only if as many are left. So each piece of work has one thread that does
//! nothing else, and pieces of work that wait for each other make progress.
//!
//! **The stop.** The channel is closed, and the work in it is dropped: processes that wait for
//! it are notified that the node has stopped. A thread holds a token as long as it runs; when
//! all tokens have been dropped, all threads have ended. Work that does not return in time is
//! abandoned with its thread and reported, like a handler that holds its worker.

use crate::threads::{self, Around, ThreadName};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use krarup_act::contain;
use krarup_gen::BlockError;
use parking_lot::Mutex;
use std::convert::Infallible;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread ends after it has been idle for this long.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(10);

pub(crate) type BlockingWork = Box<dyn FnOnce() + Send>;

pub(crate) struct Blocking {
    node: String,
    /// The part of its threads' names that follows the node.
    role: String,
    limit: usize,
    keep_alive: Duration,
    around: Around,
    /// `close` also takes from it, to drop work that has not begun.
    queue: Receiver<BlockingWork>,
    state: Mutex<BlockingState>,
    /// Disconnected when the last thread has ended.
    ended: Receiver<Infallible>,
}

struct BlockingState {
    /// `None`: the node has stopped.
    open: Option<OpenQueue>,
    /// Work that was accepted and is not done yet.
    accepted: usize,
    threads: usize,
    /// Threads started so far; the next thread's number.
    started: usize,
    handles: Vec<JoinHandle<()>>,
}

struct OpenQueue {
    queue: Sender<BlockingWork>,
    /// Each thread holds a clone.
    token: Sender<Infallible>,
}

impl BlockingState {
    /// Whether more work would have to wait for accepted work.
    fn wants_thread(&self, limit: usize) -> bool {
        self.accepted >= self.threads && self.threads < limit
    }

    /// Whether there are enough threads without an idle one. Work accepted meanwhile counts on
    /// that thread.
    fn can_spare_thread(&self) -> bool {
        self.accepted < self.threads
    }
}

impl Blocking {
    /// At most `limit` threads; starts none yet.
    pub(crate) fn new(
        node: &str,
        role: &str,
        limit: usize,
        keep_alive: Duration,
        around: Around,
    ) -> Self {
        let (sender, queue) = unbounded();
        let (token, ended) = bounded(0);
        let state = BlockingState {
            open: Some(OpenQueue { queue: sender, token }),
            accepted: 0,
            threads: 0,
            started: 0,
            handles: Vec::new(),
        };
        let (node, role, state) = (node.to_owned(), role.to_owned(), Mutex::new(state));
        Blocking { node, role, limit, keep_alive, around, queue, state, ended }
    }

    /// For a simulation, which has no threads.
    pub(crate) fn none() -> Self {
        Self::new("", "", 0, Duration::ZERO, Arc::new(|work: &mut dyn FnMut()| work()))
    }

    /// Runs the work on a side thread, as soon as one is free.
    ///
    /// # Errors
    /// [`BlockError`]; the work has been dropped.
    pub(crate) fn submit(self: &Arc<Self>, work: BlockingWork) -> Result<(), BlockError> {
        let mut state = self.state.lock();
        if state.open.is_none() {
            return Err(BlockError::NodeStopped);
        }
        let mut missed = None;
        if state.wants_thread(self.limit) {
            // It is an error only if there is no other thread.
            match self.start(&mut state) {
                Ok(()) => {}
                Err(error) if state.threads == 0 => return Err(error),
                Err(error) => missed = Some((error, state.threads)),
            }
        }
        state.accepted += 1;
        if let Some(open) = &state.open {
            // This cannot fail: `self` holds a receiver too.
            let _ = open.queue.send(work);
        }
        drop(state);
        if let Some((error, threads)) = missed {
            // The log subscriber is user code: call it without the lock.
            let _ = contain(|| {
                tracing::warn!(
                    target: "krarup", %error, threads, "cannot start a thread: blocking work waits for another"
                );
            });
        }
        Ok(())
    }

    fn start(self: &Arc<Self>, state: &mut BlockingState) -> Result<(), BlockError> {
        let Some(open) = &state.open else { return Err(BlockError::NodeStopped) };
        let (blocking, token) = (Arc::clone(self), open.token.clone());
        let number = Some(state.started as u64);
        let name = ThreadName { node: &self.node, role: &self.role, number };
        let handle = threads::start(name, move || {
            (blocking.around)(&mut || blocking.run());
            drop(token);
        })
        .map_err(|error| BlockError::NoThread(error.into()))?;
        state.threads += 1;
        state.started += 1;
        for ended in state.handles.extract_if(.., |handle| handle.is_finished()) {
            let _ = ended.join();
        }
        state.handles.push(handle);
        Ok(())
    }

    fn run(&self) {
        loop {
            match self.queue.recv_timeout(self.keep_alive) {
                Ok(work) => {
                    let stopped = self.state.lock().open.is_none();
                    // The destructors of the work's captures may panic too.
                    let done = contain(|| if stopped { drop(work) } else { work() });
                    if let Err(reason) = done {
                        // The log subscriber is user code too.
                        let _ = contain(|| {
                            tracing::error!(target: "krarup", %reason, "blocking work panicked");
                        });
                    }
                    self.state.lock().accepted -= 1;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let mut state = self.state.lock();
                    if state.can_spare_thread() {
                        state.threads -= 1;
                        return;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.state.lock().threads -= 1;
                    return;
                }
            }
        }
    }

    /// The number of live threads, and of work that was accepted and is not done yet.
    pub(crate) fn load(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.threads, state.accepted)
    }

    /// Accepts no more work and drops what has not begun. Returns the threads, for
    /// [`Blocking::wait`].
    pub(crate) fn close(&self) -> Vec<JoinHandle<()>> {
        let (open, handles) = {
            let mut state = self.state.lock();
            (state.open.take(), std::mem::take(&mut state.handles))
        };
        drop(open);
        while let Ok(work) = self.queue.try_recv() {
            let _ = contain(|| drop(work));
            self.state.lock().accepted -= 1;
        }
        handles
    }

    /// Waits for the threads after [`Blocking::close`], at most for `grace`.
    pub(crate) fn wait(&self, handles: Vec<JoinHandle<()>>, grace: Duration) {
        let in_time = self.ended.recv_timeout(grace) == Err(RecvTimeoutError::Disconnected);
        for handle in handles {
            if in_time || handle.is_finished() {
                let _ = handle.join();
            }
        }
        if !in_time {
            tracing::error!(
                target: "krarup", node = %self.node, pool = %self.role, threads = self.load().0,
                "blocking work does not return: it is abandoned with its threads"
            );
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
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
        assert_eq!(
            [busy(0, 0), busy(0, 1), busy(1, 2)],
            [(true, false), (false, true), (false, true)]
        );
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
    fn r3_a_thread_that_follows_one_that_has_ended_has_a_number_of_its_own() {
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
}
