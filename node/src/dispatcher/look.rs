//! What happens when the watchdog of a shared dispatcher looks ([`super::watchdog`] says when, and what it judges).
//!
//! ```text
//!   a worker wakes ──► set ──► look ──► late timers, reports ──► set ──► .. ──► all workers sleep: rest
//!                               ├─► behind a stuck worker: its private processes to the injector, a sibling is woken
//!                               └─► as many spares as stuck workers
//! ```

use super::counters::Counters;
use super::late_timers::LateTimers;
use super::process_barrier;
use super::shared::SharedDispatcher;
use super::watchdog::INTERVAL;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The most processes that a look moves from behind one turn. It holds up the timers meanwhile, some tenths of a
/// millisecond; workers that run dry take the rest.
const MOVED_AT_ONCE: usize = 1024;

impl SharedDispatcher {
    pub(super) fn wake_watchdog(self: &Arc<Self>) {
        if self.watchdog.activate(|| self.setup.time.clock.now()) {
            self.watchdog.begin(self.watchdog.recent_time());
            self.set_watchdog();
        }
    }

    fn set_watchdog(self: &Arc<Self>) {
        self.setup.time.look_after(INTERVAL, self, Self::look);
    }

    /// Called when the watchdog's timer fires.
    pub(super) fn look(self: &Arc<Self>) {
        if self.stopped.load(Ordering::SeqCst) {
            return;
        }
        // Here nobody waits for it.
        process_barrier::prepare();
        self.pokes.iter().for_each(|pokes| _ = pokes.poke());
        let workers = self.stealers.len();
        // The spares first: they are started here and nowhere else.
        let all_asleep = || {
            self.spares.live() == 0
                && self.sleep.parked() == workers
                && self.pokes.iter().all(LateTimers::is_empty)
        };
        if self.watchdog.rest(all_asleep, || self.setup.time.clock.now()) {
            self.reports.blocked(0);
            return;
        }
        let queued = |worker: usize| {
            self.priority_queue.len() > 0
                || !self.injector.is_empty()
                || self.stealers.get(worker).is_some_and(|s| !s.is_empty())
        };
        let snapshots = self.counters.iter().map(Counters::snapshot);
        let look = self.watchdog.look(self.setup.time.clock.now(), snapshots, queued);
        self.reports.injector_holds(self.injector.len());
        for worker in &look.hidden {
            self.uncover(*worker);
        }
        self.fit_spares(look.stuck);
        self.reports.blocked(look.blocked);
        self.reports.tell(&look);
        self.set_watchdog();
    }

    /// Has others run what waits behind the turn of a stuck worker, if there are others.
    pub(super) fn uncover(&self, worker: usize) {
        let has_others = self.counters.len() > 1;
        let behind = self.stealers.get(worker).filter(|_| has_others);
        let moved = behind.map_or_else(Vec::new, |stealer| stealer.take_private(MOVED_AT_ONCE));
        if moved.is_empty() {
            return self.sleep.wake_one();
        }
        moved.into_iter().for_each(|ready| self.inject(ready));
        if self.stopped.load(Ordering::SeqCst) {
            // All others may have cleared up before they came.
            self.clear();
        }
    }
}
