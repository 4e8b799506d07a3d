//! Krarup processes behind gRPC services of [tonic].
//!
//! | item | what it is |
//! |---|---|
//! | [`grpc_server`] | the gRPC server as a process: an [`HttpServer`] that speaks HTTP/2 and obeys deadlines |
//! | [`CallStatus`] | the error of a call as a status: which code, and when the client may come back |
//! | [`RequestDeadline`] | until when the client waits: `request.deadline()`, for the calls of its handler |
//! | [`DeadlineLayer`] | ends handlers by the deadline of their request, under any server |
//!
//! [tonic]: https://docs.rs/tonic
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod call_status;
mod deadline_layer;
mod grpc_server;
mod grpc_timeout;
mod request_deadline;

pub use call_status::CallStatus;
pub use deadline_layer::{DeadlineLayer, DeadlineService};
pub use grpc_server::grpc_server;
pub use grpc_timeout::MalformedTimeout;
pub use krarup_axum::HttpServer;
pub use request_deadline::RequestDeadline;
