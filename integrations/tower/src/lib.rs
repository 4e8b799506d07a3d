//! Processes and pools of Krarup as [tower] services.
//!
//! | type | what it is |
//! |---|---|
//! | [`CallService`] | calls a process or a pool: a request is made a message, its reply is the response |
//! | [`PoolLayer`] | runs the requests of any other service in the workers of a pool |
//!
//! Both take room before they take a request: `poll_ready` waits in the pool's line until a worker has
//! room, and until its rate allows another job. So a server does not read what it cannot handle, and
//! nothing is queued outside the bounds that the pool has (rule H8). With [`CallService::shedding`] and
//! [`PoolLayer::shedding`] nobody waits: a full pool, or one at its rate limit, is the error of the
//! request, which says when to come back.
//!
//! [tower]: https://docs.rs/tower
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod call_service;
mod callee;
mod caller_watch;
mod pool_layer;
mod request_room;

pub use call_service::CallService;
pub use pool_layer::{PoolLayer, PoolLayerError, PooledService, RequestWork, RequestWorker};
