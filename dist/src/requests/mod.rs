//! Requests for processes of other nodes that have no outcome yet (rules Zcall10, Zcall15).
//!
//! A request is for a process that runs a function to its end, as `erpc` does, or for one that is made and goes on.
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
//!
//!                      SPAWN_REQUEST           SPAWN_REPLY, ok: linked here, if it is linked there; error
//!   remote_spawn(..) ──────────────► requested ─────────────────────────────────────────────────────────► over
//!                                        │ given up
//!                                        ▼      SPAWN_REPLY, ok: PAYLOAD_EXIT, if it is linked; error
//!                                    abandoned ─────────────────────────────────────────────────────► over
//! ```
//!
//! | entry | `SPAWN_REPLY` | end of the process | connection lost | given up |
//! |---|---|---|---|---|
//! | requested, a function | running, or fails | ignored: nothing is monitored yet | fails | abandoned |
//! | requested, a process | the outcome, or fails | - | fails | abandoned |
//! | running | ignored, counted | the outcome | fails | `DEMONITOR`, over |
//! | abandoned, a function | `DEMONITOR`, over | ignored | over | - |
//! | abandoned, a process | over; the exit signal `abandoned` if it is linked | - | over | - |
//! | none | ignored, counted | ignored | - | - |
//!
//! A reply counts only if it comes from the node that was asked (rule Zsec5).

pub(crate) mod pending_requests;
pub(crate) mod sending;
pub(crate) mod target;
pub(crate) mod under_way;
