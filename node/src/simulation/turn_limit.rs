//! The end of a run that would never rest (rule Y7).
//!
//! Processes that keep each other busy, or a wait for what never comes beside a timer that fires for ever, would
//! hang the test without a word. Turns are counted at one instant of virtual time, and in one wait.

use crate::simulation::trace::Trace;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit unless another is set: many times what tests take, and a minute or two without optimisation.
const DEFAULT_LIMIT: u64 = 10_000_000;

/// How many of the last steps the message has.
const SHOWN_STEPS: usize = 16;

/// Counts turns up to the limit.
pub(crate) struct TurnLimit {
    limit: AtomicU64,
    /// The turns since the virtual time has advanced last.
    at_instant: AtomicU64,
}

impl Default for TurnLimit {
    fn default() -> Self {
        TurnLimit { limit: AtomicU64::new(DEFAULT_LIMIT), at_instant: AtomicU64::new(0) }
    }
}

impl TurnLimit {
    pub(crate) fn set(&self, turns: u64) {
        self.limit.store(turns.max(1), Ordering::Relaxed);
    }

    /// Counts a turn. Returns false if there were as many as the limit since the virtual time has advanced.
    pub(crate) fn admits_turn(&self) -> bool {
        let turns = self.at_instant.load(Ordering::Relaxed);
        let admits = turns < self.limit.load(Ordering::Relaxed);
        if admits {
            self.at_instant.store(turns + 1, Ordering::Relaxed);
        }
        admits
    }

    /// Ends a run that does not come to rest.
    ///
    /// # Panics
    /// Always, with the last of these steps.
    pub(crate) fn no_rest(&self, steps: Trace) -> ! {
        panic!("{}", NoRest::new(self.limit.load(Ordering::Relaxed), false, steps));
    }

    /// The virtual time has advanced, or what has been counted does not matter any more.
    pub(crate) fn begin_instant(&self) {
        self.at_instant.store(0, Ordering::Relaxed);
    }

    /// Notes that a wait has taken this many turns.
    ///
    /// # Panics
    /// If these are more than the limit.
    pub(crate) fn check_wait(&self, turns: u64, trace: impl FnOnce() -> Trace) {
        let limit = self.limit.load(Ordering::Relaxed);
        assert!(turns <= limit, "{}", NoRest::new(limit, true, trace()));
    }
}

/// The message of a run that does not rest.
struct NoRest {
    limit: u64,
    /// Whether something was waited for.
    waits: bool,
    steps: Trace,
}

impl NoRest {
    fn new(limit: u64, waits: bool, steps: Trace) -> Self {
        NoRest { limit, waits, steps: steps.last(SHOWN_STEPS) }
    }
}

impl fmt::Display for NoRest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit;
        if self.waits {
            write!(f, "what is waited for has not come after {limit} turns")?;
        } else {
            write!(
                f,
                "the simulation does not come to rest: {limit} turns, and no time has passed"
            )?;
        }
        write!(f, " (Simulation::turn_limit allows more); {}", self.steps)
    }
}
