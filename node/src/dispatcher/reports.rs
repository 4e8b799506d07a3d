//! What comes of a look at the workers, told to whom it concerns: running time to the
//! processes, long turns to the log and the counters.

use super::setup::Processes;
use super::watchdog::{LongTurn, Look};
use krarup_act::contain;
use krarup_gen::DispatcherStats;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub(crate) struct Reports {
    dispatcher: String,
    processes: Processes,
    blocked: AtomicUsize,
    long_turns: AtomicU64,
}

impl Reports {
    pub(crate) fn new(dispatcher: &str, processes: Processes) -> Self {
        let dispatcher = dispatcher.to_owned();
        let (blocked, long_turns) = (AtomicUsize::new(0), AtomicU64::new(0));
        Reports { dispatcher, processes, blocked, long_turns }
    }

    /// So many workers are held beyond the limit now.
    pub(crate) fn blocked(&self, workers: usize) {
        self.blocked.store(workers, Ordering::Relaxed);
    }

    pub(crate) fn tell(&self, look: &Look) {
        for pid in &look.running {
            if let Some(process) = (self.processes)(*pid) {
                process.ran(look.tick);
            }
        }
        for long in &look.long {
            self.long_turns.fetch_add(1, Ordering::Relaxed);
            // What logs is the user's, and the watchdog must not end with it.
            let _ = contain(|| self.warn(*long));
        }
    }

    fn warn(&self, long: LongTurn) {
        let info = (self.processes)(long.pid).map(|process| process.info());
        tracing::warn!(
            target: "krarup",
            pid = info.as_ref().map(|info| tracing::field::display(info.pid)),
            behavior = info.as_ref().map(|info| info.behavior),
            dispatcher = self.dispatcher,
            worker = long.worker,
            held = ?long.held,
            "a handler holds its worker: await, or use ctx.block"
        );
    }

    pub(crate) fn fill(&self, stats: &mut DispatcherStats) {
        stats.blocked = self.blocked.load(Ordering::Relaxed);
        stats.long_turns = self.long_turns.load(Ordering::Relaxed);
    }
}
