//! Traces: the W3C trace context of a message, which its handler passes on.
//!
//! ```text
//!   traceparent ──► TraceContext::enter ─┐                sampler of the process
//!                                        ▼                       │
//!   current context (this thread) ──► send ──► mailbox ──► handler: current context
//!        ▲                            │ a box: [`carried`]       │ a span
//!        └────────── park, resume ◄───┴──── sends, calls, spawns ┘
//! ```
//!
//! A message that is sent in a context is boxed with a [`carried::CarriedContext`], as a watched
//! job is. All other messages are as they are without this module: the only cost of a send is
//! the test of a bit of the turn's state, which a send outside any context finds unset.
//!
//! | file | subject |
//! |---|---|
//! | [`trace_context`] | the context, and the header `traceparent` |
//! | [`propagation`] | what a node is set up with: the sampler, and ties to other systems |
//! | [`carried`] | the context on its way in a mailbox |
//! | [`open_span`] | the spans of `tracing` |
//! | [`enter`] | code outside of processes that runs in a context |
//! | [`aside`] | the trace of a message that a behaviour sets aside |
//! | [`held`] | a context that a behaviour keeps for one of its handlers |
//!
//! The context of the thread is in `process/current/traces.rs`.

pub(crate) mod aside;
pub(crate) mod carried;
pub(crate) mod enter;
pub(crate) mod held;
pub(crate) mod open_span;
pub(crate) mod propagation;
pub(crate) mod trace_context;
