//! Tests with real sockets: what a client sees.

mod acting;
mod client;
mod cluster;
mod floods;
mod hostile;
mod managing;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(all(feature = "mcp", unix))]
mod mcp_clients;
mod metrics;
mod ops;
#[cfg(feature = "otel")]
mod otel;
mod pool_places;
mod probe_flood;
mod probing;
mod program_metrics;
mod reading;
mod recipe;
mod recording;
mod streaming;
mod truth;
mod turn_recording;
mod virtual_time;
mod walking;
