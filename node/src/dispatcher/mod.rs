//! Who runs ready processes, and when.
//!
//! A dispatcher takes [`krarup_act::Ready`] processes and runs their turns; it knows
//! nothing else of them. There are four kinds, and [`any`] is one of them:
//!
//! | kind | threads | for |
//! |---|---|---|
//! | [`shared`] | a few for all processes, work-stealing | everything |
//! | [`pinned`] | one for each process | what must have its thread |
//! | [`calling`] | none: whoever makes a process ready runs it | tests |
//! | [`simulated`] | none: every choice comes from a seed | tests |
//!
//! [`setup`] is what they are made with, [`turn`] what they run. Of the shared one: [`sleep`]
//! is how its workers park and wake, [`thief`] is whether they steal from each other, [`spares`]
//! are those that fill in, [`pokes`] are timers that are set late. [`watchdog`] finds long
//! turns and work behind them, [`counters`] is what it sees of a worker, [`reports`] tells what
//! it found.

pub(crate) mod any;
pub(crate) mod calling;
pub(crate) mod counters;
#[cfg(test)]
mod models;
pub(crate) mod pinned;
pub(crate) mod pokes;
pub(crate) mod reports;
pub(crate) mod setup;
pub(crate) mod shared;
pub(crate) mod simulated;
pub(crate) mod sleep;
pub(crate) mod spares;
pub(crate) mod thief;
pub(crate) mod turn;
pub(crate) mod watchdog;
