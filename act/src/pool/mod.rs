//! Pools of workers (rules P1 to P14).
//!
//! ```text
//!                        shared: the intake
//!   senders          ┌──────────────────────────────┐
//!   send ───────────►│ rate? ring + routing ────────┼──────────► worker's mailbox ─► worker
//!   reserve ────────►│   │ full         │ died      │                 │ desk: waited, took,
//!   send_or_wait ───►│   ▼              ▼           │                 ▼ stuck since, discarded
//!                    │ overflow      the line ◄─────┼── room ── worker looks up
//!                    │ (back, drop,  (heirs first)  │
//!                    │  divert)                     │
//!                    └───────▲──────────────────────┘
//!   commands            changes the ring, drains, closes
//!   add_workers ──► pool process: staff ─► starts, replaces, lets go, kills the stuck
//!   drain, ask  ──►               behaviour (callbacks)      elastic plan, reports
//! ```
//!
//! Main of the pool's process is a route: a job never comes there. It goes from its sender's
//! thread into a worker's mailbox, so there is no hop, and what the worker sees (sender,
//! reply token) is what was sent. Control lanes are the pool process's own.
//!
//! **Who may do what.** The ring is changed by the pool process alone, under a write lock; senders
//! hold the read lock while they hand a message on. A user's code (a key, a time to live, a
//! copy, a fallback's conversion, a destructor) never runs under either.
//!
//! **Starts.** The pool's process waits for no worker to start: it polls the starts beside its
//! mailbox, and serves meanwhile, in its own start too. A worker that does not start in time is
//! killed; one that does not even end then blocks its thread, and is left behind.
//!
//! **The end.** When the pool ends it takes the user's values (routing, fallback, time to live, the
//! hearer of discards) out of what its addresses hold, and drops them.
//!
//! **Places.** A place is a worker's position and its number. A worker that dies keeps its place
//! until its replacement has initialised: it takes nothing meanwhile, the place is not lost,
//! and the keys that belong to it stay with it.
//!
//! | a worker | its place | its mailbox |
//! |---|---|---|
//! | starts for the first time, or is added | new, last in turn | empty |
//! | dies | kept; its replacement takes it | dead letters; calls fail with its reason |
//! | is removed | gone at once | handled, then it ends normally |
//! | is stuck | kept, but empty at once; its replacement takes it, last in turn | dead letters |
//!
//! **Room that outlives its worker.** A permit promises that a message will be taken. If its worker
//! has died or was removed by the time it is used, the message goes to another; if all are
//! full it stands first in the [`waiting_line`] and takes the first room there is, and that of a key the
//! first at the worker of its key. So the bound
//! holds, and what was promised is done, unless the pool itself ends.
//!
//! **What costs what.** A pool that is only given a size and a bound pays for the ring's lock and two
//! counters. Everything that watches jobs on their way (time to live, discards, latencies, the
//! stuck limit) makes each job a notice in a box ([`crate::observe::watched_job`]), for that pool alone.
//!
//! | file | concept |
//! |---|---|
//! | `pool`, `settings` | what a user says, and what cannot be |
//! | `behavior`, `command` | the callbacks of the pool's process, and what it can be told |
//! | `resize` | what comes of adding and removing workers |
//! | `opening`, `work` | what that process does: its start, and its loop |
//! | `staff`, `worker_control` | its workers, and what the callbacks can do with them |
//! | `starting`, `vacancy` | workers that start; places that have none |
//! | `periodic`, `inspection` | what comes with time; what it says of itself |
//! | `shared`, `ring`, `lent_value` | what senders and the pool process share |
//! | `delivery`, `reservation`, `waiting_line`, `ticket` | the way of a message; of room; who waits; a permit |
//! | `routing/` | which worker |
//! | `balance` | what waits at an elastic pool is evened out |
//! | `rate`, `elastic`, `histogram` | pure: a token bucket, how large, how long |
//! | `job_watch`, `job_times`, `statistics` | watched jobs; the numbers |

mod balance;
pub(crate) mod behavior;
pub(crate) mod command;
mod delivery;
pub(crate) mod elastic;
pub(crate) mod histogram;
mod inspection;
mod job_times;
mod job_watch;
mod lent_value;
mod opening;
mod periodic;
#[allow(clippy::module_inception, reason = "the type `Pool` is what the module is about")]
pub(crate) mod pool;
pub(crate) mod rate;
mod reservation;
pub(crate) mod resize;
mod ring;
pub(crate) mod routing;
pub(crate) mod settings;
mod shared;
mod staff;
mod starting;
pub(crate) mod statistics;
#[cfg(all(test, not(loom)))]
mod tests;
mod ticket;
mod vacancy;
mod waiting_line;
mod work;
mod worker_control;
