//! What a shared dispatcher does with processes that go before all others: those of high class
//! (rule R6), and those that are called while they owe turns (rules M4, X3).
//!
//! ```text
//!   schedule_high ──► express ──► run_high: at most 16 turns ──► one normal turn ──► ..
//!                        ▲              │ its turn was too short
//!                        └──────────────┘
//!   schedule_called ─► express ──► run_high: one turn ──► where normal ones go
//! ```
//!
//! Workers and spares come here only when the word of [`super::priority_queue`] calls. So the order is
//! kept by the loop around, and nobody has to count: up to [`IN_A_ROW`] turns here, and then the
//! loop goes its ordinary way once, through the worker's own queue, the injector and the
//! siblings'. If it finds no normal process there it comes back at once.

use super::calling_thread;
use super::counters::Counters;
use super::priority_queue::{Ahead, IN_A_ROW};
use super::shared::SharedDispatcher;
use super::turn;
use krarup_act::{Ready, contain};

impl SharedDispatcher {
    /// Queues a process of high class. A worker is woken for it, if one sleeps: it shall not
    /// wait for the end of a turn.
    pub(crate) fn schedule_high(&self, ready: Ready) {
        self.express.push(ready);
        self.sleep.wake_one();
    }

    /// Queues a process that has something to see before it pays what it owes. Not behind what is
    /// ready, and by whichever worker ends a turn first: its own may be in a long one.
    pub(super) fn schedule_called(&self, ready: Ready) {
        self.express.call(ready);
        self.sleep.wake_one();
    }

    /// Runs what waits of high class or is called, up to 16 turns. False if the dispatcher has stopped.
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
                // This worker comes back for one of them.
                if self.express.len() > 1 && self.sleep.could_wake() {
                    self.sleep.wake_one();
                }
            }
        }
        !self.express.has_stopped()
    }

    /// Runs the turn of one that is called; then it is ready as any other.
    fn run_called(&self, counters: &Counters, ready: Ready) {
        counters.count_turn();
        let again = contain(|| ready.run_at(&self.setup.limits, counters.seat()));
        let again = again.unwrap_or_else(|reason| {
            // What logs is a user's too.
            let _ = contain(|| tracing::error!(target: "krarup", %reason, "a turn panicked"));
            None
        });
        // What it owes by now is forgiven: nobody is called so often that it would matter.
        let _ = counters.seat().take_debt();
        calling_thread::after_turn(|pid| counters.begin_turn(pid));
        if let Some(again) = again {
            self.schedule(again);
        }
    }
}
