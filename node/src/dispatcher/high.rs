//! What a shared dispatcher does with processes of high class (rule R6).
//!
//! ```text
//!   schedule_high ──► express ──► run_high: at most 16 turns ──► one normal turn ──► ..
//!                        ▲              │ its turn was too short
//!                        └──────────────┘
//! ```
//!
//! Workers and spares come here only when the word of [`super::express`] calls. So the order is
//! kept by the loop around, and nobody has to count: up to [`IN_A_ROW`] turns here, and then the
//! loop goes its ordinary way once, through the worker's own queue, the injector and the
//! siblings'. If it finds no normal process there it comes back at once.

use super::calling;
use super::counters::Counters;
use super::express::IN_A_ROW;
use super::shared::Shared;
use super::turn;
use krarup_act::Ready;

impl Shared {
    /// Queues a process of high class. A worker is woken for it, if one sleeps: it shall not
    /// wait for the end of a turn.
    pub(crate) fn schedule_high(&self, ready: Ready) {
        self.express.push(ready);
        self.sleep.wake_one();
    }

    /// Runs what waits of high class, up to 16 turns. False if the dispatcher has stopped.
    #[cold]
    pub(super) fn run_high(&self, counters: &Counters, searching: &mut bool) -> bool {
        for _ in 0..IN_A_ROW {
            if self.express.has_stopped() {
                return false;
            }
            let Some(ready) = self.express.pop() else { break };
            if std::mem::take(searching) {
                self.sleep.found();
            }
            counters.begin_high_turn(ready.pid().id());
            let again = turn::run(ready, &self.setup.limits);
            calling::after_turn(|pid| counters.begin_turn(pid));
            if let Some(again) = again {
                self.express.push(again);
                // This worker comes back for one of them.
                if self.express.len() > 1 && self.sleep.could_wake() {
                    self.sleep.wake_one();
                }
            }
        }
        !self.express.has_stopped()
    }
}
