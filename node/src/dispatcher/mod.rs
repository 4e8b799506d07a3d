//! Who runs ready processes, and when.
//!
//! A dispatcher takes [`krarup_act::Ready`] processes and runs their turns; it knows
//! nothing else of them. [`shared`] is the work-stealing one. [`sleep`] is how its workers
//! park and wake, [`watchdog`] finds work behind a long turn, [`pokes`] are timers that are
//! set late. [`simulated`] is the one whose every choice comes from a seed.

#[cfg(all(test, loom))]
mod models;
pub(crate) mod pokes;
pub(crate) mod shared;
pub(crate) mod simulated;
pub(crate) mod sleep;
pub(crate) mod watchdog;
