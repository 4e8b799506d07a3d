//! Who runs ready processes, and when.
//!
//! A dispatcher takes [`krarup_act::Ready`] processes and runs their turns; it knows
//! nothing else of them. [`shared`] is the work-stealing one ([`sleep`]: how its
//! workers park and wake, [`watchdog`]: what finds work behind a long turn, [`pokes`]: timers that are set late), [`simulated`] the one whose every choice comes from a seed.

#[cfg(all(test, loom))]
mod models;
pub(crate) mod pokes;
pub(crate) mod shared;
pub(crate) mod simulated;
pub(crate) mod sleep;
pub(crate) mod watchdog;
