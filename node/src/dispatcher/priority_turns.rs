//! How a shared dispatcher handles processes that run before all others: those of high class
//! (rule R6), and those that are called while they owe turns (rules M4, X3).
//!
//! ```text
//!   schedule_high ──► express ──► run_high: at most 16 turns ──► one normal turn ──► ..
//!                        ▲              │ its turn was too short
//!                        └──────────────┘
//!   schedule_called ─► express ──► run_high: one turn ──► the queue of normal processes
//! ```
//!
//! Workers and spares come here only when the word of [`super::priority_queue`] is not 0. So the
//! surrounding loop keeps the order, and no counter is needed: up to [`IN_A_ROW`] turns run
//! here, and then the loop takes one normal process, from the worker's own queue, the injector
//! or a sibling's queue. If it finds none there, it returns here at once.

use super::calling_thread;
use super::counters::Counters;
use super::priority_queue::{Ahead, IN_A_ROW};
use super::shared::SharedDispatcher;
use super::turn;
use krarup_act::{Ready, contain};

impl SharedDispatcher {
    /// Queues a process of high class and wakes a parked worker for it, so that it does not wait
    /// for the end of a turn.
    pub(crate) fn schedule_high(&self, ready: Ready) {
        self.express.push(ready);
        self.sleep.wake_one();
    }

    /// Queues a process that has something to handle before it pays its debt. It does not queue
    /// behind ready processes. The first worker that ends a turn runs it, because its own worker
    /// may be in a long turn.
    pub(super) fn schedule_called(&self, ready: Ready) {
        self.express.call(ready);
        self.sleep.wake_one();
    }

    /// Runs up to 16 turns of high or called processes. Returns false if the dispatcher has
    /// stopped.
    #[cold]
    pub(super) fn run_high(&self, counters: &Counters, searching: &mut bool) -> bool {
        for _ in 0..IN_A_ROW {
            if self.express.has_stopped() {
                return false;
            }
            let Some(ahead) = self.express.pop() else { break };
            if std::mem::take(searching) {
                self.sleep.found();
            }
            let ready = match ahead {
                Ahead::High(ready) => ready,
                Ahead::Called(ready) => {
                    self.run_called(counters, ready);
                    continue;
                }
            };
            counters.begin_high_turn(ready.pid().id());
            let again = turn::run(ready, &self.setup.limits);
            calling_thread::after_turn(|pid| counters.begin_turn(pid));
            if let Some(again) = again {
                self.express.push(again);
                // This worker itself comes back for one of them.
                if self.express.len() > 1 && self.sleep.could_wake() {
                    self.sleep.wake_one();
                }
            }
        }
        !self.express.has_stopped()
    }

    /// Runs the turn of a called process, which is then ready like any other.
    fn run_called(&self, counters: &Counters, ready: Ready) {
        counters.count_turn();
        let again = contain(|| ready.run_at(&self.setup.limits, counters.seat()));
        let again = again.unwrap_or_else(|reason| {
            // The log subscriber is user code too.
            let _ = contain(|| tracing::error!(target: "krarup", %reason, "a turn panicked"));
            None
        });
        // Forgives what the process owes by now: calls are too rare for that to matter.
        let _ = counters.seat().take_debt();
        calling_thread::after_turn(|pid| counters.begin_turn(pid));
        if let Some(again) = again {
            self.schedule(again);
        }
    }
}
