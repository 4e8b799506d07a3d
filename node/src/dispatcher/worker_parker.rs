//! Where a worker sleeps: on its thread's parker, or in the poller of the program, which wakes it for sockets too.
//!
//! ```text
//!              ┌────────────────────────── told ◄─────────────── unpark
//!              ▼                            ▲
//!   awake ──► polling ── another waits ──► parked ── unpark: the thread's parker
//!      ▲        │ unpark: the poller's wake   │
//!      └────────┴─────────────────────────────┘
//! ```
//!
//! `told` is the token of the ordinary parker: an unpark of a worker that is awake makes its next park return at once. Whoever finds the
//! worker `polling` wakes the poller. Another thread may take that wake, if the worker's wait has not begun yet; then the worker sees
//! that it was told, because it looks when nobody else can take one any more.

use crate::sync::{AtomicU8, Mutex, Ordering, Parker, Unparker};
use krarup_act::Poller;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

const AWAKE: u8 = 0;
const PARKED: u8 = 1;
const POLLING: u8 = 2;
const TOLD: u8 = 3;

/// The worker's own end.
pub(crate) struct WorkerParker {
    thread: Parker,
    unparker: WorkerUnparker,
    /// The same, for a poller.
    waker: Waker,
}

/// The end of those who wake it.
#[derive(Clone)]
pub(crate) struct WorkerUnparker(Arc<SleepingPlace>);

struct SleepingPlace {
    state: AtomicU8,
    thread: Unparker,
    /// What the worker waits in while it is `POLLING`.
    poller: Mutex<Option<Arc<dyn Poller>>>,
}

impl WorkerParker {
    pub(crate) fn new() -> Self {
        let thread = Parker::new();
        let place = Arc::new(SleepingPlace {
            state: AtomicU8::new(AWAKE),
            thread: thread.unparker().clone(),
            poller: Mutex::new(None),
        });
        let waker = Waker::from(Arc::clone(&place));
        WorkerParker { thread, unparker: WorkerUnparker(place), waker }
    }

    pub(crate) fn unparker(&self) -> &WorkerUnparker {
        &self.unparker
    }

    /// Sleeps until [`WorkerUnparker::unpark`], and possibly for no reason.
    pub(crate) fn park(&self) {
        if self.enter(PARKED) {
            self.thread.park();
            self.awake();
        }
    }

    pub(crate) fn park_timeout(&self, limit: Duration) {
        if self.enter(PARKED) {
            self.thread.park_timeout(limit);
            self.awake();
        }
    }

    /// As [`WorkerParker::park`], and until the poller reports something, which it adds, if no other thread waits there.
    pub(crate) fn park_in(&self, poller: &Arc<dyn Poller>, woken: &mut Vec<Waker>) {
        let place = self.place();
        *place.poller.lock() = Some(Arc::clone(poller));
        if self.enter(POLLING) {
            let still = || place.state.load(Ordering::SeqCst) == POLLING;
            if poller.wait(woken, &still, &self.waker) {
                self.awake();
            } else {
                if self.moves_to_thread() {
                    self.thread.park();
                    self.awake();
                }
                poller.is_back(&self.waker);
            }
        }
        let left = place.poller.lock().take();
        drop(left);
    }

    fn place(&self) -> &SleepingPlace {
        &self.unparker.0
    }

    /// Begins to sleep. Returns false if it was told to be awake.
    fn enter(&self, state: u8) -> bool {
        self.moves(AWAKE, state)
    }

    fn moves_to_thread(&self) -> bool {
        self.moves(POLLING, PARKED)
    }

    fn moves(&self, from: u8, to: u8) -> bool {
        let state = &self.place().state;
        let moved = state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if !moved {
            self.awake();
        }
        moved
    }

    /// What had been written before the worker was told is seen from here on.
    fn awake(&self) {
        self.place().state.swap(AWAKE, Ordering::SeqCst);
    }
}

impl WorkerUnparker {
    pub(crate) fn unpark(&self) {
        self.0.wake_by_ref();
    }
}

impl Wake for SleepingPlace {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match self.state.swap(TOLD, Ordering::SeqCst) {
            PARKED => self.thread.unpark(),
            POLLING => {
                let poller = self.poller.lock().clone();
                // Empty: the worker has left it since then.
                poller.into_iter().for_each(|poller| poller.wake());
            }
            _ => {}
        }
    }
}
