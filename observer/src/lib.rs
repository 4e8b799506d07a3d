//! Looking into a running Krarup node, and acting on it: a page, a JSON API, probes, metrics, a
//! live stream.
//!
//! ```
//! # mod krarup { pub use {krarup_node::*, krarup_observer as observer}; }
//! # fn main() -> krarup_gen::Result {
//! use krarup::Node;
//! use krarup::observer::Observer;
//!
//! let node = Node::start("shop@localhost")?;
//! let observer = Observer::new().listen("127.0.0.1:0").start(&node).wait()?;
//! println!("observer: {}", observer.url());
//! # node.stop().wait()
//! # }
//! ```
//!
//! The observer is a supervisor below the system root with ordinary processes. They run on a
//! dispatcher of their own and the sockets on a thread of their own, so it answers while every
//! worker of the program is held.
//!
//! By default it listens on a loopback address and only reads. Another address needs a
//! [`Token`] for reading, actions need one for acting. It does nothing while nobody looks: no
//! timer runs, no process is walked. See `docs/observer.md` for the routes.

#![forbid(unsafe_code)]
// docs.rs marks what needs a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod actions;
mod api;
mod assets;
mod attempt;
mod check;
mod error;
mod event_ring;
mod health;
mod http;
mod inspections;
mod limits;
mod logs;
mod management;
#[cfg(feature = "mcp")]
mod mcp;
mod metrics;
mod observer;
mod observer_tree;
mod os;
#[cfg(feature = "otel")]
mod otel;
mod record_turns;
mod recordings;
mod remembered;
mod requests;
mod restarts;
mod routes;
mod sampling;
mod shared;
mod stream;
mod supervised_children;
mod suspensions;
mod tally;
mod text;
mod time;
mod token;
mod totals;
mod trace_events;
mod traces;

#[cfg(test)]
mod tests;

pub use check::{Check, Health};
pub use error::ObserverError;
pub use logs::{RecentLogs, recent_logs};
pub use metrics::program_families::MetricFlaw;
pub use observer::{Observer, ObserverStart, RunningObserver};
#[cfg(feature = "otel")]
pub use otel::OtelSpans;
/// The crate whose registries [`Observer::metrics`] takes, in the version that it takes.
pub use prometheus_client;
pub use token::{Token, TokenError};
