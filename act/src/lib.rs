//! The actor model of the Krarup node.
//!
//! A process is one future with a mailbox. [`Behavior`] is the bare process: an async function
//! over a [`Context`] from which it receives. [`Actor`] and [`Pool`] are behaviours that use
//! nothing but the public interface. Processes are reached through typed [`Address`]es. They
//! request answers from each other with [`Call`]s, which are answered with [`Reply`] tokens.
//! Links and monitors notify a process of the end of another.
//!
//! This crate knows the node it runs in only as a [`Host`].

#![forbid(unsafe_code)]

mod actor;
mod addressing;
mod behavior;
mod calls;
mod context;
mod host;
mod in_transit;
mod lifecycle;
mod lock;
mod mailbox;
#[cfg(test)]
mod models;
mod observe;
mod pool;
mod process;
mod received;
mod sync;

pub use actor::Actor;
pub use addressing::address::Address;
pub use addressing::dynamic::Dynamic;
pub use addressing::lookup::{address_of, lookup, send_dynamic};
pub use addressing::recipient::Recipient;
pub use addressing::route::{RoomFuture, Route};
pub use addressing::send_or_wait::SendOrWait;
pub use behavior::{Behavior, BehaviorFn, behavior_fn};
pub use calls::call::{Call, CallFuture};
pub use calls::deadline::{DEFAULT_CALL_TIMEOUT, Sleep};
pub use calls::dropped_calls::DroppedCalls;
pub use calls::pending::{Pending, current_pid, is_in_process};
pub use calls::recipient_call::RecipientCall;
pub use calls::reply::Reply;
pub use context::{Context, NextMessage, Receive};
pub use host::delegate::{Delegate, UnusedPid};
pub use host::host::{Alarm, Host, Poke, Sending, SimulatedLink, Stalled, TimerKey};
pub use host::ready::{Ready, TurnLimits};
pub use host::worker_slot::WorkerSlot;
pub use lifecycle::block::Block;
pub use lifecycle::cleaners::Ended;
pub use lifecycle::in_place::{
    DefaultIntensity, InPlace, InPlaceError, RestartPolicy, StateFailure, yield_now,
};
pub use lifecycle::spawn::{AddressOf, Inside, KILL_GRACE, Outside, Spawn};
pub use lifecycle::stop::Stop;
pub use mailbox::muted_senders::MutedSender;
pub use mailbox::order::Order;
pub use mailbox::overflow::{Divert, Diverted, Overflow};
pub use mailbox::permit::Permit;
pub use observe::debug::{state, suspend};
pub use observe::inspect::{inspect, inspect_items};
pub use observe::inspect_request::InspectRequest;
pub use observe::subscription::{EventTopic, Subscription, Tell};
pub use observe::trace::Traced;
pub use observe::watch::{Watch, watch};
pub use observe::watched_job::Discarded;
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
pub use process::crash::{
    Contained, contain, contain_quietly, first_failure, note_panic_locations,
};
pub use process::current::note_receiver;
pub use process::deferred::{holding, when_free};
pub use process::process::{Guarded, Process, Put, Via};
pub use received::{Delivery, Received};
