//! Load on a cluster in which everything is accounted for: the same processes and the same ledger
//! over a simulated network and over sockets.
//!
//! ```text
//!  StressAgent ── Tell, Call, Link, Monitor ──► network ──► StressService "stock", "desk"
//!      │ what it did, and was told                              │ what it handled
//!      ▼                                                        ▼
//!   AgentLog ──────────────► check ◄────────────────────── MessageFates
//! ```
//!
//! | statement | how it is checked |
//! |---|---|
//! | sent = handled + refused + dead letter + lost with a notice | each message has a number; one that never arrived was to nobody, which its node counts, or its sender was told of a loss of that node after it was sent |
//! | nothing twice, nothing out of order | a number arrives once, and those of an agent at one process ascend |
//! | one notice for each bond | each monitor is told once, and not after its removal; each link is told once, and not after the unlink |
//! | no call without an end | each call has one outcome, and the right one |

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod agent;
pub(crate) mod agent_log;
pub(crate) mod letters;
pub(crate) mod service;
pub(crate) mod tracked;
