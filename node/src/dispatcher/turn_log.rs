//! What a dispatcher does while its node records turns (rule X13).
//!
//! The workers of a shared dispatcher are told by a bit in the word that they read before each
//! turn ([`super::priority_queue`]), so a turn that is not recorded costs nothing more. They are
//! told before the recording begins and find out themselves that it is over.

use crate::timers::clock::Clock;
use krarup_act::{Process, Ready, TurnRecorder};
use krarup_gen::{Pid, RecordedTurn, Timestamp};
use std::sync::Arc;

/// Finds a living process by its number.
pub(crate) type Processes = Arc<dyn Fn(u64) -> Option<Arc<dyn Process>> + Send + Sync>;

/// The recorder of the node, and what a dispatcher must know to use it.
#[derive(Clone)]
pub(crate) struct TurnLog {
    pub(crate) recorder: Arc<TurnRecorder>,
    /// The name of the dispatcher.
    pub(crate) dispatcher: Arc<str>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) processes: Processes,
}

impl TurnLog {
    /// Whether turns are recorded.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.recorder.is_on()
    }

    /// Runs a turn, and records it if turns are recorded.
    #[inline]
    pub(crate) fn run(
        &self,
        worker: u64,
        ready: Ready,
        turn: impl FnOnce(Ready) -> Option<Ready>,
    ) -> Option<Ready> {
        if self.is_on() { self.run_recorded(worker, ready, turn) } else { turn(ready) }
    }

    /// Runs a turn and records it.
    #[cold]
    pub(crate) fn run_recorded(
        &self,
        worker: u64,
        ready: Ready,
        turn: impl FnOnce(Ready) -> Option<Ready>,
    ) -> Option<Ready> {
        let pid = ready.pid();
        let process = (self.processes)(pid.id());
        let handled = || process.as_ref().map_or(0, |process| process.handled());
        let (before, begin) = (handled(), self.clock.now());
        let again = turn(ready);
        self.note(worker, pid, begin, [before, handled()]);
        again
    }

    /// Records a turn that is over. `handled` is what its process has handled before it, and by
    /// now.
    pub(crate) fn note(&self, worker: u64, pid: Pid, begin: Timestamp, handled: [u64; 2]) {
        let mut turn = RecordedTurn::new(Arc::clone(&self.dispatcher), worker, pid, begin);
        turn.end = self.clock.now();
        let [before, after] = handled;
        self.recorder.note(turn, before, after);
    }
}
