//! How a shared dispatcher handles processes of high class, which run before all others (rule R6).
//!
//! ```text
//!   schedule_high ──► priority_queue ──► run_high: at most 16 turns ──► one normal turn ──► ..
//!                          ▲               │ its turn was too short
//!                          └───────────────┘
//! ```
//!
//! Workers and spares come here only when the word of [`super::priority_queue`] is not 0. So the
//! surrounding loop keeps the order, and no counter is needed: up to [`IN_A_ROW`] turns run
//! here, and then the loop takes one normal process, from the worker's own queue, the injector
//! or a sibling's queue. If it finds none there, it returns here at once.

use super::calling_thread;
use super::priority_queue::IN_A_ROW;
use super::shared::SharedDispatcher;
use super::turn;
use krarup_act::Ready;

impl SharedDispatcher {
    /// Queues a process of high class and wakes a parked worker for it, so that it does not wait
    /// for the end of a turn.
    pub(crate) fn schedule_high(&self, ready: Ready) {
        self.priority_queue.push(ready);
        self.sleep.wake_one();
    }

    /// Runs up to 16 turns of high processes. Returns false if the dispatcher has
    /// stopped.
    #[cold]
    pub(super) fn run_high(&self, worker: usize, searching: &mut bool) -> bool {
        let counters = &self.counters[worker];
        for _ in 0..IN_A_ROW {
            if self.priority_queue.has_stopped() {
                return false;
            }
            let Some(ready) = self.priority_queue.pop() else { break };
            if std::mem::take(searching) {
                self.hand_on();
            }
            counters.begin_high_turn(ready.pid().id());
            let run = |ready| turn::run(ready, &self.setup.limits);
            let again = self.setup.turn_log.run(worker as u64, ready, run);
            calling_thread::after_turn(|pid| counters.begin_turn(pid));
            if let Some(again) = again {
                self.priority_queue.push(again);
                // This worker itself comes back for one of them.
                if self.priority_queue.len() > 1 && self.sleep.could_wake() {
                    self.sleep.wake_one();
                }
            }
        }
        !self.priority_queue.has_stopped()
    }
}
