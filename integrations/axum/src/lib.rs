//! Krarup processes behind [axum].
//!
//! | type | what it is |
//! |---|---|
//! | [`HttpServer`] | the HTTP server as a process: a supervised child that stops in order |
//! | [`Processes`], [`ByName`] | processes by name in handlers, also after a restart |
//! | [`CallRejection`] | the error of a call as a response: 429, 500, 503 or 504, with `Retry-After` |
//!
//! [axum]: https://docs.rs/axum
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod by_name;
mod call_rejection;
mod client_timeouts;
#[cfg(feature = "http2")]
mod http2_connection;
mod http_server;
mod open_connections;
mod progress_timeout;
mod request_routes;
mod timeout_body;
mod timeout_stream;

pub use by_name::{ByName, FindsByName, NamedProcess, Processes, UnknownProcess};
pub use call_rejection::CallRejection;
pub use http_server::HttpServer;
