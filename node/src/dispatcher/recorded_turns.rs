//! The turns of a worker of a shared dispatcher while turns are recorded (rule X13).
//!
//! ```text
//!   word not 0 ──► attend: high turns ──► a recorded turn of the own queue ──► high turns ──► ..
//!                                │ the queue is empty, or nothing is recorded any more
//!                                └──► the ordinary loop: it searches, and sleeps
//! ```
//!
//! What the ordinary loop finds elsewhere it puts into its own queue and comes back. It has no
//! code for recorded turns itself, so it is no longer for them.

use super::shared::{LOOK_UP_INTERVAL, Local, SharedDispatcher, TakeCount};

impl SharedDispatcher {
    /// Does what a worker must do besides ordinary turns: turns of high processes, and recorded
    /// turns. Returns false if the dispatcher has stopped.
    #[cold]
    #[inline(never)]
    pub(super) fn attend(
        &self,
        local: &Local,
        searching: &mut bool,
        takes: &mut TakeCount,
    ) -> bool {
        if !self.run_high(local.index, searching) {
            return false;
        }
        !self.priority_queue.records() || self.run_recorded(local, searching, takes)
    }

    fn run_recorded(&self, local: &Local, searching: &mut bool, takes: &mut TakeCount) -> bool {
        let recorder = &self.setup.turn_log.recorder;
        // The ordinary loop finds nothing in the injector without a search, which brings it back.
        takes.look_up = takes.begun + u64::from(LOOK_UP_INTERVAL);
        let mut turns = 0;
        while recorder.is_on() {
            turns += 1;
            if turns % LOOK_UP_INTERVAL == 0 {
                self.let_in(local);
            }
            if *searching && !local.queue.is_empty() {
                *searching = false;
                self.hand_on();
            }
            if !self.run_apart(local, true) {
                return true;
            }
            if !self.run_high(local.index, searching) {
                return false;
            }
        }
        recorder.unless_on(|| self.priority_queue.end_recording());
        true
    }
}
