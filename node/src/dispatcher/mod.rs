//! Who runs ready processes, and when.
//!
//! A dispatcher takes [`krarup_act::Ready`] processes and runs their turns; it knows
//! nothing else of them. There are five kinds, and [`any`] is one of them:
//!
//! | kind | threads | for |
//! |---|---|---|
//! | [`shared`] | a few for all processes, work-stealing | everything |
//! | [`pinned`] | one for each process | what must have its thread |
//! | [`executor`] | those of a user's executor | what has a pool of threads already |
//! | [`calling_thread`] | none: whoever makes a process ready runs it | tests |
//! | [`crate::simulation::dispatcher`] | none: every choice comes from a seed | tests |
//!
//! [`setup`] is what they are made with, [`turn`] what they run. Of the shared one: [`sleep`]
//! is how its workers park and wake, [`priority_queue`] is where processes of high class wait and [`priority_turns`]
//! how they are run, [`search`] how they look for work and [`steal_policy`] whether they steal it from
//! each other, [`debtors`] who owes turns, [`delayed_queue`] the queue in which they wait, and [`paying_debts`] how they are
//! paid, [`spare_protocol`] and
//! [`spare_workers`] are those that fill in, [`late_timers`] are timers that are set late. [`watchdog`]
//! finds long turns and work behind them, [`counters`] is what it sees of a worker, [`reports`] tells what
//! it found. Of the simulated one: [`crate::simulation::ready_lists`] is who may have the next turn, [`crate::simulation::injected_faults`]
//! what goes wrong.

pub(crate) mod any;
pub(crate) mod calling_thread;
pub(crate) mod counters;
mod debtors;
mod delayed_queue;
pub(crate) mod executor;
pub(crate) mod late_timers;
#[cfg(test)]
mod models;
mod paying_debts;
pub(crate) mod pinned;
pub(crate) mod priority_queue;
pub(crate) mod priority_turns;
pub(crate) mod reports;
mod search;
mod searcher;
pub(crate) mod setup;
pub(crate) mod shared;
pub(crate) mod sleep;
pub(crate) mod spare_protocol;
mod spare_workers;
pub(crate) mod steal_policy;
pub(crate) mod turn;
pub(crate) mod watchdog;
