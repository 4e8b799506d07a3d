//! Who runs ready processes, and when.
//!
//! A dispatcher takes [`krarup_act::Ready`] processes and runs their turns; it knows
//! nothing else of them. [`shared`] is the work-stealing one. [`sleep`] is how its workers
//! park and wake, [`spares`] are those that fill in, [`watchdog`] finds long turns and work
//! behind them, [`counters`] is what it sees of a worker, [`pokes`] are timers that are set
//! late. [`simulated`] is the one whose every choice comes from a seed.

pub(crate) mod counters;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod pokes;
pub(crate) mod shared;
pub(crate) mod simulated;
pub(crate) mod sleep;
pub(crate) mod spares;
pub(crate) mod watchdog;
