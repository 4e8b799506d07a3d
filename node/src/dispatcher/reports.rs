//! Reports what the watchdog sees of the workers: running time to the processes, long turns to
//! the log and the counters.

use super::setup::Processes;
use super::watchdog::{LongTurn, WatchdogReport};
use krarup_act::contain;
use krarup_gen::DispatcherStats;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) struct Reports {
    dispatcher: String,
    processes: Processes,
    blocked: AtomicUsize,
    long_turns: AtomicU64,
    /// In nanoseconds.
    longest_turn: AtomicU64,
    longest_injector: AtomicUsize,
}

impl Reports {
    pub(crate) fn new(dispatcher: &str, processes: Processes) -> Self {
        let dispatcher = dispatcher.to_owned();
        Reports {
            dispatcher,
            processes,
            blocked: AtomicUsize::new(0),
            long_turns: AtomicU64::new(0),
            longest_turn: AtomicU64::new(0),
            longest_injector: AtomicUsize::new(0),
        }
    }

    /// Records how many workers are now held beyond the limit.
    pub(crate) fn blocked(&self, workers: usize) {
        self.blocked.store(workers, Ordering::Relaxed);
    }

    /// Records the length of the injector.
    pub(crate) fn injector_holds(&self, processes: usize) {
        self.longest_injector.fetch_max(processes, Ordering::Relaxed);
    }

    pub(crate) fn tell(&self, look: &WatchdogReport) {
        let longest = u64::try_from(look.longest.as_nanos()).unwrap_or(u64::MAX);
        self.longest_turn.fetch_max(longest, Ordering::Relaxed);
        for pid in &look.running {
            if let Some(process) = (self.processes)(*pid) {
                process.ran(look.tick);
            }
        }
        for long in &look.long {
            self.long_turns.fetch_add(1, Ordering::Relaxed);
            // The log subscriber is user code, and its panic must not end the watchdog.
            let _ = contain(|| self.warn(*long));
        }
    }

    fn warn(&self, long: LongTurn) {
        let info = (self.processes)(long.pid).map(|process| process.info());
        tracing::warn!(
            target: "krarup",
            pid = info.as_ref().map(|info| tracing::field::display(info.pid)),
            behavior = info.as_ref().map(|info| tracing::field::display(&info.behavior)),
            dispatcher = self.dispatcher,
            worker = long.worker,
            held = ?long.held,
            "a handler holds its worker: await, or use ctx.block"
        );
    }

    pub(crate) fn fill(&self, stats: &mut DispatcherStats) {
        stats.blocked = self.blocked.load(Ordering::Relaxed);
        stats.long_turns = self.long_turns.load(Ordering::Relaxed);
        stats.longest_turn = Duration::from_nanos(self.longest_turn.load(Ordering::Relaxed));
        stats.longest_injector = self.longest_injector.load(Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn r4_a_log_that_panics_keeps_no_other_turn_from_its_report() {
        let reports = Reports::new("test", Arc::new(|_| None));
        let look = |turns: &[(usize, u64)], longest| WatchdogReport {
            long: turns
                .iter()
                .map(|(worker, pid)| LongTurn { worker: *worker, pid: *pid, held: longest })
                .collect(),
            longest,
            ..WatchdogReport::default()
        };
        let told =
            crate::panicking_log::told(|| reports.tell(&look(&[(0, 7), (1, 8)], millis(300))));
        assert_eq!(told, 2);
        // The longest turn stays, after a shorter one and after none.
        reports.tell(&look(&[(0, 9)], millis(200)));
        reports.tell(&WatchdogReport::default());
        reports.blocked(3);
        reports.blocked(2);
        reports.injector_holds(5);
        reports.injector_holds(4);
        let stats = DispatcherStats::new("test".to_owned(), 1).with(|stats| reports.fill(stats));
        assert_eq!((stats.long_turns, stats.longest_turn), (3, millis(300)));
        assert_eq!((stats.blocked, stats.longest_injector), (2, 5));
    }
}
