//! Who waits: the workers of the program's nodes, or the thread of what is waited for.
//!
//! An idle worker that waits itself runs what arrives at once; a thread would have to wake it, two switches for each
//! request. But a worker that has left the poller runs handlers, and what arrives meanwhile should not wait for the end of one. So the
//! thread guards:
//!
//! ```text
//!                 an idle worker comes
//!    ┌────────┐ ───────────────────────────────► ┌─────────┐ a worker is inside: the thread sleeps until it leaves
//!    │ thread │                                  │ workers │ nobody is: it looks every `GUARD_INTERVAL`
//!    └────────┘ ◄─────────────────────────────── └─────────┘   ├─ nobody was since its last look, a worker idles: wakes that one
//!                 nobody was at `PATIENCE` looks               └─ nobody idles: has patience
//! ```
//!
//! A worker that had to be woken shows that handlers take long. For some time after it, whoever leaves the poller with work wakes
//! an idle worker at once, which takes its place there. Each time that this happens again soon, the time is twice as long.
//!
//! So what arrives is seen at once, or by a worker that is woken at the second look, or, while no worker idles, by the thread after
//! `PATIENCE` more looks, whatever the workers do (rule I10). A worker that holds back from stealing for some hundred microseconds
//! is not among those that idle.
//!
//! All that is decided here is under one lock, so only the order of whole operations can differ. The wait itself is not under it:
//! [`SharedWait`](super::shared_wait::SharedWait) says why no wake is lost between the two. The wakers here are those of workers, so none
//! is a user's.

use crate::sync::{Condvar, Mutex, sleep};
use std::task::Waker;
use std::time::{Duration, Instant};

/// How often the thread looks whether the workers poll, while none of them is in the poller.
const GUARD_INTERVAL: Duration = Duration::from_micros(500);
/// After so many looks at which nobody has polled the thread waits itself, though no worker idles: for processes that
/// run elsewhere than on those workers.
const PATIENCE: u32 = if cfg!(loom) { 1 } else { 4 };
/// How long workers hand over eagerly after an idle one had to be woken, and at the most if that happens again and again.
const EAGER: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(1600));
/// It happened soon if it was before this many times as long had passed.
const SOON: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PollKeeper {
    /// The thread, until an idle worker comes.
    Thread,
    /// A worker could not wait: the thread tries it before another one does.
    ThreadFirst,
    Workers,
}

/// How a worker that wants to wait goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PollEntry {
    /// It does, and calls [`PollTurns::leave`] afterwards.
    Enters,
    /// Another thread polls or waits.
    Occupied,
    /// The thread is in the poller, and must be woken to leave it.
    WakesThread,
    /// There is nothing to wait for any more.
    Closed,
}

/// What the thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadTurn {
    /// It waits.
    Waits,
    /// There is nothing to wait for any more.
    Ends,
}

pub(crate) struct PollTurns {
    state: Mutex<PollState>,
    guards: Condvar,
    now: fn() -> Instant,
}

struct PollState {
    keeper: PollKeeper,
    /// Whether a worker is in the poller.
    inside: bool,
    /// How often one has entered.
    entered: u64,
    /// The workers that wait elsewhere, because another one was in the poller; the last to come at the end.
    idle: Vec<Waker>,
    /// The thread sleeps until a worker leaves the poller.
    asleep: bool,
    closed: bool,
    eager: Eagerness,
}

/// Whether a worker that leaves with work wakes an idle one.
struct Eagerness {
    is_on: bool,
    /// For how long, after an idle worker had to be woken.
    time: Duration,
    /// When that was.
    since: Option<Instant>,
}

/// What the thread has seen at its last look, and at how many looks in a row.
#[derive(Clone, Copy)]
struct SeenPolls {
    entered: u64,
    looks: u32,
}

/// What follows from a look of the thread.
enum GuardLook {
    Done(ThreadTurn),
    /// This worker is woken, and the thread looks again later.
    Wakes(Waker),
    Again,
}

impl PollTurns {
    pub(crate) fn new(now: fn() -> Instant) -> Self {
        let eager = Eagerness { is_on: false, time: EAGER.0, since: None };
        let state = PollState {
            keeper: PollKeeper::Thread,
            inside: false,
            entered: 0,
            idle: Vec::new(),
            asleep: false,
            closed: false,
            eager,
        };
        PollTurns { state: Mutex::new(state), guards: Condvar::default(), now }
    }

    /// A worker would poll without waiting. Returns whether it may.
    pub(crate) fn enter_to_poll(&self) -> bool {
        self.state.lock().enter()
    }

    /// An idle worker would wait. If the poller is occupied it waits elsewhere, until [`PollTurns::is_back`].
    pub(crate) fn enter_to_wait(&self, elsewhere: &Waker) -> PollEntry {
        let mut state = self.state.lock();
        if state.enter() {
            return PollEntry::Enters;
        }
        if state.closed {
            return PollEntry::Closed;
        }
        if state.keeper == PollKeeper::Thread {
            state.keeper = PollKeeper::Workers;
            return PollEntry::WakesThread;
        }
        state.idle.push(elsewhere.clone());
        PollEntry::Occupied
    }

    /// A worker leaves the poller, with work or without.
    pub(crate) fn leave(&self, with_work: bool) {
        let next = {
            let mut state = self.state.lock();
            state.inside = false;
            if std::mem::take(&mut state.asleep) {
                self.guards.notify_one();
            }
            if with_work && state.eager.is_on { state.idle.pop() } else { None }
        };
        next.into_iter().for_each(Waker::wake);
    }

    /// A worker that found the poller occupied is awake again.
    pub(crate) fn is_back(&self, elsewhere: &Waker) {
        self.state.lock().idle.retain(|idle| idle.data() != elsewhere.data());
    }

    /// A worker inside has found that it cannot wait: the thread finds out why.
    pub(crate) fn give_back(&self) {
        self.state.lock().keeper = PollKeeper::ThreadFirst;
    }

    /// There is nothing to wait for any more. Whoever is in the poller must be woken. Those elsewhere are woken, because they have a
    /// handle on the poller.
    pub(crate) fn close(&self) {
        let idle = {
            let mut state = self.state.lock();
            state.closed = true;
            std::mem::take(&mut state.idle)
        };
        self.guards.notify_one();
        idle.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Whether the thread, which is to wait, still is to when it is in the poller: a worker that comes later wakes it.
    pub(crate) fn is_of_thread(&self) -> bool {
        let mut state = self.state.lock();
        if state.keeper == PollKeeper::ThreadFirst {
            state.keeper = PollKeeper::Thread;
        }
        state.keeper == PollKeeper::Thread && !state.closed
    }

    /// What the thread does next. Returns when it is to wait, or to end.
    pub(crate) fn thread_turn(&self) -> ThreadTurn {
        let mut seen = None;
        let mut state = self.state.lock();
        loop {
            let look = state.look(&mut seen, self.now);
            if let GuardLook::Done(turn) = look {
                return turn;
            }
            if state.asleep {
                state = self.guards.wait(state);
                continue;
            }
            drop(state);
            if let GuardLook::Wakes(idle) = look {
                idle.wake();
            }
            sleep(GUARD_INTERVAL);
            state = self.state.lock();
        }
    }
}

impl PollState {
    fn enter(&mut self) -> bool {
        let enters = self.keeper == PollKeeper::Workers && !self.inside && !self.closed;
        if enters {
            self.inside = true;
            self.entered += 1;
        }
        enters
    }

    fn look(&mut self, seen: &mut Option<SeenPolls>, now: impl Fn() -> Instant) -> GuardLook {
        if self.closed {
            return GuardLook::Done(ThreadTurn::Ends);
        }
        self.asleep = self.inside;
        if self.inside {
            *seen = None;
            return GuardLook::Again;
        }
        if self.keeper != PollKeeper::Workers {
            return GuardLook::Done(ThreadTurn::Waits);
        }
        if self.eager.is_on && self.eager.has_passed(1, now()) {
            self.eager.is_on = false;
        }
        let looks = match *seen {
            Some(seen) if seen.entered == self.entered => seen.looks + 1,
            _ => 0,
        };
        *seen = Some(SeenPolls { entered: self.entered, looks });
        if looks == PATIENCE {
            self.keeper = PollKeeper::Thread;
            return GuardLook::Done(ThreadTurn::Waits);
        }
        let idle = if looks > 0 { self.idle.pop() } else { None };
        idle.map_or(GuardLook::Again, |idle| {
            self.eager.begin(now());
            GuardLook::Wakes(idle)
        })
    }
}

impl Eagerness {
    fn has_passed(&self, times: u32, now: Instant) -> bool {
        self.since.is_none_or(|since| now.saturating_duration_since(since) >= self.time * times)
    }

    fn begin(&mut self, now: Instant) {
        self.time = if self.has_passed(SOON, now) { EAGER.0 } else { (self.time * 2).min(EAGER.1) };
        self.is_on = true;
        self.since = Some(now);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
