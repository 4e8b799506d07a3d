//! Spare workers of a shared dispatcher: they fill in while handlers hold workers (rule R4).

use super::calling_thread;
use super::run_queue::until_settled;
use super::searcher::Searcher;
use super::shared::SharedDispatcher;
use super::spare_protocol::SpareSlot;
use super::turn;
use krarup_act::contain;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl SharedDispatcher {
    /// Adjusts the number of spare workers to the number of stuck workers, if there is work for
    /// them.
    pub(super) fn fit_spares(self: &Arc<Self>, stuck: usize) {
        if self.spares.want(stuck) {
            (self.stealers.len()..self.counters.len()).for_each(|spare| self.sleep.wake(spare));
        } else if stuck > self.spares.live() && self.sleep.parked() == 0 && self.is_work_queued() {
            self.start_spare();
        }
    }

    fn start_spare(self: &Arc<Self>) {
        let mut threads = self.threads.lock();
        // Under the lock: a thread that joins after the stop joins this thread too.
        if self.stopped.load(Ordering::SeqCst) {
            return;
        }
        for ended in threads.extract_if(.., |thread| thread.is_finished()) {
            let _ = ended.join();
        }
        let Some(slot) = self.spares.enter() else { return };
        let index = slot.index;
        let slot = Mutex::new(Some(slot));
        let slot = Arc::new(slot);
        let taken = Arc::clone(&slot);
        let started = self.start_thread(index, move |dispatcher| {
            let Some(slot) = taken.lock().take() else { return };
            dispatcher.stand_in_for_busy(&slot);
            dispatcher.spares.give_back(slot);
        });
        match started {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                self.spares.miss();
                slot.lock().take().into_iter().for_each(|slot| self.spares.give_back(slot));
                drop(threads);
                // The log subscriber is user code: call it without the lock.
                let _ = contain(|| {
                    tracing::warn!(target: "krarup", %error, "no thread for a spare worker");
                });
            }
        }
    }

    /// Runs a spare worker until it is no longer needed.
    pub(super) fn stand_in_for_busy(self: &Arc<Self>, slot: &SpareSlot) {
        // A spare steals one process at a time, so the steal policy does not apply.
        let mut searcher = Searcher::new(slot.index);
        let counters = &self.counters[slot.index];
        // Whether its last process came from the injector.
        let injected = Cell::new(false);
        while !self.spares.leaves() {
            if self.priority_queue.calls() && !self.run_high(slot.index, &mut searcher.searching) {
                break;
            }
            // In alternation: a process that the spare runs returns to the injector, so one that
            // always has more to do would keep the spare from all that lies behind long turns.
            let from_others = injected
                .take()
                .then(|| self.take_from_others(slot.index, &mut searcher, None))
                .flatten();
            let ready = from_others.or_else(|| {
                let take = || {
                    let taken = until_settled(|| self.injector.steal())?;
                    counters.count_injector_take();
                    injected.set(true);
                    Some(taken)
                };
                self.search(slot.index, &slot.parker, &mut searcher, take, None)
            });
            let Some(ready) = ready else { continue };
            if std::mem::take(&mut searcher.searching) {
                self.hand_on();
            }
            counters.begin_turn(ready.pid().id());
            let run = |ready| turn::run(ready, &self.setup.limits);
            let again = self.setup.turn_log.run(slot.index as u64, ready, run);
            calling_thread::after_turn(|pid| counters.begin_turn(pid));
            if let Some(again) = again {
                self.inject(again);
            }
        }
        counters.idle();
        if searcher.searching {
            self.hand_on();
        }
    }
}
