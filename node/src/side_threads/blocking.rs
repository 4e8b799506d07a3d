//! The side threads, which run blocking work ([`Context::block`](krarup_act::Context::block)).
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
use krarup_gen::{BlockError, one_line};
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
                            tracing::error!(target: "krarup", reason = %one_line(&reason), "blocking work panicked");
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
mod tests;
