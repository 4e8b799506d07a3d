//! Calls of functions of other nodes, as `erpc` makes them (rule Zcall10).
//!
//! A call is a request for a process that runs `erpc:execute_call/4`, and a monitor on it: the
//! value is the reason with which it ends.
//!
//! ```text
//!              SPAWN_REQUEST           SPAWN_REPLY, ok              PAYLOAD_MONITOR_P_EXIT
//!   rpc(..) ──────────────► requested ───────────────► running ──────────────────────────► over
//!                               │                         │
//!                               │ SPAWN_REPLY, error ──► over
//!                               │                         │ given up: DEMONITOR ──► over
//!                               │ given up                │
//!                               ▼      SPAWN_REPLY, ok: DEMONITOR; error
//!                           abandoned ──────────────────────────────────► over
//! ```
//!
//! | entry | `SPAWN_REPLY` | end of the process | connection lost | given up |
//! |---|---|---|---|---|
//! | requested | running, or fails | ignored: nothing is monitored yet | fails | abandoned |
//! | running | ignored, counted | the outcome | fails | `DEMONITOR`, over |
//! | abandoned | `DEMONITOR`, over | ignored | over | - |
//! | none | ignored, counted | ignored | - | - |
//!
//! A reply counts only if it comes from the node that was asked (rule Zsec5). The group leader of
//! the process is a pid of this node that is nobody's: requests to it are answered by the thread
//! of the connection, and what they print is logged.

pub(crate) mod abandoning;
pub(crate) mod call;
pub(crate) mod error;
pub(crate) mod pending_rpcs;
pub(crate) mod printing;
pub(crate) mod sending;
