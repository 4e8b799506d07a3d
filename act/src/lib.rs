//! The actor model of the Krarup node.
//!
//! A process is one future with a mailbox. [`Behavior`] is the bare process, an async
//! function over a [`Context`] that can receive; [`Actor`] and [`Pool`] are behaviours
//! written on it with nothing a user could not have. Processes are reached through
//! typed [`Address`]es, ask each other with [`Call`]s answered by [`Reply`] tokens, and
//! hear of each other's end through links and monitors.
//!
//! This crate knows the node it runs in only as a [`Host`].

#![forbid(unsafe_code)]

mod actor;
mod address;
mod behavior;
mod block;
mod call;
mod context;
mod control;
mod deadline;
mod host;
mod lock;
mod mailbox;
#[cfg(all(test, loom))]
mod models;
mod naming;
mod pending;
mod pool;
mod process;
mod received;
mod reply;
mod route;
mod signals;
mod slot;
mod spawn;
mod sync;
mod timer;

pub use actor::Actor;
pub use address::Address;
pub use behavior::{Behavior, BehaviorFn, behavior_fn};
pub use block::Block;
pub use call::{Call, CallFuture, DEFAULT_CALL_TIMEOUT};
pub use context::Context;
pub use control::{Monitor, Stop, address_of, inspect, lookup, send_dynamic, watch};
pub use deadline::Sleep;
pub use host::{Alarm, Host, Ready, Stalled, TimerKey, TurnLimits};
pub use pending::{CannotWait, Pending, is_in_process};
pub use pool::command::{PoolCommand, Resized};
pub use pool::pool::{Pool, PoolError};
pub use process::crash::{contain, note_panic_locations};
pub use process::process::{Dynamic, Guarded, Process, Via};
pub use received::Received;
pub use reply::Reply;
pub use route::Route;
pub use slot::Poke;
pub use spawn::{AddressOf, Inside, Outside, Spawn};
