//! Dispatchers: they decide which threads run ready processes, and when.
//!
//! A dispatcher takes [`Ready`](krarup_act::Ready) processes and runs their turns; it knows nothing
//! else of them. There are five kinds, and [`any`] is the enum over them:
//!
//! | kind | threads | for |
//! |---|---|---|
//! | [`shared`] | a few for all processes, work-stealing | everything |
//! | [`pinned`] | one for each process | processes that need their own thread |
//! | [`executor`] | those of a user's executor | programs that have a thread pool already |
//! | [`calling_thread`] | none: the thread that makes a process ready runs it | tests |
//! | [`simulation::dispatcher`](crate::simulation::dispatcher) | none: every choice comes from a seed | tests |
//!
//! [`executor`] is implemented by a tokio runtime, in `tokio_executor`.
//!
//! [`setup`] holds what dispatchers are made with, [`turn`] what they run, [`turn_log`] how turns
//! are recorded.
//!
//! The parts of the shared dispatcher:
//! - [`sleep`]: how its workers park and wake.
//! - [`priority_queue`] holds processes of high class, and [`priority_turns`] runs them.
//! - [`run_queue`]: what a worker has to run, in a private queue ([`private_queue`], [`process_barrier`]) and a shared one.
//! - [`take`] and [`search`]: how workers take work from their queues, and look for it elsewhere. [`steal_policy`] decides whether they steal it from
//!   each other.
//! - [`spare_protocol`] and [`spare_workers`]: spare workers, which fill in for stuck ones.
//! - [`late_timers`]: timers that are set late.
//! - [`watchdog`] finds long turns and work behind them, [`counters`] is what it sees of a
//!   worker, and [`reports`] reports its findings.
//!
//! The parts of the simulated dispatcher:
//! [`simulation::ready_lists`](crate::simulation::ready_lists) holds the processes that may have
//! the next turn, [`simulation::injected_faults`](crate::simulation::injected_faults) decides the
//! faults.

pub(crate) mod any;
pub(crate) mod calling_thread;
pub(crate) mod counters;
pub(crate) mod executor;
pub(crate) mod late_timers;
mod look;
#[cfg(test)]
mod models;
pub(crate) mod pinned;
pub(crate) mod priority_queue;
pub(crate) mod priority_turns;
mod private_queue;
pub(crate) mod process_barrier;
mod recorded_turns;
pub(crate) mod reports;
mod run_queue;
mod search;
mod searcher;
pub(crate) mod setup;
pub(crate) mod shared;
pub(crate) mod sleep;
pub(crate) mod spare_protocol;
mod spare_workers;
pub(crate) mod steal_policy;
#[cfg(all(test, not(loom)))]
mod stealing_model;
mod take;
#[cfg(feature = "tokio")]
mod tokio_executor;
pub(crate) mod turn;
pub(crate) mod turn_log;
pub(crate) mod watchdog;
pub(crate) mod worker_parker;
