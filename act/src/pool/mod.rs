//! Pools of workers (rules P1 to P14).
//!
//! ```text
//!                        SharedPool (`shared`)
//!   senders          ┌──────────────────────────────┐
//!   send ───────────►│ rate? ring + routing ────────┼──────────► worker's mailbox ─► worker
//!   reserve ────────►│   │ full         │ ended     │                 │ watch: waited, took,
//!   send_or_wait ───►│   ▼              ▼           │                 ▼ stuck since, discarded
//!                    │ overflow      the line ◄─────┼── room ── worker looks up
//!                    │ (back, drop,  (stranded      │
//!                    │  divert)       first)        │
//!                    └───────▲──────────────────────┘
//!   commands            changes the ring, drains, closes
//!   add_workers ──► pool process: its workers ─► starts, replaces, removes, kills stuck workers
//!   drain, ask  ──►               behaviour (callbacks)      elastic plan, reports
//! ```
//!
//! Main of the pool's process is a route: no job ever reaches it. A job goes from its sender's
//! thread into a worker's mailbox, so there is no hop, and the worker sees the original sender
//! and reply token. The control lanes belong to the pool process.
//!
//! **Access.** Only the pool process changes the ring, under a write lock. Senders hold the
//! read lock while they hand a message on. User code (a key, a time to live, a copy, a
//! fallback's conversion, a destructor) never runs under either.
//!
//! **Starts.** The pool process does not wait for a worker to start. It polls the starts beside
//! its mailbox and serves in the meantime, also during its own start. A worker that does not
//! start in time is killed. If it does not end then, because it blocks its thread, it is left
//! behind.
//!
//! **The end.** The workers end with their pool. A pool that is stopped shuts them down, and kills
//! those that take too long. The workers of a pool that is killed hear of it by their links, and a
//! timer kills those that take as long. When the pool ends it removes the user's values (routing,
//! fallback, time to live, the callback for discarded jobs) from the state that its addresses
//! share, and drops them.
//!
//! **Places.** A place is a worker's position and its number. A worker that ends keeps its
//! place until its replacement has initialised. In the meantime the place takes no jobs, is not
//! lost, and keeps the keys that belong to it.
//!
//! | a worker | its place | its mailbox |
//! |---|---|---|
//! | starts for the first time, or is added | new, last in turn | empty |
//! | ends | kept; its replacement takes it | dead letters; calls fail with its reason |
//! | is removed | removed at once | handled, then the worker ends normally |
//! | is stuck | kept, vacant at once; its replacement takes it, last in turn | dead letters |
//!
//! **Room that outlives its worker.** A permit promises that a message will be taken. If its
//! worker has ended or was removed when the permit is used, the message goes to another worker.
//! If all are full, the message is *stranded*: it stands first in the [`waiting_line`] and
//! takes the first room that is free. A message with a key takes the first room at the worker
//! of its key. So the bound holds, and the promise is kept, unless the pool itself ends, or is
//! drained and has no workers.
//!
//! **Cost.** A pool with only a size and a bound pays for the lock of the ring and two
//! counters. Every option that watches jobs on their way (time to live, discards, latencies,
//! the stuck limit) makes each job a boxed notice
//! ([`observe::watched_job`](crate::observe::watched_job)), for that pool alone.
//!
//! | file | concept |
//! |---|---|
//! | `pool`, `settings` | the builder, and the check of its values |
//! | `behavior`, `command` | the callbacks of the pool process, and its commands |
//! | `resize` | the results of adding and removing workers |
//! | `opening`, `work` | the start and the loop of the pool process |
//! | `pool_workers`, `worker_control` | its workers, and what callbacks can do with them |
//! | `starting`, `vacancy` | workers that start; places that have none |
//! | `periodic`, `stuck_search`, `inspection` | periodic work; the search for stuck workers; the inspection |
//! | `shared`, `ring`, `worker_list`, `pool_worker`, `lent_value` | the state that senders and the pool process share |
//! | `delivery` | the path of a message |
//! | `workers_refusal`, `on_unwind` | why no worker takes a message; user code that panics |
//! | `reservation`, `ticket`, `redemption` | reserved room; a permit; its use |
//! | `wait_for_room` | how a sender waits for room |
//! | `waiting_line`, `line_at_workers` | the line of senders that wait; the room it gets |
//! | `undone` | accepted messages that no worker will handle |
//! | `routing/` | the choice of a worker |
//! | `balance` | balancing the queues of an elastic pool |
//! | `rate`, `elastic`, `histogram` | pure: a token bucket, the size, durations |
//! | `job_watch`, `job_times`, `statistics` | watched jobs; the counters |

mod balance;
pub(crate) mod behavior;
pub(crate) mod command;
mod delivery;
pub(crate) mod drain;
pub(crate) mod elastic;
mod gauges;
mod histogram;
mod inspection;
mod job_times;
mod job_watch;
mod lent_value;
mod line_at_workers;
mod management;
#[cfg(test)]
mod models;
mod on_unwind;
mod opening;
mod patience;
mod periodic;
#[allow(clippy::module_inception, reason = "the module is named after the type `Pool`")]
pub(crate) mod pool;
mod pool_worker;
mod pool_workers;
pub(crate) mod rate;
mod redemption;
mod reservation;
pub(crate) mod resize;
mod ring;
pub(crate) mod routing;
pub(crate) mod settings;
mod shared;
mod size_answer;
mod starting;
pub(crate) mod statistics;
mod stuck_search;
#[cfg(all(test, not(loom)))]
mod tests;
mod ticket;
mod undone;
mod vacancy;
mod wait_for_room;
mod waiting_line;
mod work;
mod worker_control;
mod worker_list;
mod workers_refusal;
