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
mod agent;
mod alias;
mod answer;
mod behavior;
mod block;
mod call;
mod context;
mod deadline;
mod debug;
mod dropped;
mod dynamic;
mod events;
mod host;
mod in_place;
mod inspect;
mod inspect_request;
mod job;
mod lock;
mod lookup;
mod mailbox;
#[cfg(test)]
mod models;
mod monitor;
mod naming;
mod pending;
mod pipe;
mod pool;
mod process;
mod ready;
mod received;
mod recipient;
mod reply;
mod reuse;
mod route;
mod seat;
mod sending;
mod slot;
mod spawn;
mod stop;
mod subscription;
mod sync;
mod trace;

pub use actor::Actor;
pub use address::Address;
pub use agent::{Agent, UnusedPid};
pub use behavior::{Behavior, BehaviorFn, behavior_fn};
pub use block::Block;
pub use call::{Call, CallFuture, DEFAULT_CALL_TIMEOUT};
pub use context::{Context, NextMessage, Receive};
pub use deadline::Sleep;
pub use debug::{state, suspend};
pub use dropped::DroppedCalls;
pub use dynamic::Dynamic;
pub use host::{Alarm, Host, Poke, Sending, Stalled, TimerKey, Wire};
pub use in_place::{Failure, InPlace, InPlaceError, Judge, yield_now};
pub use inspect::{inspect, inspect_items};
pub use inspect_request::InspectRequest;
pub use job::Discarded;
pub use lookup::{address_of, lookup, send_dynamic};
pub use mailbox::order::Order;
pub use mailbox::overflow::{Divert, Diverted, Overflow};
pub use mailbox::permit::Permit;
pub use monitor::{Monitor, watch};
pub use pending::{CannotWait, Pending, current_pid, is_in_process};
pub use pool::behavior::{Plain, PoolBehavior, PoolContext};
pub use pool::command::PoolCommand;
pub use pool::elastic::Elastic;
pub use pool::histogram::Latency;
pub use pool::pool::Pool;
pub use pool::rate::Rate;
pub use pool::resize::{PoolState, ResizeError, Resized};
pub use pool::routing::{
    Broadcast, ByKey, Choice, LeastLoaded, RoundRobin, Routing, TwoChoices, Workers,
};
pub use pool::settings::PoolError;
pub use pool::statistics::PoolStatistics;
pub use process::cleaners::Ended;
pub use process::crash::{
    Contained, contain, contain_quietly, first_failure, note_panic_locations,
};
pub use process::current::note_receiver;
pub use process::later::{holding, when_free};
pub use process::process::{Guarded, Process, Put, Via};
pub use ready::{Ready, TurnLimits};
pub use received::{Delivery, Received};
pub use recipient::Recipient;
pub use reply::Reply;
pub use route::{Room, Route};
pub use seat::{Debt, Seat};
pub use sending::SendOrWait;
pub use spawn::{AddressOf, Inside, KILL_GRACE, Outside, Spawn};
pub use stop::Stop;
pub use subscription::{Subscription, Tell, Topic};
pub use trace::Traced;
