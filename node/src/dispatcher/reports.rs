//! Reports what the watchdog sees of the workers: running time to the processes, long turns to
//! the log and the counters.

use super::setup::Setup;
use super::turn_log::Processes;
use super::watchdog::{LongTurn, WatchdogReport};
use crate::timers::clock::Clock;
use krarup_act::{NodeRecords, contain};
use krarup_gen::{DispatcherStats, LongTurnRecord, Name, Pid};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) struct Reports {
    dispatcher: String,
    processes: Processes,
    /// Of the node, for the pid of a process that has ended.
    creation: u32,
    records: Arc<NodeRecords>,
    clock: Arc<Clock>,
    blocked: AtomicUsize,
    long_turns: AtomicU64,
    /// In nanoseconds.
    longest_turn: AtomicU64,
    longest_injector: AtomicUsize,
    /// How long workers have run processes, in nanoseconds.
    running: AtomicU64,
}

impl Reports {
    pub(crate) fn new(setup: &Setup) -> Self {
        Reports {
            dispatcher: setup.name.clone(),
            processes: Arc::clone(&setup.processes),
            creation: setup.creation,
            records: Arc::clone(&setup.records),
            clock: Arc::clone(&setup.time.clock),
            blocked: AtomicUsize::new(0),
            long_turns: AtomicU64::new(0),
            longest_turn: AtomicU64::new(0),
            longest_injector: AtomicUsize::new(0),
            running: AtomicU64::new(0),
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
        let running = look.tick * u32::try_from(look.running.len()).unwrap_or(u32::MAX);
        let running = u64::try_from(running.as_nanos()).unwrap_or(u64::MAX);
        self.running.fetch_add(running, Ordering::Relaxed);
        for pid in &look.running {
            if let Some(process) = (self.processes)(*pid) {
                process.ran(look.tick);
            }
        }
        for long in &look.long {
            self.long_turns.fetch_add(1, Ordering::Relaxed);
            // The log subscriber is user code, and its panic must not end the watchdog.
            let _ = contain(|| self.warn(*long));
            self.records.long_turn(|| self.record_of(*long), || self.clock.now());
        }
    }

    /// A turn that was its last may be over.
    fn pid_of(&self, long: LongTurn) -> Pid {
        Pid::local(long.pid, self.creation)
    }

    fn record_of(&self, long: LongTurn) -> (LongTurnRecord, Option<Name>) {
        let info = (self.processes)(long.pid).map(|process| process.info());
        let record = LongTurnRecord::new(self.dispatcher.clone(), long.worker, long.held);
        let mut application = None;
        let record = record.with(|record| {
            record.pid = Some(self.pid_of(long));
            if let Some(info) = info {
                application = info.application;
                record.name = info.name;
                record.behavior = Some(info.behavior);
            }
        });
        (record, application)
    }

    fn warn(&self, long: LongTurn) {
        let info = (self.processes)(long.pid).map(|process| process.info());
        tracing::warn!(
            target: "krarup",
            pid = %self.pid_of(long),
            name = info.as_ref().and_then(|info| info.name.as_ref()).map(Name::as_str),
            behavior = info.as_ref().map(|info| tracing::field::display(&info.behavior)),
            dispatcher = self.dispatcher,
            worker = long.worker,
            held = ?long.held,
            "a handler holds its worker: await, or use ctx.block"
        );
    }

    pub(crate) fn fill(&self, stats: &mut DispatcherStats) {
        stats.blocked = self.blocked.load(Ordering::Relaxed);
        stats.running = Duration::from_nanos(self.running.load(Ordering::Relaxed));
        stats.long_turns = self.long_turns.load(Ordering::Relaxed);
        stats.longest_turn = Duration::from_nanos(self.longest_turn.load(Ordering::Relaxed));
        stats.longest_injector = self.longest_injector.load(Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use krarup_act::ReportListener;
    use krarup_gen::{Memory, Pid, Report};
    use parking_lot::Mutex;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Notes the reports that it hears.
    #[derive(Default)]
    struct HeardReports(Mutex<Vec<Report>>);

    impl ReportListener for HeardReports {
        fn is_heard(&self) -> bool {
            true
        }

        fn hear(&self, report: Report, _: &[Pid]) {
            self.0.lock().push(report);
        }
    }

    #[test]
    fn r4_a_log_that_panics_keeps_no_other_turn_from_its_report() {
        let reports = Reports {
            dispatcher: "test".to_owned(),
            processes: Arc::new(|_| None),
            creation: 7,
            records: Arc::default(),
            clock: Arc::new(Clock::simulated()),
            blocked: AtomicUsize::new(0),
            long_turns: AtomicU64::new(0),
            longest_turn: AtomicU64::new(0),
            longest_injector: AtomicUsize::new(0),
            running: AtomicU64::new(0),
        };
        reports.records.remember(Memory { long_turns: 1, ..Memory::default() });
        let look = |turns: &[(usize, u64)], longest| WatchdogReport {
            long: turns
                .iter()
                .map(|(worker, pid)| LongTurn { worker: *worker, pid: *pid, held: longest })
                .collect(),
            longest,
            ..WatchdogReport::default()
        };
        let heard = Arc::new(HeardReports::default());
        reports.records.reports.tell(Arc::clone(&heard) as _);
        let told =
            crate::panicking_log::told(|| reports.tell(&look(&[(0, 7), (1, 8)], millis(300))));
        assert_eq!(told, 2);
        // Both are reports, also the one that is not remembered any more (rule X8).
        let workers: Vec<_> = heard
            .0
            .lock()
            .iter()
            .map(|report| match report {
                Report::LongTurn(report) => report.what.worker,
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(workers, [0, 1]);
        let page = reports.records.long_turns.page(0, 9);
        let record = &page.items[0].item;
        assert_eq!((page.lost, record.worker, record.held), (1, 1, millis(300)));
        // The process has ended: what is known of it is its pid.
        let of = (record.dispatcher.as_str(), record.pid, record.behavior.as_ref());
        assert_eq!(of, ("test", Some(Pid::local(8, 7)), None));
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
